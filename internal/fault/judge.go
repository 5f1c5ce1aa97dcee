package fault

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/spelling"
)

// judge says what is wrong with a fault that can be read.
type judge struct {
	place    string // file and line of the fault
	fault    *Fault
	problems []error
}

func (j *judge) fail(format string, args ...any) {
	problem := excerpt.OneLine(j.fault.ID + ": " + fmt.Sprintf(format, args...)) // it may quote several lines
	j.problems = append(j.problems, fmt.Errorf("%s: %s", j.place, problem))
}

var idPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// beside judges what is broken beside what a fault breaks, as one of its keys has it.
func (j *judge) beside(key string, broken map[string]string, expected string) {
	for id, reason := range broken {
		if strings.TrimSpace(reason) == "" {
			j.fail("%s %s: expected %s", key, id, expected)
		}
		if slices.Contains(j.fault.Breaks, id) {
			j.fail("%s: %s is among what it breaks", key, id)
		}
	}
}

func (j *judge) judge() {
	fault := j.fault
	if !idPattern.MatchString(fault.ID) {
		j.fail("id %q: expected lower-case words with hyphens, as in version-not-echoed", fault.ID)
	}
	if strings.TrimSpace(fault.Says) == "" {
		j.fail("key \"says\" is missing: what does such a target do?")
	}
	j.beside("also-breaks", fault.AlsoBreaks, "the reason that it cannot be kept")
	j.beside("may-break", fault.MayBreak, "what it hangs on")
	j.oneOf("role", fault.Role, append([]string{""}, protocol.Roles()...)...)
	for _, transport := range fault.Transport {
		j.oneOf("transport", transport, protocol.Transports()...)
	}
	j.oneOf("into", fault.Into, "", IntoRecording)
	changes := fault.AllChanges()
	if fault.Into != "" && (!fault.ofClient() || fault.Switch != "") {
		j.fail("into is for faults of a client, without a switch")
	}
	if len(changes) == 0 && fault.Switch == "" {
		j.fail("nothing is changed: expected when and do, changes, or switch")
	}
	if fault.When == nil && len(fault.Do) > 0 {
		j.fail("do without when")
	}
	for _, change := range changes {
		j.change(change)
	}
}

func (j *judge) oneOf(key, value string, known ...string) {
	if !slices.Contains(known, value) {
		known = slices.DeleteFunc(known, func(word string) bool { return word == "" })
		j.fail("%s: %q is none of %s%s", key, value, strings.Join(known, ", "), nearest.Hint(value, known))
	}
}

func (j *judge) change(change Change) {
	if change.When == nil {
		j.fail("a change without when")
		return
	}
	j.match(change.When)
	if len(change.Do) == 0 && j.fault.Switch == "" {
		j.fail("when without do")
	}
	for i := range change.Do {
		j.action(change.When, &change.Do[i])
	}
}

func (j *judge) match(match *Match) {
	if match == nil {
		return
	}
	j.oneOf("direction", string(match.Direction), "", string(record.In), string(record.Out))
	j.oneOf("kind", match.Kind, "", "request", "notification", "response", kindResult, kindError, "batch", "invalid")
	j.oneOf("process", match.Process, "", "start", "input-closed", "terminate")
	if j.fault.ofClient() && match.aboutProcess() {
		j.fail("process is for servers: what the process of a client does wrong is a switch")
	}
	if len(match.Asks) > 0 && len(match.Answers) > 0 {
		j.fail("asks and answers exclude each other")
	}
	for _, carried := range match.Carried {
		j.oneOf("carried", carried, "stdio", "body", "post", "get", CarriedOutcome)
	}
	for _, conditions := range []map[string]Condition{match.Where, match.Asked} {
		for pointer, condition := range conditions {
			j.pointer(pointer)
			j.oneOf("type", condition.Type, "", "string", "number", "boolean", "null", "object", "array")
		}
	}
	if slices.Contains(match.Carried, CarriedOutcome) && j.fault.Into != IntoRecording {
		j.fail("carried: outcome is for recordings of clients: expected into: recording")
	}
	if len(match.Asked) > 0 && len(match.ResponseTo) == 0 && len(match.Asks) == 0 {
		j.fail("asked is for responses: expected response-to, or asks, beside it")
	}
	j.match(match.After)
	j.match(match.Before)
}

func (j *judge) pointer(pointer string) {
	if pointer != "" && !strings.HasPrefix(pointer, "/") {
		j.fail("%q is no JSON pointer: expected it to begin with a slash", pointer)
	}
}

// companions are what may stand beside a verb; verbs without any are nil.
var companions = map[string][]string{
	"replace": {"with"}, "add": {"with"}, "remove": nil, "rename": {"to"},
	"substitute": {"by"}, "raw": nil, "hex": nil, "encode": nil, "rewrite": nil,
	"drop": nil, "repeat": nil, "delay": nil, "hold": nil, "answer": nil, "refuse": nil,
	"send": {"direction", "place", "stream"}, "split": nil, "end": nil, "chunk": nil,
	"alias": nil, "request": nil, "query": nil, "form": nil, "challenge": nil, "extend": {"seed"},
	"write": {"to", "place"}, "status": nil, "header": nil, "body": nil, "respond": nil,
	"event": nil, "event-text": nil, "as": nil, "cut": {"place"}, "close": {"place"},
	"keep-open": nil, "exit": {"place"}, "hang": {"place"}, "ignore": nil,
}

