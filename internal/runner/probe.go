package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Revisions that the harness checks, oldest first.
var Revisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// released are all revisions: what else a target speaks is asked of these.
var released = catalogue.Revisions

const (
	// repliesToStart is how many times longer than others the very first answer
	// may take (by default a minute): a package runner may be downloading the
	// target, a virtual machine warming up.
	repliesToStart = 12
	// repliesToRestart is the same for a process that has started before: on a
	// loaded machine an interpreter needs its seconds.
	repliesToRestart = 6
	// slowerStarts is how many times longer a start may take than the first did, which
	// had the machine more or less for itself.
	slowerStarts = 16
)

// TargetError says that the target could not be started, reached or spoken to
// at all; the run has no results.
type TargetError struct{ Reason string }

func (e *TargetError) Error() string { return e.Reason }

// visit is one opening of the target, a handshake or a server/discover, and what it
// showed.
type visit struct {
	asked      string
	answered   string   // the revision that the server answered with; of the stateless era, if it is supported
	supported  []string // revisions that an answer to server/discover lists
	connection *scripted.Connection
	survey     *survey.Survey
	mute       string        // what shows that it answers nothing but initialize, if it does not
	started    time.Duration // that the first answer took
	err        error
}

// refused returns the error that a server answered the opening with, if it did:
// over HTTP it may stand, without the request's id, in the body of a 400.
func (v *visit) refused() (*scripted.RefusedError, bool) {
	if status, isStatus := errors.AsType[*scripted.StatusError](v.err); isStatus && status.Status == http.StatusBadRequest {
		if refusal, there := jsonrpc.Parse(status.Body).Error(); there {
			return &scripted.RefusedError{Method: opening(v.asked), Refusal: refusal}, true
		}
	}
	return errors.AsType[*scripted.RefusedError](v.err)
}

// opening is the request that first contact at a revision makes.
func opening(revision string) string {
	if scripted.Stateless(revision) {
		return "server/discover"
	}
	return "initialize"
}

// reached tells whether a visit shows that somebody is there who speaks MCP: there
// is an answer, or a refusal. Servers of the handshake era refuse server/discover in
// whatever way they like.
func (v *visit) reached() bool {
	refusal, refused := v.refused()
	return v.err == nil || refused && (!scripted.Stateless(v.asked) || refusal.Modern())
}

// probe makes first contact: it asks for the revisions of the run, and learns
// what the target declares and offers at each that it speaks. The very first
// answer may take as long as start. The connections stay open until they are
// judged.
func probe(ctx context.Context, room *transcript.Room, to scripted.Target, start time.Duration, policy Revise) ([]*visit, []string, error) {
	first := to
	first.Start = start
	visits := meet(ctx, room, first, policy)
	newest := visits[0]
	for _, one := range visits {
		if !newest.reached() {
			newest = one
		}
	}
	if !newest.reached() {
		reason := targetError(ctx, to, visits[len(visits)-1]) // first: the end may cut a line in two
		closeAll(ctx, visits...)
		return nil, nil, reason
	}

	// The target was up once: what is asked next may not take as long.
	others := slices.DeleteFunc(slices.Clone(released), func(revision string) bool {
		return slices.ContainsFunc(visits, func(one *visit) bool { return one.asked == revision })
	})
	enough := policy.Auto && newest.spoken()
	more := make([]*visit, len(others))
	var asking sync.WaitGroup
	for i, revision := range others {
		asking.Go(func() { more[i] = visitAt(ctx, room, to, revision, policy.wants(revision) && !enough) })
		if heavy(room) {
			asking.Wait() // there is no room for several at once
		}
	}
	asking.Wait()
	visits = append(visits, more...)

	speaks := spoken(visits)
	checkable := slices.ContainsFunc(Revisions, func(revision string) bool { return slices.Contains(speaks, revision) })
	if checkable || policy.named() {
		return visits, speaks, nil
	}
	closeAll(ctx, visits...)
	return nil, nil, unspeakable(ctx, to, visits, speaks)
}

// meet asks for the newest revision that is wanted. When that is of the stateless
// era, and the answer is none of such a server, or is late, it goes on with the
// handshake, in the order that the specification has for clients of both eras
// (2026-07-28, basic/transports/stdio#backward-compatibility): a server of the
// handshake era may answer in any way, or not at all. The visits are in the order in
// which they were begun.
func meet(ctx context.Context, room *transcript.Room, to scripted.Target, policy Revise) []*visit {
	wanted := policy.first()
	if !scripted.Stateless(wanted) {
		return []*visit{visitAt(ctx, room, to, wanted, true)}
	}
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	discovered := make(chan *visit, 1)
	go func() { discovered <- visitAt(asking, room, to, wanted, true) }()
	select {
	case found := <-discovered:
		if found.reached() {
			return []*visit{found}
		}
		discovered <- found
	case <-time.After(discoverPatience):
	}
	shaken := visitAt(ctx, room, to, scripted.LastHandshake, policy.wants(scripted.LastHandshake))
	if shaken.reached() {
		defer time.AfterFunc(discoverPatience, giveUp).Stop()
	}
	found := <-discovered
	if asking.Err() != nil && ctx.Err() == nil && found.err != nil {
		found.err = errors.New("server/discover was not answered, while initialize was")
	}
	return []*visit{found, shaken}
}

