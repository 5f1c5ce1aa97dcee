package base

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/lines"
	"github.com/mcpconform/mcpconform/schema"
)

// messageRules are about JSON and JSON-RPC.
func messageRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends messages that are valid JSON",
			Verifies: rules.Verifies("base.json.well-formed"),
			Judge:    lines.EveryWhole(isMeantAsMessage, flaw("one JSON text", jsonrpc.Syntax, jsonrpc.Trailing)),
		},
		{
			Text:     "sends messages without a leading byte order mark",
			Verifies: rules.Verifies("base.json.no-mark"),
			Judge:    rules.Every(lines.LooksLikeJSON, flaw("no byte order mark", jsonrpc.ByteOrderMark)),
		},
		{
			Text:     "sends JSON objects without duplicate member names",
			Verifies: rules.Verifies("base.json.names-unique"),
			Judge:    rules.Every(isObject, flaw("objects that name a member once", jsonrpc.Duplicate)),
		},
		{
			Text:     "sends only JSON-RPC requests, notifications and responses",
			Verifies: rules.Verifies("base.messages.kinds"),
			Judge:    lines.EveryWhole(isJSON, notOfAKind),
		},
		{
			Text:     "sends each message on its own, not in a JSON-RPC batch",
			Verifies: rules.Verifies("base.messages.single", "transports.http.post.single"),
			Judge:    rules.Every(isJSON, batched),
		},
		{
			Text:     "sends jsonrpc 2.0 in each message",
			Verifies: rules.Verifies("base.messages.version"),
			Judge:    rules.Every(rules.IsMessage, otherVersion),
		},
		{
			Text:     "sends requests whose id is a string or an integer",
			Verifies: rules.Verifies("base.requests.id"),
			Judge:    unidentifiedRequests,
		},
		{
			Text:     "sends requests whose id is not null",
			Verifies: rules.Verifies("base.requests.id-not-null"),
			Judge:    rules.Every(asks, nullID),
		},
		{
			Text:     "uses each request id only once in a session",
			Verifies: rules.Verifies("base.requests.id-unused"),
			Judge:    reusedIDs,
		},
		{
			Text:     "uses different ids for requests that are open at the same time",
			Verifies: rules.Verifies("base.requests.id-open"),
			Judge:    rules.OfClient(sharedIDs),
		},
		{
			Text:     "answers every request",
			Verifies: rules.Verifies(conform.AnsweredRequirement),
			Role:     protocol.ServerRole, // what a client does not answer, checks wait for
			Judge:    answeredRequests,
		},
		{
			Text:     "sends at most one response to each request",
			Verifies: rules.Verifies("base.requests.answered-once"),
			Judge:    repeatedAnswers,
		},
		{
			Text:     "sends responses only with the id of a request that it received",
			Verifies: rules.Verifies("base.responses.id"),
			Judge:    strayResponses,
		},
		{
			Text:     "sends result or error in each response",
			Verifies: rules.Verifies("base.responses.outcome"),
			Judge:    rules.Every(isOutcome, noOutcome),
		},
		{
			Text:     "sends no response with both result and error",
			Verifies: rules.Verifies("base.responses.one-outcome"),
			Judge:    rules.Every(rules.IsResponse, twoOutcomes),
		},
		{
			Text:     "sends errors with code and message",
			Verifies: rules.Verifies("base.errors.members"),
			Judge:    rules.Every(rules.IsRefusal, rules.IncompleteError),
		},
		{
			Text:     "sends errors whose code is an integer",
			Verifies: rules.Verifies("base.errors.integer-code"),
			Judge:    rules.Every(hasErrorCode, rules.FractionalCode),
		},
		{
			Text:     "sends no response to a notification",
			Verifies: rules.Verifies("base.notifications.unanswered"),
			Judge:    answeredNotifications,
		},
		{
			Text:     "sends notifications without an id",
			Verifies: rules.Verifies("base.notifications.no-id"),
			Judge:    rules.Every(isNotificationMethod, identified),
		},
	}
}

