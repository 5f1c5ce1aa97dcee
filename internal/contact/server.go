package contact

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/reach"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/wait"
	"github.com/mcpconform/mcpconform/reports"
)

const (
	// slowerStarts is how many times longer a start may take than the first did, which
	// had the machine more or less for itself.
	slowerStarts = 16
)

// visit is one opening of the target, a handshake or a server/discover, and what it
// showed.
type visit struct {
	asked        string
	handshake    scripted.Handshake // what the server says of itself
	err          error              // why it says nothing
	list         string             // of a server that does not let itself be discovered: the first list that it answers
	modern       bool               // and whether that is as the stateless era has it
	connection   *scripted.Connection
	started      time.Duration // that the first answer took
	broken       string        // in a line: how the opening differs from what the revision wants, which the server means to speak
	survey       *survey.Survey
	unresponsive string  // what shows that it answers nothing but initialize, if it does not
	astray       *Denial // that it answers on its stream; nil for none
	quit         *check.Quit
}

// refused returns the error that a server answered the opening with, if it did:
// over HTTP it may stand, without the request's id, in the body of a 400.
func (v *visit) refused() (*scripted.RefusedError, bool) {
	if _, unposted := errors.AsType[*scripted.UnpostedError](v.err); unposted {
		return nil, false // what was refused is another request
	}
	if status, isStatus := errors.AsType[*scripted.StatusError](
		v.err,
	); isStatus &&
		status.Status == http.StatusBadRequest {
		if refusal, there := jsonrpc.Parse(status.Body).Error(); there {
			return &scripted.RefusedError{Method: ask(v.asked), Refusal: refusal}, true
		}
	}
	return errors.AsType[*scripted.RefusedError](v.err)
}

// ask is the request that first contact at a revision makes.
func ask(revision string) string {
	if protocol.Has(revision, protocol.Discovery) {
		return "server/discover"
	}
	return "initialize"
}

// reached tells whether a visit shows that the target speaks MCP: by an answer, a refusal,
// or what was meant as one. A refusal of server/discover counts only with an error of the
// stateless era, since servers of the handshake era may refuse it with any error.
func (v *visit) reached() bool {
	refusal, refused := v.refused()
	return v.err == nil || refused && (!protocol.Has(v.asked, protocol.Discovery) || refusal.Modern()) ||
		v.streams() || v.resembling() != ""
}

// Server makes first contact with a server. The error is a *TargetError.
func Server(ctx context.Context, to scripted.Target, o Options) (*Found, error) {
	visits, err := probe(ctx, to, o)
	if crash, is := errors.AsType[*CrashError](err); is {
		crash.events = o.shown(crash.events)
		return &Found{Crash: crash}, nil
	}
	if err != nil {
		return nil, err
	}
	found := &Found{Speaks: spoken(visits), rest: visits}
	pace := paceOf(visits)
	for _, revision := range o.Revisions.Choose(found.Speaks, broken(visits)) {
		at := slices.IndexFunc(visits, func(one *visit) bool { return one.asked == revision })
		one := visits[at].opening(to)
		one.AlsoSpeaks = found.alsoSpeaks(revision)
		switch {
		case !one.Checkable() && o.Revisions.Named():
			one.Denial = visits[at].denied(one.Unspoken, pace, o)
		case one.Broken != "" && !one.Spoken:
			one.Denial = visits[at].denied(one.Broken, pace, o)
		case visits[at].astray != nil:
			one.Denial = visits[at].astray
		}
		found.Openings = append(found.Openings, one)
		if one.Connection = nil; one.Checkable() {
			one.Connection, visits[at].connection = visits[at].connection, nil
		}
	}
	return found, nil
}