// discoverPatience is how long server/discover may be unanswered before the
// handshake is tried beside it, and once more when that is answered.
const discoverPatience = time.Second

// spoken lists the revisions that the target speaks, oldest first: those that it
// answered with, and those that it lists and that nobody could ask for.
func spoken(visits []*visit) []string {
	var speaks []string
	for _, one := range visits {
		if one.err == nil && one.answered != "" && (one.spoken() || one == visits[0] || one.asked == scripted.LastHandshake) {
			speaks = append(speaks, one.answered)
		}
		for _, revision := range one.supported {
			if !slices.Contains(released, revision) {
				speaks = append(speaks, revision)
			}
		}
	}
	slices.Sort(speaks)
	return slices.Compact(speaks)
}

// unspeakable says why none of the revisions that can be checked is spoken.
func unspeakable(ctx context.Context, to scripted.Target, visits []*visit, speaks []string) error {
	if ctx.Err() != nil {
		return targetError(ctx, to, visits[0])
	}
	name := to.URL
	if to.Transport == scripted.OnStdio {
		name = commandLine(to.Command)
	}
	checked := "; what can be checked is " + strings.Join(Revisions, " and ")
	if len(speaks) > 0 {
		return &TargetError{Reason: name + " speaks " + strings.Join(speaks, " and ") + checked}
	}
	refusing := slices.IndexFunc(visits, (*visit).reached) // by a refusal, since it speaks nothing
	refusal, _ := visits[max(0, refusing)].refused()
	if refusal == nil {
		return &TargetError{Reason: name + " names no revision that it speaks" + checked}
	}
	reason := fmt.Sprintf("%s speaks no revision that is known: %s", name, refusal)
	if supported := refusal.Supported(); len(supported) > 0 {
		reason += "; it says that it supports " + strings.Join(supported, " and ")
	}
	return &TargetError{Reason: reason + checked}
}

// closeAll ends the connections that nobody needs any more, side by side.
func closeAll(ctx context.Context, visits ...*visit) {
	var closing sync.WaitGroup
	for _, one := range visits {
		if one.connection != nil {
			closing.Go(func() {
				one.connection.Close(ctx)
				one.connection.Log().Release()
			})
		}
	}
	closing.Wait()
}

// visitAt opens the target at a revision; when it is one to check and the target
// speaks it, the lists are read too.
func visitAt(ctx context.Context, room *transcript.Room, to scripted.Target, revision string, wanted bool) *visit {
	found := &visit{asked: revision}
	log := transcript.NewLogIn(room, fmt.Sprintf("survey-%s-%s", revision, to.Transport))
	connection, err := scripted.Dial(to, log)
	if err != nil {
		found.err = err
		return found
	}
	found.connection = connection
	begun := time.Now()
	handshake, err := introduce(ctx, connection, revision)
	found.started = time.Since(begun)
	found.answered, found.supported = handshake.Revision, handshake.Supported
	if err != nil && found.answered == "" {
		found.err = err
		return found
	}
	// A server that answers, and then takes no notification or is gone, speaks
	// the revision: the checks report what it does.
	if wanted && handshake.Revision == revision {
		noFence, silent := "", false
		if !scripted.Stateless(revision) { // server/discover was answered
			noFence, silent = pinged(ctx, connection)
		}
		if silent {
			found.mute = "after initialize the target answers nothing: " + noFence
			// It is asked once more for each list, and not waited for again and again.
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, to.Reply)
			defer cancel()
		}
		found.survey = survey.Take(ctx, connection, handshake)
		found.survey.NoFence = noFence
		if len(found.survey.Tools)+len(found.survey.Resources)+len(found.survey.Templates)+len(found.survey.Prompts) > 0 {
			found.mute = ""
		}
	}
	connection.Forget() // the survey and the record have what matters
	return found
}

// introduce learns what the server says of itself, in the way of the era.
func introduce(ctx context.Context, connection *scripted.Connection, revision string) (scripted.Handshake, error) {
	if scripted.Stateless(revision) {
		return connection.Discover(ctx, revision, scripted.Everything(revision))
	}
	return connection.Initialize(ctx, scripted.Hello(revision, scripted.Everything(revision)))
}

// spoken tells whether the target speaks the revision that it was asked for.
func (v *visit) spoken() bool { return v.err == nil && v.asked == v.answered }

// pinged says why a ping, which every server must answer, brings no result, and
// whether it is left without any answer for as long as an answer may take.
func pinged(ctx context.Context, connection *scripted.Connection) (noFence string, silent bool) {
	answer, err := connection.Call(ctx, "ping", nil)
	if err != nil {
		return err.Error(), errors.Is(err, scripted.ErrTimeout)
	}
	if _, there := answer.Result(); !there {
		return "it is answered with " + scripted.Short(answer.Raw), false
	}
	return "", false
}

