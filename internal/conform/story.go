package conform

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Story is one run of a target client against a scripted server. Several checks
// may look at the same story: the client plays it once for all of them.
type Story struct {
	// Name tells it from all others, in words with hyphens.
	Name string
	// Says tells in one sentence what happens in it.
	Says string
	// Scenario is the scenario of the official suite for which a client does what
	// this story needs: one that was written for that suite, and not for ours, plays
	// the story then. When it is "" such a client connects, lists the tools, and calls
	// AddNumbers where the steps do.
	Scenario string
	// Context is what that scenario gives the client beside.
	Context Object
	// Since and Until are the revisions at which it can be played; "" for all.
	Since, Until string
	// Over is the transport over which it can be played; "" for each.
	Over string
	// Speaks is the revision of the scripted server where it is another one than that
	// of the leg: what a client says then is not judged by the rules.
	Speaks string
	// Unnamed leaves it to the client which revision it begins with: none is named.
	Unnamed bool
	// Named is the revision that the client is told to begin with where it is another
	// one than that of the leg.
	Named string
	// Told are the steps of the client.
	Told Steps
	// Server says how the scripted server differs from a good one; nil for not at
	// all.
	Server func(server *scripted.Server)
	// Unclosed says that the story ends when it is quiet, and the client is ended
	// then: it has something to do that takes no end.
	Unclosed bool
}

// labelStory is what the label of the story of a check begins with.
const labelStory = "in:"

// In says in which story a check looks. What the check needs of the revision and
// of the transport, the story has.
func In(story *Story) Labels {
	if building == nil {
		panic("conform: In outside of a tree of checks")
	}
	building.tell(story)
	labels := Labels{labelStory + story.Name}
	if !story.at(building.Revision) {
		labels = append(labels, labelAbsent)
	}
	if story.Over != "" {
		labels = append(labels, labelTransport+story.Over)
	}
	return labels
}

func (s *Story) scenario() string {
	calls := func(one Step) bool { return one["tool"] == scripted.AddNumbers }
	switch {
	case s.Scenario != "":
		return s.Scenario
	case slices.ContainsFunc(s.Told, calls):
		return "tools_call"
	}
	return "initialize"
}

// leg is the one in which the client plays the story.
func (s *Story) leg(of Leg) Leg {
	if s.Speaks != "" {
		of.Revision = s.Speaks
	}
	return of
}

func (s *Story) at(revision string) bool {
	return (s.Since == "" || s.Since <= revision) && (s.Until == "" || revision <= s.Until)
}

// StoryOf returns the name of the story in which a check with these labels looks;
// "" for none.
func StoryOf(labels []string) string {
	for _, label := range labels {
		if name, found := cutStory(label); found {
			return name
		}
	}
	return ""
}

func cutStory(label string) (string, bool) {
	if len(label) > len(labelStory) && label[:len(labelStory)] == labelStory {
		return label[len(labelStory):], true
	}
	return "", false
}

// tell makes a story known to the environment. Two of one name are a mistake of
// who wrote them.
func (e *Environment) tell(story *Story) {
	if e.stories == nil {
		e.stories = map[string]*Story{}
	}
	if known := e.stories[story.Name]; known != nil && known != story {
		panic(fmt.Sprintf("two stories are named %q", story.Name))
	}
	e.stories[story.Name] = story
}

// StoryIn returns the story in which a check with these labels looks; nil for none.
func (e *Environment) StoryIn(labels []string) *Story { return e.stories[StoryOf(labels)] }

// Stories are those in which the checks of the environment look and that can be
// played at its revision and over its transport, by name.
func (e *Environment) Stories() []*Story {
	var all []*Story
	for _, story := range e.stories {
		if story.at(e.Revision) && (story.Over == "" || story.Over == e.Transport) {
			all = append(all, story)
		}
	}
	slices.SortFunc(all, func(a, b *Story) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// Meeting is the story by which a client is met: to see that it can be started,
// and what it speaks.
var Meeting = &Story{
	Name: "meeting", Says: "The client connects, lists the tools, calls one and leaves.",
	Told: Steps{
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToClose(),
	},
}
