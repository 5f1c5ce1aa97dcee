package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mcpconform/mcpconform/internal/transport"
)

// stayer passes on what a server sends, and keeps a client of HTTP with SSE at the relay:
// where the first answer of a connection is an event stream that begins by naming its
// endpoint by a URL of the server, it writes the relay's origin in its place. All else passes
// as it comes. Only what may still become such an event is held back.
type stayer struct {
	to io.Writer
	origins

	held    []byte // not passed on yet
	inBody  bool
	chunked bool
	before  int  // blocks of the stream that have passed
	done    bool // all passes
}

// origins are that of the server, and that of the relay.
type origins struct {
	server string
	host   *atomic.Value // what the client has in its Host field; a string
}

// here is the origin of the relay, as the client calls it.
func (o *origins) here() string {
	host, _ := o.host.Load().(string)
	return "http://" + host
}

// maxHeld bounds what is held back, in bytes, and maxBefore the blocks without an event that
// come before the endpoint.
const (
	maxHeld   = 8 << 10
	maxBefore = 8
	answers   = "HTTP/1." // is how they begin
)

// Write passes on what comes.
func (s *stayer) Write(piece []byte) (int, error) {
	if s.done {
		return s.to.Write(piece)
	}
	s.held = append(s.held, piece...)
	err := s.settle()
	if err == nil && len(s.held) > maxHeld {
		err = s.giveUp()
	}
	if err != nil {
		return 0, err
	}
	return len(piece), nil
}

// giveUp passes on what is held back, and from now on everything.
func (s *stayer) giveUp() error { return s.pass(s.held, true) }

// flush passes on what is held back at the end.
func (s *stayer) flush() { _ = s.giveUp() } // the end follows in any case

func (s *stayer) pass(text []byte, done bool) error {
	s.held, s.done = nil, done
	if len(text) == 0 {
		return nil
	}
	_, err := s.to.Write(text)
	return err
}

// settle passes on as much of what is held back as cannot be the endpoint's.
func (s *stayer) settle() error {
	if !s.inBody {
		end := endOfHead(s.held, 0)
		if end < 0 {
			if begun := string(s.held[:min(len(s.held), len(answers))]); begun == answers[:len(begun)] {
				return nil
			}
			return s.giveUp()
		}
		isStream, chunked := streamHead(s.held[:end])
		if !isStream {
			return s.giveUp()
		}
		rest := bytes.Clone(s.held[end:])
		if err := s.pass(s.held[:end], false); err != nil {
			return err
		}
		s.held, s.inBody, s.chunked = rest, true, chunked
	}
	content, behind, right := s.content()
	at := endOfBlock(content)
	switch {
	case !right:
		return s.giveUp()
	case at < 0 && mayName(content):
		return nil
	case at < 0:
		return s.giveUp()
	}
	moved, names, idle := s.move(content[:at])
	switch {
	case names && s.chunked && behind >= 0 && at == len(content):
		return s.pass(append(fmt.Appendf(nil, "%x\r\n%s\r\n", len(moved), moved), s.held[behind:]...), true)
	case names && s.chunked && behind < 0:
		return nil // the chunk is not whole
	case names && !s.chunked:
		return s.pass(append(moved, s.held[at:]...), true)
	case !idle || s.before == maxBefore || s.chunked && (behind < 0 || at < len(content)):
		return s.giveUp()
	case !s.chunked:
		behind = at
	}
	s.before++
	rest := bytes.Clone(s.held[behind:])
	if err := s.pass(s.held[:behind], false); err != nil || len(rest) == 0 {
		return err
	}
	s.held = rest
	return s.settle()
}

// content is what is held back of the stream, up to the end of the chunk in which its first
// block ends, and where what is behind that begins: -1 where that chunk is not whole.
func (s *stayer) content() (content []byte, behind int, right bool) {
	if !s.chunked {
		return s.held, len(s.held), true
	}
	rest := s.held
	for len(rest) > 0 {
		line, after, found := bytes.Cut(rest, []byte("\r\n"))
		if !found {
			return content, -1, len(line) < maxBefore*len(answers)
		}
		size, err := strconv.ParseUint(strings.TrimSpace(string(bytes.SplitN(line, []byte(";"), 2)[0])), 16, 31)
		if err != nil || size == 0 {
			return content, -1, false
		}
		if uint64(len(after)) < size+2 {
			return append(content, after[:min(uint64(len(after)), size)]...), -1, true
		}
		content, rest = append(content, after[:size]...), after[size+2:]
		if endOfBlock(content) >= 0 {
			break
		}
	}
	return content, len(s.held) - len(rest), true
}

// mayName tells whether a block that has not ended may still name an endpoint.
func mayName(block []byte) bool {
	const named = "event:" + transport.EndpointEvent
	fields, names := []string{named, "retry:", "id:"}, false
	for line := range bytes.Lines(block) {
		text := strings.ReplaceAll(string(bytes.TrimRight(line, "\r\n")), " ", "")
		part := line[len(line)-1] != '\n' && line[len(line)-1] != '\r'
		switch {
		case strings.HasPrefix(text, ":"), strings.HasPrefix(text, "id:"), strings.HasPrefix(text, "retry:"), names:
		case text == named:
			names = true
		case part && slices.ContainsFunc(fields, func(field string) bool { return strings.HasPrefix(field, text) }):
		default:
			return false
		}
	}
	return true
}

// move writes the relay's origin into a block that names the endpoint; idle is one without
// any event.
func (s *stayer) move(block []byte) (moved []byte, names, idle bool) {
	idle = true
	for line := range bytes.Lines(block) {
		if name, is := bytes.CutPrefix(line, []byte("event:")); is {
			names = string(bytes.TrimSpace(name)) == transport.EndpointEvent
		}
		idle = idle && !bytes.HasPrefix(line, []byte("event:")) && !bytes.HasPrefix(line, []byte("data"))
	}
	return bytes.Replace(block, []byte(s.server+"/"), []byte(s.here()+"/"), 1), names, idle
}

// streamHead tells whether a head begins an event stream, and whether that is in chunks.
func streamHead(head []byte) (isStream, chunked bool) {
	status, fields, _ := bytes.Cut(head, []byte("\n"))
	if words := bytes.Fields(status); len(words) < 2 || string(words[1]) != "200" {
		return false, false
	}
	coded := false
	for line := range bytes.Lines(fields) {
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch http.CanonicalHeaderKey(strings.TrimSpace(name)) {
		case "Content-Type":
			isStream = transport.MediaType(value) == "text/event-stream"
		case "Transfer-Encoding":
			chunked = strings.EqualFold(value, "chunked")
		case "Content-Encoding", "Content-Length":
			coded = true
		}
	}
	return isStream && !coded, chunked
}

// endOfBlock is where a block of an event stream ends, behind its empty line; -1 where it
// does not.
func endOfBlock(stream []byte) int {
	end := -1
	for _, empty := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if at := bytes.Index(stream, []byte(empty)); at >= 0 && (end < 0 || at+len(empty) < end) {
			end = at + len(empty)
		}
	}
	return end
}

// hostReader notes what a client has in its Host field, in what passes first.
type hostReader struct {
	to   io.Writer
	host *atomic.Value
	seen bool
}

// Write passes on what comes.
func (r *hostReader) Write(piece []byte) (int, error) {
	if !r.seen {
		r.seen = true
		for line := range bytes.Lines(piece) {
			if name, value, found := strings.Cut(string(line), ":"); found && strings.EqualFold(name, "Host") {
				r.host.Store(strings.TrimSpace(value))
			}
		}
	}
	return r.to.Write(piece)
}
