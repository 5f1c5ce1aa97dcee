package transcript_test

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestKindOfBody(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method string
		status int
		body   string
		want   transcript.Kind
	}{
		"a body for a POST":             {"POST", 200, `{"ok":true}`, transcript.Message},
		"words of a gateway":            {"POST", 403, `{"message":"Forbidden"}`, transcript.Body},
		"an error response":             {"POST", 400, `{"jsonrpc":"2.0","error":{}}`, transcript.Message},
		"null with a 202":               {"POST", 202, `null`, transcript.Body},
		"a message with a 202":          {"POST", 202, `{"jsonrpc":"2.0","id":1,"result":{}}`, transcript.Message},
		"a body for a DELETE":           {"DELETE", 200, `{"ok":true}`, transcript.Body},
		"an error of a DELETE":          {"DELETE", 405, `{"jsonrpc":"2.0","error":{}}`, transcript.Message},
		"an error written with escapes": {"POST", 400, `{"\u006asonrpc":"2.0","error":{}}`, transcript.Message},
		"a refusal in escapes":          {"POST", 400, `{"\u0065rror":"Bad Request"}`, transcript.Body},
	} {
		if kind := transcript.KindOfBody(test.method, test.status, []byte(test.body)); kind != test.want {
			t.Errorf("%s: %s, wanted %s", name, kind, test.want)
		}
	}
}
