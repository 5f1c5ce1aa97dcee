package wire

import (
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// LoggingRules are the rules of the page server/utilities/logging.
func LoggingRules() []conform.Rule {
	return []conform.Rule{
		{
			Text:         "sends log messages only if it declares logging",
			Requirements: []string{"logging.capability.declared"},
			Judge:        declaredLogging,
		},
		{
			Text:         "logs at levels of RFC 5424",
			Requirements: []string{"logging.message.level"},
			Judge: func(conversation *conform.Conversation, sight *conform.Sight) {
				var levels []found
				for _, said := range conversation.Notifications("notifications/message") {
					params := place{"/params", said.Params()}
					if level, there := params.member("level"); there {
						levels = append(levels, found{level, said})
					}
				}
				judgeBy(conversation, sight, levels, "LoggingLevel")
			},
		},
		{
			Text:         "sends no log message below the level that was set",
			Requirements: []string{"logging.level.respected"},
			Judge:        messagesAtLevel,
		},
	}
}

// declaredLogging judges log messages after the handshake. It stands in for the
// rule about all capabilities, which leaves them out.
func declaredLogging(conversation *conform.Conversation, sight *conform.Sight) {
	if conversation.ServerCapabilities == nil {
		return
	}
	for _, said := range conversation.Notifications("notifications/message") {
		sight.Saw()
		if _, declared := conversation.ServerCapabilities["logging"].(map[string]any); !declared {
			sight.Break(said, conform.Mismatch{
				Wanted: "log messages only of a server that declares the capability logging",
				Found:  "one of a server that does not", Where: "/method",
			})
		}
	}
}

// severities are the levels of log messages, the least severe first.
var severities = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// severity returns the position of a level, -1 for one that does not exist.
func severity(level any) int {
	name, _ := level.(string)
	return slices.Index(severities, name)
}

// messagesAtLevel judges log messages by the level that was in force when the
// stream that they came on was opened: what came on an older one may have been
// sent before. Where the client set several levels since, the least counts.
func messagesAtLevel(conversation *conform.Conversation, sight *conform.Sight) {
	opened := map[string]int{} // streams, by the first event on each
	for _, event := range conversation.Events {
		if _, known := opened[event.Stream]; !known {
			opened[event.Stream] = event.Sequence
		}
	}
	var set []*conform.Said // requests that set a level, in order
	for _, said := range conversation.Messages {
		fromTarget := said.FromTarget(conversation.Leg)
		switch {
		case !fromTarget && said.Kind == jsonrpc.Request && said.Method == "logging/setLevel":
			set = append(set, said)
		case fromTarget && said.Kind == jsonrpc.Notification && said.Method == "notifications/message":
			began := opened[said.Event.Stream]
			if conversation.Transport == conform.Stdio {
				began = said.Event.Sequence
			}
			least := leastInForce(set, began)
			level := severity(said.ParamsObject()["level"])
			if least < 0 || level < 0 {
				continue
			}
			sight.Saw()
			if level < least {
				sight.Break(said, conform.Mismatch{
					Wanted: "no message below the level that was set",
					Found:  fmt.Sprintf("one of level %s, after %s was set", severities[level], severities[least]), Where: "/params/level",
				})
			}
		}
	}
}

// leastInForce returns the least severe level that may have been in force from
// a point in the transcript on; -1 when none was known to be set.
func leastInForce(set []*conform.Said, since int) int {
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
