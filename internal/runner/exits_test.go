package runner

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/worker"
)

func TestProcessesThatEndByThemselvesAreTold(t *testing.T) {
	t.Parallel()
	asked := transcript.Event{Kind: transcript.Message, From: protocol.Client, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}`)}
	illegal := transcript.Event{Kind: transcript.Message, From: protocol.Client, Raw: []byte("{"), Deliberate: "is not JSON"}
	closed := transcript.Event{Kind: transcript.Signal, From: protocol.Client, Note: transcript.InputClosed}
	killed := transcript.Event{Kind: transcript.Signal, From: protocol.Client, Incident: transcript.Signalled}
	cried := transcript.Event{Kind: transcript.Stderr, From: protocol.Server, Raw: []byte("a trace\npanic: no memory\n")}
	exit := transcript.Event{Kind: transcript.Exit, From: protocol.Server, Note: "exited with status 2"}
	for name, test := range map[string]struct {
		connections [][]transcript.Event
		want        string
	}{
		"asked to":             {[][]transcript.Event{{asked, closed, exit}}, ""},
		"after what is wrong":  {[][]transcript.Event{{asked, illegal, exit}}, ""},
		"without a process":    {[][]transcript.Event{{asked}}, ""},
		"by itself":            {[][]transcript.Event{{asked, closed, exit}, {asked, cried, exit}}, `1 of 2 processes of the server ended by themselves, the first after tools/call search: exited with status 2; its standard error ends with "panic: no memory"`},
		"and one more":         {[][]transcript.Event{{asked, exit}, {cried, exit}}, "2 of 2 processes of the server ended by themselves, the first after tools/call search: exited with status 2"},
		"before any request":   {[][]transcript.Event{{exit}}, "1 of 1 processes of the server ended by themselves, the first: exited with status 2"},
		"killed":               {[][]transcript.Event{{asked, exit, killed}}, ""},
		"and then is signaled": {[][]transcript.Event{{asked, exit, closed}}, "1 of 1 processes of the server ended by themselves, the first after tools/call search: exited with status 2"},
	} {
		var all exits
		for _, events := range test.connections {
			if one := worker.ExitOf(protocol.ServerRole, events); one != nil {
				all.add(*one)
			}
		}
		if found := all.notice(); found != test.want {
			t.Errorf("%s: %q, wanted %q", name, found, test.want)
		}
	}
	if worker.ExitOf(protocol.ClientRole, []transcript.Event{asked, exit}) != nil {
		t.Error("the server that a client started is taken for a target")
	}
}
