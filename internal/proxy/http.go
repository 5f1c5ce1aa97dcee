package proxy

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/tap"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// longestBody bounds what is kept of a body; of a longer one the beginning is. A longer head
// than longestHead is not read.
const (
	longestBody = longestLine
	longestHead = 2 << 20
)

// connection returns what reads the two sides of a connection of the transport.
func (b *books) connection(queue *queue) (asks, answers *side) {
	l := &link{books: b}
	open := 2
	sideOf := func(from protocol.Party, read func(io.Reader)) *side {
		reader := tap.Read(read)
		one := &side{queue: queue, take: reader.Take}
		one.lose = func(bytes int) {
			l.note(gap(bytes, whyLost(bytes)), l.last)
			reader.End(io.ErrUnexpectedEOF) // where the next message begins is unknown
			one.take = func([]byte) {}
		}
		one.end = func(err error) {
			l.left = l.left || from == protocol.Client
			reader.End(err)
			if open--; open == 0 {
				l.over()
			}
		}
		return one
	}
	return sideOf(protocol.Client, l.readRequests), sideOf(protocol.Server, l.readAnswers)
}

// readRequests reads what the client sends.
func (l *link) readRequests(source io.Reader) {
	bounded := &headReader{from: source}
	reader := bufio.NewReader(bounded)
	for {
		bounded.begin()
		if _, err := reader.Peek(1); err != nil {
			return
		}
		request, err := http.ReadRequest(reader)
		bounded.end()
		if err != nil {
			l.unread(protocol.Client, err)
			return
		}
		e := l.begin(request)
		head := &transcript.HTTP{Method: request.Method, URL: e.serverURL(), Header: request.Header.Clone()}
		if head.Header.Get("Host") == "" && request.Host != "" {
			head.Header.Set("Host", request.Host)
		}
		e.record(transcript.Event{Kind: transcript.Head, From: protocol.Client, HTTP: head})
		body, size, err := e.collect(request.Header, request.Body)
		if request.Method == http.MethodPost && err == nil {
			e.decide(body)
		}
		e.body(protocol.Client, body, size, err)
		if err != nil || request.Header.Get("Upgrade") != "" || request.Method == http.MethodConnect {
			return
		}
	}
}

// readAnswers reads what the server sends.
func (l *link) readAnswers(source io.Reader) {
	bounded := &headReader{from: source}
	reader := bufio.NewReader(bounded)
	for {
		bounded.begin()
		if _, err := reader.Peek(1); err != nil {
			return
		}
		if len(l.asked) == 0 {
			return // it answers no request
		}
		e := l.asked[0]
		answer, err := http.ReadResponse(reader, e.request)
		bounded.end()
		if err != nil {
			l.unread(protocol.Server, err)
			return
		}
		if answer.StatusCode < http.StatusOK && answer.StatusCode != http.StatusSwitchingProtocols {
			continue // it comes before the answer
		}
		e.answered(answer.StatusCode, answer.Header.Clone())
		note := e.readAnswer(answer)
		_ = answer.Body.Close() // it was read, or what it holds cannot be
		l.asked = l.asked[1:]
		e.end(note)
		if note != transcript.Complete || answer.StatusCode == http.StatusSwitchingProtocols {
			return
		}
	}
}

// headReader bounds the heads that are read of what passes, not the bodies.
type headReader struct {
	from   io.Reader
	isHead bool
	left   int // bytes of the head
}

var errLongHead = errors.New("a head that is too long")

func (r *headReader) begin() { r.isHead, r.left = true, longestHead }

func (r *headReader) end() { r.isHead = false }

// Read reads as much as there is room for.
func (r *headReader) Read(target []byte) (int, error) {
	if !r.isHead {
		return r.from.Read(target)
	}
	if r.left <= 0 {
		return 0, errLongHead
	}
	n, err := r.from.Read(target)
	r.left -= n
	return n, err
}

