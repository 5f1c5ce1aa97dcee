package importer

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/sessions"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// archive is the log of a HAR (http://www.softwareishard.com/blog/har-12-spec). Members that
// begin with an underscore are not of the format, which allows them.
type archive struct {
	Version string            `json:"version"`
	Creator creator           `json:"creator"`
	Entries []json.RawMessage `json:"entries"`
}

type creator struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type harEntry struct {
	Started    string      `json:"startedDateTime"`
	Time       float64     `json:"time"` // milliseconds, the sum of the timings
	Request    harRequest  `json:"request"`
	Response   harResponse `json:"response"`
	Cache      struct{}    `json:"cache"`
	Timings    harTimings  `json:"timings"`
	Connection string      `json:"connection,omitempty"`
	Events     []harEvent  `json:"_eventSourceMessages,omitempty"`
	Own        *own        `json:"_mcpconform,omitempty"`
}

// own is what a transcript says of an exchange beyond what a HAR has room for.
type own struct {
	Recording  int                `json:"recording"`            // counts the transcripts
	Header     *transcript.Header `json:"header,omitempty"`     // with the first exchange of one
	Deliberate string             `json:"deliberate,omitempty"` // of the request
	Sent       string             `json:"sent,omitempty"`       // the same of its body
	Made       string             `json:"made,omitempty"`
	Formed     bool               `json:"formed,omitempty"` // the body of the request holds no message
	Bodied     bool               `json:"bodied,omitempty"` // the body of the answer holds no message
	Open       bool               `json:"open,omitempty"`   // the recording has no end of it
}

type harRequest struct {
	Method      string     `json:"method"`
	URL         string     `json:"url"`
	HTTPVersion string     `json:"httpVersion"`
	Cookies     []struct{} `json:"cookies"`
	Headers     []named    `json:"headers"`
	QueryString []named    `json:"queryString"`
	PostData    *postData  `json:"postData,omitempty"`
	HeadersSize int        `json:"headersSize"`
	BodySize    int        `json:"bodySize"`
}

type harResponse struct {
	Status      int        `json:"status"`
	StatusText  string     `json:"statusText"`
	HTTPVersion string     `json:"httpVersion"`
	Cookies     []struct{} `json:"cookies"`
	Headers     []named    `json:"headers"`
	Content     content    `json:"content"`
	RedirectURL string     `json:"redirectURL"`
	HeadersSize int        `json:"headersSize"`
	BodySize    int        `json:"bodySize"`
	Error       string     `json:"_error,omitempty"`
}

type postData struct {
	MimeType string  `json:"mimeType"`
	Text     *string `json:"text,omitempty"`
	Encoding string  `json:"_encoding,omitempty"`
}

func (p *postData) bytes() (body []byte, there bool) {
	if p == nil {
		return nil, false
	}
	return bytesOf(p.Text, p.Encoding)
}

type content struct {
	Size     int     `json:"size"`
	MimeType string  `json:"mimeType"`
	Text     *string `json:"text,omitempty"`
	Encoding string  `json:"encoding,omitempty"`
}

func (c *content) bytes() (body []byte, there bool) { return bytesOf(c.Text, c.Encoding) }

// bytesOf are those of a body; it reports false where the HAR does not have them.
func bytesOf(text *string, encoding string) (body []byte, there bool) {
	if text == nil {
		return nil, false
	}
	if encoding != "base64" {
		return []byte(*text), true
	}
	body, err := base64.StdEncoding.DecodeString(*text)
	return body, err == nil
}

