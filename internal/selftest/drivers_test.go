package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/reports"
)

// A habit is how the driver of a good client deals with steps, other than by doing each
// and telling how it went. No check may blame the client for it.
type habit struct {
	name string
	// does tells whether a step is done, by its position; nil for all.
	does func(steps []scenario.Step, position int) bool
	// tells is what is told of a step instead of how it went; the zero outcome for
	// nothing. Nil tells of each step that was done, and of no other.
	tells func(step scenario.Step, did bool, how told) told
	// verb is the one that the habit is about: scenarios that do not tell it show nothing.
	verb string
	// exits is the status that the driver ends with.
	exits int
	// idle says that the client does nothing but connect: then hardly any check passes.
	idle bool
}

// told is one line of what a driver tells.
type told struct {
	Step    int    `json:"step"`
	Outcome string `json:"outcome"`
	Result  any    `json:"result,omitempty"`
	Error   string `json:"error,omitempty"`
}

// inevitable are the verbs without which a client does not even come.
func inevitable(step scenario.Step) bool {
	return step.Verb() == "connect" || step.Verb() == "answer-with"
}

func onlyConnects(steps []scenario.Step, position int) bool { return inevitable(steps[position]) }

// once tells whether no step before is the same.
func once(steps []scenario.Step, position int) bool {
	return !slices.ContainsFunc(steps[:position], func(earlier scenario.Step) bool {
		return check.Same(map[string]any(earlier), map[string]any(steps[position]))
	}) || inevitable(steps[position])
}

func nothing(scenario.Step, bool, told) told { return told{} }

// pretended is told of what was not done.
func pretended(_ scenario.Step, did bool, how told) told {
	if did {
		return how
	}
	return told{Outcome: "done"}
}

func failing(_ scenario.Step, did bool, how told) told {
	if did {
		return how
	}
	return told{Outcome: "failed", Error: "this driver does not know how to do that"}
}

// habits of drivers as a whole.
var habits = []habit{
	{name: "connects, and does nothing", does: onlyConnects, idle: true},
	{name: "connects, does nothing and tells nothing", does: onlyConnects, tells: nothing, idle: true},
	{name: "connects, and says that all is done", does: onlyConnects, tells: pretended, idle: true},
	{name: "connects, and says that all else failed", does: onlyConnects, tells: failing, idle: true},
	{name: "does all, and tells nothing", tells: nothing},
	{name: "does all, and says of each that it is done", tells: func(scenario.Step, bool, told) told { return told{Outcome: "done"} }},
	{name: "does all, and exits with status 1", exits: 1},
	{name: "does what it is told twice once", does: once},
	{name: "does what it is told twice once, and says that it did", does: once, tells: pretended},
	{name: "does what it is told twice once, and tells nothing", does: once, tells: nothing},
	{name: "does the first half", does: func(steps []scenario.Step, position int) bool {
		return position <= len(steps)/2 || inevitable(steps[position])
	}},
	{name: "does the first half, tells nothing and exits with status 1", does: func(steps []scenario.Step, position int) bool {
		return position <= len(steps)/2 || inevitable(steps[position])
	}, tells: nothing, exits: 1},
	{name: "does every other step, and says that it did all", does: func(steps []scenario.Step, position int) bool {
		return position%2 == 0 || inevitable(steps[position])
	}, tells: pretended},
	{name: "knows the steps of the meeting, and ends at others with status 1", does: knows, exits: 1},
	{name: "knows the steps of the meeting, tells nothing and ends at others with status 1", does: knows, tells: nothing, exits: 1},
}

// knows tells whether a driver comes to a step that can do no more than what clients are
// met by.
func knows(steps []scenario.Step, position int) bool {
	return !slices.ContainsFunc(steps[:position+1], func(step scenario.Step) bool {
		return !slices.Contains([]string{"connect", "answer-with", "list", "call", "close"}, step.Verb()) || step["as"] != nil ||
			step.Verb() == "list" && step["of"] != "tools"
	})
}

