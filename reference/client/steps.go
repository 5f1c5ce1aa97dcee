// What a client is told to do: docs/steps.schema.json describes it.

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A step is one thing to do. Which members it has depends on the verb.
type step struct {
	Do         string
	As         string
	Method     string
	Capability object
	Result     object
	Error      object
	Silent     bool
	Delay      int64 // milliseconds
	Revision   string
	Of         string
	Tool       string
	Prompt     string
	URI        string
	Template   string
	Arguments  object
	Progress   bool
	Task       any // of call: an object; of the verbs about tasks: an id
	Timeout    int64
	Ref        object
	Argument   object
	Context    object
	To         object
	Level      string
	Roots      []any
	What       string
}

// A StepsError says what is wrong with steps, and how to mend it.
type StepsError struct{ text string }

func (e *StepsError) Error() string { return e.text }

func stepsError(format string, args ...any) error {
	return &StepsError{fmt.Sprintf(format, args...)}
}

// A kind is what the value of a member must be.
type kind string

const (
	aText    kind = "a string"
	anObject kind = "an object"
	aFlag    kind = "true or false"
	aNumber  kind = "a whole number, not negative"
	aList    kind = "an array of objects"
)

// A verb is one kind of step.
type verb struct {
	needs   map[string]kind
	takes   map[string]kind
	oneOf   map[string][]string // the values that a member may have
	either  []string            // members of which exactly one is given
	request bool                // whether it may be begun, and awaited later
	run     doing
}

// A doing does a step.
type doing = func(c *client, ctx context.Context, s step) (any, error)

// verbs are all that a client can be told to do.
func verbs() map[string]verb {
	return map[string]verb{
		"answer-with": {
			needs: map[string]kind{"method": aText},
			takes: map[string]kind{
				"capability": anObject,
				"result":     anObject,
				"error":      anObject,
				"silent":     aFlag,
				"delay":      aNumber,
			},
			oneOf: map[string][]string{"method": slices.Sorted(maps.Keys(capabilityOf))},
			run:   (*client).answerWith,
		},
		"connect": {
			takes: map[string]kind{"revision": aText},
			oneOf: map[string][]string{"revision": Revisions()},
			run:   (*client).connect,
		},
		"list": {
			needs:   map[string]kind{"of": aText},
			oneOf:   map[string][]string{"of": slices.Sorted(maps.Keys(lists))},
			request: true,
			run:     (*client).listStep,
		},
		"call": {
			needs:   map[string]kind{"tool": aText},
			takes:   map[string]kind{"arguments": anObject, "progress": aFlag, "task": anObject, "timeout": aNumber},
			request: true,
			run:     (*client).callTool,
		},
		"read": {
			takes:   map[string]kind{"uri": aText, "template": aText, "arguments": anObject},
			either:  []string{"uri", "template"},
			request: true,
			run:     (*client).readResource,
		},
		"get": {
			needs:   map[string]kind{"prompt": aText},
			takes:   map[string]kind{"arguments": anObject},
			request: true,
			run:     (*client).getPrompt,
		},
		"complete": {
			needs:   map[string]kind{"ref": anObject, "argument": anObject},
			takes:   map[string]kind{"context": anObject},
			request: true,
			run:     (*client).complete,
		},
		"subscribe":    {needs: map[string]kind{"uri": aText}, request: true, run: uriStep("resources/subscribe")},
		"unsubscribe":  {needs: map[string]kind{"uri": aText}, request: true, run: uriStep("resources/unsubscribe")},
		"listen":       {needs: map[string]kind{"to": anObject}, request: true, run: (*client).listen},
		"set-level":    {needs: map[string]kind{"level": aText}, request: true, run: (*client).setLevel},
		"ping":         {request: true, run: (*client).ping},
		"get-task":     {needs: map[string]kind{"task": aText}, request: true, run: taskStep("tasks/get")},
		"task-result":  {needs: map[string]kind{"task": aText}, request: true, run: (*client).taskResult},
		"cancel-task":  {needs: map[string]kind{"task": aText}, request: true, run: taskStep("tasks/cancel", "cancel")},
		"change-roots": {needs: map[string]kind{"roots": aList}, run: (*client).changeRoots},
		"wait-for":     {needs: map[string]kind{"method": aText}, run: (*client).waitFor},
		awaitVerb:      {needs: map[string]kind{"what": aText}},
		cancelVerb:     {needs: map[string]kind{"what": aText}},
		closeVerb:      {},
	}
}

