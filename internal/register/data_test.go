package register_test

import (
	"io/fs"
	"maps"
	"slices"
	"testing"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/register"
	"github.com/mcpconform/mcpconform/suites"
)

// What the register names is there, and says the same.
func TestReports(t *testing.T) {
	t.Parallel()
	requirements, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	faults, variations := load(t, fixtures.Faults), load(t, fixtures.Variations)
	folder, err := fs.Sub(fixtures.Reports, "reports")
	if err != nil {
		t.Fatal(err)
	}
	reports, err := register.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, report := range reports {
		wrong := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%s:%d: "+format, append([]any{report.File, report.Line}, args...)...)
		}
		if _, known := requirements.Get(report.Breaks); report.Breaks != "" && !known {
			wrong("breaks: no requirement has the id %q", report.Breaks)
		}
		if report.Legal != "" && variations[report.Legal] == nil {
			wrong("legal: no variation has the id %q", report.Legal)
		}
		if report.Fault == "" {
			continue
		}
		switch found := faults[report.Fault]; {
		case found == nil:
			wrong("fault: no fault has the id %q", report.Fault)
		case (found.Role == "client") != (report.Role == "client"):
			wrong("fault: %s is one of the other role", report.Fault)
		case !slices.Contains(slices.AppendSeq(slices.Clone(found.Breaks), maps.Keys(found.AlsoBreaks)), report.Breaks):
			wrong("fault: %s breaks %v, and not %s", report.Fault, found.Breaks, report.Breaks)
		}
	}
}

func load(t *testing.T, folder string) map[string]*fault.Fault {
	t.Helper()
	files, err := fs.Sub(fixtures.Wire, folder)
	if err != nil {
		t.Fatal(err)
	}
	all, err := fault.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*fault.Fault{}
	for _, one := range all {
		byID[one.ID] = one
	}
	return byID
}
