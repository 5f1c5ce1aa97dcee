// Package register reads what people have reported to the trackers of real servers and
// clients: which requirement their implementation breaks, and what finds it now.
package register

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

// Report is one thread of a tracker.
type Report struct {
	// Report is the thread on GitHub, as "owner/name#number".
	Report string `yaml:"report"`
	// Role of the implementation that misbehaves.
	Role string `yaml:"role"`
	// Saw tells what it does, in one sentence in the present tense.
	Saw string `yaml:"saw"`
	// Revisions at which it was seen, where the report names them.
	Revisions []string `yaml:"revisions"`
	// Breaks is the requirement that it breaks; "" when what was reported is legal, or
	// stands nowhere in the catalogue.
	Breaks string `yaml:"breaks"`

	// Exactly one of these three is given.

	// Fault has the same defect: the selftest proves which checks and rules find it.
	Fault string `yaml:"fault"`
	// Legal is the variation that has what was reported, and is no defect.
	Legal string `yaml:"legal"`
	// Unseen says why no peer can see it.
	Unseen string `yaml:"unseen"`

	// Missed is said of a defect that the suites did not find when it was registered.
	Missed bool `yaml:"missed"`

	// File and Line are where it is written.
	File string `yaml:"-"`
	Line int    `yaml:"-"`
}

// Link is the address of the thread.
func (r Report) Link() string {
	repository, number, _ := strings.Cut(r.Report, "#")
	return "https://github.com/" + repository + "/issues/" + number
}

// Load reads every .yaml file in the root of fsys. The error joins all that is wrong in
// all of the files; each line begins with file:line.
func Load(fsys fs.FS) ([]Report, error) {
	var all []Report
	err := yamlnode.EachFile(fsys, func(name string, text []byte) error {
		reports, err := Parse(name, text)
		all = append(all, reports...)
		return err
	})
	if err := errors.Join(append([]error{err}, doubled(all)...)...); err != nil {
		return nil, err
	}
	return all, nil
}

// entries are what a file lists.
var entries = yamlnode.Entries{
	One: "a report", Many: "reports", First: "report", Hint: nearest.Hint,
	Keys: []string{"report", "role", "saw", "revisions", "breaks", "fault", "legal", "unseen", "missed"},
}

// Parse reads the text of a file; name is what errors call it. The error joins all that
// is wrong.
func Parse(name string, text []byte) ([]Report, error) {
	return yamlnode.List(name, text, entries, func(item *yaml.Node) (Report, error) { return parseOne(name, item) })
}

func parseOne(name string, item *yaml.Node) (Report, error) {
	report := Report{File: name, Line: item.Line}
	if err := item.Decode(&report); err != nil {
		return Report{}, yamlnode.Explain(name, err)
	}
	var problems []error
	for _, problem := range report.judge() {
		problems = append(problems, fmt.Errorf("%s:%d: %s", name, item.Line, problem))
	}
	return report, errors.Join(problems...)
}

var thread = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+#[1-9][0-9]*$`)

// judge says what is wrong with a report by itself.
func (r Report) judge() (problems []string) {
	if !thread.MatchString(r.Report) {
		problems = append(problems, fmt.Sprintf("report: %q is not owner/name#number", r.Report))
	}
	if !slices.Contains(protocol.Roles(), r.Role) {
		problems = append(problems, fmt.Sprintf("role: %q%s", r.Role, nearest.Hint(r.Role, protocol.Roles())))
	}
	if r.Saw == "" {
		problems = append(problems, "saw: tell what it does")
	}
	for _, revision := range r.Revisions {
		if !slices.Contains(protocol.Released(), revision) {
			problems = append(problems, fmt.Sprintf("revisions: %q is not released", revision))
		}
	}
	ends := slices.DeleteFunc([]string{r.Fault, r.Legal, r.Unseen}, func(end string) bool { return end == "" })
	if len(ends) != 1 {
		problems = append(problems, "give one of fault, legal and unseen")
	}
	switch {
	case r.Fault != "" && r.Breaks == "":
		problems = append(problems, "breaks: name the requirement")
	case r.Legal != "" && r.Breaks != "":
		problems = append(problems, "breaks: what is legal breaks nothing")
	case r.Missed && r.Fault == "":
		problems = append(problems, "missed: only what a fault now shows")
	}
	return problems
}

// doubled finds reports that are registered twice with the same role, requirement and end:
// a thread may tell of several defects.
func doubled(reports []Report) []error {
	type key struct{ report, role, breaks, end string }
	var problems []error
	first := map[key]Report{}
	for _, report := range reports {
		key := key{report.Report, report.Role, report.Breaks, report.Fault + report.Legal + report.Unseen}
		if other, taken := first[key]; taken {
			problems = append(problems, fmt.Errorf("%s:%d: %s is registered at %s:%d already",
				report.File, report.Line, report.Report, other.File, other.Line))
			continue
		}
		first[key] = report
	}
	return problems
}
