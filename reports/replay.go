package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// The impacts of what a replay brought otherwise, the worst first.
const (
	Failing Impact = "failed" // what a client may go by is another
	Warning Impact = "warned" // what no sentence fixes is another
	Telling Impact = "told"   // another value, or more than before
)

// ReplayFormat is the version of the format of a Replay as JSON.
const ReplayFormat = 1

// Replay is what came of playing what was recorded of one peer to another.
type Replay struct {
	Format     int      `json:"format"`
	Recordings []string `json:"recordings"`
	Target     string   `json:"target"`
	Strict     bool     `json:"strict,omitempty"`
	// Notes are a line each: what was not played, and what limits the comparison.
	Notes   []string      `json:"notes,omitempty"`
	Steps   []ReplayStep  `json:"steps"`
	Carried []ReplayValue `json:"carried,omitempty"` // values that the target brought anew
	Changes []Difference  `json:"changes"`
	Offered []string      `json:"offered,omitempty"` // what was compared of what the server offers
}

// ReplayStep is a request that was played.
type ReplayStep struct {
	Name     string `json:"name"`     // such as "3 tools/call echo"
	Recorded string `json:"recorded"` // how it was answered: "result", "error -32602", "no answer", …
	Live     string `json:"live"`
	// Took is how long the live answer took, and TookRecorded the recorded one; 0 where that
	// is unknown.
	Took         Seconds `json:"took,omitempty"`
	TookRecorded Seconds `json:"tookRecorded,omitempty"`
}

// ReplayValue is a value that the recorded server brought and the client took back, and the one
// that the live server brought in its place.
type ReplayValue struct {
	From     string `json:"from"` // the step, and where in its answer
	To       string `json:"to"`   // the step that took it back
	Recorded string `json:"recorded"`
	Live     string `json:"live"`
}

// Fails tells whether a difference fails the replay.
func (r *Replay) Fails(one Difference) bool {
	return one.Impact == Failing || r.Strict && one.Impact == Warning
}

// Failed tells whether any does.
func (r *Replay) Failed() bool { return slices.ContainsFunc(r.Changes, r.Fails) }

// Conclusion says in one line what came of it.
func (r *Replay) Conclusion() string {
	played := plural(len(r.Steps), "request") + " played"
	if len(r.Changes) == 0 {
		return played + ", answered as recorded"
	}
	return played + "; " + r.comparison().counted()
}

// latency says in one line how long answers took.
func (r *Replay) latency() string {
	var recorded, live []Seconds
	for _, step := range r.Steps {
		if step.Took > 0 && step.TookRecorded > 0 {
			recorded, live = append(recorded, step.TookRecorded), append(live, step.Took)
		}
	}
	if len(live) == 0 {
		return ""
	}
	of := func(all []Seconds) string {
		slices.Sort(all)
		return fmt.Sprintf("median %s, longest %s", milliseconds(all[len(all)/2]), milliseconds(all[len(all)-1]))
	}
	return "answers took " + of(live) + "; recorded: " + of(recorded)
}

func milliseconds(of Seconds) string { return fmt.Sprintf("%.1f ms", float64(of)*1000) }

// comparison is how it is shown.
func (r *Replay) comparison() *comparison {
	items := make([]string, 0, len(r.Steps)+len(r.Offered))
	for _, step := range r.Steps {
		items = append(items, step.Name)
	}
	notes := slices.Clone(r.Notes)
	for _, one := range r.Carried {
		notes = append(notes, fmt.Sprintf("%s was %s, and is %s here: %s took it back",
			one.From, one.Recorded, one.Live, one.To))
	}
	if took := r.latency(); took != "" {
		notes = append(notes, took)
	}
	for _, one := range r.Changes { // those that belong to no request
		if !slices.Contains(items, one.Item) {
			items = append(items, one.Item)
		}
	}
	for _, one := range r.Offered {
		if !slices.Contains(items, one) {
			items = append(items, one)
		}
	}
	return &comparison{
		name: "replay", old: strings.Join(r.Recordings, " "), new: r.Target, notes: notes, items: items,
		changes: r.Changes, broken: r.Failed(), breaks: r.Fails,
		impacts: []shownImpact{
			{Failing, "Failed", "failed", boldRed, false},
			{Warning, "Warned", "warned", boldYellow, true},
			{Telling, "Told", "told", bold, false},
		},
	}
}

// Write writes the replay as JSON.
func (r *Replay) Write(w io.Writer) error { return writeVisible(w, r) }

// Terminal writes it as text for people.
func (r *Replay) Terminal(w io.Writer, o TerminalOptions) error {
	return r.comparison().terminal(w, o, r.Conclusion())
}

// Markdown writes it for a pull request.
func (r *Replay) Markdown(w io.Writer) error { return r.comparison().markdown(w, r.Conclusion()) }

// JUnit writes it as JUnit XML: a test case for each request, and for all else that was
// compared.
func (r *Replay) JUnit(w io.Writer) error { return r.comparison().junit(w, r.Conclusion()) }