// answeredRequests sees the requests that were answered. One that was not may be so for
// good reasons, such as the end of the connection: what brought no reply although
// somebody waited for it is found where it was waited for (check.NoReply), and told
// here.
func answeredRequests(c *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range c.Messages {
		if !said.FromTarget(c.Leg) && len(said.Answers) > 0 {
			reporter.Observe()
		}
	}
}

// isMeantAsMessage leaves out what is written beside messages. On an event stream
// nothing is: the data of an event, unless that has a name of its own, is a message.
func isMeantAsMessage(said *rules.Message) bool {
	return lines.LooksLikeJSON(said) || said.Event.SSE != nil
}

func isJSON(said *rules.Message) bool {
	_, broken := said.Broken()
	return !broken && !rules.HasFlaw(said, jsonrpc.TooComplex)
}

// flaw finds the first flaw of some kinds.
func flaw(wanted string, kinds ...jsonrpc.FlawKind) func(*rules.Message) rules.Mismatch {
	return func(said *rules.Message) rules.Mismatch {
		for _, found := range said.Flaws {
			if slices.Contains(kinds, found.Kind) {
				return rules.Mismatch{
					Wanted: wanted,
					Found:  "a message that " + found.Detail + ": " + excerpt.Short(said.Raw),
					Where:  found.Pointer,
				}
			}
		}
		return rules.Mismatch{}
	}
}

func notOfAKind(said *rules.Message) rules.Mismatch {
	const wanted = "a request, a notification or a response"
	method, isCall := said.Object["method"]
	_, isText := method.(string)
	switch {
	case said.Kind == jsonrpc.Batch:
	case isCall && !isText:
		return rules.Mismatch{Wanted: "a method that is a string", Found: rules.Show(method), Where: "/method"}
	case isCall && hasOutcome(said):
		return rules.Mismatch{Wanted: wanted, Found: "a message with both a method and an outcome: " + excerpt.Short(said.Raw)}
	case said.Kind == jsonrpc.Invalid && said.ID == jsonrpc.NoID:
		return rules.Mismatch{Wanted: wanted, Found: excerpt.Short(said.Raw)}
	}
	return rules.Mismatch{}
}

func hasOutcome(said *rules.Message) bool {
	_, hasResult := said.Object["result"]
	_, hasError := said.Object["error"]
	return hasResult || hasError
}

func batched(said *rules.Message) rules.Mismatch {
	if said.Kind != jsonrpc.Batch {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "single messages", Found: "a batch: " + excerpt.Short(said.Raw)}
}

func otherVersion(said *rules.Message) rules.Mismatch {
	if said.Object["jsonrpc"] == "2.0" {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: `"2.0"`, Found: rules.ShowMember(said.Object, "jsonrpc"), Where: "/jsonrpc"}
}

// unidentifiedRequests finds ids of the wrong type, and requests without one,
// which only the method tells from notifications.
func unidentifiedRequests(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByTarget() {
		switch {
		case asks(said):
			reporter.Observe()
			if !isID(said.ID) && said.ID != jsonrpc.NullID {
				reporter.Violation(
					said,
					rules.Mismatch{Wanted: "a string or an integer", Found: rules.ShowMember(said.Object, "id"), Where: "/id"},
				)
			}
		case said.Kind == jsonrpc.Notification && conversation.Schema != nil:
			if method, known := conversation.Schema.Method(said.Method); known && method.Kind == schema.Request {
				reporter.Observe()
				reporter.Violation(said, rules.Mismatch{
					Wanted: "an id in a request of " + said.Method,
					Found:  rules.ShowMember(said.Object, "id"),
					Where:  "/id",
				})
			}
		}
	}
}

// asks leaves out notifications with an id, which have a rule of their own.
func asks(said *rules.Message) bool { return rules.IsRequest(said) && !isNotificationMethod(said) }

func isID(id jsonrpc.ID) bool { return id.IsString() || id.IsInteger() }

func nullID(said *rules.Message) rules.Mismatch {
	if said.ID != jsonrpc.NullID {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "a string or an integer", Found: "null", Where: "/id"}
}

