package provoke

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Never is what a server will never do, as its config says: what needs it is skipped,
// and not inconclusive run after run.
type Never struct {
	Names []string // of NeverNames
	By    string   // who says so: the name of the config file
}

// feature is something of the protocol that several kinds of provocations are about.
type feature struct {
	pages []string // of the specification that are about it
	// asked tells that all of the pages is about what the server asks the client for.
	asked bool
	kinds []string // that are nothing without it
}

// features are the names of Never that are more than one kind.
var features = map[string]feature{
	"elicitation": {
		pages: []string{"client/elicitation"},
		asked: true,
		kinds: []string{"elicitation-url", "url-required", "task-input"},
	},
	"sampling": {pages: []string{"client/sampling"}, asked: true, kinds: []string{"sampling-tools"}},
	"roots":    {pages: []string{"client/roots"}, asked: true},
	"progress": {
		pages: []string{"basic/utilities/progress", "basic/patterns/progress"},
		kinds: []string{"slow", "task-progress"},
	},
	"logging": {pages: []string{"server/utilities/logging"}},
	"tasks": {
		pages: []string{"basic/utilities/tasks", "extensions/tasks"},
		kinds: []string{
			"task",
			"task-progress",
			"task-slow",
			"task-required",
			"task-input",
			"task-failing",
			"task-refused",
			"client-task",
		},
	},
}

// eitherOf are the kinds that one of several features is enough for.
var eitherOf = []struct{ kinds, features []string }{
	{[]string{"client-task"}, []string{"sampling", "elicitation"}},
	{
		[]string{"input-rounds", "input-several", "input-state", "input-other-state"},
		[]string{"sampling", "elicitation", "roots"},
	},
}

// NeverNames are what Never may name, sorted: kinds of provocations, and features.
func NeverNames() []string {
	names := append(Kinds(), slices.Collect(maps.Keys(features))...)
	slices.Sort(names)
	return slices.Compact(names)
}

// Rules says what rules a kind of provocation out; "" when nothing does.
func (n Never) Rules(kind string) string {
	for _, name := range n.Names {
		if name == kind || slices.Contains(features[name].kinds, kind) {
			return name
		}
	}
	for _, one := range eitherOf {
		left := slices.ContainsFunc(one.features, func(name string) bool { return !slices.Contains(n.Names, name) })
		if slices.Contains(one.kinds, kind) && !left {
			return strings.Join(one.features, ", ")
		}
	}
	return ""
}

// About names a feature that a page is about and that is ruled out, "" for none: of
// those that a server asks the client for, or of all.
func (n Never) About(page string, asked bool) string {
	for _, name := range n.Names {
		if one := features[name]; slices.Contains(one.pages, page) && (one.asked || !asked) {
			return name
		}
	}
	return ""
}

// Reason is why something is skipped.
func (n Never) Reason(name string) string { return fmt.Sprintf("never %s, by %s", name, n.By) }

// KindsAbout names the features that a page of the specification is about and that are
// kinds, and the kinds of provocations of theirs, sorted.
func KindsAbout(page string) []string {
	var kinds []string
	for name, one := range features {
		if !slices.Contains(one.pages, page) {
			continue
		}
		kinds = append(kinds, one.kinds...)
		if IsKind(name) {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
