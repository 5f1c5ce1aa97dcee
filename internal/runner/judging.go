package runner

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// Judging judges what came of scenarios over a transport of HTTP at one revision, where the harness does
// not start the client: a person lets it do what a scenario says. It may be used from several
// goroutines.
type Judging struct {
	options     Options
	started     time.Time
	cell        check.Cell
	declared    *run // of which nothing was run: what checks there are
	environment *session.Environment
	scenes      []Scene

	mu     sync.Mutex // one worker at a time: each takes memory
	spoken bool       // some recording has shown that the client speaks the revision
}

// Scene is a scenario with the checks that look at it.
type Scene struct {
	Scenario *scenario.Scenario
	Checks   []plan.Declared
}

const (
	// roomOfScenes bounds what is kept of all scenarios together. It is sent to a worker
	// and decoded there, which takes several times as much.
	budgetOfScenes = 32 << 20
	// longestInScene is the longest message that is taken.
	longestInScene = 2 << 20
)

// NewJudging makes one, over Streamable HTTP unless the options name another transport. The error is a *plan.FilterError when no check of a client matches
// the filter.
func NewJudging(options Options, revision string) (*Judging, error) {
	options.Role = protocol.ClientRole
	if len(options.Transports) == 0 {
		options.Transports = []string{protocol.HTTP}
	}
	options.Revisions = contact.Revise{Listed: []string{revision}}
	if options.MaxMessage == 0 {
		options.MaxMessage = longestInScene
	}
	if err := options.defaults(); err != nil {
		return nil, err
	}
	j := &Judging{
		options: options,
		started: time.Now(),
		cell:    check.Cell{Role: protocol.ClientRole, Revision: revision, Transport: options.Transports[0]},
	}
	memory.Confine(memory.Whole - memory.Alone) // which is the worker's
	r := j.run(map[string]*scenario.Recording{}, &contact.Opening{Spoken: true, Survey: &survey.Survey{}})
	if err := r.readFilter(); err != nil {
		return nil, err
	}
	if err := r.declare(); err != nil {
		return nil, err
	}
	j.declared, j.environment = r, r.planned[0]
	j.environment.Budget = transcript.NewMemoryBudget(budgetOfScenes)
	j.scenes = scenes(j.environment.Client.Scenarios(), r.declared)
	return j, nil
}

// scenes are the scenarios in which some of the checks look, and the one by which every
// client can be met. Those about authorization need servers on ports of their own, and
// are played to clients that a command starts.
func scenes(scenarios []*scenario.Scenario, declared []plan.Declared) []Scene {
	looking := map[string][]plan.Declared{}
	for _, check := range declared {
		if check.Scenario != nil {
			looking[check.Scenario.Name] = append(looking[check.Scenario.Name], check)
		}
	}
	all := []Scene{{Scenario: scenario.Meeting, Checks: looking[scenario.Meeting.Name]}}
	for _, one := range scenarios {
		if checks := looking[one.Name]; len(checks) > 0 && one != scenario.Meeting && one.Protected == nil {
			all = append(all, Scene{Scenario: one, Checks: checks})
		}
	}
	return all
}

// Revision is the one that the scripted servers speak.
func (j *Judging) Revision() string { return j.cell.Revision }

// Transport is the one over which they are reached.
func (j *Judging) Transport() protocol.Transport { return protocol.Over(j.cell.Transport) }

// Scenes are the scenarios that can be played, the meeting first.
func (j *Judging) Scenes() []Scene { return j.scenes }

// Open begins to play a scenario.
func (j *Judging) Open(scenario *scenario.Scenario) *scenario.Playing {
	return j.environment.Client.Driver().Open(scenario)
}

// Judge judges recordings as they are now: more may come of them.
func (j *Judging) Judge(ctx context.Context, recordings ...*scenario.Recording) (*reports.Run, error) {
	return j.judge(ctx, "", recordings)
}

// Conclude judges recordings of which no more will come, and keeps their
// transcripts where the options want it. When the context ends before, the report has
// what was judged until then. The error is a *TargetError when no client came to any
// of them; the report says so, too.
func (j *Judging) Conclude(ctx context.Context, recordings ...*scenario.Recording) (*reports.Run, error) {
	return j.judge(ctx, j.options.Transcripts, recordings)
}

func (j *Judging) judge(
	ctx context.Context,
	transcripts string,
	recordings []*scenario.Recording,
) (*reports.Run, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	records := map[string]*scenario.Recording{}
	for _, recording := range recordings {
		if recording.Connected() {
			records[recording.Scenario] = recording
		}
	}
	if len(records) == 0 {
		return j.run(
				nil,
				&contact.Opening{},
			).report, &contact.TargetError{
				Reason: "no client connected to any scenario",
			}
	}
	r := j.run(records, j.meet(records))
	r.options.Transcripts, r.plan.Events = transcripts, transcripts != ""
	r.catalogue, r.plan.Catalogue, r.plan.Filter = j.declared.catalogue, j.declared.catalogue, j.declared.plan.Filter
	r.chosen, r.declared = j.declared.chosen, j.declared.declared
	r.report.Filter, r.report.Profile = j.declared.report.Filter, j.declared.report.Profile
	if state := r.cells[0]; state.planned >= 0 {
		like := j.declared.cells[0]
		state.environment, state.rules, state.otherTransport, state.all = like.environment, like.rules, like.otherTransport, like.all
	}
	if err := r.recall(ctx); err != nil {
		return nil, err
	}
	r.cells[0].report.Scenarios = &reports.Scenarios{Played: len(records), All: len(j.scenes)}
	r.merge()
	if ctx.Err() != nil {
		r.report.Interrupted = "judging the recordings: " + context.Cause(ctx).Error()
	}
	r.report.Duration = reports.SecondsOf(time.Since(r.report.Started))
	return reports.RedactAll(j.options.Redactor, r.report), nil
}

// meet looks who came. A client that has shown in one scenario that it speaks the
// revision need not show it in another.
func (j *Judging) meet(records map[string]*scenario.Recording) *contact.Opening {
	met := contact.Read(j.cell.Revision, j.spoken, func(yield func([]*rules.Conversation) bool) {
		for _, name := range slices.Sorted(maps.Keys(records)) {
			var conversations []*rules.Conversation
			for _, connection := range records[name].Connections {
				conversations = append(
					conversations,
					rules.NewConversation(j.cell, connection.Events, connection.Complete),
				)
			}
			if !yield(conversations) {
				return
			}
		}
	})
	j.spoken = met.Spoken
	return met
}

// run makes a run of which everything is recorded.
func (j *Judging) run(records map[string]*scenario.Recording, met *contact.Opening) *run {
	r := newRun(j.options, j.started)
	r.plan = worker.Plan{Workers: 1, Policy: provoke.Policy{Calls: j.options.Calls}}
	r.addCell(met, worker.Cell{
		Cell: j.cell, Reply: j.options.Timeout, MaxMessage: j.options.MaxMessage,
		Survey: &survey.Survey{Revision: j.cell.Revision}, Recordings: records,
	}, "")
	return r
}
