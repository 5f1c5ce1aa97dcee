package proxy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// movedNote says of what is recorded that the client got it otherwise.
const movedNote = "passed on with the origin of the proxy"

// mover passes on what a server sends, and writes the relay's origin in the place of the server's
// where a client of OAuth learns which resource it is: in the challenge of WWW-Authenticate,
// and in protected resource metadata (RFC 9728). All else passes as it comes. It relies on that
// no client sends a request before the answer to the one before has ended: of one that does, it
// may change nothing.
type mover struct {
	to io.Writer
	origins

	mu     sync.Mutex
	asked  bool   // a request was sent, of which the head of the answer has not come
	method string // of that request
	path   string
	held   []byte
}

// maxMetadata bounds what is held back, in bytes: head and body of metadata.
const maxMetadata = 64 << 10

// request takes note of a request that is about to be sent.
func (m *mover) request(head []byte) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	words := bytes.Fields(line)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked || len(words) < 2 {
		return
	}
	target := words[1]
	if _, _, path, absolute := splitTarget(target); absolute {
		target = path
	}
	path, _, _ := strings.Cut(string(target), "?")
	m.asked, m.method, m.path = true, string(words[0]), path
}

// Write passes on what comes.
func (m *mover) Write(piece []byte) (int, error) {
	m.mu.Lock()
	text := piece
	if m.asked {
		m.held = append(m.held, piece...)
		text = m.settle(len(m.held) > maxMetadata)
	}
	m.mu.Unlock()
	if len(text) == 0 {
		return len(piece), nil
	}
	if _, err := m.to.Write(text); err != nil {
		return 0, err
	}
	return len(piece), nil
}

// flush passes on what is held back at the end.
func (m *mover) flush() {
	m.mu.Lock()
	text := m.settle(true)
	m.mu.Unlock()
	if len(text) > 0 {
		_, _ = m.to.Write(text) // the end follows in any case
	}
}

// settle takes out of what is held back what is to be passed on by now. Once that is the head
// of the answer, or all of metadata, the rest follows as it comes.
func (m *mover) settle(atEnd bool) (text []byte) {
	for {
		begun := string(m.held[:min(len(m.held), len(answers))])
		end := endOfHead(m.held, 0)
		switch {
		case begun != answers[:len(begun)], end < 0 && atEnd:
			return m.release(append(text, m.held...))
		case end < 0:
			return text
		}
		head, rest := m.moveChallenges(m.held[:end]), m.held[end:]
		source := bytes.NewReader(m.held)
		reader := bufio.NewReader(source)
		answer, err := http.ReadResponse(reader, &http.Request{Method: m.method})
		if err == nil && answer.StatusCode < http.StatusOK && answer.StatusCode != http.StatusSwitchingProtocols {
			text, m.held = append(text, head...), bytes.Clone(rest) // it comes before the answer
			continue
		}
		if err != nil || !isMetadata(m.method, m.path, answer) {
			return m.release(append(append(text, head...), rest...))
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // all is in memory
		toTheEnd := answer.ContentLength < 0 && len(answer.TransferEncoding) == 0
		if !atEnd && (toTheEnd || err != nil) {
			return text // what cannot be read yet may be later
		}
		moved, moves := m.moveResource(body)
		if err != nil || !moves {
			return m.release(append(append(text, head...), rest...))
		}
		behind := m.held[len(m.held)-source.Len()-reader.Buffered():]
		return m.release(append(append(append(text, withLength(head, len(moved))...), moved...), behind...))
	}
}

// release is what is passed on; what comes after it passes as it comes.
func (m *mover) release(text []byte) []byte {
	m.held, m.asked = nil, false
	return text
}

// isMetadata tells whether an answer has protected resource metadata that can be read.
func isMetadata(method, path string, answer *http.Response) bool {
	return method == http.MethodGet && answer.Header.Get("Content-Encoding") == "" &&
		answer.StatusCode == http.StatusOK &&
		(path == oauth.ResourcePath || strings.HasPrefix(path, oauth.ResourcePath+"/")) &&
		transport.MediaType(answer.Header.Get("Content-Type")) == "application/json"
}

var namesMetadata = regexp.MustCompile(`(?i)\bresource_metadata\s*=\s*"?`)

// moveChallenges is a head of which the challenges name metadata at the relay.
func (m *mover) moveChallenges(head []byte) []byte {
	var text []byte
	for line := range bytes.Lines(head) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		if strings.EqualFold(string(name), "WWW-Authenticate") {
			line = m.moveChallenge(line)
		}
		text = append(text, line...)
	}
	return text
}

func (m *mover) moveChallenge(line []byte) []byte {
	at := namesMetadata.FindIndex(line)
	if at == nil || !isBelow(string(line[at[1]:]), m.server) {
		return line
	}
	return append(append(bytes.Clone(line[:at[1]]), m.here()...), line[at[1]+len(m.server):]...)
}

// isBelow tells whether a text begins with a URL of that origin.
func isBelow(text, origin string) bool {
	return len(text) >= len(origin) && strings.EqualFold(text[:len(origin)], origin) &&
		(len(text) == len(origin) || strings.ContainsRune(`/?#"`, rune(text[len(origin)])))
}

// moveResource is metadata of which the resource is at the relay.
func (m *mover) moveResource(body []byte) (moved []byte, moves bool) {
	from, to, resource := resourceIn(body)
	if !isBelow(resource, m.server) {
		return body, false
	}
	named, err := json.Marshal(m.here() + resource[len(m.server):])
	if err != nil {
		return body, false
	}
	return append(append(bytes.Clone(body[:from]), named...), body[to:]...), true
}

// resourceIn finds the resource that metadata names, and where.
func resourceIn(metadata []byte) (from, to int, resource string) {
	read := json.NewDecoder(bytes.NewReader(metadata))
	if start, err := read.Token(); err != nil || start != json.Delim('{') {
		return 0, 0, ""
	}
	for read.More() {
		key, err := read.Token()
		if err != nil {
			return 0, 0, ""
		}
		var value json.RawMessage
		if err := read.Decode(&value); err != nil {
			return 0, 0, ""
		}
		if key == "resource" {
			to = int(read.InputOffset())
			from = to - len(value)
			if json.Unmarshal(value, &resource) != nil {
				resource = "" // it is no text
			}
		}
	}
	return from, to, resource
}

// withLength is a head of a body of that length.
func withLength(head []byte, length int) []byte {
	var text []byte
	for line := range bytes.Lines(head) {
		name, _, found := bytes.Cut(line, []byte(":"))
		switch http.CanonicalHeaderKey(string(bytes.TrimSpace(name))) {
		case "Content-Length", "Transfer-Encoding", "Trailer":
			continue
		}
		if !found && len(bytes.TrimSpace(line)) == 0 {
			text = fmt.Appendf(text, "Content-Length: %d\r\n", length)
		}
		text = append(text, line...)
	}
	return text
}
