// Package reports holds a run as data, and its faces: the JSON document, JUnit XML, text
// for a terminal, a page for browsers, Markdown, and what GitHub and GitLab show of a build.
// [Compare] finds what has changed from one run to another.
//
// A producer fills a [Run], calls [Run.Sort], and hands it to a face. No face
// changes a Run, and nothing that a target sent reaches a face unescaped.
package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Format is the version of the JSON document that this package writes and reads.
const Format = 1

// Verdict is what a check or rule found about the target.
type Verdict string

// The verdicts. A run without a baseline has all but Known.
const (
	Passed       Verdict = "passed"       // the target does what is required
	Failed       Verdict = "failed"       // a MUST is broken
	Known        Verdict = "known"        // failed or warned, which the baseline names with its reason
	Warned       Verdict = "warned"       // a SHOULD is broken
	Skipped      Verdict = "skipped"      // does not apply: not declared, or not in this revision or transport
	Inconclusive Verdict = "inconclusive" // applies, but could not be tested
)

// Verdicts lists every verdict, in the order in which they are counted out.
func Verdicts() []Verdict {
	return []Verdict{Passed, Failed, Known, Warned, Skipped, Inconclusive}
}

// Fails tells whether the verdict makes a run fail. Strict turns warned and
// inconclusive into failures.
func (v Verdict) Fails(strict bool) bool {
	return v == Failed || strict && (v == Warned || v == Inconclusive)
}

// Seconds is a length of time in seconds, to the microsecond.
type Seconds float64

// SecondsOf converts d, rounded to the microsecond. A negative d is zero: a
// clock that went backwards is not worth a broken report.
func SecondsOf(d time.Duration) Seconds {
	if d < 0 {
		return 0
	}
	return Seconds(float64(d.Round(time.Microsecond)/time.Microsecond) / 1e6)
}

// Duration converts s back.
func (s Seconds) Duration() time.Duration {
	return time.Duration(math.Round(float64(s)*1e6)) * time.Microsecond
}

// Run is everything that one run of the harness found out: one versioned JSON
// document, described by [Schema]. Its producer redacts it (see [RedactAll]).
type Run struct {
	Format   int       `json:"format"` // always Format
	Tool     Tool      `json:"tool"`
	Started  time.Time `json:"started"`
	Duration Seconds   `json:"duration"`
	Host     string    `json:"host,omitempty"`    // the name of the machine
	Command  []string  `json:"command,omitempty"` // the command line that made the run
	Target   Target    `json:"target"`
	Strict   bool      `json:"strict"`           // warned and inconclusive count as failures
	Filter   string    `json:"filter,omitempty"` // what was to be checked; "" for everything
	// Requirements names the frozen set of requirements that the target was judged by,
	// "2025-11-25@1"; "" for all of the specification.
	Profile      string    `json:"profile,omitempty"` // the profile that was to be checked; "" for everything
	Requirements string    `json:"requirements,omitempty"`
	Draft        *Draft    `json:"draft,omitempty"`       // of the next revision that the target was judged by; nil for none
	Shard        *Shard    `json:"shard,omitempty"`       // nil for all of it
	Recorded     *Recorded `json:"recorded,omitempty"`    // of a run that judged transcripts; nil for one that met the target
	Repeats      int       `json:"repeats,omitzero"`      // how many runs it was, with the same options; 0 and 1 mean one
	Cells        []Cell    `json:"legs"`                  // one per revision and transport, in the order they were run
	Baseline     *Baseline `json:"baseline,omitempty"`    // what was known to fail; nil for a run without one
	SDKs         []SDK     `json:"sdks,omitempty"`        // whose baselines have some of what was found, and are not in use
	Interrupted  string    `json:"interrupted,omitempty"` // why the run ended early: "interrupt", "deadline of 5m reached"
	Errors       []string  `json:"errors,omitempty"`      // failures of the harness itself
}

// Selected tells whether less than everything was to be checked, by a filter or profile.
func (r *Run) Selected() bool { return r.Filter != "" || r.Profile != "" }

// Recorded counts the transcripts that a run judged: by the rules alone, as nothing is
// provoked there.
type Recorded struct {
	Judged int `json:"judged"`
	All    int `json:"all"`
}

// Shard is the part of a run whose checks were shared out among several machines.
// Merged, all parts are the run. What the same cause has broken is told once there, not
// in each part.
type Shard struct {
	Index int    `json:"index"` // from 1
	Count int    `json:"count"`
	Plan  string `json:"plan"` // fingerprint of all checks and rules of the run: that of each part is the same
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Tool is the harness that made the run.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Go      string `json:"go,omitempty"` // the version of Go that built it
}

