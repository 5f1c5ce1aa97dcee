package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// TestAWorkerSeesWhatCame sends a recording as a plan is sent: all bytes that a
// client may use reach the worker as they are.
func TestAWorkerSeesWhatCame(t *testing.T) {
	t.Parallel()
	id, retry := "7", 30
	came := &scenario.Recording{Scenario: "any", Connections: []scenario.Recorded{{
		Name: "any-1", Complete: true, Events: []transcript.Event{
			{Kind: transcript.Head, From: protocol.Client, Stream: "post-1", HTTP: &transcript.HTTP{
				Method: "POST", URL: "http://127.0.0.1/mcp", Header: http.Header{"Accept": {"a", "b"}, "X-Odd": {""}},
			}},
			{Sequence: 1, Kind: transcript.Message, From: protocol.Client, Raw: []byte("\xff\xfe{\"\\u0000<&>\"}\x00"), Size: 99},
			{Sequence: 2, Kind: transcript.Block, SSE: &transcript.SSE{ID: &id, Retry: &retry, HasData: true, Comments: []string{"c"}}},
			{Sequence: 3, Kind: transcript.Remark, From: protocol.Client, Note: "GET /", Incident: transcript.DecoyFetched},
		},
	}}}
	sent := Plan{Cells: []Cell{{Recordings: map[string]*scenario.Recording{"any": came}}}}

	received := sendPlan(t, sent)

	got := received.Cells[0].Recordings["any"]
	if connection := got.Connections[0]; connection.Name != "any-1" || !connection.Complete || len(connection.Events) != 4 {
		t.Errorf("%+v", got)
	}
	for i, event := range got.Connections[0].Events {
		var was, is bytes.Buffer
		if err := errors.Join(transcript.Write(&was, transcript.Header{}, came.Connections[0].Events[i:i+1]), transcript.Write(&is, transcript.Header{}, []transcript.Event{event})); err != nil {
			t.Fatal(err)
		}
		if was.String() != is.String() || event.Incident != came.Connections[0].Events[i].Incident {
			t.Errorf("%s became %s, incident %d", was.String(), is.String(), event.Incident)
		}
	}
	if received.Cells[0].launch(nil) != nil {
		t.Error("a client would be started")
	}
}

func sendPlan(t *testing.T, sent Plan) Plan {
	t.Helper()
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var received Plan
	if err := json.Unmarshal(text, &received); err != nil {
		t.Fatal(err)
	}
	return received
}
