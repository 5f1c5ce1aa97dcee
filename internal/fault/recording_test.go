package fault_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// recorded makes events of lines such as "post-1 > POST /mcp", "post-1 > {...}" (from the
// client), "post-1 < 200", "stdio < {...}" and "token-1 > a=b", which is a form.
func recorded(lines string) []transcript.Event {
	var events []transcript.Event
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		event := transcript.Event{Sequence: i, Stream: words[0], From: protocol.Client, Kind: transcript.Message, Raw: []byte(words[2])}
		if words[1] == "<" {
			event.From = protocol.Server
		}
		status, wrong := strconv.Atoi(words[2])
		method, url, asks := strings.Cut(words[2], " ")
		switch {
		case asks && !strings.HasPrefix(words[2], "{"):
			event.Kind, event.Raw = transcript.Head, nil
			event.HTTP = &transcript.HTTP{Method: method, URL: "http://host" + url, Header: http.Header{"Authorization": {"Bearer t"}}}
		case wrong == nil:
			event.Kind, event.Raw, event.HTTP = transcript.Head, nil, &transcript.HTTP{Status: status}
		case !strings.HasPrefix(words[2], "{"):
			event.Kind = transcript.Body
		}
		events = append(events, event)
	}
	return events
}

// shown is the opposite, with the Authorization header where it is not as it was.
func shown(events []transcript.Event) []string {
	var lines []string
	for i, event := range events {
		way := ">"
		if event.From == protocol.Server {
			way = "<"
		}
		text := string(event.Raw)
		if head := event.HTTP; head != nil {
			text = strings.TrimSpace(fmt.Sprint(head.Method, " ", strings.TrimPrefix(head.URL, "http://host")))
			if head.Status != 0 {
				text = strconv.Itoa(head.Status)
			} else if given := head.Header.Get("Authorization"); given != "Bearer t" {
				text += " " + given
			}
		}
		if event.Sequence != i {
			text += " out of order"
		}
		if event.Kind != transcript.End {
			lines = append(lines, strings.TrimSpace(event.Stream+" "+way+" "+text))
		}
	}
	return lines
}