// Target is the implementation under test, and how it was reached: by URL or by
// command.
type Target struct {
	Role    string   `json:"role"` // "server" or "client"
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
	Identity
}

// Identity is what an implementation says of itself (serverInfo or clientInfo).
type Identity struct {
	Name    string `json:"name,omitempty"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version,omitempty"`
}

// Cell is the part of a run at one revision over one transport.
type Cell struct {
	Role         string          `json:"role"`      // of the target: "server" or "client"
	Revision     string          `json:"revision"`  // "2025-11-25"
	Transport    string          `json:"transport"` // "stdio", "http" or "sse"
	Spoken       bool            `json:"spoken"`    // false: the target does not speak this revision, and Note says how it showed; there are no results, or one that failed, where the user named it
	Note         string          `json:"note,omitempty"`
	Notices      []string        `json:"notices,omitempty"`    // one line each: what a reader has to know first, such as "the server exited 3 times"
	Ended        *Ended          `json:"ended,omitempty"`      // the target exited or stopped answering: what was not checked by then is inconclusive
	Tools        *Tools          `json:"tools,omitempty"`      // of a server whose tools may be called
	AlsoSpeaks   []string        `json:"alsoSpeaks,omitempty"` // other revisions that the target speaks on this transport
	Target       Identity        `json:"target"`               // what the target said of itself on this cell
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Duration     Seconds         `json:"duration"`
	Declared     int             `json:"declared,omitzero"`   // how many checks and rules there are without the filter; 0 if unknown
	Scenarios    *Scenarios      `json:"scenarios,omitempty"` // if a person runs the client; nil if a command does
	Pages        []string        `json:"pages,omitempty"`     // the table of contents of the specification at this revision: the order of Results
	Results      []Result        `json:"results"`
}

// Scenarios counts those that a person lets a client play.
type Scenarios struct {
	Played int `json:"played"`
	All    int `json:"all"`
}

// Ended tells why a cell could not be checked to its end.
type Ended struct {
	Reason string `json:"reason"`           // one line: "the server closed the connection and refuses new ones: connection refused"
	After  string `json:"after,omitempty"`  // the last request before it: "tools/call of the tool search"
	Exit   string `json:"exit,omitempty"`   // of the process: "exited with status 1"
	Output string `json:"output,omitempty"` // the end of its standard error
	Hint   string `json:"hint,omitempty"`   // one line: what to do
}

// Kinds of results.
const (
	KindCheck = "check" // a provocation of its own
	KindRule  = "rule"  // judged over the transcripts of all checks
)

// Result is what one check or rule found on one cell.
type Result struct {
	ID           string        `json:"id"`              // stable id, for --filter and sorting: that of the first requirement
	Kind         string        `json:"kind"`            // KindCheck or KindRule
	Page         string        `json:"page"`            // "basic/lifecycle"
	Group        []string      `json:"group,omitempty"` // headings that the check stands under, outermost first
	Text         string        `json:"text"`            // the behaviour, present tense: "answers ping with an empty result"
	Requirements []Requirement `json:"requirements"`
	Verdict      Verdict       `json:"verdict"`
	Reason       string        `json:"reason,omitempty"`      // one line: why it is skipped or inconclusive
	Hint         string        `json:"hint,omitempty"`        // one line: what would make it conclusive
	Provocation  string        `json:"provocation,omitempty"` // the kind of provocation that is missing, where that is the reason: "elicitation"
	Flaky        []Verdict     `json:"flaky,omitempty"`       // its verdict in each of several runs, in order, where they differ; Verdict is the worst
	Known        *Excuse       `json:"known,omitempty"`       // of a result that the baseline names
	Failures     []Failure     `json:"failures,omitempty"`    // every mismatch of a failed, known or warned result
	Occurrences  int           `json:"occurrences,omitzero"`  // how often the same was seen; 0 and 1 mean once
	Connections  int           `json:"connections,omitzero"`  // in how many connections
	Follows      []string      `json:"follows,omitempty"`     // requirements that are broken by the same defect and told here: their results are skipped
	Exchange     []Step        `json:"exchange,omitempty"`    // what went over the wire, in order
	Transcript   string        `json:"transcript,omitempty"`  // the file with the whole connection, if transcripts were written
	Rerun        string        `json:"rerun,omitempty"`       // the command that repeats this result
	Output       string        `json:"output,omitempty"`      // the end of the target's stderr, where it may explain
	Duration     Seconds       `json:"duration"`
}

// Fails tells whether the result makes a run fail. One that rests on no sentence of the
// specification does not, however strict the run is.
func (r *Result) Fails(strict bool) bool { return r.Verdict.Fails(strict && !r.lenient()) }

