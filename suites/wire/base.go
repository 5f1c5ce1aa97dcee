package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/schema"
)

// BaseRules are the rules of the page basic/index.
func BaseRules() []rules.Rule {
	return slices.Concat(
		messageRules(), fieldRules(), resultRules(), errorRules(), schemaRules(), metaRules(), traceRules(), iconRules(),
	)
}

// messageRules are about JSON and JSON-RPC.
func messageRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends messages that are valid JSON",
			Requirements: []string{"base.json.well-formed"},
			Judge:        whole(isMeantAsMessage, flaw("one JSON text", jsonrpc.Syntax, jsonrpc.Trailing)),
		},
		{
			Text:         "sends messages without a leading byte order mark",
			Requirements: []string{"base.json.no-mark"},
			Judge:        every(looksLikeJSON, flaw("no byte order mark", jsonrpc.ByteOrderMark)),
		},
		{
			Text:         "sends JSON objects without duplicate member names",
			Requirements: []string{"base.json.names-unique"},
			Judge:        every(isObject, flaw("objects that name a member once", jsonrpc.Duplicate)),
		},
		{
			Text:         "sends only JSON-RPC requests, notifications and responses",
			Requirements: []string{"base.messages.kinds"},
			Judge:        whole(isJSON, notOfAKind),
		},
		{
			Text:         "sends each message on its own, not in a JSON-RPC batch",
			Requirements: []string{"base.messages.single", "transports.http.post.single"},
			Judge:        every(isJSON, batched),
		},
		{
			Text:         "sends jsonrpc 2.0 in each message",
			Requirements: []string{"base.messages.version"},
			Judge:        every(isMessage, otherVersion),
		},
		{
			Text:         "sends requests whose id is a string or an integer",
			Requirements: []string{"base.requests.id"},
			Judge:        unidentifiedRequests,
		},
		{
			Text:         "sends requests whose id is not null",
			Requirements: []string{"base.requests.id-not-null"},
			Judge:        every(asks, nullID),
		},
		{
			Text:         "uses each request id only once in a session",
			Requirements: []string{"base.requests.id-unused"},
			Judge:        reusedIDs,
		},
		{
			Text:         "uses different ids for requests that are open at the same time",
			Requirements: []string{"base.requests.id-open"},
			Judge:        ofClient(sharedIDs),
		},
		{
			Text:         "answers every request",
			Requirements: []string{conform.AnsweredRequirement},
			Role:         protocol.ServerRole, // what a client does not answer, checks wait for
			Judge:        answeredRequests,
		},
		{
			Text:         "sends at most one response to each request",
			Requirements: []string{"base.requests.answered-once"},
			Judge:        repeatedAnswers,
		},
		{
			Text:         "sends responses only with the id of a request that it received",
			Requirements: []string{"base.responses.id"},
			Judge:        strayResponses,
		},
		{
			Text:         "sends result or error in each response",
			Requirements: []string{"base.responses.outcome"},
			Judge:        every(isOutcome, noOutcome),
		},
		{
			Text:         "sends no response with both result and error",
			Requirements: []string{"base.responses.one-outcome"},
			Judge:        every(isResponse, twoOutcomes),
		},
		{
			Text:         "sends errors with code and message",
			Requirements: []string{"base.errors.members"},
			Judge:        every(isRefusal, incompleteError),
		},
		{
			Text:         "sends errors whose code is an integer",
			Requirements: []string{"base.errors.integer-code"},
			Judge:        every(hasErrorCode, fractionalCode),
		},
		{
			Text:         "sends no response to a notification",
			Requirements: []string{"base.notifications.unanswered"},
			Judge:        answeredNotifications,
		},
		{
			Text:         "sends notifications without an id",
			Requirements: []string{"base.notifications.no-id"},
			Judge:        every(isNotificationMethod, identified),
		},
	}
}

// answeredRequests sees the requests that were answered. One that was not may be so for
// good reasons, such as the end of the connection: what brought no reply although
// somebody waited for it is found where it was waited for (conform.NoReply), and told
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
func isMeantAsMessage(said *rules.Message) bool { return looksLikeJSON(said) || said.Event.SSE != nil }

// looksLikeJSON leaves out what a program writes to standard output beside its
// messages: no JSON, but no message either. A line such as "[INFO] ready" is none.
func looksLikeJSON(said *rules.Message) bool {
	const spaces = " \t\r\n\f"
	begun := bytes.TrimLeft(said.Raw, spaces+"\ufeff")
	if list, isList := bytes.CutPrefix(begun, []byte("[")); isList {
		list = bytes.TrimLeft(list, spaces)
		return len(list) > 0 && bytes.IndexByte([]byte("[]{"), list[0]) >= 0
	}
	return bytes.HasPrefix(begun, []byte("{"))
}

