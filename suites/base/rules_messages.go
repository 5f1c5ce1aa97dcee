package base

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/lines"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/schema"
)

// messageRules are about JSON and JSON-RPC.
func messageRules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "sends messages that are valid JSON",
			Verifies: rules.Verifies("base.json.well-formed"),
			Needs:    []transcript.Lack{transcript.RawBytes},
			Judge:    lines.EveryWhole(isMeantAsMessage, flaw("one JSON text", jsonrpc.Syntax, jsonrpc.Trailing)),
		},
		{
			Text:     "sends messages without a leading byte order mark",
			Verifies: rules.Verifies("base.json.no-mark"),
			Needs:    []transcript.Lack{transcript.RawBytes},
			Judge:    rules.Every(lines.LooksLikeJSON, flaw("no byte order mark", jsonrpc.ByteOrderMark)),
		},
		{
			Text:     "sends JSON objects without duplicate member names",
			Verifies: rules.Verifies("base.json.names-unique"),
			Needs:    []transcript.Lack{transcript.RawBytes},
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
			Judge:    withoutBatches(rules.Every(isJSON, batched)),
		},
		{
			Text:     "sends jsonrpc 2.0 in each message",
			Verifies: rules.Verifies("base.messages.version"),
			Judge:    rules.Every(rules.IsMessage, otherVersion),
		},
		{Text: "sends requests whose id is a string or an integer", Verifies: rules.Verifies("base.requests.id"), Judge: unidentifiedRequests},
		{Text: "sends requests whose id is not null", Verifies: rules.Verifies("base.requests.id-not-null"), Judge: rules.Every(asks, nullID)},
		{Text: "uses each request id only once in a session", Verifies: rules.Verifies("base.requests.id-unused"), Needs: []transcript.Lack{transcript.HTTPHead, transcript.Whole}, Judge: reusedIDs},
		{
			Text:     "uses different ids for requests that are open at the same time",
			Verifies: rules.Verifies("base.requests.id-open"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    rules.OfClient(sharedIDs),
		},
	}, answerRules())
}

func answerRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "answers every request",
			Verifies: rules.Verifies(session.AnsweredRequirement),
			Role:     protocol.ServerRole, // what a client does not answer, checks wait for
			Judge:    answeredRequests,
		},
		{Text: "sends at most one response to each request", Verifies: rules.Verifies("base.requests.answered-once"), Needs: []transcript.Lack{transcript.HTTPHead, transcript.Whole}, Judge: repeatedAnswers},
		{
			Text:     "sends responses only with the id of a request that it received",
			Verifies: rules.Verifies("base.responses.id"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
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
		{Text: "sends no response to a notification", Verifies: rules.Verifies("base.notifications.unanswered"), Needs: []transcript.Lack{transcript.HTTPHead, transcript.Whole}, Judge: answeredNotifications},
		{
			Text:     "sends notifications without an id",
			Verifies: rules.Verifies("base.notifications.no-id"),
			Judge:    rules.Every(isNotificationMethod, identified),
		},
	}
}

// answeredRequests observes the requests that were answered. A missing response may have a
// good reason, such as the end of the connection. The check that waits for the response notes
// that it is missing (check.NoReply), and it is reported here.
func answeredRequests(c *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range c.Messages {
		if !message.FromTarget(c.Cell) && len(message.Answers) > 0 {
			reporter.Observe()
		}
	}
}

// isMeantAsMessage leaves out what is written beside messages. On an event stream
// nothing is: the data of an event, unless that has a name of its own, is a message.
func isMeantAsMessage(message *rules.Message) bool {
	return lines.LooksLikeJSON(message) || message.Event.SSE != nil
}

func isJSON(message *rules.Message) bool {
	_, broken := message.Broken()
	return !broken && !rules.HasFlaw(message, jsonrpc.TooComplex)
}