// lenient tells whether no sentence of the specification stands behind the result.
func (r *Result) lenient() bool {
	return len(r.Requirements) > 0 &&
		!slices.ContainsFunc(r.Requirements, func(requirement Requirement) bool { return requirement.RestsOn == "" })
}

// Levels of a requirement, as the specification writes them.
const (
	Must      = "MUST"
	MustNot   = "MUST NOT"
	Should    = "SHOULD"
	ShouldNot = "SHOULD NOT"
	May       = "MAY"
)

// Requirement is one obligation of the specification that a result verifies.
type Requirement struct {
	ID      string `json:"id"`
	Level   string `json:"level"`
	Says    string `json:"says"`              // in plain words
	RestsOn string `json:"restsOn,omitempty"` // what stands behind it where no sentence of the specification does: "an example"; it never fails a run
	At      string `json:"at,omitempty"`      // "basic/transports#protocol-version-header"
	Link    string `json:"link,omitempty"`    // the URL of the same place

	// Revision is whose text that is, where it is another than the one that is checked.
	Revision string `json:"revision,omitempty"`
}

// PlainLevel is the level as it stands beside a sentence that says what is good: whether
// the specification demands or forbids makes no difference there.
func (r Requirement) PlainLevel() string { return strings.TrimSuffix(r.Level, " NOT") }

// Failure is one mismatch between what the specification asks and what the
// target did.
type Failure struct {
	Wanted string `json:"wanted,omitempty"`
	Found  string `json:"found,omitempty"`
	Where  string `json:"where,omitempty"`  // a JSON pointer, "HTTP status", "header Mcp-Session-Id", ...
	Method string `json:"method,omitempty"` // of the request or notification that it belongs to
	Item   string `json:"item,omitempty"`   // the name or URI of what that is about
	About  string `json:"about,omitempty"`  // the request that it belongs to, where a result has several: "tools/call with id 5"
	Code   int64  `json:"code,omitzero"`    // of the JSON-RPC error that was found; 0 for none
	Hint   string `json:"hint,omitempty"`   // what to do about it
	Form   string `json:"form,omitempty"`   // the legal form of a request that brought another answer than its plain one
	// Of a rule in a shard: failures of the same cause are one, seen so often and in so
	// many connections.
	Cause       string `json:"cause,omitempty"`
	Occurrences int    `json:"occurrences,omitzero"`
	Connections int    `json:"connections,omitzero"`
}

// Harness stands in Step.From where the harness itself remarks something: a step of kind
// StepNote. Else From and To are the parties "client" and "server".
const Harness = "harness"

// Kinds of steps. Producers may use others: a face shows a kind that it does not
// know by its name.
const (
	StepMessage  = "message"  // a JSON-RPC message
	StepRequest  = "request"  // the head of an HTTP request
	StepResponse = "response" // the head of an HTTP response
	StepEvent    = "event"    // an event or comment of an event stream that is not a message
	StepBody     = "body"     // a body where no message is expected
	StepBytes    = "bytes"    // bytes that are none of these
	StepStderr   = "stderr"   // what the target wrote to stderr
	StepOpen     = "open"     // a connection or process began
	StepClose    = "close"    // a connection or stream ended
	StepExit     = "exit"     // the target's process ended
	StepNote     = "note"     // a remark of the harness
)

// Step is one message or event of an exchange. Its text is redacted and
// shortened by the producer.
type Step struct {
	At         Seconds `json:"at"`           // since the start of the connection
	From       string  `json:"from"`         // Client, Server or Harness
	To         string  `json:"to,omitempty"` // Client or Server; empty if it concerns one end alone
	Kind       string  `json:"kind"`
	Text       string  `json:"text,omitempty"`
	Deliberate bool    `json:"deliberate,omitzero"` // illegal on purpose: the harness's doing
	Marked     bool    `json:"marked,omitzero"`     // the one that was judged
}

// Counts is the number of results by verdict.
type Counts struct {
	Passed, Failed, Known, Warned, Skipped, Inconclusive int
	// Lenient is how many of those that are warned or inconclusive rest on no sentence
	// of the specification: they fail no run.
	Lenient int
}

// Add counts one result more.
func (c *Counts) Add(v Verdict) {
	switch v {
	case Passed:
		c.Passed++
	case Failed:
		c.Failed++
	case Known:
		c.Known++
	case Warned:
		c.Warned++
	case Skipped:
		c.Skipped++
	case Inconclusive:
		c.Inconclusive++
	}
}

