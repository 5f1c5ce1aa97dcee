package reports

import (
	_ "embed" // the schema
	"io"
	"slices"
	"time"
)

//go:embed selftest.schema.json
var selftestSchema []byte

// SelftestSchema returns the JSON Schema (2020-12) of the document that
// Selftest.Write writes. It refers to that of Schema.
func SelftestSchema() []byte { return slices.Clone(selftestSchema) }

// SelftestFormat is the version of the JSON document of a selftest.
const SelftestFormat = 1

// Selftest is what the checks and rules said about a good target over whose wire
// faults and variations were injected: the matrix of faults and checks, and what is
// wrong in it. It is one versioned JSON document.
type Selftest struct {
	Format      int            `json:"format"` // always SelftestFormat
	Tool        Tool           `json:"tool"`
	Started     time.Time      `json:"started"`
	Duration    Seconds        `json:"duration"`
	Command     []string       `json:"command,omitempty"` // the command line that made it
	Target      Target         `json:"target"`            // the embedded reference has neither URL nor command
	Role        string         `json:"role,omitempty"`    // of the targets; "" for both
	Filter      string         `json:"filter,omitempty"`  // that chose faults and checks
	Shard       *Shard         `json:"shard,omitempty"`   // nil for all of it; a shard has no proofs, which take all trials
	Workers     int            `json:"workers"`
	Pages       []string       `json:"pages"` // the order of Proofs
	Cells       []SelftestCell `json:"legs"`
	Proofs      []Proof        `json:"proofs"`
	Trials      []Trial        `json:"trials"`
	Interrupted string         `json:"interrupted,omitempty"` // why it ended early
	Errors      []string       `json:"errors,omitempty"`      // failures of the harness itself
}

// SelftestCell is how the target fares on a cell when nothing is injected into it.
type SelftestCell struct {
	Role      string   `json:"role"`
	Revision  string   `json:"revision"`
	Transport string   `json:"transport"`
	Protected bool     `json:"protected,omitempty"` // it asks for authorization
	Note      string   `json:"note,omitempty"`      // why nothing was run on it
	Passed    int      `json:"passed"`
	Red       []Effect `json:"red,omitempty"` // what fails or warns nevertheless
}

// Proof is a check or rule, and the faults that show that it finds what it is
// there to find.
type Proof struct {
	ID           string   `json:"id"` // that of the first requirement
	Kind         string   `json:"kind"`
	Role         string   `json:"role,omitempty"` // that of a target which it checks; of a server when it is empty
	Page         string   `json:"page"`
	Check        string   `json:"check"` // headings and text, as in Effect
	Requirements []string `json:"requirements"`
	Revisions    []string `json:"revisions"`          // at which it stands, of those that the target speaks
	Faults       []string `json:"faults,omitempty"`   // that break what it verifies, and that it found
	Accepted     string   `json:"accepted,omitempty"` // why it need not be proven
	Problem      string   `json:"problem,omitempty"`  // "" when all is well
	Unbroken     []string `json:"unbroken,omitempty"` // requirements of its own that no fault breaks
}

// Kinds of trials.
const (
	KindFault     = "fault"
	KindVariation = "variation"
	KindSilence   = "silence"
)

// Trial is one fault or variation, and what became of it.
type Trial struct {
	ID         string       `json:"id"`
	Kind       string       `json:"kind"`
	Says       string       `json:"says"`
	Seen       string       `json:"seen,omitempty"`
	Place      string       `json:"place"` // file:line
	Breaks     []string     `json:"breaks,omitempty"`
	AlsoBreaks []AlsoBroken `json:"alsoBreaks,omitempty"`
	Role       string       `json:"role,omitempty"` // of the target; a server when it is empty
	Revision   string       `json:"revision"`
	Transport  string       `json:"transport"`
	Touched    int          `json:"touched"`           // checks that met it
	Ran        int          `json:"ran"`               // checks that were run under it
	Matched    bool         `json:"matched"`           // it met anything at all
	Repeated   bool         `json:"repeated,omitzero"` // it was tried a second time, with more patience: this is what came of it
	Drifted    []Problem    `json:"drifted,omitempty"` // what was wrong with it the first time alone
	Caught     bool         `json:"caught,omitzero"`   // what verifies a requirement that it breaks found it
	Effects    []Effect     `json:"effects,omitempty"` // verdicts that are not as without it
	Silenced   int          `json:"silenced,omitzero"` // checks that passed without a fault and conclude nothing with it
	Problems   []Problem    `json:"problems,omitempty"`
	Rerun      string       `json:"rerun"` // the command that repeats it
	Duration   Seconds      `json:"duration"`
}

// AlsoBroken is a requirement that cannot be kept beside a fault.
type AlsoBroken struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// Why a fault may change a verdict.
const (
	ByBreaks     = "breaks"
	ByAlsoBreaks = "also-breaks"
)

// Effect is a verdict that a fault or variation has changed.
type Effect struct {
	Check        string    `json:"check"` // headings and text
	Kind         string    `json:"kind"`
	Requirements []string  `json:"requirements"`
	Was          Verdict   `json:"was,omitempty"` // without it
	Verdict      Verdict   `json:"verdict"`
	Allowed      string    `json:"allowed,omitempty"` // ByBreaks, ByAlsoBreaks, or "" when nothing allows it
	Reason       string    `json:"reason,omitempty"`
	Failures     []Failure `json:"failures,omitempty"`
	Exchange     []Step    `json:"exchange,omitempty"` // what went over the wire, when nothing allows it
}

// Red tells whether the check says that something is broken.
func (e Effect) Red() bool { return e.Verdict == Failed || e.Verdict == Warned }

// What may be wrong with a trial.
const (
	NotCaught = "not caught" // no check or rule of a requirement that it breaks found it
	Accused   = "accused"    // a check or rule of another requirement failed
	Stale     = "stale"      // something under also-breaks was kept
	Changed   = "changed"    // a variation changed a verdict
	Unmatched = "unmatched"  // it met nothing
	Vacuous   = "vacuous"    // a check passed although the target shows nothing
	Crashed   = "crashed"    // the harness failed
)

// Problem is one thing that is wrong with a trial.
type Problem struct {
	Kind string `json:"kind"`
	Says string `json:"says"`
}

// Wrong returns the trials with problems.
func (s *Selftest) Wrong() []Trial {
	return slices.DeleteFunc(slices.Clone(s.Trials), func(one Trial) bool { return len(one.Problems) == 0 })
}

// Unproven returns the checks and rules with problems.
func (s *Selftest) Unproven() []Proof {
	return slices.DeleteFunc(slices.Clone(s.Proofs), func(one Proof) bool { return one.Problem == "" })
}

// Holds tells whether all is as it should be.
func (s *Selftest) Holds() bool {
	if s.Interrupted != "" || len(s.Errors) > 0 || len(s.Wrong()) > 0 || len(s.Unproven()) > 0 {
		return false
	}
	return s.Peer() || !slices.ContainsFunc(s.Cells, func(cell SelftestCell) bool { return len(cell.Red) > 0 })
}

// Peer tells whether the target is an implementation that others wrote, which
// may break this and that by itself.
func (s *Selftest) Peer() bool { return s.Target.URL != "" || len(s.Target.Command) > 0 }

// Write writes the selftest as an indented JSON document, as Run.Write does.
func (s *Selftest) Write(w io.Writer) error {
	document := *s
	document.Format = SelftestFormat
	return writeDocument(w, &document, "selftest")
}