// flaw finds the first flaw of some kinds.
func flaw(wanted string, kinds ...jsonrpc.FlawKind) func(*rules.Message) rules.Mismatch {
	return func(message *rules.Message) rules.Mismatch {
		for _, found := range message.Flaws {
			if slices.Contains(kinds, found.Kind) {
				return rules.Mismatch{
					Wanted: wanted,
					Found:  "a message that " + found.Detail + ": " + excerpt.Short(message.Raw),
					Where:  found.Pointer,
				}
			}
		}
		return rules.Mismatch{}
	}
}

func notOfAKind(message *rules.Message) rules.Mismatch {
	const wanted = "a request, a notification or a response"
	method, isCall := message.Object["method"]
	_, isText := method.(string)
	switch {
	case message.Kind == jsonrpc.Batch:
	case isCall && !isText:
		return rules.Mismatch{Wanted: "a method that is a string", Found: rules.Show(method), Where: "/method"}
	case isCall && hasOutcome(message):
		return rules.Mismatch{Wanted: wanted, Found: "a message with both a method and an outcome: " + excerpt.Short(message.Raw)}
	case message.Kind == jsonrpc.Invalid && message.ID == jsonrpc.NoID:
		return rules.Mismatch{Wanted: wanted, Found: excerpt.Short(message.Raw)}
	}
	return rules.Mismatch{}
}

func hasOutcome(message *rules.Message) bool {
	_, hasResult := message.Object["result"]
	_, hasError := message.Object["error"]
	return hasResult || hasError
}

// withoutBatches keeps a judge to revisions without batches.
func withoutBatches(judged rules.Judge) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		if !conversation.Has(protocol.Batches) {
			judged(conversation, reporter)
		}
	}
}

func batched(message *rules.Message) rules.Mismatch {
	if message.Kind != jsonrpc.Batch {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "single messages", Found: "a batch: " + excerpt.Short(message.Raw)}
}

func otherVersion(message *rules.Message) rules.Mismatch {
	if message.Object["jsonrpc"] == "2.0" {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: `"2.0"`, Found: rules.ShowMember(message.Object, "jsonrpc"), Where: "/jsonrpc"}
}

// unidentifiedRequests finds ids of the wrong type, and requests without one,
// which only the method tells from notifications.
func unidentifiedRequests(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.ByTarget() {
		switch {
		case asks(message):
			reporter.Observe()
			if !isID(message.ID) && message.ID != jsonrpc.NullID {
				reporter.Violation(
					message,
					rules.Mismatch{Wanted: "a string or an integer", Found: rules.ShowMember(message.Object, "id"), Where: "/id"},
				)
			}
		case message.Kind == jsonrpc.Notification && conversation.Schema != nil:
			if method, known := conversation.Schema.Method(message.Method); known && method.Kind == schema.Request {
				reporter.Observe()
				reporter.Violation(message, rules.Mismatch{
					Wanted: "an id in a request of " + message.Method,
					Found:  rules.ShowMember(message.Object, "id"),
					Where:  "/id",
				})
			}
		}
	}
}

// asks leaves out notifications with an id, which have a rule of their own.
func asks(message *rules.Message) bool {
	return rules.IsRequest(message) && !isNotificationMethod(message)
}

func isID(id jsonrpc.ID) bool { return id.IsString() || id.IsInteger() }

func nullID(message *rules.Message) rules.Mismatch {
	if message.ID != jsonrpc.NullID {
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
	for _, message := range conversation.Messages {
		if !rules.IsRequest(message) || repeated[message] {
			continue
		}
		if message.Method == "initialize" {
			clear(used)
		}
		if !message.FromTarget(conversation.Cell) || !asks(message) || !isID(message.ID) {
			continue
		}
		if len(used) > 0 { // one alone is always unique
			reporter.Observe()
		}
		if used[message.ID] {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "an id that no earlier request of the session had",
				Found:  message.ID.String() + " again",
				Where:  "/id",
			})
		}
		used[message.ID] = !refused[message.Event.Stream]
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
	for _, message := range conversation.Messages {
		switch {
		case rules.IsResponse(message) && !message.FromTarget(conversation.Cell):
			delete(given, message.ID)
		case !message.FromTarget(conversation.Cell):
		case message.Method == facts.CancelledMethod:
			delete(given, jsonrpc.IDOf(message.ParamsObject()["requestId"]))
		case asks(message) && isID(message.ID):
			reporter.Observe()
			open := given[message.ID]
			given[message.ID] = message
			if open == nil {
				continue
			}
			if end, over := ended[open.Event.Stream]; over && end < message.Event.Sequence {
				continue
			}
			reporter.Violation(message, rules.Mismatch{
				Wanted: "an id that no open request has",
				Found:  fmt.Sprintf("%s, which %s has", message.ID, open.Method),
				Where:  "/id",
			})
		}
	}
}

