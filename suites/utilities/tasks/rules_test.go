package tasks

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// TestTasksOverHTTP reads heads, which scripts of stdio have not.
func TestTasksOverHTTP(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		session         string
		authorization   string
		contentType     string
		broken, notSeen []string
	}{
		{"a session and JSON", "0123456789", "", "application/json", nil, nil},
		{"neither session nor authorization", "", "", "application/json", []string{"tasks.list.undeclared"}, nil},
		{"authorization", "", "Bearer ***", "application/json", nil, []string{"tasks.list.undeclared", "tasks.id.unguessable"}},
		{"an event stream", "0123456789", "", "text/event-stream; charset=utf-8", []string{"tasks.get.no-stream"}, nil},
		{"text", "0123456789", "", "text/plain", []string{"tasks.transport.kept"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			script := strings.Replace(OneTask, `"tasks":{`, `"tasks":{"list":{},`, 1) + About("3", "tasks/get", State("working", ""))
			var events []transcript.Event
			add := func(event transcript.Event) {
				event.Sequence = len(events)
				events = append(events, event)
			}
			for _, event := range Converse(t, OverHTTP, script).Events {
				request := transcript.HTTP{Method: http.MethodPost, Header: http.Header{}}
				if test.authorization != "" {
					request.Header.Set("Authorization", test.authorization)
				}
				response := transcript.HTTP{Status: http.StatusOK, Header: http.Header{"Content-Type": {test.contentType}}}
				if test.session != "" {
					response.Header.Set(exchanges.SessionHeader, test.session)
				}
				event.Stream = "post"
				if event.From == protocol.Client {
					add(transcript.Event{Kind: transcript.Head, From: protocol.Client, Stream: "post", HTTP: &request})
					add(event)
					add(transcript.Event{Kind: transcript.Head, From: protocol.Server, Stream: "post", HTTP: &response})
					continue
				}
				add(event)
			}
			broken, seen := BrokenAndSeen(Rules(), rules.NewConversation(OverHTTP, events, true))
			if difference := cmp.Diff(test.broken, broken); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
			for _, id := range test.notSeen {
				if slices.Contains(seen, id) {
					t.Errorf("%s judged", id)
				}
			}
		})
	}
}
