package transport_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/transport"
)

func TestMirrored(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]http.Header{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`: {
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"add"},
		},
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///ä"}}`: {
			"Mcp-Method": {"resources/read"}, "Mcp-Name": {"=?base64?ZmlsZTovLy/DpA==?="},
		},
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"7"}}`: {"Mcp-Method": {"tasks/get"}, "Mcp-Name": {"7"}},
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"x"}}`:  {"Mcp-Method": {"tools/list"}},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`:    {"Mcp-Method": {"tools/call"}},
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                  {},
		`[]`:                                                                    {},
	} {
		if diff := cmp.Diff(want, transport.Mirrored(jsonrpc.Parse([]byte(raw)))); diff != "" {
			t.Errorf("%s: wanted - found +\n%s", raw, diff)
		}
	}
}

func TestHeaderValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"us-west1": "us-west1", "a\tb c": "a\tb c", "": "",
		"Hello, 世界":            "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":             "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":         "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=":   "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?without end": "=?base64?without end",
		"\x7f":                 "=?base64?fw==?=",
	} {
		if found := transport.HeaderValue(text); found != want {
			t.Errorf("%q: found %q, wanted %q", text, found, want)
		}
	}
}

func TestDecodedHeaderValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct {
		text    string
		encoded bool
	}{
		"=?base64?IHBhZGRlZCA=?=": {" padded ", true},
		"=?base64??=":             {"", true},
		"=?BASE64?IHBhZGRlZCA=?=": {"", false},
		"=?base64?IHBhZGRlZCA?=":  {"", false},
		"plain":                   {"", false},
	} {
		if text, encoded := transport.DecodedHeaderValue(value); encoded != want.encoded || encoded && text != want.text {
			t.Errorf("%q: found %q, %t", value, text, encoded)
		}
	}
}