// The verbs that are about other steps.
const (
	awaitVerb  = "await"
	cancelVerb = "cancel"
	closeVerb  = "close"
)

// readSteps reads what to do. Without any, it is a look at all that there is.
func readSteps(raw []byte) ([]step, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return []step{{Do: "connect"}, {Do: "list", Of: "tools"}, {Do: "list", Of: "resources"},
			{Do: "list", Of: "templates"}, {Do: "list", Of: "prompts"}, {Do: closeVerb}}, nil
	}
	var each []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &each); err != nil {
		return nil, stepsError("the steps are not a JSON array of objects, such as [{\"do\": \"connect\"}]: %v", err)
	}
	known := verbs()
	begun := map[string]bool{}
	steps := make([]step, len(each))
	for i, members := range each {
		if err := checkStep(known, members); err != nil {
			return nil, stepsError("step %d: %v", i, err)
		}
		decoder := json.NewDecoder(bytes.NewReader(encode(members)))
		decoder.UseNumber()
		if err := decoder.Decode(&steps[i]); err != nil {
			return nil, stepsError("step %d: %v", i, err)
		}
		s := steps[i]
		if s.What != "" && !begun[s.What] {
			return nil, stepsError("step %d: %s of %q, but no step before has \"as\": %q", i, s.Do, s.What, s.What)
		}
		if s.As != "" && begun[s.As] {
			return nil, stepsError("step %d: \"as\": %q is the name of an earlier step; give it another", i, s.As)
		}
		begun[s.As] = true
	}
	return steps, nil
}

// checkStep compares a step with its verb.
func checkStep(known map[string]verb, members map[string]json.RawMessage) error {
	var name string
	if json.Unmarshal(members["do"], &name) != nil || name == "" {
		return stepsError("\"do\" is missing; it is one of %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	v, isKnown := known[name]
	if !isKnown {
		return stepsError("there is nothing like \"do\": %q, only %s",
			name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	allowed := map[string]kind{"do": aText, "id": aText}
	maps.Copy(allowed, v.needs)
	maps.Copy(allowed, v.takes)
	if v.request {
		allowed["as"] = aText
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		kind, isAllowed := allowed[member]
		if !isAllowed {
			return stepsError("%q is no member of a step %q, only %s",
				member, name, strings.Join(slices.Sorted(maps.Keys(allowed)), ", "))
		}
		if !kind.fits(members[member]) {
			return stepsError("%q of a step %q must be %s, not %.80s", member, name, kind, members[member])
		}
		choices := v.oneOf[member]
		var text string
		if _ = json.Unmarshal(members[member], &text); choices != nil && !slices.Contains(choices, text) {
			return stepsError("%q of a step %q is %q, but must be one of %s",
				member, name, text, strings.Join(choices, ", "))
		}
	}
	for _, member := range slices.Sorted(maps.Keys(v.needs)) {
		if _, given := members[member]; !given {
			return stepsError("a step %q needs %q, %s", name, member, v.needs[member])
		}
	}
	given := slices.DeleteFunc(slices.Clone(v.either), func(member string) bool { return members[member] == nil })
	if len(v.either) > 0 && len(given) != 1 {
		return stepsError("a step %q needs one of %s", name, strings.Join(v.either, " and "))
	}
	return nil
}

func (k kind) fits(raw json.RawMessage) bool {
	if bytes.Equal(raw, []byte("null")) {
		return false
	}
	switch k {
	case aText:
		var text string
		return json.Unmarshal(raw, &text) == nil && text != ""
	case anObject:
		var members map[string]json.RawMessage
		return json.Unmarshal(raw, &members) == nil
	case aFlag:
		var flag bool
		return json.Unmarshal(raw, &flag) == nil
	case aNumber:
		var number uint32 // milliseconds: 49 days
		return json.Unmarshal(raw, &number) == nil
	default:
		var list []object
		return json.Unmarshal(raw, &list) == nil
	}
}