// reusedIDs compares the target's requests of one session: a further handshake
// begins another. What is no id has rules of its own, and what HTTP refuses may be
// sent again.
func reusedIDs(conversation *rules.Conversation, reporter *rules.Reporter) {
	used := map[jsonrpc.ID]bool{}
	repeated, refused := rules.Redelivered(conversation), rules.RefusedStreams(conversation)
	for _, said := range conversation.Messages {
		if !rules.IsRequest(said) || repeated[said] {
			continue
		}
		if said.Method == "initialize" {
			clear(used)
		}
		if !said.FromTarget(conversation.Leg) || !asks(said) || !isID(said.ID) {
			continue
		}
		if len(used) > 0 { // one alone is always unique
			reporter.Observe()
		}
		if used[said.ID] {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "an id that no earlier request of the session had",
				Found:  said.ID.String() + " again",
				Where:  "/id",
			})
		}
		used[said.ID] = !refused[said.Event.Stream]
	}
}

// sharedIDs compares requests with those that are still open: neither answered nor
// given up, on a stream that has not ended.
func sharedIDs(conversation *rules.Conversation, reporter *rules.Reporter) {
	ended := map[string]int{} // by stream: when
	for _, one := range exchanges.Of(conversation) {
		if one.End != nil {
			ended[one.Request.Stream] = one.End.Sequence
		} else if one.Head != nil && !one.Accepted() {
			ended[one.Request.Stream] = one.Head.Sequence
		}
	}
	given := map[jsonrpc.ID]*rules.Message{}
	for _, said := range conversation.Messages {
		switch {
		case rules.IsResponse(said) && !said.FromTarget(conversation.Leg):
			delete(given, said.ID)
		case !said.FromTarget(conversation.Leg):
		case said.Method == facts.CancelledMethod:
			delete(given, jsonrpc.IDOf(said.ParamsObject()["requestId"]))
		case asks(said) && isID(said.ID):
			reporter.Observe()
			open := given[said.ID]
			given[said.ID] = said
			if open == nil {
				continue
			}
			if end, over := ended[open.Event.Stream]; over && end < said.Event.Sequence {
				continue
			}
			reporter.Violation(said, rules.Mismatch{
				Wanted: "an id that no open request has",
				Found:  fmt.Sprintf("%s, which %s has", said.ID, open.Method),
				Where:  "/id",
			})
		}
	}
}

// repeatedAnswers allows as many answers to an id as requests had it: that a
// peer uses one twice is not the target's fault.
func repeatedAnswers(conversation *rules.Conversation, reporter *rules.Reporter) {
	asked, answered := map[jsonrpc.ID]int{}, map[jsonrpc.ID]int{}
	for _, said := range conversation.ByPeer() {
		if rules.IsRequest(said) {
			asked[said.ID]++
		}
	}
	refused := rules.RefusedStreams(conversation)
	for _, said := range rules.Originals(conversation) {
		if !rules.IsResponse(said) || said.Request == nil ||
			refused[said.Event.Stream] && conversation.Role == protocol.ClientRole {
			continue // what HTTP refuses may be sent again
		}
		reporter.Observe()
		answered[said.ID]++
		if answered[said.ID] > asked[said.ID] {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "one response to the request " + said.ID.String(),
				Found:  "a further one: " + excerpt.Short(said.Raw),
				Where:  "/id",
			})
		}
	}
}