// Plus returns the sum of both.
func (c Counts) Plus(d Counts) Counts {
	return Counts{
		Passed:       c.Passed + d.Passed,
		Failed:       c.Failed + d.Failed,
		Known:        c.Known + d.Known,
		Warned:       c.Warned + d.Warned,
		Skipped:      c.Skipped + d.Skipped,
		Inconclusive: c.Inconclusive + d.Inconclusive,
		Lenient:      c.Lenient + d.Lenient,
	}
}

// Of returns the number of results with the verdict.
func (c Counts) Of(v Verdict) int {
	switch v {
	case Passed:
		return c.Passed
	case Failed:
		return c.Failed
	case Known:
		return c.Known
	case Warned:
		return c.Warned
	case Skipped:
		return c.Skipped
	case Inconclusive:
		return c.Inconclusive
	}
	return 0
}

// Total returns the number of all results.
func (c Counts) Total() int {
	return c.Passed + c.Failed + c.Known + c.Warned + c.Skipped + c.Inconclusive
}

// judged is the number of results that say something of the target and may stand in a run
// that conforms.
func (c Counts) judged() int { return c.Passed + c.Known + c.Warned }

// Fails returns the number of results that make a run fail.
func (c Counts) Fails(strict bool) int {
	n := 0
	for _, v := range Verdicts() {
		if v.Fails(strict) {
			n += c.Of(v)
		}
	}
	if strict {
		n -= c.Lenient
	}
	return n
}

// String writes the counts of all verdicts; known only where there is any.
func (c Counts) String() string {
	known := ""
	if c.Known > 0 {
		known = fmt.Sprintf("%d known, ", c.Known)
	}
	return fmt.Sprintf("%d passed, %d failed, %s%d warned, %d skipped, %d inconclusive",
		c.Passed, c.Failed, known, c.Warned, c.Skipped, c.Inconclusive)
}

// CountsOf counts results by verdict.
func CountsOf(results []Result) Counts {
	var c Counts
	for i := range results {
		c.Add(results[i].Verdict)
		if results[i].Verdict.Fails(true) && results[i].lenient() {
			c.Lenient++
		}
	}
	return c
}

// Counts counts the results of the cell by verdict.
func (l *Cell) Counts() Counts { return CountsOf(l.Results) }

// Counts counts the results of all cells by verdict.
func (r *Run) Counts() Counts {
	var c Counts
	for i := range r.Cells {
		c = c.Plus(r.Cells[i].Counts())
	}
	return c
}

// Conforms tells whether the target kept the specification, as far as it was looked
// at: nothing failed but what the baseline names, which itself holds, the run and every
// cell reached its end without errors of the harness, and there was something to look
// at. Strict counts warned and inconclusive as failures. Where everything that applies is inconclusive, nothing shows that the
// target conforms.
func (r *Run) Conforms(strict bool) bool {
	if slices.ContainsFunc(r.Cells, func(cell Cell) bool { return cell.Ended != nil }) {
		return false
	}
	counts := r.Counts()
	shown := r.Shard != nil || counts.judged() > 0 || counts.Skipped > 0 && counts.Inconclusive == 0
	return shown && counts.Fails(strict) == 0 && r.Interrupted == "" && len(r.Errors) == 0 &&
		len(r.Baseline.outdated()) == 0
}

// targetName is what the target calls itself.
func (r *Run) targetName() string {
	name := strings.TrimSpace(cmp.Or(r.Target.Name, "the target") + " " + r.Target.Version)
	if title := r.Target.Title; title != "" && title != r.Target.Name {
		name += " (" + title + ")"
	}
	return oneLine(name)
}

// reached says what was looked at, and how.
func (r *Run) reached() string {
	reached := r.Target.Role
	switch {
	case r.Target.URL != "":
		reached += " at " + r.Target.URL
	case len(r.Target.Command) > 0:
		reached += " started by " + strings.Join(r.Target.Command, " ")
	case r.Recorded != nil:
		reached += " in " + plural(r.Recorded.All, "transcript")
	}
	return oneLine(reached)
}

// Sort orders the results of every cell: by page as the cell's Pages has them
// (pages that it lacks come last, by name), then by id, then by text. The order
// of the cells is the caller's.
func (r *Run) Sort() {
	for i := range r.Cells {
		cell := &r.Cells[i]
		place := make(map[string]int, len(cell.Pages))
		for at, page := range cell.Pages {
			place[page] = at
		}
		order := func(page string) int {
			if at, known := place[page]; known {
				return at
			}
			return len(cell.Pages)
		}
		slices.SortStableFunc(cell.Results, func(a, b Result) int {
			return cmp.Or(
				cmp.Compare(order(a.Page), order(b.Page)),
				cmp.Compare(a.Page, b.Page),
				cmp.Compare(a.ID, b.ID),
				cmp.Compare(a.Text, b.Text),
			)
		})
	}
}
