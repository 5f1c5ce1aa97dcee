package proxy

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// requests passes on requests of HTTP/1.1, their heads rewritten, and all else as it comes.
// What it cannot read it passes on.
type requests struct {
	to      io.Writer
	rewrite func(head []byte) ([]byte, error) // which may choose where this request goes

	state  framing
	head   []byte // of which the end has not come
	left   int64  // bytes of the body, or of the chunk and its line end
	line   []byte // of a chunked body, which has not ended
	failed bool   // nothing is read any more
}

type framing int

const (
	inHead framing = iota
	inBody
	inChunkSize
	inChunk
	inTrailer
)

// maxHead bounds the head of a request, in bytes.
const maxHead = 1 << 20

// Write passes on what comes. It holds back nothing but a head that is not whole.
func (r *requests) Write(piece []byte) (int, error) {
	whole := len(piece)
	for len(piece) > 0 {
		if r.failed {
			_, err := r.to.Write(piece)
			return whole, err
		}
		var taken int
		var err error
		if r.state == inHead {
			taken, err = r.takeHead(piece)
		} else {
			taken = r.follow(piece)
			_, err = r.to.Write(piece[:taken])
		}
		if err != nil {
			return whole - len(piece), err
		}
		piece = piece[taken:]
	}
	return whole, nil
}

// takeHead takes a head until its end.
func (r *requests) takeHead(piece []byte) (taken int, err error) {
	if len(r.head) == 0 { // empty lines may stand before a request
		if empty := len(piece) - len(bytes.TrimLeft(piece, "\r\n")); empty > 0 {
			_, err = r.to.Write(piece[:empty])
			return empty, err
		}
	}
	before := len(r.head)
	r.head = append(r.head, piece...)
	end := endOfHead(r.head, before)
	if end < 0 {
		if len(r.head) > maxHead {
			r.failed = true
			_, err = r.to.Write(r.head)
			r.head = nil
		}
		return len(piece), err
	}
	head := r.head[:end]
	r.head = nil
	r.begin(head)
	if head, err = r.rewrite(head); err == nil {
		_, err = r.to.Write(head)
	}
	return end - before, err
}

// endOfHead is where a head ends, behind its empty line; -1 where it does not. It does not end
// in what was seen before.
func endOfHead(text []byte, before int) int {
	at := max(0, before-len("\r\n\r"))
	for {
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 {
			return -1
		}
		at += next + 1
		switch rest := text[at:]; {
		case bytes.HasPrefix(rest, []byte("\n")):
			return at + 1
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return at + 2
		}
	}
}

// begin reads how long the body is.
func (r *requests) begin(head []byte) {
	r.state, r.left = inHead, 0
	upgrades := false
	for line := range bytes.Lines(head) {
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch http.CanonicalHeaderKey(strings.TrimSpace(name)) {
		case "Content-Length":
			length, err := strconv.ParseInt(value, 10, 64)
			if err != nil || length < 0 || r.state == inChunkSize {
				r.failed = true
				return
			}
			if r.left = length; length > 0 {
				r.state = inBody
			}
		case "Transfer-Encoding":
			r.state = inChunkSize
		case "Upgrade":
			upgrades = true
		}
	}
	r.failed = upgrades || bytes.HasPrefix(head, []byte("CONNECT ")) // what follows may be no request
}

// rehosted writes requests to a server under its own name: what changes is the value of the
// Host field, and of an absolute target.
func rehosted(to io.Writer, host string) *requests {
	return &requests{to: to, rewrite: func(head []byte) ([]byte, error) {
		return rewriteHead(head, func(target []byte) []byte { return retarget(target, host) }, host, nil), nil
	}}
}

// rewriteHead is a head with another target, another host, and without some fields.
func rewriteHead(head []byte, target func([]byte) []byte, host string, drops func(name string) bool) []byte {
	var text []byte
	first, dropped := true, false
	for line := range bytes.Lines(head) {
		content := bytes.TrimRight(line, "\r\n")
		ending := line[len(content):]
		name, value, found := bytes.Cut(content, []byte(":"))
		folded := len(content) > 0 && (content[0] == ' ' || content[0] == '\t') // goes on with the field before
		dropped = folded && dropped || !folded && found && !first && drops != nil && drops(string(name))
		switch {
		case dropped:
		case first && len(content) > 0:
			first = false
			words := bytes.SplitN(content, []byte(" "), 3)
			if len(words) == 3 {
				words[1] = target(words[1])
			}
			text = append(append(text, bytes.Join(words, []byte(" "))...), ending...)
		case found && strings.EqualFold(string(name), "Host") && !strings.EqualFold(string(bytes.TrimSpace(value)), host):
			text = append(append(append(text, name...), ": "+host...), ending...)
		default:
			text = append(text, line...)
		}
	}
	return text
}

// retarget is a target that names the server, if it names any host.
func retarget(target []byte, host string) []byte {
	scheme, _, path, absolute := splitTarget(target)
	if !absolute {
		return target
	}
	return append(append(append([]byte{}, scheme...), "://"+host...), path...)
}

// splitTarget takes an absolute target to pieces.
func splitTarget(target []byte) (scheme, authority, path []byte, absolute bool) {
	scheme, rest, absolute := bytes.Cut(target, []byte("://"))
	if !absolute || bytes.ContainsAny(scheme, "/?") {
		return nil, nil, nil, false
	}
	at := bytes.IndexAny(rest, "/?")
	if at < 0 {
		at = len(rest)
	}
	return scheme, rest[:at], rest[at:], true
}

// follow tells how much of a piece belongs to the body.
func (r *requests) follow(piece []byte) int {
	switch r.state {
	case inBody, inChunk:
		taken := min(int64(len(piece)), r.left)
		if r.left -= taken; r.left == 0 {
			r.state = map[framing]framing{inBody: inHead, inChunk: inChunkSize}[r.state]
		}
		return int(taken)
	}
	end := bytes.IndexByte(piece, '\n')
	if end < 0 {
		if r.line = append(r.line, piece...); len(r.line) > maxHead {
			r.failed = true
		}
		return len(piece)
	}
	line := strings.TrimRight(string(append(r.line, piece[:end]...)), "\r")
	r.line = nil
	switch r.state {
	case inChunkSize:
		digits, _, _ := strings.Cut(line, ";")
		size, err := strconv.ParseInt(strings.TrimSpace(digits), 16, 64)
		switch {
		case err != nil || size < 0:
			r.failed = true
		case size == 0:
			r.state = inTrailer
		default:
			r.state, r.left = inChunk, size+int64(len("\r\n"))
		}
	case inTrailer:
		if line == "" {
			r.state = inHead
		}
	}
	return end + 1
}
