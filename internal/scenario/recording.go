package scenario

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Exit is how a target client has ended.
type Exit struct {
	Status string // in words: "exited with status 0"; "" when there was no process
	Signal string // by which it ended, "SIGSEGV"; "" for none
	Failed bool   // it ended otherwise than with status 0, by itself
	Ended  bool   // the harness had to end it
	Output []byte // the end of standard output
	Stderr []byte // the end of standard error
}

// Well tells whether the process ended by itself, in good order. It is false for one that
// the harness did not start, whose end is unknown.
func (e Exit) Well() bool { return e.Status != "" && !e.Failed && !e.Ended }

// Recording is what came of one scenario. It can be kept and judged later.
type Recording struct {
	Scenario    string
	Connections []Recorded
	// Authorization is the record of all that was said about it: metadata, logins, tokens,
	// and requests that were refused for want of a token. Nil for none.
	Authorization *Recorded
	Exit          Exit
	OverBudget    bool // there was no room for all that the client sent
}

// Recorded is the record of one connection of a target client.
type Recorded struct {
	Name     string
	Events   []transcript.Event
	Complete bool
}

// Connected tells whether the client connected at all.
func (r *Recording) Connected() bool { return len(r.Connections) > 0 || r.Authorization != nil }

// StepOutcome is how a step went, as the driver of the client tells.
type StepOutcome struct {
	Step    int    `json:"step"`    // its position, whether the driver tells that or its id
	Outcome string `json:"outcome"` // done or failed
	Result  any    `json:"result"`
	Error   string `json:"error"`

	Order int `json:"-"` // among all that was told
}

// Failed tells whether the client did not do the step, or not to its end.
func (o StepOutcome) Failed() bool { return o.Outcome == "failed" }

// Outcomes reads the outcomes of steps that the driver writes to standard output, by the ids
// of the steps. Other lines are ignored.
func (r *Recording) Outcomes(steps Steps) map[string]StepOutcome {
	ids, outcomes, order := steps.IDs(), map[string]StepOutcome{}, 0
	for line := range bytes.Lines(r.Exit.Output) {
		var told struct {
			StepOutcome
			Step json.RawMessage `json:"step"`
		}
		reader := json.NewDecoder(bytes.NewReader(line))
		reader.UseNumber()
		if reader.Decode(&told) != nil || reader.More() || told.Outcome != "done" && !told.Failed() {
			continue
		}
		one := told.StepOutcome
		if one.Step = positionIn(ids, told.Step); one.Step >= 0 && one.Step < len(ids) {
			one.Order = order
			order++
			outcomes[ids[one.Step]] = one
		}
	}
	return outcomes
}

// positionIn returns that of the step that a driver names, by its id or its number; -1
// for none.
func positionIn(ids []string, step json.RawMessage) int {
	var id string
	if json.Unmarshal(step, &id) == nil {
		return slices.Index(ids, id)
	}
	number := -1
	if json.Unmarshal(step, &number) != nil {
		return -1
	}
	return number
}

// Messages returns how many messages of the client there are.
func (r *Recording) Messages() int {
	count := 0
	for _, connection := range r.Connections {
		for _, event := range connection.Events {
			if event.Kind == transcript.Message && event.From == protocol.Client {
				count++
			}
		}
	}
	return count
}
