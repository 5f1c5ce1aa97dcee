package scenario

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Step is one thing that a target client is told to do, as it stands in
// MCPCONFORM_STEPS; docs/steps.schema.json describes them all.
type Step map[string]any

// Verb says what kind of step it is.
func (s Step) Verb() string {
	verb, _ := s["do"].(string)
	return verb
}

// ID gives the step an id by which checks refer to it, in words with hyphens.
func (s Step) ID(id string) Step { return s.with("id", id) }

// Text is the step for the hints of reports: without its id, which is optional.
func (s Step) Text() string {
	bare := maps.Clone(s)
	delete(bare, "id")
	return jsonrpc.Text(bare)
}

// notWord is what no id has.
var notWord = regexp.MustCompile("[^a-z0-9]+")

// Hyphenated makes an id of words.
func Hyphenated(words string) string {
	return strings.Trim(notWord.ReplaceAllString(strings.ToLower(words), "-"), "-")
}

// usualID is the id of a step that was given none, unless another one has it: the name
// that it is begun under, or what it does, and with what.
func (s Step) usualID() string {
	if name, named := s["as"].(string); named {
		return Hyphenated(name)
	}
	words := s.Verb()
	for _, member := range []string{"of", "what", "tool", "method"} {
		if word, there := s[member].(string); there {
			return Hyphenated(words + " " + word)
		}
	}
	return words
}

// Describe says the step in words, to a person who does it by hand.
func (s Step) Describe() string {
	text := s.Verb()
	if how := describers[text]; how != nil {
		text = how(s)
	}
	if name, named := s["as"].(string); named {
		text += fmt.Sprintf(" (in the background, as %q)", name)
	}
	return text
}

var describers = map[string]func(Step) string{
	"answer-with": func(s Step) string {
		late := ""
		if s["delay"] != nil {
			late = fmt.Sprintf(", after %v ms", s["delay"])
		}
		switch {
		case s["silent"] == true:
			return fmt.Sprintf("leave %s unanswered", s["method"])
		case s["error"] != nil:
			return fmt.Sprintf("refuse %s with %s", s["method"], jsonrpc.Text(s["error"])) + late
		}
		return fmt.Sprintf("answer %s with %s", s["method"], jsonrpc.Text(s["result"])) + late
	},
	"connect": func(Step) string { return "connect" },
	"list":    func(s Step) string { return fmt.Sprintf("list the %s, to the end", s["of"]) },
	"call": func(s Step) string {
		return fmt.Sprintf("call the tool %s with %s", s["tool"], jsonrpc.Text(s["arguments"]))
	},
	"read": func(s Step) string {
		if s["template"] != nil {
			return fmt.Sprintf(
				"read the resource of the template %s with %s",
				s["template"],
				jsonrpc.Text(s["arguments"]),
			)
		}
		return fmt.Sprintf("read the resource %s", s["uri"])
	},
	"get": func(s Step) string {
		return fmt.Sprintf("get the prompt %s with %s", s["prompt"], jsonrpc.Text(s["arguments"]))
	},
	"complete":    func(s Step) string { return "ask for completions of " + jsonrpc.Text(s["argument"]) },
	"subscribe":   func(s Step) string { return fmt.Sprintf("subscribe to the resource %s", s["uri"]) },
	"unsubscribe": func(s Step) string { return fmt.Sprintf("unsubscribe from the resource %s", s["uri"]) },
	"listen":      func(s Step) string { return "listen for " + jsonrpc.Text(s["to"]) },
	"set-level":   func(s Step) string { return fmt.Sprintf("set the log level to %s", s["level"]) },
	"wait-for":    func(s Step) string { return fmt.Sprintf("wait for %s from the server", s["method"]) },
	"change-roots": func(s Step) string {
		return "change the roots to " + jsonrpc.Text(s["roots"])
	},
	"await":       func(s Step) string { return fmt.Sprintf("wait for the end of %q", s["what"]) },
	"cancel":      func(s Step) string { return fmt.Sprintf("cancel %q", s["what"]) },
	"get-task":    func(s Step) string { return fmt.Sprintf("ask for the state of the task %s", s["task"]) },
	"task-result": func(s Step) string { return fmt.Sprintf("ask for the result of the task %s", s["task"]) },
	"cancel-task": func(s Step) string { return fmt.Sprintf("cancel the task %s", s["task"]) },
	"close":       func(Step) string { return "end the session" },
}

func step(verb string, members ...any) Step {
	made := Step{"do": verb}
	for pair := range slices.Chunk(members, 2) {
		made[pair[0].(string)] = pair[1]
	}
	return made
}

