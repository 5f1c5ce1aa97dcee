package fault

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/schema"
)

// What Extend adds to every object of a message that may have more.
const (
	extendMembers = "members" // a member that the specification does not know
	extendMeta    = "meta"    // metadata that the receiver did not ask for
)

var extensions = []string{extendMembers, extendMeta}

// open are members of messages whose content the application defines: one member more
// would change what the message says.
var open = []string{
	"structuredContent", "arguments", "default", "const", "enum", "examples", "data", "_meta", "metadata", "error",
}

// mappings are members whose own members are entries: one more would be an entry more.
var mappings = []string{
	"properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
	"extensions", "experimental", "inputRequests", "inputResponses",
}

// oddNames and oddValues are what is added: a different one at each place. None of the
// values is an object, by which a map (of properties, say) would have an entry more.
var (
	oddNames = []string{
		"x-vendor",
		"mcpconformUnknown",
		"ünïcödé",
		"with space",
		"snake_case",
		"0",
		"a/b~c",
		"Content-Type",
	}
	oddValues = []any{json.Number("0.5"), true, nil, json.Number("-12345678901234567890"), json.Number("1e-7")}
)

// empty are the methods whose result is empty, in so many words.
var empty = []string{"ping", "tasks/update", "tasks/cancel"}

// extended returns a message with something more in every object where the schema
// allows it, at each revision at which the message is one. It is nil when there is no
// such place.
func extended(message *jsonrpc.Message, asked *jsonrpc.Message, what []string, seed int) map[string]any {
	judges := judgesOf(message, asked)
	if len(judges) == 0 {
		return nil
	}
	places := objectsIn(message.Object, nil)
	for len(places) > 0 {
		changed, _ := clone(message.Object).(map[string]any)
		for _, place := range places {
			add(changed, place, what, seed)
		}
		refused := refusals(judges, changed)
		if len(refused) == 0 {
			return changed
		}
		left := slices.DeleteFunc(slices.Clone(places), func(place []string) bool { return within(place, refused) })
		if len(left) == len(places) {
			left = places[:len(places)-1] // what is wrong is told of another place
		}
		places = left
	}
	return nil
}

// objectsIn returns the places of the objects of a message, the message itself aside,
// that are the protocol's.
func objectsIn(value any, at []string) (places [][]string) {
	switch value := value.(type) {
	case map[string]any:
		if len(at) > 0 && !slices.Contains(mappings, at[len(at)-1]) {
			places = append(places, at)
		}
		_, answers := value["action"]
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if slices.Contains(open, name) || answers && name == "content" {
				continue
			}
			places = append(places, objectsIn(value[name], slices.Concat(at, []string{name}))...)
		}
	case []any:
		for index, element := range value {
			places = append(places, objectsIn(element, slices.Concat(at, []string{strconv.Itoa(index)}))...)
		}
	}
	return places
}

// add puts something more into the object at a place.
func add(message map[string]any, place, what []string, seed int) {
	object, _ := lookup(message, place)[0].(map[string]any)
	sum := fnv.New32a()
	_, _ = fmt.Fprint(sum, place, seed) // never fails
	draw := int(sum.Sum32() >> 1)
	for _, one := range what {
		name, value := oddNames[draw%len(oddNames)], oddValues[draw/len(oddNames)%len(oddValues)]
		if one == extendMeta {
			meta, isMeta := object["_meta"].(map[string]any)
			if !isMeta {
				meta = map[string]any{}
			}
			meta["com.example/variation"] = value
			name, value = "_meta", any(meta)
		}
		if _, there := object[name]; !there || one == extendMeta {
			object[name] = value
		}
	}
}

// within tells whether something is wrong in the object at a place, or with one that
// is in it.
func within(place []string, refused [][]string) bool {
	return slices.ContainsFunc(refused, func(pointer []string) bool {
		return len(pointer) <= len(place)+1 && len(pointer) >= len(place) && slices.Equal(pointer[:len(place)], place)
	})
}

// validator judges a whole message at one revision.
type validator func(message map[string]any) []schema.Violation

// judgesOf are the revisions at which a message is valid as it is.
func judgesOf(message, asked *jsonrpc.Message) []validator {
	var valid []validator
	for _, known := range schemas() {
		one := validatorOf(known, message, asked)
		if one != nil && len(one(message.Object)) == 0 {
			valid = append(valid, one)
		}
	}
	return valid
}

var schemas = sync.OnceValue(func() []*schema.Schema {
	var all []*schema.Schema
	for _, revision := range schema.Revisions() {
		if known, err := schema.For(revision); err == nil {
			all = append(all, known)
		}
	}
	return all
})

func validatorOf(known *schema.Schema, message, asked *jsonrpc.Message) validator {
	switch message.Kind {
	case jsonrpc.Request:
		return func(whole map[string]any) []schema.Violation { return known.ValidateRequest(message.Method, whole) }
	case jsonrpc.Notification:
		return func(whole map[string]any) []schema.Violation {
			return known.ValidateNotification(message.Method, whole)
		}
	case jsonrpc.Response:
		if _, there := message.Object["result"]; !there || asked == nil || slices.Contains(empty, asked.Method) {
			return nil
		}
		return func(whole map[string]any) []schema.Violation {
			found := known.ValidateResult(asked.Method, whole["result"])
			for i := range found {
				found[i].Pointer = "/result" + found[i].Pointer
			}
			return found
		}
	}
	return nil
}

// refusals are the places at which one of the revisions finds a message wrong.
func refusals(judges []validator, message map[string]any) (places [][]string) {
	for _, judge := range judges {
		for _, violation := range judge(message) {
			places = append(places, jsonrpc.Path(violation.Pointer))
		}
	}
	return places
}
