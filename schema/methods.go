package schema

import (
	"slices"
	"strings"
)

// Party is one end of a connection.
type Party string

// The two ends of a connection.
const (
	Client Party = "client"
	Server Party = "server"
)

// Peer is the other end.
func (p Party) Peer() Party {
	if p == Client {
		return Server
	}
	return Client
}

// Kind tells requests, which are answered, from notifications, which are not.
type Kind string

// The kinds of methods.
const (
	Request      Kind = "request"
	Notification Kind = "notification"
)

// Side is a party, seen from one message: the one that sends it, or the one that receives it.
type Side string

// The sides of a message.
const (
	Sender   Side = "sender"
	Receiver Side = "receiver"
)

// Capability is what one side must have declared during initialization before a message may be sent.
// The zero Capability demands nothing.
type Capability struct {
	Of   Side
	Path string // members of the capabilities object, joined by dots: "resources.subscribe"
}

// Declarer is the party that must have declared the capability, for a message sent by sender.
func (c Capability) Declarer(sender Party) Party {
	if c.Of == Receiver {
		return sender.Peer()
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
	Senders        []Party
	Message        string     // definition of the whole message
	Params         string     // definition of its params, or the place inside Message, as Schema.Validate takes it
	Result         string     // definition of the result; "" for a notification
	TaskResult     string     // definition of the result when the receiver makes a task of the request; "" if it cannot
	Capability     Capability // needed to send it at all
	TaskCapability Capability // needed to ask for a task
}

// SentBy tells whether a party may send the method.
func (m Method) SentBy(party Party) bool { return slices.Contains(m.Senders, party) }

// Method returns what the revision says about a method.
func (s *Schema) Method(name string) (Method, bool) {
	m, ok := s.byName[name]
	return m, ok
}

// Methods lists the methods of the revision.
func (s *Schema) Methods() []Method { return slices.Clone(s.methods) }

var (
	client = []Party{Client}
	server = []Party{Server}
	both   = []Party{Client, Server}
)

func of(side Side, path string) Capability { return Capability{Of: side, Path: path} }

// methodTable holds the methods of all revisions; a revision has those whose message its document defines.
var methodTable = []Method{
	// lifecycle and utilities
	{Name: "initialize", Kind: Request, Senders: client, Message: "InitializeRequest", Result: "InitializeResult"},
	{Name: "notifications/initialized", Kind: Notification, Senders: client, Message: "InitializedNotification"},
	{Name: "ping", Kind: Request, Senders: both, Message: "PingRequest", Result: "EmptyResult"},
	{Name: "notifications/cancelled", Kind: Notification, Senders: both, Message: "CancelledNotification"},
	{Name: "notifications/progress", Kind: Notification, Senders: both, Message: "ProgressNotification"},

	// tasks
	{Name: "tasks/get", Kind: Request, Senders: both, Message: "GetTaskRequest", Result: "GetTaskResult",
		Capability: of(Receiver, "tasks")},
	{Name: "tasks/result", Kind: Request, Senders: both, Message: "GetTaskPayloadRequest", Result: "GetTaskPayloadResult",
		Capability: of(Receiver, "tasks")},
	{Name: "tasks/cancel", Kind: Request, Senders: both, Message: "CancelTaskRequest", Result: "CancelTaskResult",
		Capability: of(Receiver, "tasks.cancel")},
	{Name: "tasks/list", Kind: Request, Senders: both, Message: "ListTasksRequest", Result: "ListTasksResult",
		Capability: of(Receiver, "tasks.list")},
	{Name: "notifications/tasks/status", Kind: Notification, Senders: both, Message: "TaskStatusNotification",
		Capability: of(Sender, "tasks")},

	// server features
	{Name: "resources/list", Kind: Request, Senders: client, Message: "ListResourcesRequest", Result: "ListResourcesResult",
		Capability: of(Receiver, "resources")},
	{Name: "resources/templates/list", Kind: Request, Senders: client, Message: "ListResourceTemplatesRequest",
		Result: "ListResourceTemplatesResult", Capability: of(Receiver, "resources")},
	{Name: "resources/read", Kind: Request, Senders: client, Message: "ReadResourceRequest", Result: "ReadResourceResult",
		Capability: of(Receiver, "resources")},
	{Name: "resources/subscribe", Kind: Request, Senders: client, Message: "SubscribeRequest", Result: "EmptyResult",
		Capability: of(Receiver, "resources.subscribe")},
	{Name: "resources/unsubscribe", Kind: Request, Senders: client, Message: "UnsubscribeRequest", Result: "EmptyResult",
		Capability: of(Receiver, "resources.subscribe")},
	{Name: "notifications/resources/updated", Kind: Notification, Senders: server, Message: "ResourceUpdatedNotification",
		Capability: of(Sender, "resources.subscribe")},
	{Name: "notifications/resources/list_changed", Kind: Notification, Senders: server,
		Message: "ResourceListChangedNotification", Capability: of(Sender, "resources.listChanged")},
	{Name: "prompts/list", Kind: Request, Senders: client, Message: "ListPromptsRequest", Result: "ListPromptsResult",
		Capability: of(Receiver, "prompts")},
	{Name: "prompts/get", Kind: Request, Senders: client, Message: "GetPromptRequest", Result: "GetPromptResult",
		Capability: of(Receiver, "prompts")},
	{Name: "notifications/prompts/list_changed", Kind: Notification, Senders: server,
		Message: "PromptListChangedNotification", Capability: of(Sender, "prompts.listChanged")},
	{Name: "tools/list", Kind: Request, Senders: client, Message: "ListToolsRequest", Result: "ListToolsResult",
		Capability: of(Receiver, "tools")},
	{Name: "tools/call", Kind: Request, Senders: client, Message: "CallToolRequest", Result: "CallToolResult",
		TaskResult: "CreateTaskResult", Capability: of(Receiver, "tools"),
		TaskCapability: of(Receiver, "tasks.requests.tools.call")},
	{Name: "notifications/tools/list_changed", Kind: Notification, Senders: server,
		Message: "ToolListChangedNotification", Capability: of(Sender, "tools.listChanged")},
	{Name: "completion/complete", Kind: Request, Senders: client, Message: "CompleteRequest", Result: "CompleteResult",
		Capability: of(Receiver, "completions")},
	{Name: "logging/setLevel", Kind: Request, Senders: client, Message: "SetLevelRequest", Result: "EmptyResult",
		Capability: of(Receiver, "logging")},
	{Name: "notifications/message", Kind: Notification, Senders: server, Message: "LoggingMessageNotification",
		Capability: of(Sender, "logging")},

	// client features
	{Name: "roots/list", Kind: Request, Senders: server, Message: "ListRootsRequest", Result: "ListRootsResult",
		Capability: of(Receiver, "roots")},
	{Name: "notifications/roots/list_changed", Kind: Notification, Senders: client,
		Message: "RootsListChangedNotification", Capability: of(Sender, "roots.listChanged")},
	{Name: "sampling/createMessage", Kind: Request, Senders: server, Message: "CreateMessageRequest",
		Result: "CreateMessageResult", TaskResult: "CreateTaskResult", Capability: of(Receiver, "sampling"),
		TaskCapability: of(Receiver, "tasks.requests.sampling.createMessage")},
	{Name: "elicitation/create", Kind: Request, Senders: server, Message: "ElicitRequest", Result: "ElicitResult",
		TaskResult: "CreateTaskResult", Capability: of(Receiver, "elicitation"),
		TaskCapability: of(Receiver, "tasks.requests.elicitation.create")},
	{Name: "notifications/elicitation/complete", Kind: Notification, Senders: server,
		Message: "ElicitationCompleteNotification", Capability: of(Receiver, "elicitation.url")},
}
