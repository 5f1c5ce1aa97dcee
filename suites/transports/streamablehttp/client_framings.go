package streamablehttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/forms"
)

// sum is the text of every answer: its letters take one byte and more.
const sum = "the sum: größer – 和 🙂"

// separated has what some take for the end of a line, and JSON and event streams do not.
const separated = "the sum:\u2028one\u2029two\u0085three"

// bulky is longer than what fits into one read, or one buffer, of most.
var bulky = strings.Repeat("0123456789abcdef", 80<<10/16)

// Event streams and JSON bodies, each written in a way of its own.
var (
	plainStream = &forms.Form{Has: "an event stream", Shows: sum, Answer: inEvents(named)}
	plainBody   = &forms.Form{Has: "a JSON body", Shows: sum, Answer: embodied(nil, nil)}
	crlf        = &forms.Form{
		Has:    "an event stream whose lines end with CRLF",
		Shows:  sum,
		Answer: inEvents(func(message []byte) []byte { return block("\r\n", "event: message", "data: "+string(message)) }),
	}
	cr = &forms.Form{
		Has: "an event stream whose lines end with CR", Shows: sum,
		Answer: inEvents(func(message []byte) []byte {
			return append(block("\r", "event: message", "data: "+string(message)), ": over\r\r"...)
		}),
	}
	crAtEnd = &forms.Form{
		Has:    "an event stream that ends with CR",
		Shows:  sum,
		Answer: inEvents(func(message []byte) []byte { return block("\r", "event: message", "data: "+string(message)) }),
	}
	severalLines = &forms.Form{
		Has: "an event with several data lines", Shows: sum,
		Answer: inEvents(func(message []byte) []byte { return block("\n", dataLines(message)...) }),
	}
	severalLinesCRLF = &forms.Form{
		Has: "an event with several data lines that end with CRLF", Shows: sum,
		Answer: inEvents(func(message []byte) []byte { return block("\r\n", dataLines(message)...) }),
	}
	bare = &forms.Form{
		Has: "an event without a name, and without a space after data:", Shows: sum,
		Answer: inEvents(func(message []byte) []byte { return block("\n", "data:"+string(message)) }),
	}
	commented = &forms.Form{
		Has: "comments within an event", Shows: sum,
		Answer: inEvents(func(message []byte) []byte {
			return block("\n", ": keep-alive", "event: message", ":", "data: "+string(message), ": over")
		}),
	}
	manyFields = &forms.Form{
		Has: "the field retry and an unknown field within an event", Shows: sum,
		Answer: inEvents(func(message []byte) []byte { return block("\n", "retry: 10", "x-unknown: 1", "data: "+string(message)) }),
	}
	blankLines = &forms.Form{
		Has: "blank lines before an event", Shows: sum,
		Answer: inEvents(func(message []byte) []byte { return append([]byte("\n\n"), block("\n", "data: "+string(message))...) }),
	}
	afterNamed = &forms.Form{
		Has: "an event without a name, after another name and no data", Shows: sum,
		Answer: inEvents(func(message []byte) []byte {
			return append(block("\n", "event: heartbeat"), block("\n", "data: "+string(message))...)
		}),
	}
	primed = &forms.Form{
		Has: "an event with an id and empty data before the answer", Shows: sum,
		Answer: func(call *scripted.Call) {
			prime(call)
			call.Good()
		},
	}
	marked = &forms.Form{
		Has: "a byte order mark at the beginning of the event stream", Shows: sum,
		Answer: inEvents(func(message []byte) []byte { return append([]byte("\ufeff"), block("\n", "data: "+string(message))...) }),
	}
	cutLetters      = &forms.Form{Has: "an event stream whose chunks split a multi-byte character", Shows: sum, Answer: inTwoPieces}
	separatedStream = &forms.Form{
		Has: "U+2028, U+2029 and U+0085 in a text on an event stream", Shows: separated,
		Answer: func(call *scripted.Call) {
			call.Streaming()
			call.Finally(unescaped(text(call, separated)), "")
		},
	}
	typedStream = &forms.Form{
		Has: "the Content-Type Text/Event-Stream; charset=UTF-8", Shows: sum,
		Answer: func(call *scripted.Call) {
			call.Exchange.Head(http.StatusOK, map[string]string{"Content-Type": "Text/Event-Stream; charset=UTF-8"}, "")
			inEvents(named)(call)
		},
	}
	typedBody = &forms.Form{
		Has: "the Content-Type Application/JSON; charset=UTF-8", Shows: sum,
		Answer: embodied(map[string]string{"Content-Type": "Application/JSON; charset=UTF-8"}, nil),
	}
	indentedBody = &forms.Form{
		Has: "a JSON body that is indented", Shows: sum,
		Answer: embodied(nil, func(message []byte) []byte { return append(append([]byte("\n  "), indented(message)...), "\r\n"...) }),
	}
	bulkyStream = &forms.Form{
		Has: "an event of 80 KiB",
		Answer: func(call *scripted.Call) {
			call.Streaming()
			call.Finally(text(call, bulky), "")
		},
	}
	bulkyBody   = &forms.Form{Has: "a JSON body of 80 KiB", Answer: func(call *scripted.Call) { call.Finally(text(call, bulky), "") }}
	unavailable = &forms.Form{
		Has: "the status 503 for one call", Fails: true,
		Answer: func(call *scripted.Call) {
			call.Exchange.Answer(http.StatusServiceUnavailable, map[string]string{"Content-Type": "text/plain"}, nil, "")
		},
	}
	lastingStream = &forms.Form{
		Has: "an event stream that stays open after the answer", Shows: sum,
		Answer: func(call *scripted.Call) {
			call.Streaming()
			call.Say(text(call, sum), "")
			call.Leave()
		},
	}
	errorBody = &forms.Form{
		Has: "an error in a JSON body with the status 200", Fails: true,
		Answer: forms.Error(jsonrpc.InternalError, Object{"why": "no reason"}),
	}
	errorStream = &forms.Form{
		Has: "an error on an event stream", Fails: true,
		Answer: func(call *scripted.Call) {
			call.Streaming()
			call.Refuse(jsonrpc.InternalError, forms.Told, Object{"why": "no reason"})
		},
	}
)

