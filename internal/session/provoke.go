package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/schema"
)

// Provocation is a tool to call, with what.
type Provocation = provoke.Provocation

// provocation finds a way to provoke a kind: the config's, that of a known server, one that
// was found when the tools were tried, or a tool that can be told how long it takes.
func (e *Environment) provocation(kind string) (Provocation, bool) {
	if found, there := e.Find(kind, e.Has, e.offers); there {
		return found, true
	}
	if e.Never.Rules(kind) != "" {
		return Provocation{}, false
	}
	if found, there := e.Provoked[kind]; there || kind != slow {
		return found, there
	}
	return e.delayed()
}

// slow is the kind of provocations that take their time.
const slow = "slow"

// delayed finds a tool that may be called and can be told to take some seconds.
func (e *Environment) delayed() (Provocation, bool) {
	for _, tool := range e.tools() {
		argument, value, isDelay := provoke.Delay(tool["inputSchema"])
		if !isDelay || !e.MayCall(tool) || e.Names(tool) {
			continue
		}
		made, err := e.arguments(tool)
		if err != nil {
			continue
		}
		arguments := maps.Clone(made)
		arguments[argument] = value
		if name, isText := tool["name"].(string); isText && !schema.Forbids(tool["inputSchema"], arguments) {
			return Provocation{Tool: name, Arguments: arguments, Told: provoke.Delayed}, true
		}
	}
	return Provocation{}, false
}

// Provoking returns the provocation of a kind. A check that uses it says so
// with NeedsProvocation, unless it finds out first whether any would help.
func Provoking(t *T, kind string) Provocation {
	found, there := Provocable(t, kind)
	if !there {
		Unprovoked(t, kind)
	}
	return found
}

// CompleteSlow makes the slow call with a progress token, waits for its answer, and a little
// longer: for what was sent before it on another stream. A tool of which only the name of an
// argument says that it takes its time has to take it, as one that is over before it can be
// cancelled shows nothing: a delay may be one between retries.
//
// It returns what such a call takes at least: half of what the tool was told to take, or has
// taken, as the machine may have been busy.
func (s *Server) CompleteSlow(token string) (least time.Duration) {
	slowly := Provoking(s.t, slow)
	begun := time.Now()
	s.Call("tools/call", slowly.Reporting(token)).Need().Result()
	took := time.Since(begun)
	if took < slowly.Told/2 {
		s.t.Inconclusive(
			fmt.Sprintf("%s was told to take %s, and took %s", slowly.Tool, slowly.Told, took.Round(time.Millisecond)),
			provocationHint(slow),
		)
	}
	s.BarrierOnAllStreams()
	return cmp.Or(slowly.Told, took) / 2
}

// Unprovoked ends a check because no tool is known that provokes what it is about, by
// any of the kinds. What the server never does is not waited for.
func Unprovoked(t *T, kinds ...string) {
	never := environmentOf(t).Never
	left := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return never.Rules(kind) != "" })
	if len(left) == 0 {
		t.NotApplicable(never.Reason(strings.Join(kinds, ", ")))
	}
	t.Outcome = Outcome{
		Ending:      Inconclusion,
		Reason:      environmentOf(t).unprovoked(left[0]),
		Hint:        provocationHint(left[0]),
		Provocation: left[0],
	}
	t.End()
}

// Provocable returns the provocation of a kind, if there is one: for a check
// that has other ways to go on without it.
func Provocable(t *T, kind string) (found Provocation, there bool) {
	if !provoke.IsKind(kind) {
		panic("no such kind of provocation: " + kind)
	}
	return environmentOf(t).provocation(kind)
}

// Lacks names the kind of provocation without which a check cannot run; "" when it runs, or
// would not run with one either.
func (e *Environment) Lacks(declared *Declaration) (kind string) {
	return e.gate(declared).Provocation
}

// Named returns the provocation of a kind that the config names or a known server has, not
// one that was found by trying: a tool that was never meant to change anything is not
// excused for it.
func Named(t *T, kind string) (named Provocation, there bool) {
	environment := environmentOf(t)
	return environment.Find(kind, environment.Has, environment.offers)
}

func (e *Environment) unprovoked(kind string) string {
	return cmp.Or(e.unlisted("tools/list"), "no known tool "+provoke.Does(kind))
}

func provocationHint(kind string) string {
	return fmt.Sprintf("name one in mcpconform.yaml: provocations: {%s: {tool: NAME, arguments: {…}}}", kind)
}

// CallableTools returns the tools that the harness may call, with arguments
// that their input schema allows. The reason tells, when there are none, why.
func CallableTools(t *T) (calls []Provocation, reason string) {
	environment := environmentOf(t)
	calls, unmade := environment.Callable()
	switch {
	case len(calls) > 0:
		return calls, ""
	case len(environment.tools()) == 0:
		return nil, cmp.Or(environment.unlisted("tools/list"), "the server lists no tool")
	case len(unmade) > 0:
		return nil, "no valid arguments could be generated for " + strings.Join(unmade, ", ")
	}
	return nil, NoCallable
}

// Callable returns the tools that may be called, with arguments that their input schema
// allows, and the names of those for which none could be made.
func (e *Environment) Callable() (calls []Provocation, unmade []string) {
	for _, tool := range e.tools() {
		if !e.MayCall(tool) {
			continue
		}
		name, _ := tool["name"].(string)
		if arguments, err := e.arguments(tool); err != nil {
			unmade = append(unmade, name)
		} else {
			calls = append(calls, Provocation{Tool: name, Arguments: arguments})
		}
	}
	return calls, unmade
}

// Named tells whether it is known what a tool provokes, or said in the config.
func (e *Environment) Named(call Provocation) bool {
	return slices.ContainsFunc(e.tools(), func(tool Object) bool { return tool["name"] == call.Tool && e.Names(tool) })
}

// NoCallable is why no tool is called, in the same words everywhere.
const NoCallable = "no tool may be called: none is annotated readOnlyHint or named in mcpconform.yaml"

// arguments returns those that the config or a known server gives, or makes some
// from the input schema.
func (e *Environment) arguments(tool Object) (Object, error) {
	name, _ := tool["name"].(string)
	if given, there := e.ArgumentsOf(tool); there {
		return given, nil
	}
	made, err := schema.ExampleWith(tool["inputSchema"], e.suggest)
	if err != nil {
		return nil, err
	}
	object, isObject := made.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf("the input schema of %s does not describe an object", name)
	}
	return object, nil
}