func isJSON(said *rules.Message) bool {
	_, broken := said.Broken()
	return !broken && !hasFlaw(said, jsonrpc.TooComplex)
}

func hasFlaw(said *rules.Message, kind jsonrpc.FlawKind) bool {
	return slices.ContainsFunc(said.Flaws, func(found jsonrpc.Flaw) bool { return found.Kind == kind })
}

// flaw finds the first flaw of some kinds.
func flaw(wanted string, kinds ...jsonrpc.FlawKind) func(*rules.Message) rules.Mismatch {
	return func(said *rules.Message) rules.Mismatch {
		for _, found := range said.Flaws {
			if slices.Contains(kinds, found.Kind) {
				return rules.Mismatch{
					Wanted: wanted, Found: "a message that " + found.Detail + ": " + excerpt.Short(said.Raw), Where: found.Pointer,
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
	return rules.Mismatch{Wanted: `"2.0"`, Found: shown(said.Object, "jsonrpc"), Where: "/jsonrpc"}
}

// unidentifiedRequests finds ids of the wrong type, and requests without one,
// which only the method tells from notifications.
func unidentifiedRequests(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByTarget() {
		switch {
		case asks(said):
			reporter.Observe()
			if !isID(said.ID) && said.ID != jsonrpc.NullID {
				reporter.Violation(said, rules.Mismatch{Wanted: "a string or an integer", Found: shown(said.Object, "id"), Where: "/id"})
			}
		case said.Kind == jsonrpc.Notification && conversation.Schema != nil:
			if method, known := conversation.Schema.Method(said.Method); known && method.Kind == schema.Request {
				reporter.Observe()
				reporter.Violation(said, rules.Mismatch{Wanted: "an id in a request of " + said.Method, Found: shown(said.Object, "id"), Where: "/id"})
			}
		}
	}
}

// asks leaves out notifications with an id, which have a rule of their own.
func asks(said *rules.Message) bool { return isRequest(said) && !isNotificationMethod(said) }

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
	repeated, refused := redelivered(conversation), refusedStreams(conversation)
	for _, said := range conversation.Messages {
		if !isRequest(said) || repeated[said] {
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
				Wanted: "an id that no earlier request of the session had", Found: said.ID.String() + " again", Where: "/id",
			})
		}
		used[said.ID] = !refused[said.Event.Stream]
	}
}

// sharedIDs compares requests with those that are still open: neither answered nor
// given up, on a stream that has not ended.
func sharedIDs(conversation *rules.Conversation, reporter *rules.Reporter) {
	ended := map[string]int{} // by stream: when
	for _, one := range exchanges(conversation) {
		if one.end != nil {
			ended[one.request.Stream] = one.end.Sequence
		} else if one.head != nil && !one.accepted() {
			ended[one.request.Stream] = one.head.Sequence
		}
	}
	given := map[jsonrpc.ID]*rules.Message{}
	for _, said := range conversation.Messages {
		switch {
		case isResponse(said) && !said.FromTarget(conversation.Leg):
			delete(given, said.ID)
		case !said.FromTarget(conversation.Leg):
		case said.Method == cancelledMethod:
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
				Wanted: "an id that no open request has", Found: fmt.Sprintf("%s, which %s has", said.ID, open.Method), Where: "/id",
			})
		}
	}
}

// repeatedAnswers allows as many answers to an id as requests had it: that a
// peer uses one twice is not the target's fault.
func repeatedAnswers(conversation *rules.Conversation, reporter *rules.Reporter) {
	asked, answered := map[jsonrpc.ID]int{}, map[jsonrpc.ID]int{}
	for _, said := range conversation.ByPeer() {
		if isRequest(said) {
			asked[said.ID]++
		}
	}
	refused := refusedStreams(conversation)
	for _, said := range originals(conversation) {
		if !isResponse(said) || said.Request == nil || refused[said.Event.Stream] && conversation.Role == protocol.ClientRole {
			continue // what HTTP refuses may be sent again
		}
		reporter.Observe()
		answered[said.ID]++
		if answered[said.ID] > asked[said.ID] {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "one response to the request " + said.ID.String(), Found: "a further one: " + excerpt.Short(said.Raw), Where: "/id",
			})
		}
	}
}

// strayResponses finds responses that answer nothing. Those without an id are
// in order where the request could not be read or was refused by HTTP.
func strayResponses(conversation *rules.Conversation, reporter *rules.Reporter) {
	refused, before := refusedStreams(conversation), priorOf(conversation)
	for _, response := range conversation.ByTarget() {
		if !isResponse(response) {
			continue
		}
		reporter.Observe()
		anonymous := isAnonymous(response)
		switch {
		case response.Request != nil, !conversation.Complete, before.illegal(response):
		case anonymous && (refused[response.Event.Stream] || before.onlyNotifications(response)):
		default:
			reporter.Violation(response, rules.Mismatch{
				Wanted: "the id of a request that was sent", Found: shown(response.Object, "id"), Where: "/id",
			})
		}
	}
}