// refusedPosts are refusals of a call at the level of HTTP, each with a status and a body:
// text, JSON, HTML or none.
var refusedPosts = func() (all []*forms.Form) {
	for _, one := range []struct {
		status      int
		media, body string
	}{
		{http.StatusBadRequest, "text/plain", "Bad Request"},
		{http.StatusBadRequest, "application/json", `{"error":"bad request"}`},
		{http.StatusBadRequest, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}`},
		{http.StatusRequestEntityTooLarge, "text/html", "<html><body>413</body></html>"},
		{http.StatusInternalServerError, "text/plain", ""},
		{http.StatusBadGateway, "text/html", "<html><body>502</body></html>"},
		{http.StatusGatewayTimeout, "text/html", "<html><body>504</body></html>"},
	} {
		what := fmt.Sprintf("the status %d with %s %q for one call", one.status, one.media, one.body)
		all = append(all, &forms.Form{Has: what, Fails: true, Answer: func(call *scripted.Call) {
			header := map[string]string{"Content-Type": one.media}
			call.Exchange.Answer(one.status, header, []byte(one.body), "")
		}})
	}
	return all
}()

// framings are all of them.
var framings = forms.NewTable(100, append(writtenForms, refusedPosts...)...)

// writtenForms are those that are written one by one.
var writtenForms = []*forms.Form{
	plainStream,
	plainBody,
	crlf,
	cr,
	severalLines,
	severalLinesCRLF,
	bare,
	commented,
	manyFields,
	blankLines,
	primed,
	marked,
	cutLetters,
	separatedStream,
	typedStream,
	typedBody,
	indentedBody,
	bulkyStream,
	bulkyBody,
	lastingStream,
	errorBody,
	errorStream,
	unavailable,
	crAtEnd,
	afterNamed,
}

// framed is a server that frames each answer in another way.
var framed = &Scenario{
	Name:    "answers-framed-in-many-ways",
	Over:    protocol.HTTP,
	Says:    "The server answers each call by an event stream or a JSON body that is framed in another way.",
	Steps:   append(append(Steps{ToConnect(), ToList("tools")}, framings.Steps()...), ToList("prompts"), ToClose()),
	Refused: framings.Refused(),
	Server: func(server *scripted.Server) {
		framings.Bind(server)
		server.Tools[0].Run = func(call *scripted.Call) { call.Answer(scripted.Text(sum)) }
	},
}

// text is an answer to a call: a text.
func text(call *scripted.Call, words string) []byte { return call.Result(scripted.Text(words)) }

// inEvents answers by an event stream that is written in a way of its own.
func inEvents(write func(message []byte) []byte) func(*scripted.Call) {
	return func(call *scripted.Call) {
		call.Exchange.Write(write(text(call, sum)), "")
		call.Exchange.Finish()
		call.Leave()
	}
}

// named is a message in an event as most servers write it.
func named(message []byte) []byte { return block("\n", "event: message", "data: "+string(message)) }

// block is one event, whose lines end in a way.
func block(end string, lines ...string) []byte {
	return []byte(strings.Join(lines, end) + end + end)
}

// embodied answers by a JSON body.
func embodied(header map[string]string, write func(message []byte) []byte) func(*scripted.Call) {
	return func(call *scripted.Call) {
		message := text(call, sum)
		if write != nil {
			message = write(message)
		}
		call.Exchange.Answer(http.StatusOK, header, message, "")
	}
}

// indented writes a message over several lines.
func indented(message []byte) []byte {
	var lines bytes.Buffer
	if err := json.Indent(&lines, message, "", "  "); err != nil {
		return message // which is no JSON
	}
	return lines.Bytes()
}

// dataLines are the fields of an event whose data stands on several lines.
func dataLines(message []byte) []string {
	lines := []string{"event: message"}
	for line := range strings.SplitSeq(string(indented(message)), "\n") {
		lines = append(lines, "data: "+line)
	}
	return lines
}

// unescaped writes the separators of a text as they are.
func unescaped(message []byte) []byte {
	return []byte(strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(string(message)))
}

// prime opens an event stream in the way that makes it resumable: from the first revision
// with polling on by an event without data, before that by an id alone, and where nothing
// is resumed by a comment.
func prime(call *scripted.Call) {
	first := ":\n\n"
	switch {
	case call.Has(protocol.Polling):
		first = "id: " + call.Message.ID.String() + "-0\ndata: \n\n"
	case call.Has(protocol.Resumption):
		first = "id: " + call.Message.ID.String() + "-0\n\n"
	}
	call.Streaming()
	call.Exchange.Write([]byte(first), "")
}

// readingTime is how long a client has to read the first piece where it cannot tell that
// it has.
const readingTime = 20 * time.Millisecond

// inTwoPieces answers by an event stream of which the second piece begins amid a letter.
// The first is known to be read where the client answers the ping in it.
func inTwoPieces(call *scripted.Call) {
	answer := block("\n", "data: "+string(text(call, sum)))
	middle := bytes.Index(answer, []byte("和")) + 1
	if !call.Has(protocol.ServerRequests) {
		call.Exchange.WritePiece(answer[:middle], nil)
		call.Pause(readingTime)
	} else {
		id := call.Session.NextID()
		ping := block("\n", "data: "+string(jsonrpc.NewRequest(id, "ping", nil)))
		call.Exchange.WritePiece(append(bytes.Clone(ping), answer[:middle]...), ping)
		call.Await(scripted.AnswerTo(id))
	}
	call.Exchange.WritePiece(answer[middle:], answer)
	call.Exchange.Finish()
	call.Leave()
}

func takingFramings() {
	verifies := func(requirement, what string, form, like *forms.Form) {
		It("accepts "+what, Verifies(requirement), In(framed), func(t *T) { framings.Accepts(t, form, like) })
	}
	accepts := func(what string, form, like *forms.Form) {
		verifies("transports.http.request.both-answers", what, form, like)
	}

	accepts("an event stream whose lines end with CRLF", crlf, plainStream)
	accepts("an event stream whose lines end with CR", cr, plainStream)
	accepts("an event stream that ends with CR", crAtEnd, plainStream)
	accepts("an event with several data lines", severalLines, plainStream)
	accepts("an event with several data lines that end with CRLF", severalLinesCRLF, plainStream)
	accepts("an event without a name, and without a space after the colon", bare, plainStream)
	accepts("an event with comments between its fields", commented, plainStream)
	accepts("an event with the field retry and an unknown field", manyFields, plainStream)
	accepts("an event after blank lines", blankLines, plainStream)
	accepts("an event without a name after one with a name and no data", afterNamed, plainStream)
	accepts("an event stream that begins with an event without data", primed, plainStream)
	accepts("an event stream whose chunks split a multi-byte character", cutLetters, plainStream)
	accepts("U+2028, U+2029 and U+0085 on an event stream", separatedStream, plainStream)
	const answerForms = "transports.http.request.answer-forms"
	verifies(answerForms, "an event stream whose Content-Type has mixed case and a charset", typedStream, plainStream)
	verifies(answerForms, "an event stream that begins with a byte order mark", marked, plainStream)
	verifies(answerForms, "a JSON body whose Content-Type has mixed case and a charset", typedBody, plainBody)
	accepts("a JSON body that is indented", indentedBody, plainBody)
	accepts("an event of 80 KiB", bulkyStream, plainStream)
	accepts("a JSON body of 80 KiB", bulkyBody, plainBody)
	accepts("an answer on an event stream that stays open", lastingStream, plainStream)

	It("reports an error in a JSON body with the status 200",
		Verifies("base.responses.errors"), In(framed), func(t *T) { framings.Accepts(t, errorBody, plainBody) })

	It("continues after a POST that was refused with 503",
		Verifies("transports.http.statuses.accepted"), In(framed), func(t *T) { framings.Accepts(t, unavailable, plainBody) })

	It("continues after a POST that was refused with any other status", Verifies("transports.http.statuses.accepted"), In(framed), func(t *T) {
		for _, refused := range refusedPosts {
			framings.Accepts(t, refused, plainBody)
		}
	})

	It("reports an error on an event stream",
		Verifies("base.responses.errors"), In(framed), func(t *T) { framings.Accepts(t, errorStream, plainStream) })
}
