package serve

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/filter"
)

// group is something that a user can have a client do, and the scenarios for that.
type group struct {
	id, title string
	pages     []string // of the specification, or folders of them
	scenes    []*scene
}

// groupView is what the page shows of a group.
type groupView struct {
	ID, Title string
	Played    int
	Open      bool
	Scenes    []sceneView
}

// groups are all, in the order of the page. The last takes what belongs nowhere else.
func groups() []*group {
	return []*group{
		{id: "connect", title: "Connect and agree on a revision", pages: []string{
			"basic/lifecycle", "basic/versioning", "server/discover",
		}},
		{id: "tools", title: "Call tools", pages: []string{"server/tools"}},
		{id: "resources", title: "Read resources", pages: []string{"server/resources"}},
		{id: "prompts", title: "Get prompts and complete arguments", pages: []string{
			"server/prompts", "server/utilities/completion",
		}},
		{id: "lists", title: "List in pages, cache and follow changes", pages: []string{
			"server/utilities/pagination", "server/utilities/caching", "basic/patterns/subscriptions",
		}},
		{id: "answers", title: "Answer the server: sampling, elicitation, roots", pages: []string{
			"client", "basic/patterns/mrtr",
		}},
		{id: "cancel", title: "Cancel, follow progress and receive logs", pages: []string{
			"basic/utilities/cancellation", "basic/utilities/progress", "basic/utilities/ping",
			"basic/patterns/cancellation", "basic/patterns/progress", "server/utilities/logging",
		}},
		{id: "tasks", title: "Use tasks", pages: []string{"basic/utilities/tasks", "extensions/tasks"}},
		{id: "streams", title: "Speak HTTP: headers, sessions and streams", pages: []string{"basic/transports"}},
		{id: "authorization", title: "Authorize", pages: []string{"basic/authorization"}},
		{id: "messages", title: "Understand messages in every form"},
	}
}

// grouped returns the groups that have scenarios. A scenario stands in the group of the
// page that its name begins with, or else of most of its checks, those with the most checks
// first. The first scenario is where everybody begins.
func grouped(scenes []*scene) []*group {
	all := groups()
	for i, one := range scenes {
		at := 0
		if i > 0 {
			at = one.group(all)
		}
		all[at].scenes = append(all[at].scenes, one)
	}
	for _, group := range all {
		slices.SortStableFunc(group.scenes, func(a, b *scene) int {
			switch scenes[0] {
			case a:
				return -1
			case b:
				return 1
			}
			return cmp.Compare(len(b.Checks), len(a.Checks))
		})
	}
	return slices.DeleteFunc(all, func(one *group) bool { return len(one.scenes) == 0 })
}

// group returns the index of the group that a scenario stands in.
func (s *scene) group(all []*group) int {
	best, most := len(all)-1, 0
	for i, group := range all {
		if slices.ContainsFunc(group.pages, func(page string) bool {
			return strings.HasPrefix(s.Scenario.Name, path.Base(page)+"-")
		}) {
			return i
		}
		count := 0
		for _, check := range s.Checks {
			if slices.ContainsFunc(group.pages, func(page string) bool {
				return slices.Contains(check.Labels, filter.Label(page))
			}) {
				count++
			}
		}
		if count > most {
			best, most = i, count
		}
	}
	return best
}
