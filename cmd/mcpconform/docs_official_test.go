//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// officialPage compares the official suite with this one.
const officialPage = "docs/official-suite.md"

// A counterpart is a row of its tables.
type counterpart struct {
	role                string
	theirs, ours, fault []string // what stands as code
	text                string   // the text of the row
}

// counterparts reads the tables; each has a heading that names a role.
func counterparts(t *testing.T) []counterpart {
	t.Helper()
	documents := documents(t)
	at := slices.IndexFunc(documents, func(d *document) bool { return d.name == officialPage })
	if at < 0 {
		t.Fatalf("there is no %s", officialPage)
	}
	page, role := documents[at], ""
	var all []counterpart
	walk(page, func(node ast.Node) {
		switch node := node.(type) {
		case *ast.Heading:
			role = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(spanText(page, node), "Of "), "s"), " ", "-")
		case *extension.TableRow:
			var cells [][]string
			for cell := node.FirstChild(); cell != nil; cell = cell.NextSibling() {
				cells = append(cells, codeIn(page, cell))
			}
			if len(cells) != 5 {
				t.Fatalf("%s: a row with %d cells: %s", page.name, len(cells), spanText(page, node))
			}
			all = append(all, counterpart{role, slices.Concat(cells[0], cells[1]), cells[3], cells[4], strings.Join(slices.Concat(cells[0], cells[1]), " ")})
		}
	})
	return all
}

func codeIn(d *document, in ast.Node) []string {
	var all []string
	_ = ast.Walk(in, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if code, is := node.(*ast.CodeSpan); is && entering {
			all = append(all, spanText(d, code))
		}
		return ast.WalkContinue, nil
	})
	return all
}

func spanText(d *document, node ast.Node) string {
	return string(node.Text(d.source)) //nolint:staticcheck // what is written in it
}

// Each counterpart is there: a requirement that a check or rule of the role verifies, the
// scenario that a check of a client looks at, a fault that breaks such a requirement.
func TestDocsOfficial(t *testing.T) {
	t.Parallel()
	_, checked, err := declaredByRole()
	if err != nil {
		t.Fatal(err)
	}
	isChecked := func(id, role string) bool {
		return slices.ContainsFunc(protocol.Released(), func(revision string) bool { return checked(id, revision, role) })
	}
	scenarios := scenarioNames(t)
	rows := counterparts(t)
	if len(rows) == 0 {
		t.Fatal("found no rows")
	}
	for _, row := range rows {
		faults := faultsOf(t, fixtures.Faults, row.role)
		var requirements []string
		for _, span := range row.ours {
			switch {
			case strings.Contains(span, "."):
				requirements = append(requirements, span)
				if !isChecked(span, row.role) {
					t.Errorf("%s: no check and no rule of a %s verifies %s", row.text, row.role, span)
				}
			case row.role != protocol.ClientRole || !slices.Contains(scenarios, span):
				t.Errorf("%s: %q is no requirement and no scenario", row.text, span)
			}
		}
		if len(requirements) > 0 && len(row.fault) == 0 || len(requirements) == 0 && len(row.fault) > 0 {
			t.Errorf("%s: requirements and the faults that break them belong together", row.text)
		}
		for _, id := range row.fault {
			at := slices.IndexFunc(faults, func(one *fault.Fault) bool { return one.ID == id })
			if at < 0 {
				t.Errorf("%s: no %s has the fault %s", row.text, row.role, id)
				continue
			}
			if !slices.ContainsFunc(faults[at].Breaks, func(broken string) bool { return slices.Contains(requirements, broken) }) {
				t.Errorf("%s: the fault %s breaks %v, and none of %v", row.text, id, faults[at].Breaks, requirements)
			}
		}
	}
}

func scenarioNames(t *testing.T) []string {
	t.Helper()
	declared, _, err := declaredOf([]string{protocol.ClientRole}, protocol.Released())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, checks := range declared[protocol.ClientRole] {
		for _, check := range checks {
			if check.Scenario != nil {
				all = append(all, check.Scenario.Name)
			}
		}
	}
	return all
}

// checkOfTheirs is the id of a check in the program of the official suite.
var checkOfTheirs = regexp.MustCompile("[{,]id:`([a-z][A-Za-z0-9$]*(?:-[A-Za-z0-9$]+)+)`")

// What stands as theirs is in the program of the official suite that MCP_OFFICIAL_SUITE
// names, or is put together there from a beginning and an end; and the page has all checks
// that the program names.
func TestDocsOfficialNames(t *testing.T) {
	t.Parallel()
	file := os.Getenv("MCP_OFFICIAL_SUITE")
	if file == "" {
		t.Skip("MCP_OFFICIAL_SUITE is not set: the names of the official suite are not compared")
	}
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(repository, officialPage))
	if err != nil {
		t.Fatal(err)
	}
	found := checkOfTheirs.FindAllSubmatch(program, -1)
	if len(found) == 0 {
		t.Errorf("%s names no check", file)
	}
	for _, check := range found {
		if !bytes.Contains(page, fmt.Appendf(nil, "`%s`", check[1])) {
			t.Errorf("%s does not have the check %s", officialPage, check[1])
		}
	}
	for _, row := range counterparts(t) {
		for _, name := range row.theirs {
			if !strings.Contains(string(program), "`"+name+"`") && !madeUp(string(program), name) {
				t.Errorf("the official suite has no %s", name)
			}
		}
	}
}

// madeUp tells whether a program has the beginning of a name before something that it puts
// in.
func madeUp(program, name string) bool {
	for at := len(name) - 1; at > 0; at-- {
		if strings.ContainsRune("-/", rune(name[at])) && strings.Contains(program, "`"+name[:at+1]+"${") {
			return true
		}
	}
	return false
}
