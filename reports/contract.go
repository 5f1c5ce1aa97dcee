package reports

import (
	"io"
	"slices"
)

// Impact is what a change of what a server offers means to its clients.
type Impact string

// The impacts, the worst first.
const (
	Breaking   Impact = "breaking"   // a client that went by the old contract may fail
	Unclear    Impact = "unclear"    // nothing in the change tells whether one may
	Compatible Impact = "compatible" // none does
	Wording    Impact = "text"       // only what people and models read has changed
)

// ContractFormat is the version of the format of a ContractDiff as JSON.
const ContractFormat = 1

// ContractDiff is what has changed in what a server offers.
type ContractDiff struct {
	Format  int          `json:"format"`
	Old     string       `json:"old"` // what was compared: a file
	New     string       `json:"new"` // a file, or the server
	Strict  bool         `json:"strict,omitempty"`
	Notes   []string     `json:"notes,omitempty"` // a line each: what limits the comparison
	Items   []string     `json:"items"`           // what was compared: "tool echo"
	Changes []Difference `json:"changes"`
	Accept  string       `json:"accept,omitempty"` // the command that makes the new contract the old one
}

// Breaks tells whether a change fails a comparison.
func (d *ContractDiff) Breaks(one Difference) bool {
	return one.Impact == Breaking || d.Strict && one.Impact == Unclear
}

// Broken tells whether any does.
func (d *ContractDiff) Broken() bool { return slices.ContainsFunc(d.Changes, d.Breaks) }

// Conclusion counts the changes in one line.
func (d *ContractDiff) Conclusion() string {
	if len(d.Changes) == 0 {
		return "Nothing has changed in what the server offers"
	}
	return d.comparison().counted()
}

// comparison is how it is shown.
func (d *ContractDiff) comparison() *comparison {
	return &comparison{
		name: "contract", old: d.Old, new: d.New, notes: d.Notes, items: d.Items, changes: d.Changes, accept: d.Accept,
		broken: d.Broken(), breaks: d.Breaks,
		impacts: []shownImpact{
			{Breaking, "Breaking", "breaking", boldRed, false},
			{Unclear, "Unclear whether breaking", "unclear whether breaking", boldYellow, true},
			{Compatible, "Compatible", "compatible", boldGreen, false},
			{Wording, "Text", "of text", bold, false},
		},
	}
}

// Write writes the comparison as JSON.
func (d *ContractDiff) Write(w io.Writer) error { return writeVisible(w, d) }

// Terminal writes the changes as text for people, the worst first.
func (d *ContractDiff) Terminal(w io.Writer, o TerminalOptions) error {
	return d.comparison().terminal(w, o, d.Conclusion())
}

// Markdown writes the changes for a pull request.
func (d *ContractDiff) Markdown(w io.Writer) error { return d.comparison().markdown(w, d.Conclusion()) }

// JUnit writes the comparison as JUnit XML: a test case for each item, which fails where a
// change breaks the contract, and is skipped where one may.
func (d *ContractDiff) JUnit(w io.Writer) error { return d.comparison().junit(w, d.Conclusion()) }
