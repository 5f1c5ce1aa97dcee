package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/issuer"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// Examination is one cell that is run within this process, one check after the
// other, each on connections of its own; the checks of a client share the scenarios
// that it plays. A process does one at a time.
type Examination struct {
	check.Cell
	Target       scripted.Target
	Launch       scenario.Launch // of a client, of which no survey is taken
	Alter        func(*scenario.Recording)
	Catalogue    *catalogue.Catalogue
	Registration issuer.Registration // for the client of an authorization server
	Access       *offer.Access       // of a server that asks for authorization; nil for none
	Rules        []rules.Rule
	// Known is what a survey found before; nil when there was none.
	Known *survey.Survey
	// Contact takes a survey anew. Where none can be had, the known one stands.
	Contact bool
	// Wants tells whether to run a check; nil for all. Differs tells whether the survey
	// answers a question otherwise than the known one.
	Wants func(one *check.Declaration, differs func(survey.Question) bool) bool
	// Asked is told what a check wants to know of the survey; it may be nil.
	Asked func(survey.Question)
	// Turn is told what begins: a check, by name, or with "" the first contact.
	// What it has begun is over, to the last connection, before the next. If it
	// is nil, checks begin while the connections of others end.
	Turn func(check string)
}

// Examined is what an examination found.
type Examined struct {
	// Results of the checks that ran and of all rules, as they are: also where
	// several tell of the same cause.
	Results     []reports.Result
	Unexplained []string       // the checks that have seen nothing, and do not say themselves why
	Survey      *survey.Survey // that the checks ran with
	Errors      []string       // of the harness itself
}

// Examine runs an examination. It needs a survey: a known one, or a target that
// answers.
func Examine(ctx context.Context, e Examination) (*Examined, error) {
	defer context.AfterFunc(ctx, worker.Interrupt)()
	met := &contact.Opening{}
	if e.Role != protocol.ServerRole { // of which there is no survey
		e.Known = &survey.Survey{Revision: e.Revision}
	}
	if e.Contact || e.Known == nil {
		e.turn("")
		if met = contact.At(ctx, e.Target, e.Revision); met.Start > 0 {
			e.Target.Start = met.Start
		}
	}
	offered := e.Known
	if met.Survey != nil {
		offered = asSent(met.Survey)
	}
	if offered == nil {
		met.Close(ctx)
		return nil, &contact.TargetError{Reason: "cannot list what the server offers: " + met.Unspoken}
	}
	x := e.begin(ctx, offered, met.Unresponsive)
	if met.Connection != nil {
		x.environment.JudgeConnection(ctx, met.Connection)
	}
	chosen := func(_ *session.Environment, one *check.Declaration) bool {
		return e.Wants == nil || e.Wants(one, x.differs)
	}
	worker.Perform([][]*session.Environment{{x.environment}}, x, chosen, worker.All, nil)
	x.addRules(x.cells[0])
	return &Examined{
		Results: x.cells[0].report.Results, Unexplained: x.unexplained, Survey: offered, Errors: x.report.Errors,
	}, nil
}

// asSent returns a survey as it is when it was sent from one process to another:
// so that it can be compared with one that was.
func asSent(found *survey.Survey) *survey.Survey {
	text, err := json.Marshal(found)
	sent := &survey.Survey{}
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.UseNumber()
	if err != nil || reader.Decode(sent) != nil {
		return found // it was no JSON; then nothing can be sent
	}
	return sent
}

// differing compares the answers of two surveys.
func differing(known, offered *survey.Survey) func(survey.Question) bool {
	if reflect.DeepEqual(known, offered) {
		return func(survey.Question) bool { return false }
	}
	return func(question survey.Question) bool { return known == nil || known.Differs(offered, question) }
}

func (e Examination) turn(check string, done ...*session.Environment) {
	if e.Turn != nil {
		session.Finish(done...)
		e.Turn(check)
	}
}

// examiner is the host of an examination.
type examiner struct {
	collector

	examination Examination
	environment *session.Environment
	context     context.Context
	unexplained []string // checks that have seen nothing, and do not say themselves why
	differs     func(survey.Question) bool
}

// Checked takes what a check has found.
func (x *examiner) Checked(_ int, found worker.Checked) {
	if found.Unexplained() {
		x.unexplained = append(x.unexplained, plan.CheckName(found.Group, found.Text))
	}
	found.Shorten(worker.OfUnproven)
	x.collector.Checked(found)
}

func (e Examination) begin(ctx context.Context, offered *survey.Survey, unresponsive string) *examiner {
	state := &cellState{
		unresponsive: unresponsive, findings: map[string]*found{},
		report: reports.Cell{Role: e.Role, Revision: e.Revision, Transport: e.Transport, Spoken: true},
	}
	x := &examiner{
		collector:   collector{catalogue: e.Catalogue, report: &reports.Run{}, cells: []*cellState{state}},
		examination: e, context: ctx, differs: differing(e.Known, offered),
	}
	shared := &scope.Scope{
		Cell:      e.Cell,
		Process:   scope.NewProcess(""),
		Target:    e.Target,
		Survey:    offered,
		Catalogue: e.Catalogue,
		Rules:     e.Rules,
		Record:    func(connection scope.Connection) { x.closed(0, connection) },
	}
	x.environment = &session.Environment{
		Offer: offer.Offer{
			Scope:  shared,
			Access: e.Access,
			Policy: provoke.Policy{Calls: provoke.CallReadOnly},
			Asked:  e.Asked,
		},
		Fresh: e.Role != protocol.ClientRole,
		Issuer: &issuer.Harness{
			Registration: e.Registration, State: &issuer.State{}, Fresh: e.Role != protocol.ClientRole,
		},
		Client: &clientrun.Runner{Scope: shared, Launch: e.Launch, Alter: e.Alter},
	}
	state.environment = x.environment
	state.rules, state.otherTransport = x.environment.ApplicableRules()
	return x
}

// Claim lets checks run until the context ends.
func (x *examiner) Claim(_, cell int, asked worker.Claim) worker.Permission {
	if x.context.Err() != nil {
		return worker.Permission{}
	}
	x.examination.turn(asked.Check(), x.environment)
	return x.Permit(cell)
}

// SuiteRules are the rules for Examination.
func SuiteRules() []rules.Rule { return suites.Rules() }
