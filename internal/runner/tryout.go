package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/reach"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/tryout"
	"github.com/mcpconform/mcpconform/internal/worker"
)

const (
	// repliesToTry is how many replies all tools of a cell together may take to be tried.
	repliesToTry = 3
	// mostToTry bounds that, however long a reply may take.
	mostToTry = 15 * time.Second
	// quietAfter is how long to listen after each call for what comes on another stream.
	quietAfter = 50 * time.Millisecond
)

// tryTools calls the tools of which it is unknown what they provoke, on cells where a check
// needs a provocation that neither the config nor a known server names.
func (r *run) tryTools(ctx context.Context) {
	r.phase("calling tools to see what they provoke")
	var trying sync.WaitGroup
	for index := range r.plan.Cells {
		if r.options.Role == protocol.ServerRole && r.lacks(index) {
			trying.Go(func() { r.tryCell(ctx, index) })
		}
		if contact.Heavy(r.budget) {
			trying.Wait()
		}
	}
	trying.Wait()
}

// lacks tells whether a chosen check of a cell needs a provocation that there is not.
func (r *run) lacks(index int) bool {
	return slices.ContainsFunc(r.declared, func(check plan.Declared) bool {
		return check.Cell == index && r.planned[index].Lacks(check.Check) != ""
	})
}

func (r *run) tryCell(ctx context.Context, index int) {
	environment := r.planned[index]
	if r.mute(index) {
		return
	}
	calls, _ := environment.Callable()
	calls = slices.DeleteFunc(calls, func(call provoke.Provocation) bool { return environment.Named(call) })
	found := r.try(ctx, environment, calls)
	provoked := found.Provocations()
	environment.Provoked, r.plan.Cells[index].Provoked = provoked, provoked
	answering := found.Answering()
	environment.Answering, r.plan.Cells[index].Answering = answering, answering
	state := r.state(index)
	if len(provoked) > 0 {
		state.report.Notices = append(state.report.Notices, triedNotice(provoked))
	}
	if fatal := neverAnswered(found); fatal != "" && environment.Transport == protocol.HTTP {
		if why, late := reach.Unreachable(&environment.Offer); why != "" {
			state.gone(r.redact(why), late)
			state.report.Ended.After = "tools/call " + fatal
		}
	}
}

// neverAnswered names the first tool that did not answer when it was tried; "" for none. Over
// HTTP it may have taken the server with it; over stdio each connection has one of its own.
func neverAnswered(found tryout.Found) string {
	for _, tool := range found.Tools {
		if tool.Outcome == tryout.Silent {
			return tool.Tool
		}
	}
	return ""
}

// mute tells whether nothing can be asked of the target of a cell.
func (r *run) mute(index int) bool {
	offered := r.planned[index].Survey
	return offered.Locked != "" || offered.Closed != "" || r.state(index).unresponsive != ""
}

// try calls tools on a connection of their own, which is judged like all others.
func (r *run) try(ctx context.Context, environment *session.Environment, calls []provoke.Provocation) tryout.Found {
	if len(calls) == 0 {
		return tryout.Found{}
	}
	connection, err := r.converse(ctx, environment)
	if connection != nil {
		defer r.closing.Go(func() { environment.JudgeConnection(ctx, connection) })
	}
	if err != nil {
		return tryout.Found{} // what is wrong with the opening the checks find out
	}
	return tryout.Tools(ctx, connection, tryout.Order{
		Revision: environment.Revision, Survey: environment.Survey, Calls: calls,
		Most: min(repliesToTry*environment.Target.Reply, mostToTry), Quiet: quietAfter,
	})
}

// converse opens a connection whose client offers everything.
func (r *run) converse(ctx context.Context, environment *session.Environment) (*scripted.Connection, error) {
	log := transcript.NewLogIn(r.budget, fmt.Sprintf("tools-%s-%s", environment.Revision, environment.Transport))
	connection, err := scripted.Dial(environment.Target, log)
	if err != nil {
		return nil, err
	}
	connection.AnswerAll()
	capabilities := tryout.Capabilities(environment.Revision)
	if protocol.Has(environment.Revision, protocol.Discovery) {
		_, err = connection.Discover(ctx, environment.Revision, capabilities)
	} else {
		_, err = connection.Initialize(ctx, scripted.Hello(environment.Revision, capabilities))
	}
	connection.Learn(environment.Survey.Tools)
	return connection, err
}

