package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/reports"
)

// meeting is what came of the first contact with a client at one revision.
type meeting struct {
	revision     string
	err          error // it could not be started
	came, spoken bool
	note         string // why it is not spoken
	departure    conform.Departure
	info         conform.Object
	capabilities any
}

// meetClient makes first contact with a target client: over each transport it
// plays one story at each revision.
func (r *run) meetClient(ctx context.Context) error {
	for _, transportName := range r.options.Transports {
		to := r.reachClient(transportName)
		if err := r.addClientLegs(ctx, to, r.meetings(ctx, to)); err != nil {
			return err
		}
	}
	return nil
}

// meetings are those at all revisions, of which there is but one with a client that
// does not come.
func (r *run) meetings(ctx context.Context, to scripted.Target) []*meeting {
	first := r.meetAt(ctx, to, r.options.Revisions.first(), false)
	all := []*meeting{first}
	if !first.came {
		return all
	}
	var meetings sync.WaitGroup
	var adding sync.Mutex
	for _, revision := range Revisions {
		if revision == first.revision {
			continue
		}
		meetings.Go(func() {
			one := r.meetAt(ctx, to, revision, first.departure.Ended)
			adding.Lock()
			defer adding.Unlock()
			all = append(all, one)
		})
		if heavy(r.room) {
			meetings.Wait() // there is no room for several at once
		}
	}
	meetings.Wait()
	slices.SortFunc(all, func(a, b *meeting) int { return cmp.Compare(a.revision, b.revision) })
	return all
}

// reachClient says how the client is started over a transport.
func (r *run) reachClient(transportName string) scripted.Target {
	to := scripted.Target{
		Transport: transportName, Command: r.options.Command, Reply: r.options.Timeout, Limits: r.limits(),
	}
	if len(to.Command.Args) == 0 {
		to.Command = r.itself("reference", "client")
		if transportName == scripted.OnStdio {
			to.Command.Args = append(to.Command.Args, "--")
		}
	}
	return to
}

func (r *run) meetAt(ctx context.Context, to scripted.Target, revision string, hasty bool) *meeting {
	environment := &conform.Environment{
		Leg:    conform.Leg{Role: conform.ClientRole, Revision: revision, Transport: to.Transport},
		Target: to, Room: r.room, Launch: launcher(to.Command), Hasty: hasty,
	}
	met := &meeting{revision: revision}
	met.err = environment.Meet(ctx, func(client *conform.Client) {
		met.departure = client.Departure
		met.read(client.Conversations)
	})
	return met
}

// read finds out whether the client speaks the revision.
func (m *meeting) read(conversations []*conform.Conversation) {
	m.came = len(conversations) > 0
	m.note = "not spoken: the client never connected"
	for _, conversation := range conversations {
		if m.spoken = m.readConversation(conversation); m.spoken {
			return
		}
	}
}

func (m *meeting) readConversation(conversation *conform.Conversation) bool {
	if scripted.Stateless(m.revision) {
		return m.readRequests(conversation)
	}
	hello := conversation.Requests("initialize")
	if len(hello) == 0 {
		m.note = "not spoken: the client did not send initialize, but " + methodsOf(conversation)
		return false
	}
	first := hello[len(hello)-1]
	m.info, _ = first.ParamsObject()["clientInfo"].(map[string]any)
	m.capabilities = first.ParamsObject()["capabilities"]
	if len(first.Answers) > 0 && slices.ContainsFunc(conversation.ByTarget(), func(said *conform.Said) bool { return said.Index > first.Answers[0].Index }) {
		return true
	}
	m.note = fmt.Sprintf("not spoken: the client asked for %s, and said nothing more when the server answered with %s",
		conform.Show(first.ParamsObject()["protocolVersion"]), m.revision)
	return false
}

