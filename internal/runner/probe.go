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

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Revisions that the harness checks, oldest first.
var Revisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// handshakeRevisions are all released revisions that begin with initialize:
// what else a target speaks is asked of these.
var handshakeRevisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

const (
	// repliesToStart is how many times longer than others the very first answer
	// may take (by default a minute): a package runner may be downloading the
	// target, a virtual machine warming up.
	repliesToStart = 12
	// repliesToRestart is the same for a process that has started before: on a
	// loaded machine an interpreter needs its seconds.
	repliesToRestart = 6
)

// TargetError says that the target could not be started, reached or spoken to
// at all; the run has no results.
type TargetError struct{ Reason string }

func (e *TargetError) Error() string { return e.Reason }

// visit is one handshake and what it showed.
type visit struct {
	asked      string
	answered   string // the revision that the server answered with
	connection *scripted.Connection
	survey     *survey.Survey
	mute       string // what shows that it answers nothing but initialize, if it does not
	err        error
}

// refused returns the error that a server answered initialize with, if it did:
// over HTTP it may stand, without the request's id, in the body of a 400.
func (v *visit) refused() (*scripted.RefusedError, bool) {
	if status, isStatus := errors.AsType[*scripted.StatusError](v.err); isStatus && status.Status == http.StatusBadRequest {
		if refusal, there := jsonrpc.Parse(status.Body).Error(); there {
			return &scripted.RefusedError{Refusal: refusal}, true
		}
	}
	return errors.AsType[*scripted.RefusedError](v.err)
}

// probe makes first contact: it asks for the revisions of the run, and learns
// what the target declares and offers at each that it speaks. The very first
// answer may take as long as start. The connections stay open until they are
// judged.
func probe(ctx context.Context, room *transcript.Room, to scripted.Target, start time.Duration, policy Revise) ([]*visit, []string, error) {
	first := to
	first.Start = start
	newest := visitAt(ctx, room, first, policy.first(), true)
	if _, refused := newest.refused(); newest.err != nil && !refused {
		reason := targetError(ctx, to, newest) // first: the end may cut a line in two
		closeAll(ctx, newest)
		return nil, nil, reason
	}

	// The target was up once: what is asked next may not take as long.
	others := slices.DeleteFunc(slices.Clone(handshakeRevisions), func(revision string) bool { return revision == newest.asked })
	enough := policy.Auto && newest.spoken()
	visits := make([]*visit, len(others))
	var asking sync.WaitGroup
	for i, revision := range others {
		asking.Go(func() { visits[i] = visitAt(ctx, room, to, revision, policy.wants(revision) && !enough) })
		if heavy(room) {
			asking.Wait() // there is no room for several at once
		}
	}
	asking.Wait()
	visits = append(visits, newest)

	var speaks []string
	for _, one := range visits {
		if one.spoken() {
			speaks = append(speaks, one.asked)
		}
	}
	if newest.err == nil && !slices.Contains(speaks, newest.answered) {
		speaks = append(speaks, newest.answered)
	}
	slices.Sort(speaks)
	checkable := slices.ContainsFunc(Revisions, func(revision string) bool { return slices.Contains(speaks, revision) })
	if checkable || policy.named() {
		return visits, speaks, nil
	}
	closeAll(ctx, visits...)
	return nil, nil, unspeakable(ctx, to, newest, speaks)
}

// unspeakable says why none of the revisions that can be checked is spoken.
func unspeakable(ctx context.Context, to scripted.Target, newest *visit, speaks []string) error {
	if ctx.Err() != nil {
		return targetError(ctx, to, newest)
	}
	name := to.URL
	if to.Transport == scripted.OnStdio {
		name = commandLine(to.Command)
	}
	checked := "; what can be checked is " + strings.Join(Revisions, " and ")
	refusal, refused := newest.refused()
	if !refused {
		return &TargetError{Reason: name + " speaks " + strings.Join(speaks, " and ") + checked}
	}
	reason := fmt.Sprintf("%s speaks no revision that begins with initialize: %s", name, refusal)
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

// visitAt performs a handshake; when the revision is one to check and the
// target speaks it, the lists are read too.
func visitAt(ctx context.Context, room *transcript.Room, to scripted.Target, revision string, wanted bool) *visit {
	found := &visit{asked: revision}
	log := transcript.NewLogIn(room, fmt.Sprintf("survey-%s-%s", revision, to.Transport))
	connection, err := scripted.Dial(to, log)
	if err != nil {
		found.err = err
		return found
	}
	found.connection = connection
	handshake, err := connection.Initialize(ctx, scripted.Hello(revision, scripted.Everything(revision)))
	found.answered = handshake.Revision
	if err != nil && found.answered == "" {
		found.err = err
		return found
	}
	// A server that answers, and then takes no notification or is gone, speaks
	// the revision: the checks report what it does.
	if wanted && handshake.Revision == revision {
		noPing, silent := pinged(ctx, connection)
		if silent {
			found.mute = "after initialize the target answers nothing: " + noPing
			// It is asked once more for each list, and not waited for again and again.
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, to.Reply)
			defer cancel()
		}
		found.survey = survey.Take(ctx, connection, handshake)
		found.survey.NoPing = noPing
		if len(found.survey.Tools)+len(found.survey.Resources)+len(found.survey.Templates)+len(found.survey.Prompts) > 0 {
			found.mute = ""
		}
	}
	connection.Forget() // the survey and the record have what matters
	return found
}

// spoken tells whether the target speaks the revision that it was asked for.
func (v *visit) spoken() bool { return v.err == nil && v.asked == v.answered }

// pinged says why a ping, which every server must answer, brings no result, and
// whether it is left without any answer for as long as an answer may take.
func pinged(ctx context.Context, connection *scripted.Connection) (noPing string, silent bool) {
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
}

func (r Revise) first() string {
	if len(r.Listed) > 0 {
		return slices.Max(r.Listed)
	}
	return slices.Max(Revisions)
}

func (r Revise) wants(revision string) bool {
	if len(r.Listed) > 0 {
		return slices.Contains(r.Listed, revision)
	}
	return slices.Contains(Revisions, revision)
}

// named tells whether the user asked for certain revisions.
func (r Revise) named() bool { return len(r.Listed) > 0 }

// choose picks the revisions to report on, oldest first.
func (r Revise) choose(speaks []string) []string {
	switch {
	case len(r.Listed) > 0:
		return slices.Sorted(slices.Values(r.Listed))
	case r.All:
		return Revisions
	}
	for _, revision := range slices.Backward(Revisions) {
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
		Command: to.Command, URL: to.URL, Header: to.Header, Reply: to.Reply, Start: to.Start,
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