// with returns the step with a member more.
func (s Step) with(name string, value any) Step {
	more := maps.Clone(s)
	more[name] = value
	return more
}

// ToConnect tells the client to connect.
func ToConnect() Step { return step("connect") }

// ToAnswer tells the client to declare the capability of a method and to answer
// requests of it with a result. It stands before ToConnect.
func ToAnswer(method string, result object) Step {
	return step("answer-with", "method", method, "result", result)
}

// ToRefuse tells the client to declare the capability of a method and to refuse
// requests of it.
func ToRefuse(method string, code int64, message string) Step {
	return step("answer-with", "method", method, "error", object{"code": code, "message": message})
}

// ToIgnore tells the client to declare the capability of a method and to leave
// requests of it unanswered.
func ToIgnore(method string) Step { return step("answer-with", "method", method, "silent", true) }

// Late says that the client is to take so long to answer, in milliseconds.
func (s Step) Late(milliseconds int) Step { return s.with("delay", milliseconds) }

// Declaring says what the client declares under the capability of the method that
// it answers.
func (s Step) Declaring(capability object) Step { return s.with("capability", capability) }

// ToList tells the client to list "tools", "resources", "templates", "prompts" or
// "tasks".
func ToList(of string) Step { return step("list", "of", of) }

// ToCall tells the client to call a tool.
func ToCall(tool string, arguments object) Step {
	if arguments == nil {
		arguments = object{}
	}
	return step("call", "tool", tool, "arguments", arguments)
}

// WithProgress says that the client is to ask for progress.
func (s Step) WithProgress() Step { return s.with("progress", true) }

// AsTask says that the client is to ask for a task that is kept so long, in
// milliseconds.
func (s Step) AsTask(ttl int) Step { return s.with("task", object{"ttl": ttl}) }

// Within says how long the client is to wait for the answer, in milliseconds.
func (s Step) Within(timeout int) Step { return s.with("timeout", timeout) }

// As says that the client is to begin the step and go on, under a name for ToAwait
// and ToCancel.
func (s Step) As(name string) Step { return s.with("as", name) }

// ToRead tells the client to read a resource.
func ToRead(uri string) Step { return step("read", "uri", uri) }

// ToReadBy tells the client to read the resource that a template names when it is
// expanded with some arguments.
func ToReadBy(template string, arguments object) Step {
	return step("read", "template", template, "arguments", arguments)
}

// ToSubscribe tells the client to subscribe to a resource (handshake era).
func ToSubscribe(uri string) Step { return step("subscribe", "uri", uri) }

// ToUnsubscribe tells the client to end the subscription to a resource (handshake era).
func ToUnsubscribe(uri string) Step { return step("unsubscribe", "uri", uri) }

// ToSetLevel tells the client which log messages it wants.
func ToSetLevel(level string) Step { return step("set-level", "level", level) }

// ToGetTask tells the client to ask for the state of a task.
func ToGetTask(id string) Step { return step("get-task", "task", id) }

// ToFetchTask tells the client to wait for the result of a task.
func ToFetchTask(id string) Step { return step("task-result", "task", id) }

// ToCancelTask tells the client to cancel a task.
func ToCancelTask(id string) Step { return step("cancel-task", "task", id) }

// ToGet tells the client to get a prompt.
func ToGet(prompt string, arguments object) Step {
	return step("get", "prompt", prompt, "arguments", arguments)
}

// ToComplete tells the client to ask for completions of an argument.
func ToComplete(ref, argument object) Step {
	return step("complete", "ref", ref, "argument", argument)
}

// Given says which other arguments are completed already.
func (s Step) Given(arguments object) Step { return s.with("context", object{"arguments": arguments}) }

// ToListen tells the client to open a stream of changes (stateless era).
func ToListen(filter object) Step { return step("listen", "to", filter) }

// ToPing tells the client to ping (handshake era).
func ToPing() Step { return step("ping") }

// ToWaitFor tells the client to wait for a notification or request of the server.
func ToWaitFor(method string) Step { return step("wait-for", "method", method) }

// ToChangeRoots tells the client to change its roots.
func ToChangeRoots(roots ...object) Step { return step("change-roots", "roots", roots) }

// ToAwait tells the client to wait for the end of a step that it has begun.
func ToAwait(name string) Step { return step("await", "what", name) }

// ToCancel tells the client to give up a step that it has begun.
func ToCancel(name string) Step { return step("cancel", "what", name) }

// ToClose tells the client to end the session in good order.
func ToClose() Step { return step("close") }