// repeatedAnswers allows as many answers to an id as requests had it: that a
// peer uses one twice is not the target's fault.
func repeatedAnswers(conversation *rules.Conversation, reporter *rules.Reporter) {
	asked, answered := map[jsonrpc.ID]int{}, map[jsonrpc.ID]int{}
	for _, message := range conversation.ByPeer() {
		if rules.IsRequest(message) {
			asked[message.ID]++
		}
	}
	refused := rules.RefusedStreams(conversation)
	for _, message := range rules.Originals(conversation) {
		if !rules.IsResponse(message) || message.Request == nil ||
			refused[message.Event.Stream] && conversation.Role == protocol.ClientRole {
			continue // what HTTP refuses may be sent again
		}
		reporter.Observe()
		answered[message.ID]++
		if answered[message.ID] > asked[message.ID] {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "one response to the request " + message.ID.String(),
				Found:  "a further one: " + excerpt.Short(message.Raw),
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
		case anonymous && (refused[response.Event.Stream] || before.OnlyNotifications(response) || before.Unread(response)):
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
		for _, message := range one.Said {
			if refusal, isError := message.Error(); isError && slices.Contains(codesOfReaders, refusal.Code) {
				readable[message] = one.Sent
			}
		}
	}
	return readable
}

func answeredNotifications(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.ByPeer() {
		if message.Kind == jsonrpc.Notification && !message.Event.IsIllegal() {
			reporter.Observe()
		}
	}
	refused, before := rules.RefusedStreams(conversation), facts.PriorOf(conversation)
	for _, response := range conversation.ByTarget() {
		if !rules.IsResponse(response) || !facts.IsAnonymous(response) || refused[response.Event.Stream] {
			continue
		}
		if !before.Illegal(response) && before.OnlyNotifications(response) {
			reporter.Violation(response, rules.Mismatch{Wanted: "no response to a notification", Found: excerpt.Short(response.Raw)})
		}
	}
}

// isOutcome is true for responses, and for what can only be meant as one.
func isOutcome(message *rules.Message) bool {
	return rules.IsResponse(message) || message.Kind == jsonrpc.Invalid && message.ID != jsonrpc.NoID
}

func noOutcome(message *rules.Message) rules.Mismatch {
	if rules.IsResponse(message) {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: `a member "result" or "error"`, Found: excerpt.Short(message.Raw)}
}

func twoOutcomes(message *rules.Message) rules.Mismatch {
	_, hasResult := message.Object["result"]
	_, hasError := message.Object["error"]
	if !hasResult || !hasError {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "either a result or an error", Found: "both: " + excerpt.Short(message.Raw)}
}

func hasErrorCode(message *rules.Message) bool {
	_, there := mcp.Object(message.Object, "error")["code"]
	return rules.IsResponse(message) && there
}

// notificationPrefix begins the methods of all notifications.
const notificationPrefix = "notifications/"

func isNotificationMethod(message *rules.Message) bool {
	return rules.IsCall(message) && strings.HasPrefix(message.Method, notificationPrefix)
}

func identified(message *rules.Message) rules.Mismatch {
	if message.ID == jsonrpc.NoID {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "no id in " + message.Method, Found: message.ID.String(), Where: "/id"}
}

func isObject(message *rules.Message) bool { return message.Object != nil }