func (m *meeting) readRequests(conversation *conform.Conversation) bool {
	for _, said := range conversation.ByTarget() {
		meta := said.Meta()
		if said.Kind == jsonrpc.Request && meta[scripted.MetaVersion] == m.revision {
			m.info, _ = meta[scripted.MetaClientInfo].(map[string]any)
			m.capabilities = meta[scripted.MetaCapabilities]
			return true
		}
	}
	m.note = "not spoken: the client sent no request that names " + m.revision + ", but " + methodsOf(conversation)
	return false
}

func methodsOf(conversation *conform.Conversation) string {
	var methods []string
	for _, said := range conversation.ByTarget() {
		if said.Method != "" && !slices.Contains(methods, said.Method) {
			methods = append(methods, said.Method)
		}
	}
	const most = 5
	switch {
	case len(methods) == 0:
		return "nothing"
	case len(methods) > most:
		methods = append(methods[:most], "more")
	}
	return strings.Join(methods, ", ")
}

// addClientLegs adds the legs of one transport. The error is a *TargetError when
// there is nothing to check.
func (r *run) addClientLegs(ctx context.Context, to scripted.Target, meetings []*meeting) error {
	var speaks []string
	for _, met := range meetings {
		if met.err != nil {
			return &TargetError{Reason: met.err.Error()}
		}
		if met.spoken {
			speaks = append(speaks, met.revision)
		}
	}
	came := slices.ContainsFunc(meetings, func(met *meeting) bool { return met.came })
	switch {
	case (!came || len(speaks) == 0) && ctx.Err() != nil:
		return context.Cause(ctx)
	case !came:
		return absent(meetings[0].departure)
	case len(speaks) == 0 && !r.options.Revisions.named():
		return foreign(meetings)
	}
	for _, revision := range r.options.Revisions.choose(speaks, nil) {
		at := slices.IndexFunc(meetings, func(met *meeting) bool { return met.revision == revision })
		met := meetings[at]
		others := slices.DeleteFunc(slices.Clone(speaks), func(other string) bool { return other == revision })
		r.addClientLeg(met, others, leg{
			Leg:     conform.Leg{Role: conform.ClientRole, Revision: revision, Transport: to.Transport},
			Command: to.Command, Reply: to.Reply, MaxMessage: to.Limits.Message,
			Survey: &survey.Survey{Revision: revision}, Hasty: met.departure.Ended,
		})
	}
	return nil
}

// addClientLeg adds a leg, which is checked when the client speaks its revision.
func (r *run) addClientLeg(met *meeting, alsoSpeaks []string, planned leg) {
	state := &legState{planned: -1, findings: map[int]*found{}}
	state.report = reports.Leg{
		Role: planned.Role, Revision: planned.Revision, Transport: planned.Transport, AlsoSpeaks: alsoSpeaks,
	}
	r.legs = append(r.legs, state)
	if !met.spoken {
		state.report.Note = met.note
		return
	}
	state.report.Spoken = true
	state.report.Target = identity(met.info)
	state.report.Capabilities = rawJSON(met.capabilities)
	state.planned = len(r.plan.Legs)
	r.plan.Legs = append(r.plan.Legs, planned)
}

// foreign says that a client speaks no revision that can be checked.
func foreign(meetings []*meeting) error {
	var notes []string
	for _, met := range meetings {
		notes = append(notes, met.revision+" is "+met.note)
	}
	return &TargetError{Reason: "the client speaks no revision that is checked: " + strings.Join(notes, "; ")}
}

// absent says how a client ended that did not come.
func absent(departure conform.Departure) error {
	how := departure.Exit
	if departure.Ended {
		how = "did not end by itself"
	}
	reason := "the client never connected to the scripted server, and " + how +
		"; see that its command takes the URL as its last argument, or at " + URLPlace +
		", or the command of the server at " + ServerPlace
	if stderr := lastLines(string(departure.Stderr)); stderr != "" {
		reason += "\nits standard error ended with:\n" + indent(stderr)
	}
	return &TargetError{Reason: reason}
}