// lacking are the habits of drivers that cannot do a verb.
func lacking(verb string) []habit {
	lacks := func(steps []scenario.Step, position int) bool { return steps[position].Verb() != verb }
	return []habit{
		{name: "leaves out " + verb, does: lacks, verb: verb},
		{name: "says that " + verb + " failed", does: lacks, tells: failing, verb: verb},
		{name: "says that " + verb + " is done", does: lacks, tells: pretended, verb: verb},
	}
}

// undoubted are verbs of which a driver is believed that says that it did them: they
// send nothing, and give nothing, that a peer could see or miss.
var undoubted = []string{"close"}

// launch plays a scenario by the habit.
func (h habit) launch(ctx context.Context, invocation scenario.Invocation) (scenario.Exit, error) {
	var steps, kept []scenario.Step
	if err := json.Unmarshal(invocation.Steps, &steps); err != nil {
		return scenario.Exit{}, err
	}
	var positions []int // of those that are kept
	begun := map[any]bool{}
	for position, step := range steps {
		if h.does != nil && !h.does(steps, position) || step["what"] != nil && !begun[step["what"]] {
			continue
		}
		begun[step["as"]] = step["as"] != nil
		kept, positions = append(kept, step), append(positions, position)
	}
	var err error
	if invocation.Steps, err = json.Marshal(kept); err != nil {
		return scenario.Exit{}, err
	}
	exit, err := launch(ctx, invocation, fault.Injection{})
	exit.Output = h.told(steps, positions, exit.Output)
	if h.exits != 0 && !exit.Ended {
		exit.Status, exit.Failed = fmt.Sprintf("exited with status %d", h.exits), true
	}
	return exit, err
}

// told is what the driver tells, where the client that did the steps at some positions
// tells something. What was not done is told of where it would have been.
func (h habit) told(steps []scenario.Step, positions []int, output []byte) []byte {
	var lines bytes.Buffer
	next := 0 // step that is to be told of
	tell := func(position int, did bool, how told) {
		if h.tells != nil {
			how = h.tells(steps[position], did, how)
		}
		if how.Outcome != "" {
			how.Step = position
			text, _ := json.Marshal(how) // which was read from JSON
			lines.Write(append(text, '\n'))
		}
	}
	upTo := func(end int) {
		for ; next < end; next++ {
			if !slices.Contains(positions, next) {
				tell(next, false, told{})
			}
		}
	}
	for line := range bytes.Lines(output) {
		var how told
		if json.Unmarshal(line, &how) != nil {
			continue
		}
		position := positions[how.Step]
		upTo(position)
		tell(position, true, how)
	}
	upTo(len(steps))
	return lines.Bytes()
}

// shortReply is how long an answer may take that habits keep from coming.
const shortReply = 500 * time.Millisecond

// partVariable names the cell that a process of its own examines, and which of the habits.
const partVariable = "MCPCONFORM_TEST_HABITS"

// parts is among how many processes the habits of one cell are shared out.
const parts = 3

func partName(cell check.Cell, part int) string { return fmt.Sprintf("%s %d", cell.Name(), part) }

// newestCells are the ways in which a client speaks the newest revision of each era.
func newestCells() []check.Cell {
	return slices.DeleteFunc(clientCells(), func(cell check.Cell) bool { return cell.Revision < "2025-11-25" })
}

// A client that was not seen doing what it was told is never blamed for what it did not
// do, for all habits of its driver. Each cell has a process of its own, since one examines
// one cell at a time, and most of that time is spent waiting.
func TestNobodyIsBlamedForTheHabitsOfADriver(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	var examining sync.WaitGroup
	for _, cell := range newestCells() {
		for part := range parts {
			examining.Go(func() {
				process := exec.CommandContext(t.Context(), testExecutable(t), "-test.run=^TestHabitsOfADriver$")
				process.Env = append(os.Environ(), partVariable+"="+partName(cell, part))
				if output, err := process.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", cell.Name(), err, output)
				}
			})
		}
	}
	examining.Wait()
}