// Steps are what a client is told, in order.
type Steps []Step

// IDs are those of the steps, in order. A step that was given none is called by what it does;
// the second one that does the same is number 2.
func (s Steps) IDs() []string {
	ids := make([]string, len(s))
	for i, one := range s {
		ids[i], _ = one["id"].(string)
	}
	for i, one := range s {
		usual := one.usualID()
		for number := 1; ids[i] == ""; number++ {
			id := usual
			if number > 1 {
				id = fmt.Sprintf("%s-%d", usual, number)
			}
			if !slices.Contains(ids, id) {
				ids[i] = id
			}
		}
	}
	return ids
}

// All are the steps by their ids, in order.
func (s Steps) All() iter.Seq2[string, Step] {
	return func(yield func(string, Step) bool) {
		for i, id := range s.IDs() {
			if !yield(id, s[i]) {
				return
			}
		}
	}
}

// Position returns that of the step with an id; -1 when there is none.
func (s Steps) Position(id string) int { return slices.Index(s.IDs(), id) }

// MarshalJSON writes each step with its id.
func (s Steps) MarshalJSON() ([]byte, error) {
	named := make([]Step, len(s))
	for i, id := range s.IDs() {
		named[i] = s[i].ID(id)
	}
	return json.Marshal(named)
}

// JSON is the value of MCPCONFORM_STEPS.
func (s Steps) JSON() []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("scenario: a step that is no JSON: " + err.Error()) // written in a scenario
	}
	return text
}

// first returns the id of the first step of a kind; "" when there is none.
func (s Steps) first(is func(Step) bool) string {
	if at := slices.IndexFunc(s, is); at >= 0 {
		return s.IDs()[at]
	}
	return ""
}

// First returns the id of the first step of a verb; "" when there is none.
func (s Steps) First(verb string) string {
	return s.first(func(one Step) bool { return one.Verb() == verb })
}

// Bringing returns the id of the first step that brings about messages of a method; ""
// when there is none.
func (s Steps) Bringing(method string) string {
	return s.first(func(one Step) bool {
		return one.Verb() == verbs[method] &&
			(lists[method] == "" || one["of"] == lists[method]) &&
			(one.Verb() != "answer-with" || one["method"] == method)
	})
}

// Calling returns the id of the first step that calls a tool; "" when there is none.
func (s Steps) Calling(tool string) string {
	return s.first(func(one Step) bool { return one.Verb() == "call" && one["tool"] == tool })
}

// Method returns the request that the step sends in either era, unless a cache has what
// it asks for; "" for other steps.
func (s Step) Method() string {
	switch verb := s.Verb(); verb {
	case "list":
		for method, of := range lists {
			if s["of"] == of && method != "tasks/list" {
				return method
			}
		}
	case "call", "read", "get", "complete":
		for method, brought := range verbs {
			if brought == verb {
				return method
			}
		}
	}
	return ""
}

// Kind tells which steps are alike: who can do one of them can do all.
func (s Step) Kind() string {
	of, _ := s["of"].(string)
	kind := s.Verb() + " " + of
	if s["task"] != nil {
		kind += " as a task"
	}
	if s["progress"] != nil {
		kind += " with progress"
	}
	if s["template"] != nil {
		kind += " by a template"
	}
	return kind
}

// lists are what the lists of a method are called in steps.
var lists = map[string]string{
	"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "templates",
	"prompts/list": "prompts", "tasks/list": "tasks",
}

// verbs that bring about requests and notifications of a client.
var verbs = map[string]string{
	"initialize":                       "connect",
	"notifications/initialized":        "connect",
	"server/discover":                  "connect",
	"tools/list":                       "list",
	"resources/list":                   "list",
	"resources/templates/list":         "list",
	"prompts/list":                     "list",
	"tasks/list":                       "list",
	"tools/call":                       "call",
	"resources/read":                   "read",
	"prompts/get":                      "get",
	"completion/complete":              "complete",
	"resources/subscribe":              "subscribe",
	"resources/unsubscribe":            "unsubscribe",
	"subscriptions/listen":             "listen",
	"logging/setLevel":                 "set-level",
	"ping":                             "ping",
	"notifications/roots/list_changed": "change-roots",
	"notifications/cancelled":          "cancel",
	"tasks/get":                        "get-task",
	"tasks/result":                     "task-result",
	"tasks/cancel":                     "cancel-task",
	"roots/list":                       "answer-with",
	"sampling/createMessage":           "answer-with",
	"elicitation/create":               "answer-with",
}