// At makes first contact with a server at one revision, and with one of the stateless era at
// the last before it, too.
func At(ctx context.Context, to scripted.Target, revision string) *Opening {
	patient, stop := wait.WithTimeout(ctx, discoverPatience)
	defer stop()
	one := &visit{asked: revision}
	one.open(ctx, nil, to, patient.Done())
	visits := []*visit{one}
	if protocol.Has(revision, protocol.Discovery) {
		other := &visit{asked: protocol.Last(protocol.Handshake)}
		other.open(ctx, nil, to, nil)
		defer closeAll(ctx, other)
		visits = append(visits, other)
	}
	if !one.spoken() {
		one.broken = one.unlike(visits)
	}
	if one.spoken() || one.broken != "" {
		one.look(ctx, to)
		one.survey.Handshakes, one.survey.Tried = handshakes(visits), tried(visits)
		one.guarded(ctx, nil, to)
	}
	if one.connection != nil {
		one.connection.Forget()
	}
	return one.opening(to)
}

// opening is what a visit found.
func (v *visit) opening(to scripted.Target) *Opening {
	found := &Opening{
		Revision: v.asked, Spoken: v.survey != nil && v.spoken(), Broken: v.broken,
		Survey: v.survey, Unresponsive: v.unresponsive, Astray: v.astray != nil,
		Quit: v.quit, Connection: v.connection,
	}
	if protocol.Over(to.Transport).Processes() && v.connection != nil {
		found.Start = startOf(to, v.started)
	}
	if v.survey == nil {
		found.Broken, found.Unspoken = "", v.unspoken()
	} else {
		found.Info, found.Capabilities = v.survey.ServerInfo, v.survey.Capabilities
	}
	return found
}

// unspoken says in a line how it showed that a server does not speak the revision.
func (v *visit) unspoken() string {
	switch {
	case v.err != nil:
		return v.err.Error()
	case protocol.Has(v.asked, protocol.Discovery):
		return "the server supports " + strings.Join(v.handshake.Supported, " and ")
	}
	return fmt.Sprintf("asked for %s, the server answered with %s", v.asked, v.handshake.Revision)
}

// probe makes first contact: it asks for all revisions, and learns what the target
// declares and offers at those that are to be checked. The connections stay open
// until they are judged.
func probe(ctx context.Context, to scripted.Target, o Options) ([]*visit, error) {
	budget, policy := o.Budget, o.Revisions
	visits := meet(ctx, budget, to, policy)
	if locked := lock(visits, to, policy); locked != nil {
		return locked, nil
	}
	if !slices.ContainsFunc(visits, (*visit).reached) {
		reason := targetError(ctx, to, visits[len(visits)-1]) // first: the end may cut a line in two
		crash := crashed(ctx, to, visits, o.Served)
		closeAll(ctx, visits...)
		if crash != nil {
			return nil, crash
		}
		return nil, reason
	}
	for _, stage := range policy.stages() {
		for _, revision := range stage {
			if !slices.ContainsFunc(visits, func(one *visit) bool { return one.asked == revision }) {
				visits = append(visits, &visit{asked: revision})
			}
		}
		sideBySide(budget, visits, func(one *visit) {
			if one.connection == nil && one.err == nil {
				one.open(ctx, budget, to, nil)
			}
		})
		if len(spoken(visits)) > 0 {
			break
		}
	}
	diagnose(visits, policy, o.flawOf(to))
	chosen := policy.Choose(spoken(visits), broken(visits))
	if len(chosen) == 0 {
		reason := unspeakable(ctx, to, visits)
		closeAll(ctx, visits...)
		return nil, reason
	}
	sideBySide(budget, visits, func(one *visit) {
		if slices.Contains(chosen, one.asked) && (one.spoken() || one.broken != "") {
			one.look(ctx, to)
			one.survey.Handshakes, one.survey.Tried = handshakes(visits), tried(visits)
			one.guarded(ctx, budget, to)
			if one.connection != nil && one.usable() {
				one.quit = reach.FindQuit(ctx, budget, to, one.asked, one.connection.Log().Events())
			}
		}
		if one.connection != nil {
			one.connection.Forget() // the survey and the record have what matters
		}
	})
	for _, one := range visits {
		one.follow(visits, o)
	}
	return visits, nil
}

