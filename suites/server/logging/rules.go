package logging

import (
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of the page server/utilities/logging.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends notifications/message only if it declares logging",
			Verifies: rules.Verifies("logging.capability.declared"),
			Judge:    declaredLogging,
		},
		{
			Text:     "sends notifications/message with a level of RFC 5424",
			Verifies: rules.Verifies("logging.message.level"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				var levels []places.Found
				for _, message := range conversation.Notifications("notifications/message") {
					params := places.Place{Pointer: "/params", Value: message.Params()}
					if level, there := params.Member("level"); there {
						levels = append(levels, places.Found{Place: level, Said: message})
					}
				}
				claims.JudgeBy(conversation, reporter, levels, "LoggingLevel")
			},
		},
		{
			Text:     "sends no notifications/message below the level that was set",
			Verifies: rules.Verifies("logging.level.respected"),
			Needs:    []transcript.Lack{transcript.HTTPHead, transcript.Whole},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				if conversation.Has(protocol.LogLevelInMeta) {
					messagesAtOwnLevel(conversation, reporter)
				} else {
					messagesAtLevel(conversation, reporter)
				}
			},
		},
		{
			Text:     "sends notifications/message only for requests with io.modelcontextprotocol/logLevel",
			Verifies: rules.Verifies("logging.message.requested"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    unaskedMessages,
		},
		{
			Text:     "sends notifications/message only on the stream of the response to its request",
			Verifies: rules.Verifies("logging.message.own-stream"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    strayMessages,
		},
	}
}

// declaredLogging judges log messages of a server whose capabilities are known. It stands in for the
// rule about all capabilities, which leaves them out.
func declaredLogging(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.ServerCapabilities == nil {
		return
	}
	for _, message := range conversation.Notifications("notifications/message") {
		reporter.Observe()
		if _, declared := conversation.ServerCapabilities["logging"].(map[string]any); !declared {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "log messages only from a server that declares logging",
				Found:  "one from a server that does not", Where: "/method",
			})
		}
	}
}

// severities are the levels of log messages, the least severe first.
var severities = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// severity returns the position of a level, -1 for one that does not exist.
func severity(level any) int {
	return slices.Index(severities, mcp.Text(level))
}

// messagesAtLevel judges log messages by the level that was in force when the
// stream that they came on was opened: what came on an older one may have been
// sent before. Where the client set several levels since, the least counts.
func messagesAtLevel(conversation *rules.Conversation, reporter *rules.Reporter) {
	opened := map[string]int{} // streams, by the first event on each
	for _, event := range conversation.Events {
		if _, known := opened[event.Stream]; !known {
			opened[event.Stream] = event.Sequence
		}
	}
	var set []*rules.Message // requests that set a level, in order
	for _, message := range conversation.Messages {
		fromTarget := message.FromTarget(conversation.Cell)
		switch {
		case !fromTarget && message.Kind == jsonrpc.Request && message.Method == "logging/setLevel":
			set = append(set, message)
		case fromTarget && message.Kind == jsonrpc.Notification && message.Method == "notifications/message":
			began := opened[message.Event.Stream]
			if !protocol.Over(conversation.Transport).Exchanges() { // where one channel carries all
				began = message.Event.Sequence
			}
			least := leastInForce(set, began)
			level := severity(message.ParamsObject()["level"])
			if least < 0 || level < 0 {
				continue
			}
			reporter.Observe()
			if level < least {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "no message below the level that was set",
					Found:  fmt.Sprintf("one of level %s, after %s was set", severities[level], severities[least]),
					Where:  "/params/level",
				})
			}
		}
	}
}

// leastInForce returns the least severe level that may have been in force from
// a point in the transcript on; -1 when none was known to be set.
func leastInForce(set []*rules.Message, since int) int {
	least := -1
	for _, request := range slices.Backward(set) {
		level := severity(request.ParamsObject()["level"])
		if level < 0 {
			continue
		}
		if least < 0 || level < least {
			least = level
		}
		for _, answer := range request.Answers {
			if _, refused := answer.Error(); !refused && answer.Event.Sequence < since {
				return least
			}
		}
	}
	return -1
}

