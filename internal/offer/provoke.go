package offer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/schema"
)

// Provocation is a tool to call, with what.
type Provocation = provoke.Provocation

// provocation finds a way to provoke a kind: the config's, that of a known server, one that
// was found when the tools were tried, or a tool that can be told how long it takes.
func (o *Offer) provocation(kind string) (Provocation, bool) {
	if found, there := o.Find(kind, o.Has, o.offers); there {
		return found, true
	}
	if o.Never.Rules(kind) != "" {
		return Provocation{}, false
	}
	if found, there := o.Provoked[kind]; there || kind != slow {
		return found, there
	}
	return o.delayed()
}

// slow is the kind of provocations that take their time.
const slow = "slow"

// delayed finds a tool that may be called and can be told to take some seconds.
func (o *Offer) delayed() (Provocation, bool) {
	for _, tool := range o.tools() {
		argument, value, isDelay := provoke.Delay(tool["inputSchema"])
		if !isDelay || !o.MayCall(tool) || o.Names(tool) {
			continue
		}
		made, err := o.arguments(tool)
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

// Unprovoked ends a check because no tool is known that provokes what it is about, by
// any of the kinds. What the server never does is not waited for.
func Unprovoked(t *T, kinds ...string) {
	never := of(t).Never
	left := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return never.Rules(kind) != "" })
	if len(left) == 0 {
		t.NotApplicable(never.Reason(strings.Join(kinds, ", ")))
	}
	t.Outcome = Outcome{
		Ending:      Inconclusion,
		Reason:      of(t).unprovoked(left[0]),
		Hint:        ProvocationHint(left[0]),
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
	return of(t).provocation(kind)
}

// Lacks names the kind of provocation without which a check cannot run; "" when it runs, or
// would not run with one either.
func (o *Offer) Lacks(declared *Declaration) (kind string) {
	return o.gate(declared).Provocation
}

// Named returns the provocation of a kind that the config names or a known server has, not
// one that was found by trying: a tool that was never meant to change anything is not
// excused for it.
func Named(t *T, kind string) (named Provocation, there bool) {
	offered := of(t)
	return offered.Find(kind, offered.Has, offered.offers)
}

func (o *Offer) unprovoked(kind string) string {
	return cmp.Or(o.unlisted("tools/list"), "no known tool "+provoke.Does(kind))
}

// ProvocationHint says how a user can name a tool that provokes a kind.
func ProvocationHint(kind string) string {
	return fmt.Sprintf("name one in mcpconform.yaml: provocations: {%s: {tool: NAME, arguments: {…}}}", kind)
}

// CallableTools returns the tools that the harness may call, with arguments
// that their input schema allows. The reason tells, when there are none, why.
func CallableTools(t *T) (calls []Provocation, reason string) {
	offered := of(t)
	calls, unmade := offered.Callable()
	switch {
	case len(calls) > 0:
		return calls, ""
	case len(offered.tools()) == 0:
		return nil, cmp.Or(offered.unlisted("tools/list"), "the server lists no tool")
	case len(unmade) > 0:
		return nil, "no valid arguments could be generated for " + strings.Join(unmade, ", ")
	}
	return nil, NoCallable
}

// Callable returns the tools that may be called, with arguments that their input schema
// allows, and the names of those for which none could be made. They are worked out once, as
// many checks ask and a server may list thousands, unless Asked has to be told what they rest
// on. The arguments are shared: callers must not change them.
func (o *Offer) Callable() (calls []Provocation, unmade []string) {
	if o.Asked != nil {
		return o.callable()
	}
	o.made.Do(func() { o.calls, o.unmade = o.callable() })
	return slices.Clone(o.calls), o.unmade
}

func (o *Offer) callable() (calls []Provocation, unmade []string) {
	for _, tool := range o.tools() {
		if !o.MayCall(tool) {
			continue
		}
		name, _ := tool["name"].(string)
		if arguments, err := o.arguments(tool); err != nil {
			unmade = append(unmade, name)
		} else {
			calls = append(calls, Provocation{Tool: name, Arguments: arguments})
		}
	}
	return calls, unmade
}

// Named tells whether it is known what a tool provokes, or said in the config.
func (o *Offer) Named(call Provocation) bool {
	tool := o.listed(call.Tool)
	return tool != nil && o.Names(tool)
}

// NoCallable is why no tool is called, in the same words everywhere.
const NoCallable = "no tool may be called: none is annotated readOnlyHint or named in mcpconform.yaml"

// arguments returns those that the config or a known server gives, or makes some
// from the input schema.
func (o *Offer) arguments(tool Object) (Object, error) {
	name, _ := tool["name"].(string)
	if given, there := o.ArgumentsOf(tool); there {
		return given, nil
	}
	made, err := schema.ExampleWith(tool["inputSchema"], o.suggest)
	if err != nil {
		return nil, err
	}
	object, isObject := made.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf("the input schema of %s does not describe an object", name)
	}
	return object, nil
}