// readAnswer reads the body of an answer, and says how it ended.
func (e *exchange) readAnswer(answer *http.Response) (note string) {
	if transport.MediaType(answer.Header.Get("Content-Type")) != "text/event-stream" {
		read, size, err := e.collect(answer.Header, answer.Body)
		e.decide(nil)
		if e.link.books.options.RewriteMetadata && isMetadata(e.request.Method, e.request.URL.Path, answer) {
			if _, _, resource := resourceIn(read); isBelow(resource, e.link.books.origin()) {
				e.moved = true
			}
		}
		e.body(protocol.Server, read, size, err)
		return endNote(err)
	}
	body, read, err := plain(answer.Header, answer.Body)
	if err != nil || !read {
		return endNote(e.unreadCoding(answer.Header, answer.Body))
	}
	events := transport.NewEventReader(body, longestBody)
	event, err := events.Next()
	for ; err == nil; event, err = events.Next() {
		e.event(&event)
	}
	if errors.Is(err, transport.ErrTooLarge) {
		var size int64
		size, err = io.Copy(io.Discard, answer.Body)
		e.record(gap(int(size), "an event that is too long"))
	}
	return endNote(err)
}

func endNote(err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return transcript.Complete
	}
	return err.Error()
}

// plain is a body without its coding; read is false for one that is not read.
func plain(header http.Header, body io.Reader) (plain io.Reader, read bool, err error) {
	switch header.Get("Content-Encoding") {
	case "", "identity":
		return body, true, nil
	case "gzip":
		plain, err = gzip.NewReader(body)
		return plain, true, err
	}
	return nil, false, nil
}

// unreadCoding records that a body is in a coding that is not read, or is not in the coding
// that it names.
func (e *exchange) unreadCoding(header http.Header, body io.Reader) error {
	size, err := io.Copy(io.Discard, body)
	coding := header.Get("Content-Encoding")
	e.record(gap(int(size), fmt.Sprintf("a body in the coding %.40q, which is not read", coding)))
	return err
}

// collect reads a body, as far as it is kept, and how long it was. Of one in a coding that
// is too long the rest is not decoded.
func (e *exchange) collect(header http.Header, coded io.Reader) (read []byte, size int, err error) {
	if coded == nil {
		return nil, 0, nil
	}
	body, isRead, err := plain(header, coded)
	if err != nil || !isRead {
		return nil, 0, e.unreadCoding(header, coded)
	}
	read, err = io.ReadAll(io.LimitReader(body, longestBody+1))
	size = len(read)
	if err != nil && body != coded {
		return nil, 0, e.unreadCoding(header, coded)
	}
	if err == nil && size > longestBody {
		var more int64
		more, err = io.Copy(io.Discard, coded)
		size += int(more)
		read = read[:tap.Shown]
	}
	return read, size, err
}

// body records a body: a message, or what stands where one belongs.
func (e *exchange) body(from protocol.Party, body []byte, size int, err error) {
	if size == 0 {
		return
	}
	event := tap.Body(from, e.request.Method, e.status, body, size, err != nil)
	if event.Note == "" && e.moved && from == protocol.Server {
		event.Note = movedNote
	}
	e.record(event)
}

// unread records that what a peer sends cannot be read as HTTP.
func (l *link) unread(from protocol.Party, err error) {
	if errors.Is(err, io.EOF) {
		return
	}
	to := l.last
	if len(l.asked) == 0 && to == nil {
		to = l.besides()
	}
	why := excerpt.Short([]byte(err.Error()))
	l.note(gap(0, fmt.Sprintf("what the %s sent is not read as HTTP/1.1: %s", from, why)), to)
}

// note records something in each exchange that is under way, or else in a connection.
func (l *link) note(event transcript.Event, beside *account) {
	for _, e := range l.asked {
		e.record(event)
	}
	if len(l.asked) == 0 && beside != nil {
		beside.log.Append(event)
	}
}