// sideBySide does something with all visits at once, or one after the other where there
// is no room for several.
func sideBySide(budget *transcript.MemoryBudget, visits []*visit, do func(*visit)) {
	var working sync.WaitGroup
	for _, one := range visits {
		working.Go(func() { do(one) })
		if Heavy(budget) {
			working.Wait()
		}
	}
	working.Wait()
}

// meet asks for the newest revision that is wanted. When that is of the stateless
// era, and the answer is none of such a server, or is late, it goes on with the
// handshake, in the order that the specification has for clients of both eras
// (2026-07-28, basic/transports/stdio#backward-compatibility): a server of the
// handshake era may answer in any way, or not at all. The visits are in the order in
// which they were begun.
func meet(ctx context.Context, budget *transcript.MemoryBudget, to scripted.Target, policy Revise) []*visit {
	first := &visit{asked: policy.first()}
	if !protocol.Has(first.asked, protocol.Discovery) {
		first.open(ctx, budget, to, nil)
		return []*visit{first}
	}
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	late, opened := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(opened)
		first.open(asking, budget, to, late)
	}()
	select {
	case <-opened:
		if first.reached() {
			return []*visit{first}
		}
	case <-wait.After(ctx, discoverPatience):
		close(late)
	}
	shaken := &visit{asked: protocol.Last(protocol.Handshake)}
	shaken.open(ctx, budget, to, nil)
	if shaken.reached() {
		patience := max(discoverPatience, shaken.started)
		if policy.Named() {
			patience = to.Reply
		}
		patient, stop := wait.WithTimeout(asking, patience)
		defer stop()
		context.AfterFunc(patient, giveUp)
	}
	<-opened
	if asking.Err() != nil && ctx.Err() == nil && first.err != nil {
		first.err = errors.New("server/discover was not answered, while initialize was")
	}
	return []*visit{first, shaken}
}

// discoverPatience is how long server/discover may be unanswered before the
// handshake is tried beside it, and once more when that is answered, unless that took
// longer.
const discoverPatience = time.Second

// spoken lists the revisions that the target speaks, oldest first: those that it answered
// with, and those that it lists that are no release known to the harness.
func spoken(visits []*visit) []string {
	var speaks []string
	for _, one := range visits {
		if one.spoken() {
			speaks = append(speaks, one.asked)
		}
		for _, revision := range one.handshake.Supported {
			if !slices.Contains(protocol.Released(), revision) {
				speaks = append(speaks, revision)
			}
		}
	}
	slices.Sort(speaks)
	return slices.Compact(speaks)
}

// broken lists the revisions that the target means to speak and whose opening it gets
// wrong, oldest first.
func broken(visits []*visit) []string {
	var revisions []string
	for _, one := range visits {
		if one.broken != "" {
			revisions = append(revisions, one.asked)
		}
	}
	slices.Sort(revisions)
	return revisions
}

// handshakes lists the revisions of the handshake era that the target has agreed to,
// oldest first.
func handshakes(visits []*visit) []string {
	var agreed []string
	for _, one := range visits {
		if one.handshake.Agreed && protocol.Has(one.asked, protocol.Handshake) &&
			slices.Contains(protocol.Released(), one.handshake.Revision) {
			agreed = append(agreed, one.handshake.Revision)
		}
	}
	slices.Sort(agreed)
	return slices.Compact(agreed)
}

// tried lists the revisions of the handshake era that the target was asked for, oldest first.
func tried(visits []*visit) []string {
	var asked []string
	for _, one := range visits {
		if protocol.Has(one.asked, protocol.Handshake) {
			asked = append(asked, one.asked)
		}
	}
	return slices.Sorted(slices.Values(asked))
}

