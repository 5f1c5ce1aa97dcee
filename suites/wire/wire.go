// Package wire has the rules: what every transcript is judged by, whatever
// provoked it. There is one file for each page of the specification; the page
// basic/index has several, and so have the pages that oblige clients: their HTTP
// requests are in posts.go and mirrors.go, what they give in retries.go and answers.go.
package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/schema"
)

// judge is what a rule does with a conversation.
type judge = func(*rules.Conversation, *rules.Reporter)

// every makes the judge of a rule about single messages of the target: which
// of them could break it, and what is wrong with such a message. A zero
// Mismatch means that nothing is.
func every(concerned func(*rules.Message) bool, wrong func(*rules.Message) rules.Mismatch) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, said := range conversation.ByTarget() {
			if !concerned(said) {
				continue
			}
			reporter.Observe()
			if mismatch := wrong(said); mismatch != (rules.Mismatch{}) {
				reporter.Violation(said, mismatch)
			}
		}
	}
}

// ofClient makes a rule judge clients alone.
func ofClient(judged judge) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		if conversation.Role == protocol.ClientRole {
			judged(conversation, reporter)
		}
	}
}

func isRequest(said *rules.Message) bool  { return said.Kind == jsonrpc.Request }
func isResponse(said *rules.Message) bool { return said.Kind == jsonrpc.Response }

func isCall(said *rules.Message) bool {
	return said.Kind == jsonrpc.Request || said.Kind == jsonrpc.Notification
}

// isMessage leaves out what is none; rules about messages judge what is.
func isMessage(said *rules.Message) bool { return isCall(said) || isResponse(said) }

func isObject(said *rules.Message) bool { return said.Object != nil }

// negotiations returns, for each message, the revision that it is said in: that of
// the leg until a handshake says otherwise. The answer that negotiates is itself in
// the revision that it names, and the result for a request of the stateless era in
// the one that the request names.
func negotiations(conversation *rules.Conversation) []string {
	return rules.Shared(conversation, "negotiations", readNegotiations)
}

func readNegotiations(conversation *rules.Conversation) []string {
	revisions := make([]string, len(conversation.Messages))
	spoken := conversation.Revision
	for index, said := range conversation.Messages {
		if isResponse(said) && said.Request != nil && said.Request.Method == "initialize" {
			if answered, isText := said.ResultObject()["protocolVersion"].(string); isText {
				spoken = answered
			}
		}
		revisions[index] = spoken
		if isResponse(said) && said.Request != nil && !isRefusal(said) {
			if named, some := revisionOf(said.Request); some {
				revisions[index] = named
			}
		}
	}
	return revisions
}

// schemas returns, for each message, the schema that it is to be judged by;
// nil where none is known, and where a handshake names a revision that has none.
func schemas(conversation *rules.Conversation) []*schema.Schema {
	return rules.Shared(conversation, "schemas", readSchemas)
}

func readSchemas(conversation *rules.Conversation) []*schema.Schema {
	judging := make([]*schema.Schema, len(conversation.Messages))
	for index, revision := range negotiations(conversation) {
		if asked, some := revisionAsked(conversation.Messages[index]); some {
			revision = asked
		}
		known, err := schema.For(revision)
		if err == nil && (revision == conversation.Revision || hasHandshake(known)) {
			judging[index] = known
		}
	}
	return judging
}

// revisionAsked returns the revision that a request names as its own: initialize in
// its params, one of the stateless era in its _meta.
func revisionAsked(said *rules.Message) (revision string, named bool) {
	if isRequest(said) && said.Method == "initialize" {
		revision, named = said.ParamsObject()["protocolVersion"].(string)
		return revision, named
	}
	return revisionOf(said)
}

// hasHandshake tells the era of a revision.
func hasHandshake(known *schema.Schema) bool {
	_, has := known.Method("initialize")
	return has
}

// originals returns the target's messages without those that it delivered a
// second time.
func originals(conversation *rules.Conversation) []*rules.Message {
	return rules.Shared(conversation, "originals", readOriginals)
}

func readOriginals(conversation *rules.Conversation) []*rules.Message {
	repeated := redelivered(conversation)
	return slices.DeleteFunc(slices.Clone(conversation.ByTarget()), func(said *rules.Message) bool { return repeated[said] })
}