// Revise says which revisions to check.
type Revise struct {
	Auto   bool     // the newest that the target speaks
	All    bool     // each that the harness knows
	Listed []string // these
	// Among are the only ones that Auto and All choose from; nil for all that the
	// harness knows.
	Among []string
}

func (r Revise) first() string {
	if len(r.Listed) > 0 {
		return slices.Max(r.Listed)
	}
	return slices.Max(r.among())
}

func (r Revise) among() []string {
	if r.Among != nil {
		return r.Among
	}
	return Revisions
}

func (r Revise) wants(revision string) bool {
	if len(r.Listed) > 0 {
		return slices.Contains(r.Listed, revision)
	}
	return slices.Contains(r.among(), revision)
}

// named tells whether the user asked for certain revisions.
func (r Revise) named() bool { return len(r.Listed) > 0 }

// choose picks the revisions to report on, oldest first.
func (r Revise) choose(speaks []string) []string {
	switch {
	case len(r.Listed) > 0:
		return slices.Sorted(slices.Values(r.Listed))
	case r.All:
		return r.among()
	}
	for _, revision := range slices.Backward(r.among()) {
		if slices.Contains(speaks, revision) {
			return []string{revision}
		}
	}
	return nil
}

// legFor makes the leg of a run from a visit.
func legFor(to scripted.Target, visit *visit) leg {
	return leg{
		Leg:     conform.Leg{Role: conform.ServerRole, Revision: visit.asked, Transport: to.Transport},
		Command: to.Command, URL: to.URL, Header: to.Header, Reply: to.Reply,
		Start:      min(to.Start, to.Reply+slowerStarts*visit.started),
		MaxMessage: to.Limits.Message, Survey: visit.survey,
	}
}

// targetError says in one line why the target could not be spoken to, with
// what it said on the way and what to do.
func targetError(ctx context.Context, to scripted.Target, visit *visit) error {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errInterrupted) {
		visit.err = fmt.Errorf("initialize was not answered; %w", context.Cause(ctx))
	}
	if visit.connection == nil {
		return &TargetError{Reason: visit.err.Error()}
	}
	if to.Transport == scripted.OnHTTP {
		return &TargetError{Reason: httpReason(to.URL, visit)}
	}
	reason := fmt.Sprintf("%s does not speak MCP over stdio: %s", commandLine(to.Command), visit.err)
	received := visit.connection.Received(0)
	if noise := firstNoise(received); noise != "" {
		reason += "; on standard output it wrote " + noise + ", where only JSON-RPC messages may stand"
	} else if len(received) > 0 && errors.Is(visit.err, scripted.ErrTimeout) {
		reason += fmt.Sprintf("; what it sent, beginning with %s, is no answer to it", scripted.Short(received[0].Raw))
	}
	if errors.Is(visit.err, scripted.ErrTimeout) {
		reason += "; give it longer with --timeout, if it is slow to start"
	}
	if stderr, _ := visit.connection.Stdio.Pipe.Process().Stderr(); len(stderr) > 0 {
		reason += "\nits standard error ended with:\n" + indent(lastLines(string(stderr)))
	}
	return &TargetError{Reason: reason}
}

func commandLine(command target.Command) string { return strings.Join(command.Args, " ") }

// firstNoise returns the first line that is no JSON-RPC message.
func firstNoise(received []scripted.Received) string {
	for _, one := range received {
		if flaw, broken := one.Broken(); broken {
			return fmt.Sprintf("%q (%s)", scripted.Short(one.Raw), flaw)
		}
	}
	return ""
}

// stderrLines is how much of a failed target's standard error is shown.
const stderrLines = 12

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-stderrLines):], "\n")
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

func httpReason(url string, visit *visit) string {
	var status *scripted.StatusError
	if !errors.As(visit.err, &status) || errors.Is(visit.err, scripted.ErrNoAnswer) {
		reason := fmt.Sprintf("%s does not speak MCP: %s", url, visit.err)
		if errors.Is(visit.err, scripted.ErrNoAnswer) {
			reason += "; give the URL of the MCP endpoint itself, which often ends in /mcp"
		}
		return reason
	}
	header := http.Header(status.Header)
	switch {
	case status.Status == http.StatusUnauthorized:
		reason := url + " needs a login (HTTP 401)"
		if says := header.Get("WWW-Authenticate"); says != "" {
			reason += ": WWW-Authenticate says " + scripted.Short([]byte(says))
		}
		return reason + "; give a token with --header \"Authorization: Bearer TOKEN\""
	case status.Status >= 300 && status.Status <= 399:
		return fmt.Sprintf("%s redirects (HTTP %d) to %s; give that URL, if it is the MCP endpoint", url, status.Status, scripted.Short([]byte(header.Get("Location"))))
	case status.Status == http.StatusNotFound:
		return url + " answers HTTP 404; give the URL of the MCP endpoint itself, which often ends in /mcp"
	}
	return fmt.Sprintf("%s refuses initialize: %s", url, status)
}