func isAnonymous(said *rules.Message) bool {
	return said.ID == jsonrpc.NoID || said.ID == jsonrpc.NullID
}

func answeredNotifications(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByPeer() {
		if said.Kind == jsonrpc.Notification && said.Event.Deliberate == "" {
			reporter.Observe()
		}
	}
	refused, before := refusedStreams(conversation), priorOf(conversation)
	for _, response := range conversation.ByTarget() {
		if !isResponse(response) || !isAnonymous(response) || refused[response.Event.Stream] {
			continue
		}
		if !before.illegal(response) && before.onlyNotifications(response) {
			reporter.Violation(response, rules.Mismatch{Wanted: "no response to a notification", Found: excerpt.Short(response.Raw)})
		}
	}
}

// prior knows from when on the peer had said what may provoke a response: the
// index of the first message of a kind.
type prior struct {
	lane         func(*rules.Message) string
	deliberate   int // something illegal
	notification map[string]int
	request      map[string]int // that may still be answered
}

// priorOf reads what the peer said. Over HTTP the response of a server belongs to
// the exchange that it comes in; any other to any request that has no other.
func priorOf(conversation *rules.Conversation) prior {
	byExchange := conversation.Transport == protocol.HTTP && conversation.Role == protocol.ServerRole
	p := prior{deliberate: len(conversation.Messages), notification: map[string]int{}, request: map[string]int{}}
	p.lane = func(said *rules.Message) string {
		if byExchange {
			return said.Event.Stream
		}
		return ""
	}
	first := func(kind map[string]int, said *rules.Message) {
		if _, earlier := kind[p.lane(said)]; !earlier {
			kind[p.lane(said)] = said.Index
		}
	}
	for _, said := range conversation.ByPeer() {
		if said.Event.Deliberate != "" {
			p.deliberate = min(p.deliberate, said.Index)
		}
		switch {
		case said.Kind == jsonrpc.Notification:
			first(p.notification, said)
		case isRequest(said) && (byExchange || len(said.Answers) == 0):
			first(p.request, said)
		}
	}
	return p
}

// illegal tells whether something illegal was sent on purpose before: a
// response may then be about that.
func (p prior) illegal(response *rules.Message) bool { return p.deliberate < response.Index }

// onlyNotifications tells whether notifications were sent before, and no
// request that a response could be about.
func (p prior) onlyNotifications(response *rules.Message) bool {
	came := func(kind map[string]int) bool {
		index, some := kind[p.lane(response)]
		return some && index < response.Index
	}
	return came(p.notification) && !came(p.request)
}

// isOutcome is true for responses, and for what can only be meant as one.
func isOutcome(said *rules.Message) bool {
	return isResponse(said) || said.Kind == jsonrpc.Invalid && said.ID != jsonrpc.NoID
}

func noOutcome(said *rules.Message) rules.Mismatch {
	if isResponse(said) {
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

func isRefusal(said *rules.Message) bool {
	_, refused := said.Error()
	return isResponse(said) && refused
}

func incompleteError(said *rules.Message) rules.Mismatch {
	refusal, isObject := said.Object["error"].(map[string]any)
	if !isObject {
		return rules.Mismatch{Wanted: "an object with code and message", Found: shown(said.Object, "error"), Where: "/error"}
	}
	for _, name := range []string{"code", "message"} {
		if _, there := refusal[name]; !there {
			return rules.Mismatch{Wanted: fmt.Sprintf("a member %q", name), Found: rules.Show(refusal), Where: "/error"}
		}
	}
	return rules.Mismatch{}
}

func hasErrorCode(said *rules.Message) bool {
	refusal, _ := said.Object["error"].(map[string]any)
	_, there := refusal["code"]
	return isResponse(said) && there
}

func fractionalCode(said *rules.Message) rules.Mismatch {
	code := said.Object["error"].(map[string]any)["code"]
	if _, isNumber := code.(json.Number); isNumber && jsonrpc.IDOf(code).IsInteger() {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "an integer", Found: rules.Show(code), Where: "/error/code"}
}

// isWhole tells whether a response has an error with all that each must have.
func isWhole(refusal *rules.Message) bool {
	nothing := rules.Mismatch{}
	return incompleteError(refusal) == nothing && fractionalCode(refusal) == nothing
}

// notificationPrefix begins the methods of all notifications.
const notificationPrefix = "notifications/"

func isNotificationMethod(said *rules.Message) bool {
	return isCall(said) && strings.HasPrefix(said.Method, notificationPrefix)
}

func identified(said *rules.Message) rules.Mismatch {
	if said.ID == jsonrpc.NoID {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "no id in " + said.Method, Found: said.ID.String(), Where: "/id"}
}
