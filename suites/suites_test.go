package suites_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/suites"
)

// Each MUST and SHOULD that a peer can observe is judged by a check or a rule, at each
// revision.
func TestVisibleRequirementsAreVerified(t *testing.T) {
	t.Parallel()
	for _, role := range protocol.Roles() {
		declared, requirements, err := plan.All(role, protocol.Released())
		if err != nil {
			t.Fatal(err)
		}
		for _, revision := range protocol.Released() {
			for _, requirement := range requirements.Applies(revision, "", role) {
				level := requirement.Level(revision)
				if requirement.OfSSE() && !protocol.Reaches(protocol.SSE, role) {
					continue
				}
				if !requirement.Visible() || !level.Failing() && !level.Warning() {
					continue
				}
				verified := slices.ContainsFunc(declared[revision], func(one plan.Declared) bool {
					return slices.Contains(one.Requirements, requirement.ID)
				})
				if !verified {
					t.Errorf("%s: nothing verifies %s (%s, %s:%d)", revision, requirement.ID, level, requirement.File, requirement.Line)
				}
			}
		}
	}
}

func TestTextsOfRulesAreUnique(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, rule := range suites.Rules() {
		if known[rule.Text] {
			t.Errorf("two rules are called %q", rule.Text)
		}
		known[rule.Text] = true
	}
}

// judging are the arguments, by their positions, in which methods of a client take ids of steps.
var judging = map[string][]int{
	"Outcome": {0}, "NeedOutcome": {0}, "ResultOf": {0}, "NeedResult": {0}, "FailureOf": {0}, "NeedFinished": {0},
	"NeedCancelled": {0, 1}, "DemandStep": {0, 1}, "Refrained": {1},
}

// Checks refer to steps that a scenario has, also on paths that no target takes.
func TestChecksReferToSteps(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, one := range suites.Checks(protocol.ClientRole) {
		if one.Scenario != nil {
			for id := range one.Scenario.Steps.All() {
				known[id] = true
			}
		}
	}
	found := 0
	for _, pattern := range []string{"*/client*.go", "*/*/client*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				call, isCall := node.(*ast.CallExpr)
				if !isCall {
					return true
				}
				method, isMethod := call.Fun.(*ast.SelectorExpr)
				if !isMethod {
					return true
				}
				for _, at := range judging[method.Sel.Name] {
					if at >= len(call.Args) {
						continue
					}
					literal, isLiteral := call.Args[at].(*ast.BasicLit)
					if !isLiteral {
						continue
					}
					found++
					if id, _ := strconv.Unquote(literal.Value); !known[id] {
						t.Errorf("%s: no scenario has the step %s", set.Position(literal.Pos()), literal.Value)
					}
				}
				return true
			})
		}
	}
	if found < 20 {
		t.Errorf("only %d references were found", found)
	}
}
