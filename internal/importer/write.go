package importer

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Writer writes a HAR while transcripts come.
type Writer struct {
	w       io.Writer
	written int // entries
	count   int // transcripts
}

// NewWriter begins a HAR that a program of this version writes.
func NewWriter(w io.Writer, version string) (*Writer, error) {
	by, err := json.Marshal(creator{"mcpconform", version})
	if err == nil {
		_, err = fmt.Fprintf(w, `{"log":{"version":"1.2","creator":%s,"entries":[`, by)
	}
	if err != nil {
		return nil, fmt.Errorf("writing a HAR: %w", err)
	}
	return &Writer{w: w}, nil
}

// Close ends the HAR.
func (w *Writer) Close() error {
	if _, err := io.WriteString(w.w, "\n]}}\n"); err != nil {
		return fmt.Errorf("writing a HAR: %w", err)
	}
	return nil
}

// Written is how many exchanges were written.
func (w *Writer) Written() int { return w.written }

// Connection writes the exchanges of one connection over HTTP; one over stdio has none.
func (w *Writer) Connection(header transcript.Header, events []transcript.Event) error {
	if header.Transport == protocol.Stdio {
		return nil
	}
	w.count++
	for position, event := range events {
		header.Dropped = header.Dropped || event.Sequence != position || event.Kind == transcript.Gap || event.Size > 0
	}
	for position, one := range carried(events) {
		written := one.har()
		written.Connection = strconv.Itoa(w.count)
		written.Own.Recording = w.count
		if position == 0 {
			written.Own.Header = &header
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		err := encoder.Encode(written)
		if err == nil {
			separator := ",\n"
			if w.written == 0 {
				separator = "\n"
			}
			_, err = fmt.Fprintf(w.w, "%s%s", separator, bytes.TrimSuffix(text.Bytes(), []byte("\n")))
		}
		if err != nil {
			return fmt.Errorf("writing a HAR: %w", err)
		}
		w.written++
	}
	return nil
}

// carriage is an exchange as a transcript has it.
type carriage struct {
	request transcript.Event
	sent    *transcript.Event
	head    *transcript.Event
	came    []transcript.Event
	end     *transcript.Event
	last    time.Time
}

// carried are the exchanges of a transcript, in the order of their requests.
func carried(events []transcript.Event) []*carriage {
	var all []*carriage
	open := map[string]*carriage{}
	for position := range events {
		event := &events[position]
		one := open[event.Stream]
		switch {
		case event.IsRequestHead():
			one = &carriage{request: *event}
			open[event.Stream] = one
			all = append(all, one)
		case one == nil:
			continue
		case event.Kind == transcript.Head && event.HTTP != nil:
			one.head = event
		case event.IsContent() && event.From == protocol.Client:
			one.sent = event
		case event.IsContent(), event.Kind == transcript.Block:
			one.came = append(one.came, *event)
		case event.Kind == transcript.End, event.Kind == transcript.Failure:
			one.end = event
		}
		if event.Kind != transcript.End || len(one.came) == 0 || one.came[0].SSE != nil {
			one.last = event.At // a body is whole before its end is noticed
		}
	}
	return all
}

func (c *carriage) har() harEntry {
	asked := c.request.HTTP
	answered := c.last
	entry := harEntry{
		Started: c.request.At.UTC().Format(time.RFC3339Nano),
		Request: harRequest{
			Method: asked.Method, URL: absolute(asked), HTTPVersion: "HTTP/1.1", Cookies: []struct{}{},
			Headers: headersOf(asked.Header), QueryString: []named{}, HeadersSize: -1,
		},
		Response: harResponse{
			HTTPVersion: "HTTP/1.1", Cookies: []struct{}{}, Headers: []named{}, HeadersSize: -1, BodySize: -1,
		},
		Own: &own{Deliberate: c.request.Deliberate, Made: c.request.Made, Open: c.end == nil},
	}
	if at, err := url.Parse(entry.Request.URL); err == nil {
		query := at.Query()
		for _, name := range slices.Sorted(maps.Keys(query)) {
			for _, value := range query[name] {
				entry.Request.QueryString = append(entry.Request.QueryString, named{name, value})
			}
		}
	}
	if c.sent != nil {
		body := contentOf(c.sent.Raw, cmp.Or(asked.Header.Get("Content-Type"), "application/json"))
		entry.Request.PostData = &postData{MimeType: body.MimeType, Text: body.Text, Encoding: body.Encoding}
		entry.Request.BodySize = len(c.sent.Raw)
		entry.Own.Sent, entry.Own.Formed = c.sent.Deliberate, c.sent.Kind == transcript.Body
	}
	if c.head != nil {
		answered = c.head.At
		entry.Response.Status, entry.Response.StatusText = c.head.HTTP.Status, http.StatusText(c.head.HTTP.Status)
		entry.Response.Headers = headersOf(c.head.HTTP.Header)
		entry.Response.RedirectURL = c.head.HTTP.Header.Get("Location")
		entry.answer(c)
	}
	if c.end != nil && c.end.Note != transcript.Complete {
		entry.Response.Error = c.end.Note
	}
	entry.Timings.Wait = millisecondsOf(answered.Sub(c.request.At))
	entry.Timings.Receive = millisecondsOf(c.last.Sub(answered))
	entry.Time = entry.Timings.Wait + entry.Timings.Receive
	return entry
}

// answer writes the body of the answer.
func (e *harEntry) answer(c *carriage) {
	kind := c.head.HTTP.Header.Get("Content-Type")
	var body bytes.Buffer
	for _, one := range c.came {
		switch {
		case one.Kind == transcript.Block:
			body.Write(one.Raw)
			if one.SSE == nil || !slices.Contains(one.SSE.Flaws, unterminated) {
				body.WriteString("\n\n")
			}
		case one.SSE != nil:
			body.Write(one.SSE.Text(one.Raw))
		default:
			body.Write(one.Raw)
			e.Own.Bodied = one.Kind == transcript.Body
		}
		if one.SSE != nil && one.SSE.HasData {
			data, id := one.Raw, ""
			if one.SSE.ID != nil {
				id = *one.SSE.ID
			}
			if one.Kind == transcript.Block {
				data = dataOf(one.Raw)
			}
			e.Events = append(e.Events, harEvent{
				Time: float64(one.At.UnixMicro()) / 1e6, Name: one.SSE.Name, ID: id, Data: string(data),
			})
		}
	}
	e.Response.Content = *contentOf(body.Bytes(), kind)
}

// unterminated is the flaw of a block that has no end.
const unterminated = "the stream ended before the blank line that completes the event"

// dataOf is the data of a block of an event stream.
func dataOf(block []byte) []byte {
	var data [][]byte
	for line := range bytes.SplitSeq(block, []byte("\n")) {
		if value, is := bytes.CutPrefix(line, []byte("data:")); is {
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
		}
	}
	return bytes.Join(data, []byte("\n"))
}

func contentOf(body []byte, kind string) *content {
	text, found := string(body), content{Size: len(body), MimeType: kind}
	if !utf8.Valid(body) {
		text, found.Encoding = base64.StdEncoding.EncodeToString(body), "base64"
	}
	found.Text = &text
	return &found
}

func headersOf(header http.Header) []named {
	all := []named{}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			all = append(all, named{name, value})
		}
	}
	return all
}

// absolute is the URL of a request: a recorder between two peers has but the path.
func absolute(asked *transcript.HTTP) string {
	if at, err := url.Parse(asked.URL); err != nil || at.IsAbs() {
		return asked.URL
	}
	return "http://" + cmp.Or(asked.Header.Get("Host"), "localhost") + asked.URL
}

func millisecondsOf(duration time.Duration) float64 {
	return float64(max(0, duration)) / float64(time.Millisecond)
}
