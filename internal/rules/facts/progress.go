package facts

import (
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
)

// ProgressMethod is the method of reports of progress.
const ProgressMethod = "notifications/progress"

// A ProgressReport is a progress notification with the requests that it may be about:
// those of the peer that came before it with the same token.
type ProgressReport struct {
	*rules.Message
	Token    jsonrpc.ID
	Requests []*rules.Message
}

// ProgressReports returns those of the target, each delivered once.
func ProgressReports(conversation *rules.Conversation) []ProgressReport {
	return rules.Shared(conversation, "progressReports", readProgressReports)
}

func readProgressReports(conversation *rules.Conversation) []ProgressReport {
	var reports []ProgressReport
	requests := map[jsonrpc.ID][]*rules.Message{}
	repeated := rules.Redelivered(conversation)
	for _, message := range conversation.Messages {
		switch {
		case !message.FromTarget(conversation.Cell):
			if token, asks := rules.ProgressToken(message); asks && rules.IsRequest(message) {
				id := jsonrpc.IDOf(token)
				requests[id] = append(requests[id], message)
			}
		case message.Kind == jsonrpc.Notification && message.Method == ProgressMethod && !repeated[message]:
			if token, there := message.ParamsObject()["progressToken"]; there { // the schema has it otherwise
				id := jsonrpc.IDOf(token)
				reports = append(reports, ProgressReport{message, id, requests[id]})
			}
		}
	}
	return reports
}

// Creators returns, by task, the request of the peer that created it.
func Creators(conversation *rules.Conversation) map[string]*rules.Message {
	return rules.Shared(conversation, "creators", readCreators)
}

func readCreators(conversation *rules.Conversation) map[string]*rules.Message {
	requests := map[string]*rules.Message{}
	for _, message := range conversation.ByPeer() {
		if id := tasks.OfRequest(message); rules.IsRequest(message) && id != "" {
			requests[id] = message
		}
	}
	return requests
}

// TaskToken returns the token of the request that created the task to which a
// report belongs.
func (r ProgressReport) TaskToken(creators map[string]*rules.Message) (token any, there bool) {
	task, _ := tasks.Related(r.Message)
	if request := creators[task]; request != nil {
		return rules.ProgressToken(request)
	}
	return nil, false
}
