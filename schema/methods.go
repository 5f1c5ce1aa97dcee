package schema

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Kind tells requests, which are answered, from notifications, which are not. From 2026-07-28 on a server asks for
// input within a result: such a request is no message of its own, and its answer comes with the next request.
type Kind string

// The kinds of methods.
const (
	Request      Kind = "request"
	Notification Kind = "notification"
	InputRequest Kind = "request for input"
)

// Side is a party, seen from one message: the one that sends it, or the one that receives it.
type Side string

// The sides of a message.
const (
	Sender   Side = "sender"
	Receiver Side = "receiver"
)

// Capability is what one side must have declared before a message may be sent: during initialization or, from
// 2026-07-28 on, the client in the request itself and the server when it is discovered. The zero Capability demands
// nothing.
type Capability struct {
	Of   Side
	Path string // members of the capabilities object, joined by dots: "resources.subscribe"
}

// Declarer is the party that must have declared the capability, for a message sent by sender.
func (c Capability) Declarer(sender protocol.Party) protocol.Party {
	if c.Of == Receiver {
		return sender.Other()
	}
	return sender
}

// DeclaredIn tells whether a decoded capabilities object declares the capability: an object, or true, at its path.
func (c Capability) DeclaredIn(capabilities any) bool {
	if c.Path == "" {
		return true
	}
	for member := range strings.SplitSeq(c.Path, ".") {
		object, _ := capabilities.(map[string]any)
		capabilities = object[member]
	}
	switch declared := capabilities.(type) {
	case bool:
		return declared
	case map[string]any:
		return true
	default:
		return false
	}
}

// Method is what a revision says about one method.
type Method struct {
	Name           string
	Kind           Kind
	Senders        []protocol.Party
	Message        string     // definition of the whole message
	Params         string     // definition of its params, or the place inside Message, as Schema.Validate takes it
	Result         string     // definition of the result; "" for a notification
	TaskResult     string     // definition of the result when the receiver makes a task of the request; "" if it cannot
	InputResult    string     // definition of the result when the receiver needs input first; "" if it cannot ask for it
	Capability     Capability // needed to send it at all
	TaskCapability Capability // needed to ask for a task
}

// SentBy tells whether a party may send the method.
func (m Method) SentBy(party protocol.Party) bool { return slices.Contains(m.Senders, party) }

// Method returns what the revision says about a method.
func (s *Schema) Method(name string) (Method, bool) {
	m, ok := s.byName[name]
	return m, ok
}

// Methods lists the methods of the revision.
func (s *Schema) Methods() []Method { return slices.Clone(s.methods) }

// messageUnions are the definitions that say which messages there are, of what kind, and who sends them.
var messageUnions = []struct {
	name   string
	kind   Kind
	sender protocol.Party
}{
	{"ClientRequest", Request, protocol.Client},
	{"ServerRequest", Request, protocol.Server},
	{"InputRequest", InputRequest, protocol.Server},
	{"ClientNotification", Notification, protocol.Client},
	{"ServerNotification", Notification, protocol.Server},
}

// sending looks up the kind of a message and who sends it; senders is empty if the revision does not have it.
func (s *Schema) sending(message string) (kind Kind, senders []protocol.Party) {
	for _, union := range messageUnions {
		if slices.Contains(alternatives(s.definitions[union.name]), message) {
			kind, senders = union.kind, append(senders, union.sender)
		}
	}
	return kind, senders
}

