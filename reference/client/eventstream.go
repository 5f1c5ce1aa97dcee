// Page basic/transports, "Streamable HTTP": streams of server-sent events.

package client

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"time"
)

// fieldOf cuts a line into the name of a field and its value; a comment has no name.
func fieldOf(line []byte) (name string, value []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	return string(field), bytes.TrimPrefix(value, []byte(" "))
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
	defect   string // of the client; "" for none
	in       *bufio.Reader
	lastID   string        // of the last event that had one
	retry    time.Duration // how long to wait before coming back; negative when nothing was said
	began    bool
	returned bool // the last line ended with a carriage return
}

func newEvents(defect string, in io.Reader, before *events) *events {
	e := &events{defect: defect, in: bufio.NewReader(asRead(defect, in, true)), retry: -1}
	if before != nil {
		e.retry = before.retry
		if defect != "sse-forgets-last-event" {
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
			found.data = e.join(data)
			taken, err := e.isComplete(found, len(data) > 0)
			if taken || err != nil {
				return found, err
			}
			found, data, id, hasID = e.begin(found), nil, "", false
			continue
		}
		field, value, err := e.field(text)
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
			if e.defect == "sse-data-lines-apart" {
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
func (e *events) begin(before event) event {
	if e.defect == "sse-keeps-name" {
		return event{name: before.name}
	}
	return event{}
}

// unmarked takes the byte order mark away with which a stream may begin.
func (e *events) unmarked(text []byte) []byte {
	if !e.began && e.defect != "sse-keeps-mark" {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	}
	e.began = true
	return text
}