// strayResponses finds responses that answer nothing. Those without an id are
// in order where the request could not be read or was refused by HTTP, unless the error
// shows that it was read.
func strayResponses(conversation *rules.Conversation, reporter *rules.Reporter) {
	refused, before := rules.RefusedStreams(conversation), facts.PriorOf(conversation)
	readable := readableRequests(conversation)
	for _, response := range conversation.ByTarget() {
		if !rules.IsResponse(response) {
			continue
		}
		reporter.Observe()
		anonymous := facts.IsAnonymous(response)
		request := readable[response]
		switch {
		case anonymous && request != nil:
			reporter.Violation(response, rules.Mismatch{
				Wanted: "the id of the request, " + request.ID.String() + ", which was readable",
				Found:  rules.ShowMember(response.Object, "id"),
				Where:  "/id",
			})
		case response.Request != nil, !conversation.Complete, before.Illegal(response):
		case anonymous && (refused[response.Event.Stream] || before.OnlyNotifications(response)):
		default:
			reporter.Violation(response, rules.Mismatch{
				Wanted: "the id of a request that was sent",
				Found:  rules.ShowMember(response.Object, "id"),
				Where:  "/id",
			})
		}
	}
}

// codesOfReaders are those of errors about the params of a request, given by who has read
// them. Its method, revision and name may be refused by headers, before the body is read.
var codesOfReaders = []int64{jsonrpc.InvalidParams, jsonrpc.MissingCapability}

// readableRequests are the requests whose id could be read, by the error that came in answer
// to the POST of each and is about what it says. To who must not ask, by its Origin, an
// error may tell nothing (basic/transports).
func readableRequests(conversation *rules.Conversation) map[*rules.Message]*rules.Message {
	readable := map[*rules.Message]*rules.Message{}
	for _, one := range exchanges.Of(conversation) {
		if one.Sent == nil || !rules.IsRequest(one.Sent) || !isID(one.Sent.ID) ||
			one.Status() == http.StatusForbidden ||
			one.Sent.Method == "initialize" { // which a server may know as nothing but a sign of another era
			continue
		}
		_, named := one.Sent.Object["method"].(string)
		params, given := one.Sent.Object["params"]
		if _, isObject := params.(map[string]any); !named || given && !isObject {
			continue // malformed, which may keep its id from being read
		}
		for _, said := range one.Said {
			if refusal, isError := said.Error(); isError && slices.Contains(codesOfReaders, refusal.Code) {
				readable[said] = one.Sent
			}
		}
	}
	return readable
}

func answeredNotifications(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByPeer() {
		if said.Kind == jsonrpc.Notification && said.Event.Deliberate == "" {
			reporter.Observe()
		}
	}
	refused, before := rules.RefusedStreams(conversation), facts.PriorOf(conversation)
	for _, response := range conversation.ByTarget() {
		if !rules.IsResponse(response) || !facts.IsAnonymous(response) || refused[response.Event.Stream] {
			continue
		}
		if !before.Illegal(response) && before.OnlyNotifications(response) {
			reporter.Violation(
				response,
				rules.Mismatch{Wanted: "no response to a notification", Found: excerpt.Short(response.Raw)},
			)
		}
	}
}

// isOutcome is true for responses, and for what can only be meant as one.
func isOutcome(said *rules.Message) bool {
	return rules.IsResponse(said) || said.Kind == jsonrpc.Invalid && said.ID != jsonrpc.NoID
}

func noOutcome(said *rules.Message) rules.Mismatch {
	if rules.IsResponse(said) {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: `a member "result" or "error"`, Found: excerpt.Short(said.Raw)}
}

func twoOutcomes(said *rules.Message) rules.Mismatch {
	_, hasResult := said.Object["result"]
	_, hasError := said.Object["error"]
	if !hasResult || !hasError {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "either a result or an error", Found: "both: " + excerpt.Short(said.Raw)}
}

func hasErrorCode(said *rules.Message) bool {
	refusal, _ := said.Object["error"].(map[string]any)
	_, there := refusal["code"]
	return rules.IsResponse(said) && there
}

// notificationPrefix begins the methods of all notifications.
const notificationPrefix = "notifications/"

func isNotificationMethod(said *rules.Message) bool {
	return rules.IsCall(said) && strings.HasPrefix(said.Method, notificationPrefix)
}

func identified(said *rules.Message) rules.Mismatch {
	if said.ID == jsonrpc.NoID {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "no id in " + said.Method, Found: said.ID.String(), Where: "/id"}
}

func isObject(said *rules.Message) bool { return said.Object != nil }