// alternatives are the definitions that a union is made of; of one, it is just another name.
func alternatives(union any) []string {
	object, _ := union.(map[string]any)
	if name := referred(object); name != "" && len(object) == 1 {
		return []string{name}
	}
	var names []string
	branches, _ := object["anyOf"].([]any)
	for _, branch := range branches {
		branch, _ := branch.(map[string]any)
		if name := referred(branch); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func of(side Side, path string) Capability { return Capability{Of: side, Path: path} }

// declaredWith are the features that brought the capabilities of methods which are older.
var declaredWith = map[string]protocol.Feature{"completion/complete": protocol.Completions}

// methodTable holds the methods of all revisions; a revision has those whose message is in the unions of its document,
// with the results that it defines.
var methodTable = []Method{
	// lifecycle and utilities
	{Name: "initialize", Message: "InitializeRequest", Result: "InitializeResult"},
	{Name: "notifications/initialized", Message: "InitializedNotification"},
	{Name: "ping", Message: "PingRequest", Result: "EmptyResult"},
	{Name: "notifications/cancelled", Message: "CancelledNotification"},
	{Name: "notifications/progress", Message: "ProgressNotification"},
	{Name: "server/discover", Message: "DiscoverRequest", Result: "DiscoverResult"},

	// subscriptions
	{Name: "subscriptions/listen", Message: "SubscriptionsListenRequest", Result: "SubscriptionsListenResult"},
	{Name: "notifications/subscriptions/acknowledged", Message: "SubscriptionsAcknowledgedNotification"},

	// tasks
	{Name: "tasks/get", Message: "GetTaskRequest", Result: "GetTaskResult", Capability: of(Receiver, "tasks")},
	{Name: "tasks/result", Message: "GetTaskPayloadRequest", Result: "GetTaskPayloadResult",
		Capability: of(Receiver, "tasks")},
	{Name: "tasks/cancel", Message: "CancelTaskRequest", Result: "CancelTaskResult",
		Capability: of(Receiver, "tasks.cancel")},
	{Name: "tasks/list", Message: "ListTasksRequest", Result: "ListTasksResult",
		Capability: of(Receiver, "tasks.list")},
	{Name: "notifications/tasks/status", Message: "TaskStatusNotification", Capability: of(Sender, "tasks")},

	// server features
	{Name: "resources/list", Message: "ListResourcesRequest", Result: "ListResourcesResult",
		Capability: of(Receiver, "resources")},
	{Name: "resources/templates/list", Message: "ListResourceTemplatesRequest", Result: "ListResourceTemplatesResult",
		Capability: of(Receiver, "resources")},
	{Name: "resources/read", Message: "ReadResourceRequest", Result: "ReadResourceResult",
		InputResult: "InputRequiredResult", Capability: of(Receiver, "resources")},
	{Name: "resources/subscribe", Message: "SubscribeRequest", Result: "EmptyResult",
		Capability: of(Receiver, "resources.subscribe")},
	{Name: "resources/unsubscribe", Message: "UnsubscribeRequest", Result: "EmptyResult",
		Capability: of(Receiver, "resources.subscribe")},
	{Name: "notifications/resources/updated", Message: "ResourceUpdatedNotification",
		Capability: of(Sender, "resources.subscribe")},
	{Name: "notifications/resources/list_changed", Message: "ResourceListChangedNotification",
		Capability: of(Sender, "resources.listChanged")},
	{Name: "prompts/list", Message: "ListPromptsRequest", Result: "ListPromptsResult",
		Capability: of(Receiver, "prompts")},
	{Name: "prompts/get", Message: "GetPromptRequest", Result: "GetPromptResult", InputResult: "InputRequiredResult",
		Capability: of(Receiver, "prompts")},
	{Name: "notifications/prompts/list_changed", Message: "PromptListChangedNotification",
		Capability: of(Sender, "prompts.listChanged")},
	{Name: "tools/list", Message: "ListToolsRequest", Result: "ListToolsResult", Capability: of(Receiver, "tools")},
	{Name: "tools/call", Message: "CallToolRequest", Result: "CallToolResult", InputResult: "InputRequiredResult",
		TaskResult: "CreateTaskResult", Capability: of(Receiver, "tools"),
		TaskCapability: of(Receiver, "tasks.requests.tools.call")},
	{Name: "notifications/tools/list_changed", Message: "ToolListChangedNotification",
		Capability: of(Sender, "tools.listChanged")},
	{Name: "completion/complete", Message: "CompleteRequest", Result: "CompleteResult",
		Capability: of(Receiver, "completions")},
	{Name: "logging/setLevel", Message: "SetLevelRequest", Result: "EmptyResult", Capability: of(Receiver, "logging")},
	{Name: "notifications/message", Message: "LoggingMessageNotification", Capability: of(Sender, "logging")},

	// client features
	{Name: "roots/list", Message: "ListRootsRequest", Result: "ListRootsResult", Capability: of(Receiver, "roots")},
	{Name: "notifications/roots/list_changed", Message: "RootsListChangedNotification",
		Capability: of(Sender, "roots.listChanged")},
	{Name: "sampling/createMessage", Message: "CreateMessageRequest", Result: "CreateMessageResult",
		TaskResult: "CreateTaskResult", Capability: of(Receiver, "sampling"),
		TaskCapability: of(Receiver, "tasks.requests.sampling.createMessage")},
	{Name: "elicitation/create", Message: "ElicitRequest", Result: "ElicitResult", TaskResult: "CreateTaskResult",
		Capability: of(Receiver, "elicitation"), TaskCapability: of(Receiver, "tasks.requests.elicitation.create")},
	{Name: "notifications/elicitation/complete", Message: "ElicitationCompleteNotification",
		Capability: of(Receiver, "elicitation.url")},
}