func TestHabitsOfADriver(t *testing.T) {
	var cell check.Cell
	part := -1
	for _, one := range newestCells() {
		for number := range parts {
			if os.Getenv(partVariable) == partName(one, number) {
				cell, part = one, number
			}
		}
	}
	if part < 0 {
		t.Skip("it is run in processes of its own")
	}
	declared, requirements, err := plan.All(protocol.ClientRole, protocol.Released())
	if err != nil {
		t.Fatal(err)
	}
	scenarios := map[string]*scenario.Scenario{}
	verbs := map[string]bool{}
	for _, check := range declared[cell.Revision] {
		if check.Scenario == nil {
			continue
		}
		scenarios[check.Scenario.Name] = check.Scenario
		for _, step := range check.Scenario.Steps {
			verbs[step.Verb()] = true
		}
	}
	all := slices.Clone(habits)
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		if verb != "connect" {
			all = append(all, lacking(verb)...)
		}
	}
	for number, one := range all {
		if number%parts != part {
			continue
		}
		if !slices.Contains(undoubted, one.verb) || one.tells == nil {
			t.Run(one.name, func(t *testing.T) { examineHabit(t, cell, one, scenarios, requirements) })
		}
	}
}

// examineHabit examines a cell as a client with a habit has it. What is wrong is looked at
// again with more patience: the machine may have been slow.
func examineHabit(t *testing.T, cell check.Cell, one habit, scenarios map[string]*scenario.Scenario, requirements *catalogue.Catalogue) {
	t.Helper()
	tells := func(name string) bool {
		return one.verb == "" || slices.ContainsFunc(scenarios[name].Steps, func(step scenario.Step) bool { return step.Verb() == one.verb })
	}
	var wrong []string
	for _, reply := range []time.Duration{shortReply, patience * patience * shortReply} {
		found, err := runner.Examine(t.Context(), runner.Examination{
			Cell: cell, Target: scripted.Target{Transport: cell.Transport, Reply: reply},
			Catalogue: requirements, Rules: runner.SuiteRules(), Launch: one.launch,
			Wants: func(one *check.Declaration, _ func(survey.Question) bool) bool {
				return one.Scenario != nil && tells(one.Scenario.Name)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if wrong = slices.Concat(found.Errors, one.wrong(found.Results)); len(wrong) == 0 {
			return
		}
	}
	t.Error(strings.Join(wrong, "\n"))
}

// wrong says which results blame a client for its habit.
func (h habit) wrong(results []reports.Result) []string {
	var wrong []string
	for _, result := range results {
		shows := !h.idle || result.Kind != reports.KindCheck || slices.ContainsFunc(result.Requirements, isAboutConnecting)
		switch {
		case result.Verdict == reports.Failed, result.Verdict == reports.Warned:
			wrong = append(wrong, fmt.Sprintf("%s: %s %q %+v", result.ID, result.Verdict, result.Text, result.Failures))
		case result.Verdict == reports.Passed && !shows:
			wrong = append(wrong, fmt.Sprintf("%s: %q passed, of a client that did nothing", result.ID, result.Text))
		}
	}
	return wrong
}

// isAboutConnecting tells whether a client shows that it keeps a requirement when it does
// nothing but connect and leave.
func isAboutConnecting(requirement reports.Requirement) bool {
	return slices.ContainsFunc([]string{
		"base.components.required", "base.notifications.accepted", "base.results.accepted", "lifecycle.errors.capabilities", "lifecycle.errors.version", "lifecycle.shutdown.", "lifecycle.version.",
		"transports.http.older", "transports.http.request.answer-forms", "transports.http.request.both-answers",
		"transports.http.session.deleted",
		"transports.http.session.optional", "transports.http.session.sent", "transports.http.statuses.accepted",
		"transports.stdio.probe.", "transports.stdio.shutdown.", "transports.stdio.stderr.harmless",
		"versioning.eras.others", "versioning.eras.probed", "versioning.unsupported.retried", "discover.probe",
		"authorization.", "oauth-client-credentials.", "enterprise-managed-authorization.", "security-best-practices.clients.", // which is a part of connecting
	}, func(prefix string) bool { return strings.HasPrefix(requirement.ID, prefix) })
}