func TestFaultsInRecordings(t *testing.T) {
	t.Parallel()
	const (
		overHTTP = `post-1 > POST /mcp
			post-1 > {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			post-1 < 200
			post-1 < {"jsonrpc":"2.0","id":1,"result":{}}
			post-2 > POST /mcp
			post-2 > {"jsonrpc":"2.0","method":"notifications/cancelled"}
			post-2 < 202
			delete-1 > DELETE /mcp
			delete-1 < 200`
		overStdio = `stdio > {"jsonrpc":"2.0","id":1,"method":"tools/list"}
			stdio < {"jsonrpc":"2.0","id":1,"result":{}}
			stdio < {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
			stdio > {"jsonrpc":"2.0","id":2,"method":"ping"}
			stdio < {"jsonrpc":"2.0","id":2,"result":{}}`
		login = `authorize > GET /authorize?scope=a&state=s
			authorize < 302
			token > POST /token
			token > code=c&resource=r`
	)
	for name, one := range map[string]struct{ recording, changes, want string }{
		"a message is altered": {overStdio, "when: {method: ping}\n  do: [{replace: /id, with: 7}]", strings.Replace(overStdio, `"jsonrpc":"2.0","id":2,"method"`, `"id":7,"jsonrpc":"2.0","method"`, 1)},
		"a request is not sent, and not answered": {overStdio, "when: {method: tools/list}\n  do: [{drop: true}]",
			strings.Join(strings.Split(overStdio, "\n")[2:], "\n")},
		"an exchange has not taken place":      {overHTTP, "when: {method: notifications/cancelled}\n  do: [{drop: true}]", without(overHTTP, "post-2")},
		"one without a message, either":        {overHTTP, "when: {http: {method: DELETE}}\n  do: [{drop: true}]", without(overHTTP, "delete-1")},
		"a header is altered":                  {overHTTP, "when: {http: {method: DELETE}}\n  do: [{header: {Authorization: \"%s!\"}}]", strings.Replace(overHTTP, "DELETE /mcp", "DELETE /mcp Bearer t!", 1)},
		"a header beside a message":            {overHTTP, "when: {method: tools/list}\n  do: [{header: {Authorization: x}}]", strings.Replace(overHTTP, "POST /mcp", "POST /mcp x", 1)},
		"a message is added":                   {overStdio, "when: {direction: in, method: notifications/tools/list_changed}\n  do: [{send: {a: 1}, direction: out}]", strings.Replace(overStdio, "list_changed\"}", "list_changed\"}\nstdio > {\"a\":1}", 1)},
		"an exchange is added":                 {overHTTP, "when: {method: tools/list}\n  do: [{send: {a: 1}}]", strings.Replace(overHTTP, "post-1 < 200", "post-1-1 > POST /mcp\npost-1-1 > {\"a\":1}\npost-1-1 < 202\npost-1 < 200", 1)},
		"the client has hung up":               {overStdio, "when: {direction: in, method: notifications/tools/list_changed}\n  do: [{cut: true}]", strings.Join(strings.Split(overStdio, "\n")[:3], "\n") + "\n" + strings.Split(overStdio, "\n")[4]},
		"a query is altered":                   {login, "when: {http: {query: {state: {present: true}}}}\n  do: [{query: {state: null, scope: \"%s b\"}}]", strings.Replace(login, "scope=a&state=s", "scope=a+b", 1)},
		"a form is altered":                    {login, "when: {text: ^code=}\n  do: [{form: {resource: null, code: d}}]", strings.Replace(login, "code=c&resource=r", "code=d", 1)},
		"what comes later than it was sent":    {overStdio, "when: {method: tools/list}\n  do: [{hold: {method: ping}}]", moved(overStdio)},
		"what a driver tells stands elsewhere": {overStdio, "when: {carried: outcome}\n  do: [{drop: true}]", overStdio},
	} {
		faults, err := fault.Parse("f.yaml", []byte("- id: a\n  says: It.\n  role: client\n  into: recording\n  breaks: [b]\n  "+one.changes+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := shown(fault.Injection{Faults: faults}.Recorded(recorded(one.recording)))
		var want []string
		for line := range strings.Lines(one.want) {
			want = append(want, strings.TrimSpace(line))
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s: (-want +found)\n%s", name, diff)
		}
	}
}

func without(lines, exchange string) string {
	var kept []string
	for line := range strings.Lines(lines) {
		if !strings.HasPrefix(strings.TrimSpace(line), exchange) {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// moved puts the first line behind the fourth.
func moved(lines string) string {
	all := strings.Split(lines, "\n")
	return strings.Join(append(append(all[1:4:4], all[0]), all[4:]...), "\n")
}

func TestFaultsInOutcomes(t *testing.T) {
	t.Parallel()
	faults, err := fault.Parse("f.yaml", []byte(`- id: a
  says: It.
  role: client
  into: recording
  breaks: [b]
  scenarios: [one]
  changes:
    - when: {carried: outcome, where: {/step: 1}}
      do: [{replace: /outcome, with: failed}]
    - when: {where: {/step: 0}}
      do: [{drop: true}]
`))
	if err != nil {
		t.Fatal(err)
	}
	injection := fault.Injection{Faults: faults}
	const told = "{\"outcome\":\"done\",\"step\":0}\nanything\n{\"outcome\":\"done\",\"step\":1}\n"
	if found := string(injection.In("one").Outcomes([]byte(told))); found != strings.Replace(told, `done","step":1`, `failed","step":1`, 1) {
		t.Errorf("found %s", found)
	}
	if !injection.In("another").None() {
		t.Error("it is injected in another scenario, too")
	}
	if live, later := injection.Parted(); !live.None() || later.None() {
		t.Error("it is injected into traffic")
	}
}
