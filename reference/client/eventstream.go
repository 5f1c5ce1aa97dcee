// Page basic/transports, "Streamable HTTP": streams of server-sent events.

package client

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"time"
)

// A framing says how event streams are read: by the standard, in a good client.
type framing struct {
	bytes    func(io.Reader) io.Reader                                // before anything else
	field    func(line []byte) (name string, value []byte, err error) // of one line
	join     func(lines [][]byte) []byte                              // the data of an event
	complete func(one event, hasData bool) (taken bool, err error)    // at an empty line
	mark     []byte                                                   // that a stream may begin with
	apart    bool                                                     // each data line is an event
	forgets  bool                                                     // the id of the last event, when a stream is taken up
	// keepsName says that the name of an event without data is that of the next one, too.
	keepsName bool
}

func goodFraming() framing {
	return framing{
		bytes:    func(in io.Reader) io.Reader { return in },
		field:    fieldOf,
		join:     func(lines [][]byte) []byte { return bytes.Join(lines, []byte("\n")) },
		complete: func(_ event, hasData bool) (bool, error) { return hasData, nil },
		mark:     []byte("\xef\xbb\xbf"),
	}
}

// fieldOf cuts a line into the name of a field and its value; a comment has no name.
func fieldOf(line []byte) (name string, value []byte, err error) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	return string(field), bytes.TrimPrefix(value, []byte(" ")), nil
}

// An event is what stands between two empty lines.
type event struct {
	name string
	data []byte
}

// carries tells whether the event is one for messages.
func (e event) carries() bool { return e.name == "" || e.name == "message" }

// events reads a stream, and keeps what belongs to all of it.
type events struct {
	as       framing
	in       *bufio.Reader
	lastID   string        // of the last event that had one
	retry    time.Duration // how long to wait before coming back; negative when nothing was said
	began    bool
	returned bool // the last line ended with a carriage return
}

func newEvents(as framing, in io.Reader, before *events) *events {
	e := &events{as: as, in: bufio.NewReader(as.bytes(in)), retry: -1}
	if before != nil {
		e.retry = before.retry
		if !as.forgets {
			e.lastID = before.lastID
		}
	}
	return e
}

// next returns the next event that has data. What stands after the last empty
// line is no event.
func (e *events) next() (event, error) {
	var found event
	var data [][]byte
	size := 0
	id, hasID := "", false
	for {
		text, err := e.line()
		if err != nil {
			return event{}, err
		}
		if len(text) == 0 {
			if hasID {
				e.lastID = id
			}
			found.data = e.as.join(data)
			taken, err := e.as.complete(found, len(data) > 0)
			if taken || err != nil {
				return found, err
			}
			found, data, id, hasID = e.as.begin(found), nil, "", false
			continue
		}
		field, value, err := e.as.field(text)
		if err != nil {
			return event{}, err
		}
		switch field {
		case "event":
			found.name = string(value)
		case "data":
			if size += len(value) + 1; size > maxMessage {
				return event{}, errTooLong
			}
			data = append(data, value)
			if e.as.apart {
				found.data = value
				return found, nil
			}
		case "id":
			if !bytes.Contains(value, []byte{0}) {
				id, hasID = string(value), true
			}
		case "retry":
			if milliseconds, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(milliseconds) * time.Millisecond
			}
		}
	}
}

// line reads a line, which ends with a carriage return, a newline, or both.
func (e *events) line() ([]byte, error) {
	var text []byte
	for {
		if _, err := e.in.Peek(1); err != nil {
			return nil, err
		}
		read, _ := e.in.Peek(e.in.Buffered()) // which is there
		if e.returned && read[0] == '\n' {
			read = nil // it belongs to the carriage return before
			_, _ = e.in.Discard(1)
		}
		e.returned = false
		end := bytes.IndexAny(read, "\r\n")
		if end >= 0 {
			text = append(text, read[:end]...)
			e.returned = read[end] == '\r'
			_, _ = e.in.Discard(end + 1)
			return e.unmarked(text), nil
		}
		text = append(text, read...)
		_, _ = e.in.Discard(len(read))
		if len(text) > maxMessage {
			return nil, errTooLong
		}
	}
}

// begin returns the event that begins after one without data.
func (f framing) begin(before event) event {
	if f.keepsName {
		return event{name: before.name}
	}
	return event{}
}

// unmarked takes the byte order mark away with which a stream may begin.
func (e *events) unmarked(text []byte) []byte {
	if !e.began {
		e.began = true
		return bytes.TrimPrefix(text, e.as.mark)
	}
	return text
}