type named struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type harTimings struct {
	Blocked float64 `json:"blocked,omitzero"`
	DNS     float64 `json:"dns,omitzero"`
	Connect float64 `json:"connect,omitzero"`
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// harEvent is an event of a stream as Chrome and others write it.
type harEvent struct {
	Time any    `json:"time"` // seconds since 1970
	Name string `json:"eventName"`
	ID   string `json:"eventId"`
	Data string `json:"data"`
}

// isHAR tells whether a file is one object with a log in it.
func isHAR(text []byte) (is bool) {
	_ = eachMember(text, func(name string, kind jsontext.Kind) bool {
		is = name == "log" && kind == '{'
		return !is
	}) // what is no object is no HAR
	return is
}

// moment is something that happened at a time, of one exchange.
type moment struct {
	at    time.Time
	of    *exchange
	event transcript.Event
	opens bool // the head of the request, with which the exchange begins
}

// exchange is an entry whose connection may not be known yet.
type exchange struct {
	harEntry
	line    int
	url     *url.URL
	header  http.Header
	message jsonrpc.Message // that was sent
	body    []byte
	gone    bool // the body is not in the HAR
	account *account
	stream  string
}

// har reads a HAR.
func (i *Imported) har(text []byte) error {
	var read struct {
		Log archive `json:"log"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		line, at := 1, (*json.SyntaxError)(nil)
		if errors.As(err, &at) {
			line = lineAt(text, at.Offset)
		}
		return &transcript.LineError{Line: line, Err: fmt.Errorf("not a HAR that is whole: %w", err)}
	}
	isOwn := read.Log.Creator.Name == "mcpconform"
	var all []*exchange
	var entries []entry
	position := 0
	for _, raw := range read.Log.Entries {
		if at := bytes.Index(text[position:], raw); at >= 0 {
			position += at
		}
		one := &exchange{line: lineAt(text, int64(position))}
		position = min(len(text), position+len(raw))
		err := json.Unmarshal(raw, &one.harEntry)
		switch {
		case err != nil || len(all)+len(entries) > maxMessages:
			i.skip(one.line)
		case strings.HasPrefix(one.Request.HTTPVersion, "JSON-RPC"): // messages of stdio, with a URL that was made up
			entries = append(entries, one.asMessages()...)
		case !one.open():
			i.skip(one.line)
		default:
			all = append(all, one)
		}
	}
	i.assemble(entries)
	i.exchanges(all, isOwn)
	return nil
}

// asMessages are what an entry has that stands for a request and its answer.
func (e *exchange) asMessages() (found []entry) {
	at := timeOf(e.Started)
	for _, one := range []struct {
		from protocol.Party
		body interface{ bytes() ([]byte, bool) }
		at   time.Time
	}{{protocol.Client, e.Request.PostData, at}, {protocol.Server, &e.Response.Content, at.Add(milliseconds(e.Time))}} {
		if body, there := one.body.bytes(); there && isMessage(body) {
			found = append(found, entry{
				line: e.line, at: one.at, from: one.from, kind: transcript.Message, raw: compact(body),
				transport: protocol.Stdio,
			})
		}
	}
	return found
}

// open reads what an exchange is about; it reports false when it has no URL or time.
func (e *exchange) open() bool {
	at, err := url.Parse(e.Request.URL)
	if err != nil || timeOf(e.Started).IsZero() || e.Request.Method == "" {
		return false
	}
	e.url, e.header = at, headerOf(e.Request.Headers)
	body, there := e.Request.PostData.bytes()
	e.body, e.gone = body, !there && e.Request.BodySize > 0
	e.message = jsonrpc.Parse(body)
	return true
}

func headerOf(all []named) http.Header {
	header := http.Header{}
	for _, one := range all {
		if !strings.HasPrefix(one.Name, ":") { // the request line of HTTP/2
			header.Add(one.Name, one.Value)
		}
	}
	return header
}

func milliseconds(count float64) time.Duration {
	if math.IsNaN(count) {
		return 0
	}
	return time.Duration(max(0, min(count, 1e12)) * float64(time.Millisecond))
}

// endpoint is where an exchange went, without the query.
func (e *exchange) endpoint() string { return e.url.Scheme + "://" + e.url.Host + e.url.Path }

// speaks tells whether an exchange can be of nothing but MCP.
func (e *exchange) speaks() bool {
	return e.Request.Method != http.MethodOptions &&
		(e.Own != nil || isMessage(e.body) && e.Request.Method == http.MethodPost ||
			e.header.Get(sessions.Header) != "" || e.header.Get(transport.VersionHeader) != "" ||
			headerOf(e.Response.Headers).Get(sessions.Header) != "" || e.streams() && e.endpointEvent() != "")
}

func (e *exchange) streams() bool {
	kind := cmp.Or(headerOf(e.Response.Headers).Get("Content-Type"), e.Response.Content.MimeType)
	return transport.MediaType(kind) == "text/event-stream"
}

// text is the event stream; it reports false where the HAR has none of it.
func (e *exchange) text() ([]byte, bool) {
	text, there := e.Response.Content.bytes()
	if len(text) > 0 || len(e.Events) == 0 {
		return text, there
	}
	var made []byte
	for _, one := range e.Events {
		var id *string
		if one.ID != "" {
			id = &one.ID
		}
		made = append(made, transport.EventText(id, one.Name, []byte(one.Data))...)
	}
	return made, true
}

// blocks are the events of a stream, and when each came, as far as that is known.
func (e *exchange) blocks() (all []transport.Event, at []time.Time) {
	text, _ := e.text()
	reader := transport.NewEventReader(bytes.NewReader(text), len(text)+2)
	dispatched := 0
	for one, err := reader.Next(); err == nil; one, err = reader.Next() {
		all = append(all, one)
		if one.HasData && !one.Unterminated {
			dispatched++
		}
	}
	if dispatched != len(e.Events) {
		return all, nil
	}
	next, last := 0, time.Time{}
	at = []time.Time{} // known, even of none
	for _, one := range all {
		if one.HasData && !one.Unterminated {
			last = timeOf(e.Events[next].Time)
			next++
		}
		at = append(at, last)
	}
	return all, at
}

// endpointEvent is where the messages of a stream of HTTP with SSE are posted; "" for others.
func (e *exchange) endpointEvent() string {
	if e.Request.Method != http.MethodGet || !e.streams() {
		return ""
	}
	all, _ := e.blocks()
	for _, one := range all {
		if one.Name == transport.EndpointEvent && !one.Unterminated {
			if at, err := e.url.Parse(string(one.Data)); err == nil {
				return at.String()
			}
		}
	}
	return ""
}

// moments are what happened in an exchange, in order.
func (e *exchange) moments(isOwn bool) []moment {
	started := timeOf(e.Started)
	of := e.Timings
	answered := started
	for _, part := range []float64{of.Blocked, of.DNS, of.Connect, of.Send, of.Wait} {
		answered = answered.Add(milliseconds(part))
	}
	ended := answered.Add(milliseconds(of.Receive))
	var told own
	if e.Own != nil {
		told = *e.Own
	}
	var all []moment
	add := func(at time.Time, event transcript.Event) {
		if event.Kind == transcript.End && told.Open {
			return
		}
		event.At = at
		all = append(all, moment{at: at, of: e, event: event})
	}
	add(started, transcript.Event{
		Kind: transcript.Head, From: protocol.Client, Deliberate: told.Deliberate, Made: told.Made,
		HTTP: &transcript.HTTP{Method: e.Request.Method, URL: e.Request.URL, Header: e.header},
	})
	all[0].opens = true
	switch {
	case e.gone:
		gap := transcript.Event{Kind: transcript.Gap, From: protocol.Client, Note: "the HAR has no body of the request"}
		add(started, gap)
	case len(e.body) > 0:
		kind := transcript.Message
		if told.Formed || e.message.Kind == jsonrpc.Invalid && !e.posted() {
			kind = transcript.Body
		}
		add(started, transcript.Event{Kind: kind, From: protocol.Client, Raw: e.body, Deliberate: told.Sent})
	}
	came := func(at time.Time, kind transcript.Kind, raw []byte, note string) {
		add(at, transcript.Event{Kind: kind, From: protocol.Server, Raw: raw, Note: note})
	}
	if e.Response.Status == 0 {
		if !told.Open {
			came(ended, transcript.Failure, nil, cmp.Or(e.Response.Error, "no answer"))
		}
		return all
	}
	add(answered, transcript.Event{
		Kind: transcript.Head, From: protocol.Server,
		HTTP: &transcript.HTTP{Status: e.Response.Status, Header: headerOf(e.Response.Headers)},
	})
	note := cmp.Or(e.Response.Error, transcript.Complete)
	if !e.streams() {
		body, there := e.Response.Content.bytes()
		switch {
		case len(body) > 0 && told.Bodied:
			came(ended, transcript.Body, body, "")
		case len(body) > 0:
			came(ended, transcript.KindOfBody(e.Request.Method, e.Response.Status, body), body, "")
		case !there && e.Response.Content.Size > 0:
			came(ended, transcript.Gap, nil, "the HAR has no body of the answer")
		}
		came(ended, transcript.End, nil, note)
		return all
	}
	for _, event := range e.streamed(answered, ended, isOwn) {
		add(event.At, event)
	}
	if !isOwn && note == transcript.Complete {
		note = "as the HAR has it" // who ended the stream is not known
	}
	if last := all[len(all)-1].at; ended.Before(last) {
		ended = last
	}
	came(ended, transcript.End, nil, note)
	return all
}

// streamed are the events of a stream in order, or that the HAR lacks them.
func (e *exchange) streamed(answered, ended time.Time, isOwn bool) (all []transcript.Event) {
	gap := func(note string) []transcript.Event {
		return []transcript.Event{{At: answered, Kind: transcript.Gap, From: protocol.Server, Note: note}}
	}
	blocks, times := e.blocks()
	text, there := e.text()
	switch {
	case !there || len(text) == 0 && !isOwn:
		return gap("the HAR has no events of the stream")
	case times == nil && e.Request.Method == http.MethodGet: // among what else was said
		return gap("the HAR does not say when the events of the stream came")
	}
	last := answered
	for position, one := range blocks {
		event := one.Record()
		switch {
		case times == nil && jsonrpc.Parse(event.Raw).Kind == jsonrpc.Response:
			last = ended
		case times != nil && times[position].After(last):
			last = times[position] // the order of a stream is known
		}
		event.At = last
		all = append(all, event)
	}
	return all
}