// A logEntry is a log message of the stateless era, with the requests that it may be
// about.
type logEntry struct {
	*rules.Message
	stream *rules.Message   // over HTTP: the request on whose stream it came
	asking []*rules.Message // requests without an answer that asked for log messages
	late   bool             // over stdio: it may be about the request that was answered just before
}

// loggedBy returns the log messages of a conversation; none of the handshake era,
// which has one level for all of them.
func loggedBy(conversation *rules.Conversation) []logEntry {
	if !conversation.Has(protocol.LogLevelInMeta) {
		return nil
	}
	opened := map[string]*rules.Message{} // requests, by the stream of their answer
	for _, one := range exchanges.Of(conversation) {
		if one.Sent != nil {
			opened[one.Request.Stream] = one.Sent
		}
	}
	var asking []*rules.Message // requests
	var answered *rules.Message // the request that was answered last
	var all []logEntry
	for _, sent := range conversation.Messages {
		fromTarget := sent.FromTarget(conversation.Cell)
		switch {
		case !fromTarget && rules.IsRequest(sent) && askedLevel(sent) != nil:
			asking = append(asking, sent)
		case fromTarget && rules.IsResponse(sent) && sent.Request != nil:
			answered = sent.Request
		case fromTarget && sent.Kind == jsonrpc.Notification && sent.Method == "notifications/message":
			message := logEntry{Message: sent, stream: opened[sent.Event.Stream]}
			message.late = message.stream == nil && answered != nil && askedLevel(answered) != nil
			for _, request := range asking {
				if openDuring(request, sent) {
					message.asking = append(message.asking, request)
				}
			}
			all = append(all, message)
		}
	}
	return all
}

// askedLevel returns what a request says of the log messages that it asks for, nil
// when it asks for none.
func askedLevel(request *rules.Message) any { return request.Meta()[mcp.MetaLogLevel] }

// openDuring tells whether a request was asked, and not yet answered, when something
// was said.
func openDuring(request, message *rules.Message) bool {
	return request.Index < message.Index && (len(request.Answers) == 0 || message.Index < request.Answers[0].Index)
}

// messagesAtOwnLevel judges log messages by the level of the request that they came
// for; where it may be one of several, by the least severe.
func messagesAtOwnLevel(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range loggedBy(conversation) {
		candidates := message.asking
		if message.stream != nil {
			candidates = []*rules.Message{message.stream}
		}
		least := -1
		for _, request := range candidates {
			if level := severity(askedLevel(request)); level >= 0 && (least < 0 || level < least) {
				least = level
			}
		}
		level := severity(message.ParamsObject()["level"])
		if least < 0 || level < 0 {
			continue
		}
		reporter.Observe()
		if level < least {
			reporter.Violation(message.Message, rules.Mismatch{
				Wanted: "no message below the logLevel of its request",
				Found:  fmt.Sprintf("one of level %s for a request with %s", severities[level], severities[least]),
				Where:  "/params/level",
			})
		}
	}
}

// unaskedMessages judges log messages that come while no request is open that asked
// for any. Where another one asked, they are astray, which is another rule's.
func unaskedMessages(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range loggedBy(conversation) {
		reporter.Observe()
		onItsOwn := message.stream != nil && askedLevel(message.stream) != nil
		subscribed := message.stream != nil && message.stream.Method == facts.ListenMethod
		if len(message.asking) == 0 && !onItsOwn && !subscribed && !message.late {
			reporter.Violation(message.Message, rules.Mismatch{
				Wanted: "log messages only for requests with " + mcp.MetaLogLevel + " in their _meta",
				Found:  "one while no such request was open", Where: "/method",
			})
		}
	}
}

// strayMessages judges log messages over HTTP that come on the stream of a
// subscription, or of a request that asked for none while another one did.
func strayMessages(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range loggedBy(conversation) {
		if message.stream == nil {
			continue
		}
		reporter.Observe()
		subscribed := message.stream.Method == facts.ListenMethod
		if subscribed || askedLevel(message.stream) == nil && len(message.asking) > 0 {
			reporter.Violation(message.Message, rules.Mismatch{
				Wanted: "log messages on the stream of the response to their request",
				Found:  "one on the stream of " + message.stream.Method, Where: "/method",
			})
		}
	}
}