// triedNotice tells what the tools were found to provoke.
func triedNotice(provoked map[string]provoke.Provocation) string {
	var found []string
	for _, kind := range slices.Sorted(maps.Keys(provoked)) {
		found = append(found, kind+" by "+provoked[kind].Tool)
	}
	return "found by trying the tools: " + strings.Join(found, ", ")
}

// Look is what a server shows when it is met and its tools are tried.
type Look struct {
	check.Cell
	AlsoSpeaks []string // other revisions, over the same transport
	Survey     *survey.Survey
	Tried      tryout.Found
	Known      []string // tools of servers that are known, which need not be tried
	Unmade     []string // tools for which no arguments could be made
	Uncalled   []string // tools that may not be called
	Missing    []string // kinds of provocations that checks need, and nothing shows; sorted
}

// LookAt meets a server at the newest revision that it speaks and tries its tools: those
// that the options allow, and the others, if may allows it, which is asked once, and only
// when there are some. The error is a *TargetError when the server could not be started,
// reached or spoken to.
func LookAt(ctx context.Context, options Options, may func(tools []string) bool) (*Look, error) {
	if err := options.defaults(); err != nil {
		return nil, err
	}
	var found *Look
	err := withinDeadline(ctx, options, func(ctx context.Context) (err error) {
		found, err = newRun(options, time.Now()).look(ctx, may)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// look does so.
func (r *run) look(ctx context.Context, may func(tools []string) bool) (*Look, error) {
	options := r.options
	r.budget = transcript.NewMemoryBudget(memory.BudgetAlone)
	r.plan = worker.Plan{Workers: 1, Policy: options.Policy}
	err := r.meet(ctx)
	if err == nil {
		err = r.declare()
	}
	for _, one := range r.opened {
		r.closing.Go(func() { one.connection.Close(ctx) })
	}
	defer r.closing.Wait()
	if err != nil {
		return nil, err
	}
	index := len(r.plan.Cells) - 1
	environment := r.planned[index]
	if r.mute(index) {
		offered := environment.Survey
		return nil, &contact.TargetError{Reason: cmp.Or(offered.Locked, offered.Closed, r.state(index).unresponsive)}
	}
	found := &Look{Cell: environment.Cell, AlsoSpeaks: r.state(index).report.AlsoSpeaks, Survey: environment.Survey}
	if uncalled := uncallable(environment); len(uncalled) > 0 && options.Calls != provoke.CallNone && may(uncalled) {
		environment.Calls = provoke.CallAll
	}
	found.Uncalled = uncallable(environment)
	calls, unmade := environment.Callable()
	calls = slices.DeleteFunc(calls, func(call provoke.Provocation) bool {
		known := environment.Named(call)
		if known {
			found.Known = append(found.Known, call.Tool)
		}
		return known
	})
	found.Unmade, found.Tried = unmade, r.try(ctx, environment, calls)
	environment.Provoked = found.Tried.Provocations()
	found.Missing = r.missing(index)
	return found, nil
}

// missing are the kinds of provocations that checks of a cell lack, sorted.
func (r *run) missing(index int) []string {
	kinds := map[string]bool{}
	for _, check := range r.declared {
		if check.Cell == index {
			kinds[r.planned[index].Lacks(check.Check)] = true
		}
	}
	delete(kinds, "")
	return slices.Sorted(maps.Keys(kinds))
}

// uncallable are the listed tools that may not be called.
func uncallable(environment *session.Environment) []string {
	var names []string
	for _, tool := range environment.Survey.Tools {
		if name, _ := tool["name"].(string); !environment.MayCall(tool) {
			names = append(names, name)
		}
	}
	return names
}
