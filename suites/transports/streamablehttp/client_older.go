package streamablehttp

import (
	"net/http"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// An olderRefusal is how a server of HTTP+SSE rejects what is posted to the URL of its stream:
// by one of the statuses that the section on backwards compatibility names, with a body that
// such servers, or what stands before them, have for it.
type olderRefusal struct {
	name, words string
	until       string // the last revision whose section names the status; "" for all
	refuse      func(*scripted.Exchange)
}

// anyRefusal is the last revision at which any status from 400 to 499 is named.
const anyRefusal = "2025-06-18"

var olderRefusals = []olderRefusal{
	{"404", "HTTP 404 with an HTML page", "", inWords(http.StatusNotFound, "text/html", "<h1>Not Found</h1>")},
	{"400", "HTTP 400 with an empty body", "", func(exchange *scripted.Exchange) {
		exchange.Answer(http.StatusBadRequest, nil, nil, "")
	}},
	{"an-error", "HTTP 400 with the error -32000", "", byError(http.StatusBadRequest, -32000, "Bad Request: No sessionId")},
	// From 2026-07-28 on a server without HTTP+SSE answers an unknown method so.
	{"an-unknown-method", "HTTP 404 with the error -32601", "2025-11-25", byError(http.StatusNotFound, jsonrpc.MethodNotFound, "Method not found")},
	{"406", "HTTP 406", anyRefusal, inWords(http.StatusNotAcceptable, "text/plain", "Not Acceptable")},
	{"415", "HTTP 415", anyRefusal, inWords(http.StatusUnsupportedMediaType, "text/plain", "Unsupported Media Type")},
}

func inWords(status int, media, text string) func(*scripted.Exchange) {
	return func(exchange *scripted.Exchange) {
		exchange.Answer(status, map[string]string{"Content-Type": media}, []byte(text), "")
	}
}

func byError(status int, code int64, message string) func(*scripted.Exchange) {
	return func(exchange *scripted.Exchange) {
		exchange.Answer(status, nil, jsonrpc.NewError(jsonrpc.Parse(exchange.Body).ID, code, message), "")
	}
}

// scenario is a server of HTTP+SSE that rejects a POST so.
func (r olderRefusal) scenario() *Scenario {
	return &Scenario{
		Name:   older.Name + "-refusing-with-" + r.name,
		Since:  "2025-03-26",
		Until:  r.until,
		Over:   protocol.HTTP,
		Speaks: older.Speaks,
		Says:   "The server speaks HTTP+SSE: it answers a POST with " + r.words + ", and answers a GET with a stream whose first event names its endpoint.",
		Steps:  older.Steps,
		Server: func(server *scripted.Server) {
			overHTTPSSE(server)
			server.OnExchange(func(exchange *scripted.Exchange) bool {
				if exchange.Request.Method != http.MethodPost || scripted.IsOlderEndpoint(exchange.Request.URL.String()) {
					return false
				}
				r.refuse(exchange)
				return true
			})
		},
	}
}

// findingSSE registers the checks of what a client does when its first request is rejected
// as servers of HTTP+SSE reject it.
func findingSSE() {
	finds := func(words string, scenario, other *Scenario, like string) {
		It("opens an event stream by GET after "+words, Verifies("transports.http.older-servers"), In(scenario), func(t *T) {
			client := RunScenario(t)

			posts := client.Heads(http.MethodPost)
			if len(posts) == 0 {
				client.InconclusiveWithout("initialize")
			}
			switch {
			case t.Observed(opensStream(client)):
			case opensStream(AlsoRun(t, other)):
				client.MissingAfter(posts[len(posts)-1], Mismatch{Wanted: "a GET of the same URL, as after " + like, Found: "no such request"})
			default:
				t.NotApplicable("the client does not support HTTP+SSE, which is optional")
			}
		})
	}
	const refusedByOlder = "HTTP 405"
	for at, one := range olderRefusals {
		scenario := one.scenario()
		if at == 0 {
			finds(refusedByOlder, older, scenario, one.words)
		}
		finds(one.words, scenario, older, refusedByOlder)
	}
}

// opensStream tells whether a client asks for an event stream after its first POST; metadata
// of authorization is none. The client is nil when it did not come.
func opensStream(client *Client) bool {
	if client == nil {
		return false
	}
	posts := client.Heads(http.MethodPost)
	return len(posts) > 0 && slices.ContainsFunc(client.Heads(http.MethodGet), func(get transcript.Event) bool {
		return get.At.After(posts[0].At) && !strings.Contains(get.HTTP.URL, "/.well-known/")
	})
}
