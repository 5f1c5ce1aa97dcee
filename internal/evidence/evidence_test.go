package evidence

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestWhatTheTargetSentShows(t *testing.T) {
	t.Parallel()
	sent := transcript.Event{Kind: transcript.Message, From: protocol.Client}
	came := transcript.Event{Kind: transcript.Message, From: protocol.Server}
	if Shows([][]transcript.Event{{sent}}, protocol.ServerRole) {
		t.Error("what the harness sent is no evidence")
	}
	if !Shows([][]transcript.Event{{sent}, {sent, came}}, protocol.ServerRole) {
		t.Error("what the target sent is evidence")
	}
	if !Shows([][]transcript.Event{{sent}}, protocol.ClientRole) {
		t.Error("what a target client sent is evidence")
	}
}