// unspeakable says why none of the revisions that can be checked is spoken.
func unspeakable(ctx context.Context, to scripted.Target, visits []*visit) error {
	speaks := spoken(visits)
	if ctx.Err() != nil {
		return targetError(ctx, to, visits[0])
	}
	name := to.URL
	if to.Transport == protocol.Stdio {
		name = commandLine(to.Command)
	}
	checked := "; mcpconform checks " + reports.Series(protocol.Released())
	if len(speaks) > 0 {
		return &TargetError{Reason: name + " speaks " + reports.Series(speaks) + checked}
	}
	refusing := slices.IndexFunc(visits, (*visit).reached) // by a refusal, since it speaks nothing
	refusal, _ := visits[max(0, refusing)].refused()
	if refusal == nil {
		return &TargetError{Reason: name + " names no revision that it speaks" + checked}
	}
	reason := fmt.Sprintf("%s speaks no known revision: %s", name, refusal)
	if supported := refusal.Supported(); len(supported) > 0 {
		reason += "; it lists as supported " + reports.Series(supported)
	}
	return &TargetError{Reason: reason + checked}
}

// closeAll ends the connections, which are no longer needed, concurrently.
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

// open opens the target at the revision. When late is closed and a server of the
// stateless era has not let itself be discovered, it is asked for a list beside.
func (v *visit) open(ctx context.Context, budget *transcript.MemoryBudget, to scripted.Target, late <-chan struct{}) {
	log := transcript.NewLogIn(budget, fmt.Sprintf("survey-%s-%s", v.asked, to.Transport))
	connection, err := scripted.Dial(to, log)
	if err != nil {
		v.err = err
		return
	}
	v.connection = connection
	begun := time.Now()
	if protocol.Has(v.asked, protocol.Discovery) {
		v.discover(ctx, late)
	} else {
		v.handshake, v.err = connection.Initialize(ctx, scripted.Hello(v.asked, scripted.Everything(v.asked)))
	}
	v.started = firstAnswer(connection, begun)
	if v.handshake.Agreed {
		// A server that answers, and then takes no notification or is gone, speaks
		// the revision: the checks report what it does.
		v.err = nil
	}
}

// paceOf is how long the slowest of some openings took that were answered.
func paceOf(visits []*visit) scope.Pace {
	pace := scope.Pace{}
	for _, one := range visits {
		if one.err == nil && one.started > 0 {
			pace.Add(scope.Pace{scope.Starting: one.started})
		}
	}
	return pace
}

// firstAnswer is how long the server took to say something, from when the harness last
// did, or now, when it has said nothing: what was never answered says nothing of how long
// a start takes.
func firstAnswer(connection *scripted.Connection, begun time.Time) time.Duration {
	for _, event := range connection.Log().Events() {
		switch {
		case !event.IsContent():
		case event.From == protocol.Server:
			return event.At.Sub(begun)
		case event.At.After(begun):
			begun = event.At
		}
	}
	return time.Since(begun)
}

// discover asks the server what it is. One that does not let itself be discovered may
// serve the revision otherwise, which its answers to lists show.
func (v *visit) discover(ctx context.Context, late <-chan struct{}) {
	asked := make(chan *scripted.Pending, 1)
	over := make(chan struct{})
	go func() {
		defer close(asked)
		select {
		case <-late:
			asked <- v.connection.Start(ctx, survey.Lists[0], nil)
		case <-over:
		}
	}()
	v.handshake, v.err = v.connection.Discover(ctx, v.asked, scripted.Everything(v.asked))
	close(over)
	pending := <-asked
	elsewhere := v.elsewhere()
	if !elsewhere && (v.handshake.Agreed || pending == nil && !v.rejected()) {
		return
	}
	if !elsewhere && !v.rejected() {
		var settled context.CancelFunc
		ctx, settled = context.WithCancel(ctx)
		settled() // what has not come by now is not waited for
	}
	for _, method := range survey.Lists {
		if pending == nil {
			pending = v.connection.Start(ctx, method, nil)
		}
		answer, err := pending.Wait(ctx)
		_, refused := errors.AsType[*scripted.StatusError](err)
		if err != nil && !refused || v.listed(method, answer) {
			return
		}
		pending = nil
	}
}

