package replay

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/reports"
)

// opaque are the members whose values a server chooses and a client takes back as they are, by
// the specification: cursors (server/utilities/pagination), the state of a request
// (basic/patterns/mrtr), tasks and elicitations.
var opaque = []string{"nextCursor", "requestState", "taskId", "elicitationId"}

// leastHandle is the length from which on a text that a result brought, and that the client took
// back, is one that the server chose: shorter ones are words.
const leastHandle = 6

// values are what the live server chose in the place of what the recorded one did.
type values struct {
	flow    bool              // texts of results are followed, beside what the specification names
	replace [][2]string       // that the user wants in what the client says
	live    map[string]origin // by the recorded value
	cursors map[string]origin // by method and recorded cursor; sure where the live server gave one
	said    map[string]bool   // texts that the client has said itself
	carried []reports.ReplayValue
	told    map[string]bool
}

// origin is where the live server brought a value.
type origin struct {
	value string
	from  string
	sure  bool // the specification says that it is taken back as it is
}

func newValues(options Options) *values {
	return &values{
		flow: !options.NoFlow, replace: options.Replace,
		live: map[string]origin{}, cursors: map[string]origin{}, said: map[string]bool{}, told: map[string]bool{},
	}
}

// learn compares an answer with the recorded one, and notes what the server chose anew.
func (v *values) learn(from string, recorded, live any) {
	present := map[string]bool{}
	eachText(live, func(text string) { present[text] = true })
	v.walk(from, nil, recorded, live, present)
	v.requests(recorded, live)
}

// page names a cursor of a method: other lists may have the same.
func page(method, cursor string) string { return method + "\x00" + cursor }

// expect notes which cursors the recorded server gives: the live one has given none of them yet.
func (v *values) expect(messages []*rules.Message) {
	for _, message := range messages {
		cursor, there := message.ResultObject()["nextCursor"].(string)
		if !there || message.Request == nil {
			continue
		}
		if _, known := v.cursors[page(message.Request.Method, cursor)]; !known {
			v.cursors[page(message.Request.Method, cursor)] = origin{}
		}
	}
}

// learnPage notes which cursor the live server gives in the place of the recorded one, if any.
func (v *values) learnPage(from, method string, recorded, live map[string]any) {
	if cursor, there := recorded["nextCursor"].(string); there {
		value, given := live["nextCursor"].(string)
		v.cursors[page(method, cursor)] = origin{value, from + " /nextCursor", given}
	}
}

// ungiven returns the cursor of a request where the recorded server gave it and the live one
// did not.
func (v *values) ungiven(message *rules.Message) (cursor string, is bool) {
	cursor, there := message.ParamsObject()["cursor"].(string)
	given, known := v.cursors[page(message.Method, cursor)]
	return cursor, there && known && !given.sure
}

// paged gives a message, or those of a batch, the cursors of the live server.
func (v *values) paged(to string, recorded, changed any) {
	switch recorded := recorded.(type) {
	case []any:
		for position, element := range recorded {
			v.paged(to, element, changed.([]any)[position])
		}
	case map[string]any:
		cursor, there := mcp.Value(recorded, "params", "cursor").(string)
		given := v.cursors[page(mcp.Text(recorded, "method"), cursor)]
		if params, _ := changed.(map[string]any)["params"].(map[string]any); there && given.sure {
			params["cursor"] = given.value // applied has made it anew
			if given.value != cursor {
				v.carry(to, cursor, given)
			}
		}
	}
}

// requests notes the keys under which a server asks for input: they match by method and order.
func (v *values) requests(recorded, live any) {
	of := func(result any) map[string][]string {
		keys := map[string][]string{}
		asked := mcp.Object(result, "inputRequests")
		for _, key := range slices.Sorted(maps.Keys(asked)) {
			method := mcp.Text(asked[key], "method")
			keys[method] = append(keys[method], key)
		}
		return keys
	}
	now := of(live)
	for method, keys := range of(recorded) {
		for position, key := range keys {
			if position < len(now[method]) && now[method][position] != key {
				v.live[inputKey+key] = origin{value: now[method][position], sure: true}
			}
		}
	}
}

// inputKey begins what is known of the key of an input request: it is no text of its own.
const inputKey = "\x00input\x00"

func (v *values) walk(from string, path []string, recorded, live any, present map[string]bool) {
	switch recorded := recorded.(type) {
	case map[string]any:
		now, _ := live.(map[string]any)
		for name, value := range recorded {
			if other, there := now[name]; there {
				v.walk(from, append(slices.Clip(path), name), value, other, present)
			}
		}
	case []any:
		now, _ := live.([]any)
		for position := range min(len(recorded), len(now)) {
			v.walk(from, append(slices.Clip(path), strconv.Itoa(position)), recorded[position], now[position], present)
		}
	case string:
		if now, isText := live.(string); isText && now != recorded {
			v.differ(from, path, recorded, now, present)
		}
	}
}

