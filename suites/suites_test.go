package suites_test

import (
	"slices"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/suites"
)

// Whatever a peer can see of what somebody must or should do is judged by a check or a
// rule, at each revision.
func TestVisibleRequirementsAreVerified(t *testing.T) {
	t.Parallel()
	for _, role := range protocol.Roles() {
		declared, requirements, err := runner.All(role, protocol.Checked())
		if err != nil {
			t.Fatal(err)
		}
		for _, revision := range protocol.Checked() {
			for _, requirement := range requirements.Applies(revision, "", role) {
				level := requirement.Level(revision)
				if !requirement.Visible() || !level.Failing() && !level.Warning() {
					continue
				}
				verified := slices.ContainsFunc(declared[revision], func(one runner.Declared) bool {
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