// redelivered returns the messages that the target sent again because the
// client came back for them with Last-Event-ID.
func redelivered(conversation *rules.Conversation) map[*rules.Message]bool {
	return rules.Shared(conversation, "redelivered", readRedelivered)
}

func readRedelivered(conversation *rules.Conversation) map[*rules.Message]bool {
	resumed := resumedStreams(conversation)
	if len(resumed) == 0 {
		return nil
	}
	repeated, delivered := map[*rules.Message]bool{}, map[jsonrpc.ID]bool{}
	for _, said := range conversation.ByTarget() {
		message := jsonrpc.IDOf(said.Object) // however it is spelled the second time
		if resumed[said.Event.Stream] && delivered[message] {
			repeated[said] = true
		}
		delivered[message] = true
	}
	return repeated
}

func resumedStreams(conversation *rules.Conversation) map[string]bool {
	resumed := map[string]bool{}
	for _, event := range conversation.Events {
		if event.Kind == transcript.Head && event.From == protocol.Client && event.HTTP != nil &&
			event.HTTP.Header.Get("Last-Event-Id") != "" {
			resumed[event.Stream] = true
		}
	}
	return resumed
}

// refusedStreams are the HTTP exchanges that were answered with an error
// status. Over stdio there are none.
func refusedStreams(conversation *rules.Conversation) map[string]bool {
	return rules.Shared(conversation, "refusedStreams", readRefusedStreams)
}

func readRefusedStreams(conversation *rules.Conversation) map[string]bool {
	refused := map[string]bool{}
	for _, event := range conversation.Events {
		if event.Kind == transcript.Head && event.From == protocol.Server && event.HTTP != nil &&
			event.HTTP.Status >= http.StatusBadRequest {
			refused[event.Stream] = true
		}
	}
	return refused
}

// flood finds the first message at which more than most of them came within
// one second; nil when there is none.
func flood(messages []*rules.Message, most int) *rules.Message {
	for last := most; last < len(messages); last++ {
		if messages[last].Event.At.Sub(messages[last-most].Event.At) < time.Second {
			return messages[last]
		}
	}
	return nil
}

// opaque are the members whose value belongs to the implementations and not
// to the protocol: what is in them only looks like parts of messages.
var opaque = map[string]bool{
	"_meta": true, "arguments": true, "structuredContent": true, "data": true,
	"inputSchema": true, "outputSchema": true, "requestedSchema": true,
	"experimental": true, "input": true, "metadata": true,
}

// membersNamed returns every member of a name in the objects of a message that
// belong to the protocol, sorted by place.
func membersNamed(said *rules.Message, name string) []place {
	// Most messages have none, and walking through a long list takes its time.
	if said.Object == nil || !bytes.Contains(said.Raw, []byte(`"`+name+`"`)) {
		return nil
	}
	var members []place
	collect(&members, nil, said.Object, name)
	slices.SortFunc(members, func(a, b place) int { return cmp.Compare(a.pointer, b.pointer) })
	return members
}

func collect(members *[]place, path []string, value any, name string) {
	switch value := value.(type) {
	case map[string]any:
		if member, there := value[name]; there {
			*members = append(*members, place{pointerTo(append(path, name)), member})
		}
		for inner, member := range value {
			if !opaque[inner] {
				collect(members, append(path, inner), member, name)
			}
		}
	case []any:
		for index, element := range value {
			collect(members, append(path, strconv.Itoa(index)), element, name)
		}
	}
}

// pointerTo writes a JSON pointer (RFC 6901).
func pointerTo(path []string) string {
	var pointer strings.Builder
	for _, name := range path {
		pointer.WriteString("/" + escape(name))
	}
	return pointer.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// escape writes a name as part of a JSON pointer.
func escape(name string) string { return pointerEscapes.Replace(name) }

// shown shows a member of an object, or says that it is not there.
func shown(object map[string]any, name string) string {
	value, there := object[name]
	if !there {
		return fmt.Sprintf("no member %q", name)
	}
	return rules.Show(value)
}

// progressToken returns the progress token in the params of a request, if one
// is there.
func progressToken(said *rules.Message) (token any, there bool) {
	token, there = said.Meta()["progressToken"]
	return token, there
}