// elsewhere tells whether the server lets itself be discovered, and lists released
// revisions without the one that it was asked at.
func (v *visit) elsewhere() bool {
	listed := v.handshake.Supported
	return v.handshake.Agreed && !slices.Contains(listed, v.asked) &&
		slices.ContainsFunc(
			listed,
			func(revision string) bool { return slices.Contains(protocol.Released(), revision) },
		)
}

// rejected tells whether server/discover was rejected as a method that is not known or
// not welcome, and not for want of a login or the like.
func (v *visit) rejected() bool {
	if status, isStatus := errors.AsType[*scripted.StatusError](v.err); isStatus {
		return slices.Contains(
			[]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed},
			status.Status,
		)
	}
	refusal, refused := v.refused()
	return refused && !refusal.Modern()
}

// listed remembers how a list was answered, and tells whether it was.
func (v *visit) listed(method string, answer scripted.Received) bool {
	result, _ := answer.Result()
	members, isObject := result.(map[string]any)
	if isObject {
		v.list = method
		_, v.modern = members["resultType"].(string) // which no result of the handshake era has
	}
	return isObject
}

// look learns what the target declares and offers, as far as the opening went.
func (v *visit) look(ctx context.Context, to scripted.Target) {
	if !v.usable() {
		v.unresponsive = "not tried, as the opening fails: " + v.broken
		v.survey = survey.Unopened(v.asked, v.handshake, v.unresponsive)
		return
	}
	noPing, silent := "", false
	undiscovered := protocol.Has(v.asked, protocol.Discovery) && !v.handshake.Agreed
	switch {
	case undiscovered:
		v.handshake.Capabilities = map[string]any{
			"tools":     map[string]any{},
			"resources": map[string]any{},
			"prompts":   map[string]any{},
		}
	case protocol.Has(v.asked, protocol.Ping):
		noPing, silent = v.pinged(ctx)
	}
	if silent {
		v.unresponsive = "the target answers nothing after initialize: " + noPing
		// It is asked once more for each list, and not waited for again and again.
		var cancel context.CancelFunc
		ctx, cancel = wait.WithTimeout(ctx, to.Reply)
		defer cancel()
	}
	v.survey = survey.Take(ctx, v.connection, v.asked, v.handshake)
	switch {
	case undiscovered:
		v.survey.Infer(v.list)
	case noPing != "":
		v.survey.NoPing(noPing)
	}
	if len(v.survey.Tools)+len(v.survey.Resources)+len(v.survey.Templates)+len(v.survey.Prompts) > 0 {
		v.unresponsive = ""
	}
}

// usable tells whether requests of the revision can be made on the connection.
func (v *visit) usable() bool {
	if protocol.Has(v.asked, protocol.Discovery) {
		return v.handshake.Agreed || v.modern
	}
	return v.handshake.Agreed &&
		(v.handshake.Revision == v.asked || !slices.Contains(protocol.Released(), v.handshake.Revision))
}

// spoken tells whether the target speaks the revision that it was asked for.
func (v *visit) spoken() bool { return v.err == nil && v.asked == v.handshake.Revision }

// pinged says why a ping, which every server must answer, brings no result, and
// whether it is left without any answer for as long as an answer may take.
func (v *visit) pinged(ctx context.Context) (noResult string, silent bool) {
	id := v.connection.NextID()
	if v.connection.Transport().SharesStream() {
		id = v.ownID()
	}
	answer, err := v.connection.StartRaw(ctx, id, "ping", scripted.Outgoing{}, nil).Settle(ctx)
	if err != nil {
		return err.Error(), errors.Is(err, scripted.ErrTimeout)
	}
	if _, there := answer.Result(); !there {
		return "it is answered with " + excerpt.Short(answer.Raw), false
	}
	return "", false
}

// startOf is how long the target of a cell may take to start, when it has taken so long
// at first contact.
func startOf(to scripted.Target, first time.Duration) time.Duration {
	return min(to.Start, to.Reply+(slowerStarts*first).Round(time.Second))
}