// headVerbs are those that a head can undergo, processVerbs an event of the
// process.
var (
	headVerbs = []string{
		"status",
		"header",
		"query",
		"challenge",
		"body",
		"respond",
		"as",
		"delay",
		"chunk",
		"drop",
		"cut",
		"keep-open",
	}
	processVerbs = []string{"ignore", "write", "send", "exit", "hang", "delay"}
	// clientVerbs are of clients alone, serverVerbs of servers.
	clientVerbs = []string{"request"}
	serverVerbs = []string{"exit", "ignore"}
	// recordingVerbs are what can be done with a recording; the last ones only there.
	recordingVerbs = []string{
		"replace", "add", "remove", "rename", "substitute", "raw", "hex", "encode", "rewrite",
		"drop", "hold", "send", "header", "cut", "query", "form",
	}
	onlyRecordingVerbs = recordingVerbs[len(recordingVerbs)-2:]
)

func (j *judge) action(match *Match, action *Action) {
	given := givenKeys(action)
	verbs := slices.DeleteFunc(slices.Clone(given), func(key string) bool { _, verb := companions[key]; return !verb })
	if len(verbs) != 1 {
		j.fail("an action has exactly one verb, not %d: %s", len(verbs), strings.Join(given, ", "))
		return
	}
	verb := verbs[0]
	for _, key := range given {
		if key != verb && !slices.Contains(companions[verb], key) {
			j.fail("%s does not belong beside %s", key, verb)
		}
	}
	switch {
	case match.aboutHead() && !slices.Contains(headVerbs, verb):
		j.fail("%s cannot be done with the head of an exchange, only %s", verb, strings.Join(headVerbs, ", "))
	case match.aboutProcess() && !slices.Contains(processVerbs, verb):
		j.fail("%s cannot be done at an event of the process, only %s", verb, strings.Join(processVerbs, ", "))
	case j.fault.ofClient() && slices.Contains(serverVerbs, verb):
		j.fail("%s is for servers: what the process of a client does wrong is a switch", verb)
	case j.fault.Into == IntoRecording && !slices.Contains(recordingVerbs, verb):
		j.fail("%s cannot be done with a recording, only %s", verb, strings.Join(recordingVerbs, ", "))
	case j.fault.Into != IntoRecording && slices.Contains(onlyRecordingVerbs, verb):
		j.fail("%s is done with recordings of clients: expected into: recording", verb)
	case !j.fault.ofClient() && slices.Contains(clientVerbs, verb):
		j.fail("%s is for clients: expected role: client", verb)
	}
	j.values(action, verb)
	j.match(action.Hold)
}

func (j *judge) values(action *Action, verb string) {
	if (verb == "replace" || verb == "add") && action.With == nil {
		j.fail("%s needs \"with\"", verb)
	}
	if verb == "rename" && action.To == "" {
		j.fail("rename needs \"to\"")
	}
	for _, pointer := range []*string{action.Replace, action.Add, action.Remove, action.Rename} {
		if pointer != nil {
			j.pointer(*pointer)
		}
	}
	if action.Alias != nil {
		j.pointer(action.Alias.At)
		if len(action.Alias.Names) == 0 {
			j.fail("alias needs \"names\"")
		}
	}
	if action.Hex != nil {
		if _, err := hex.DecodeString(*action.Hex); err != nil {
			j.fail("hex: %s", err)
		}
	}
	for _, name := range action.Rewrite {
		j.oneOf("rewrite", name, spelling.Names()...)
	}
	for _, what := range action.Extend {
		j.oneOf("extend", what, extensions...)
	}
	if action.Encode != "" {
		j.oneOf("encode", action.Encode, encodings...)
	}
	j.oneOf("place", action.Place, "", placeBefore, "after")
	j.oneOf("as", action.As, "", "json", "events")
	j.oneOf("stream", action.Stream, "", record.OnGet, record.OnOthers)
	j.oneOf("direction", string(action.Direction), "", string(record.In), string(record.Out))
	if action.Request != nil && action.Request.Method == "" {
		j.fail("request needs \"method\"")
	}
	if action.To == toStderr && j.fault.ofClient() {
		j.fail(
			"what a client writes to its standard error is nobody's business: write it to standard output, or not at all",
		)
	}
	if id, counted := countedResponse(action.Send); counted {
		j.fail("send: some request may have the id %s of this response by chance: write a text, 0 or less", id)
	}
	for _, value := range []*Value{action.With, action.Answer, action.Refuse, action.Send} {
		if value != nil {
			j.spelled(value.value)
		}
	}
}

// spelled judges the JSON that {$json: ...} holds: a number beyond all bounds is
// JSON, half an object is not.
func (j *judge) spelled(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if text, _ := member.(string); name == "$json" && !json.Valid([]byte(text)) {
				j.fail("$json: %q is no JSON; write the whole message with raw", text)
			}
			j.spelled(member)
		}
	case []any:
		for _, element := range value {
			j.spelled(element)
		}
	}
}

// givenKeys are the keys of an action that are set.
func givenKeys(action *Action) []string {
	var given []string
	value := reflect.ValueOf(action).Elem()
	for _, field := range keys(value.Type()) {
		if !value.FieldByIndex(field.Index).IsZero() {
			given = append(given, yamlName(field))
		}
	}
	return given
}

// countedResponse returns the id of a response whose id is a fixed number: it answers
// the request that happens to have that id.
func countedResponse(sent *Value) (id json.Number, counted bool) {
	if sent == nil {
		return "", false
	}
	message, _ := sent.value.(map[string]any)
	_, hasResult := message["result"]
	_, hasError := message["error"]
	id, isNumber := message["id"].(json.Number)
	number, err := id.Int64()
	return id, isNumber && err == nil && number > 0 && (hasResult || hasError)
}
