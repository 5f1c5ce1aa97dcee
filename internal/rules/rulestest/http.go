package rulestest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// InSession are the headers of a good POST in a session.
const InSession = ListsBoth + " " + AgreedOn

// Carry reads what went over HTTP. Each line is a sign, a stream, and the rest:
//
//	>  a request: method, and headers as Name:value; Path: is that of its URL
//	<  a response: status, and headers
//	c  the body of the request, c! one that is illegal on purpose
//	s  the body of the response
//	e  an event: #id, ~retry, =name, and a message, or data for an empty data field
//	b  a block of an event stream, as text without any field that is known
//	.  the server ends the response; x the client does
func Carry(t *testing.T, revision, script string) *rules.Conversation {
	t.Helper()
	return CarryFor(t, rules.Cell{Role: protocol.ServerRole, Revision: revision, Transport: protocol.HTTP}, script)
}

// CarryFor is Carry for any role, revision and transport.
func CarryFor(t *testing.T, cell rules.Cell, script string) *rules.Conversation {
	t.Helper()
	var events []transcript.Event
	method, status := map[string]string{}, map[string]int{} // by stream
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		sign, rest, _ := strings.Cut(line, " ")
		stream, rest, _ := strings.Cut(rest, " ")
		event := transcript.Event{Sequence: len(events), Stream: stream, From: protocol.Server}
		switch sign {
		case ">":
			verb, headers, _ := strings.Cut(rest, " ")
			method[stream] = verb
			event.Kind, event.From = transcript.Head, protocol.Client
			event.HTTP = &transcript.HTTP{Method: verb, Header: headersOf(headers)}
			event.HTTP.URL = "http://localhost/" + event.HTTP.Header.Get("Path")
		case "<":
			code, headers, _ := strings.Cut(rest, " ")
			number, err := strconv.Atoi(code)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			status[stream] = number
			event.Kind, event.HTTP = transcript.Head, &transcript.HTTP{Status: number, Header: headersOf(headers)}
		case "c":
			event.Kind, event.From, event.Raw = transcript.Message, protocol.Client, []byte(rest)
		case "c!":
			event.Kind, event.From, event.Raw, event.Deliberate = transcript.Message, protocol.Client, []byte(
				rest,
			), "a test"
		case "s":
			event.Kind, event.Raw = transcript.KindOfBody(method[stream], status[stream], []byte(rest)), []byte(rest)
		case "b":
			event.Kind, event.Raw, event.SSE = transcript.Block, []byte(rest), &transcript.SSE{}
		case "e":
			event.Kind, event.Raw, event.SSE = eventOf(t, rest)
		case ".":
			event.Kind, event.Note = transcript.End, transcript.Complete
		case "x":
			event.Kind, event.Note = transcript.End, transcript.HarnessClosed
		default:
			t.Fatalf("cannot read %q", line)
		}
		events = append(events, event)
	}
	return rules.NewConversation(cell, events, true)
}

func headersOf(text string) http.Header {
	header := http.Header{}
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, ":")
		header.Add(name, value)
	}
	return header
}

func eventOf(t *testing.T, text string) (transcript.Kind, []byte, *transcript.SSE) {
	t.Helper()
	found := &transcript.SSE{}
	for text != "" {
		field, rest, _ := strings.Cut(text, " ")
		switch {
		case strings.HasPrefix(field, "#"):
			id := field[1:]
			found.ID = &id
		case strings.HasPrefix(field, "~"):
			retry, err := strconv.Atoi(field[1:])
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			found.Retry = &retry
		case strings.HasPrefix(field, "="):
			found.Name = field[1:]
		case field == "data":
			found.HasData = true
		default:
			found.HasData = true
			return transcript.Message, []byte(text), found
		}
		text = rest
	}
	return transcript.Block, nil, found
}

// Post is a POST of a ping.
func Post(stream, id string) string {
	return fmt.Sprintf("> %s POST\nc %s {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n", stream, stream, id)
}

// Call is a POST that calls a tool with a progress token.
func Call(stream, id, token string) string {
	return fmt.Sprintf(
		"> %s POST\nc %s {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":\"n\",\"_meta\":{\"progressToken\":%q}}}\n",
		stream,
		stream,
		id,
		token,
	)
}

// Get opens a stream by GET.
func Get(stream string) string { return "> " + stream + " GET\n" + Opened(stream) }

// Resume opens one that continues after an event.
func Resume(stream, after string) string {
	return "> " + stream + " GET Last-Event-Id:" + after + "\n" + Opened(stream)
}

// Opened is the head of an event stream.
func Opened(stream string) string { return "< " + stream + " 200 Content-Type:text/event-stream\n" }

// Result is an empty result.
func Result(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n" }

// ProgressOf is a report of progress for a token.
func ProgressOf(token string) string {
	return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"` + token + `","progress":1}}` + "\n"
}

// Notified is a POST with a notification.
const Notified = "> post-1 POST\nc post-1 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