// differ notes what may be taken from a text that came otherwise.
func (v *values) differ(from string, path []string, recorded, live string, present map[string]bool) {
	if slices.Equal(path, []string{"nextCursor"}) {
		return // learnPage has it
	}
	at := from + " " + jsonrpc.Pointer(path...)
	if len(path) > 0 && slices.Contains(opaque, path[len(path)-1]) {
		v.live[recorded] = origin{live, at, true}
		return
	}
	if !v.flow {
		return
	}
	was, is := parsed(recorded), parsed(live)
	if was != nil && is != nil { // JSON in a text
		eachText(is, func(text string) { present[text] = true })
		v.walk(from, path, was, is, present)
		return
	}
	v.note(at, recorded, live, present)
	words, now := handles.FindAllString(recorded, -1), handles.FindAllString(live, -1)
	if len(words) == len(now) && len(words) > 1 {
		for position, word := range words {
			if word != now[position] && !slices.Contains(now, word) && strings.ContainsAny(word, "0123456789") {
				v.note(at, word, now[position], present)
			}
		}
	}
}

// handles are the parts of a text that may be names which a server chose: those with a digit.
var handles = lazy.MustCompile(`[\pL\pN_\-.:/+=]*[\pL\pN]`)

func (v *values) note(at, recorded, live string, present map[string]bool) {
	if len(recorded) >= leastHandle && !v.said[recorded] && !present[recorded] {
		v.live[recorded] = origin{value: live, from: at}
	}
}

// parsed is the object or array that a text is; nil for others.
func parsed(text string) any {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil
	}
	value, flaws := jsonrpc.Decode([]byte(text))
	if len(flaws) > 0 {
		return nil
	}
	return value
}

// eachText calls show with every text in a value that is not a name of a member.
func eachText(value any, show func(string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			eachText(member, show)
		}
	case []any:
		for _, element := range value {
			eachText(element, show)
		}
	case string:
		show(value)
	}
}

// sent notes what the client says itself.
func (v *values) sent(params any) {
	eachText(params, func(text string) {
		v.said[text] = true
		for _, word := range handles.FindAllString(text, -1) {
			v.said[word] = true
		}
	})
}

// apply returns a message of the client with the values of the live server in the place of the
// recorded ones, and whether it is another message for that.
func (v *values) apply(to string, raw []byte, message any) ([]byte, bool) {
	changed := v.applied(to, nil, message)
	v.paged(to, message, changed)
	if jsonrpc.Equal(changed, message) {
		return raw, false
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return raw, false
	}
	return text, true
}

func (v *values) applied(to string, path []string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		changed := make(map[string]any, len(value))
		for name, member := range value {
			if slices.Equal(path, []string{"params", "inputResponses"}) {
				if key, there := v.live[inputKey+name]; there {
					changed[key.value] = v.applied(to, append(slices.Clip(path), name), member)
					continue
				}
			}
			if len(path) == 0 && name != "params" && name != "result" {
				changed[name] = member
				continue
			}
			changed[name] = v.applied(to, append(slices.Clip(path), name), member)
		}
		return changed
	case []any:
		changed := make([]any, len(value))
		for position, element := range value {
			changed[position] = v.applied(to, append(slices.Clip(path), strconv.Itoa(position)), element)
		}
		return changed
	case string:
		return v.text(to, slices.ContainsFunc(path, func(name string) bool {
			return slices.Contains(opaque, name) || name == "cursor" || name == "taskIds"
		}), value)
	}
	return value
}

// text is what the client says in the place of a text. Where that is no place for what a server
// chose, a short one is a word.
func (v *values) text(to string, opaque bool, recorded string) string {
	origin, there := v.live[recorded]
	if there && (opaque || !origin.sure || v.flow && len(recorded) >= leastHandle) {
		v.carry(to, recorded, origin)
		return origin.value
	}
	text := recorded
	if v.flow {
		text = handles.ReplaceAllStringFunc(text, func(word string) string {
			origin, there := v.live[word]
			if !there || origin.sure || len(word) < leastHandle {
				return word
			}
			v.carry(to, word, origin)
			return origin.value
		})
	}
	for _, pair := range v.replace {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

// carry tells once that a value was taken back.
func (v *values) carry(to, recorded string, origin origin) {
	if v.told[recorded+"\x00"+origin.value] || len(v.carried) == maxCarried {
		return
	}
	v.told[recorded+"\x00"+origin.value] = true
	quoted := func(text string) string { return strconv.Quote(excerpt.Short([]byte(text))) }
	v.carried = append(v.carried, reports.ReplayValue{
		From: origin.from, To: to, Recorded: quoted(recorded), Live: quoted(origin.value),
	})
}

// maxCarried bounds what is told of values.
const maxCarried = 200

// normal is a recorded value as the live server would have it.
func (v *values) normal(value any) any {
	quiet := *v
	quiet.carried, quiet.told, quiet.replace = nil, map[string]bool{}, nil
	return quiet.applied("", []string{"result"}, value)
}
