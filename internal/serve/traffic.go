package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// Bounds of what is kept for the page. What goes beyond them is left out, the oldest first,
// and the page says so.
const (
	maxShown   = 1000     // of one connection
	maxListed  = 200      // connections
	maxKept    = 8 << 20  // of all texts together, in bytes
	maxText    = 32 << 10 // of one text, in bytes
	maxRead    = 1 << 20  // of a message that is looked into for its method, in bytes
	maxWaiting = 1000     // requests of a connection that wait for an answer
	maxTitle   = 200      // of a title, in bytes
	perStep    = 300      // what a step takes beside its text, in bytes, about
)

// Traffic is what passes between two real peers, for a page that grows with it. It is safe for
// concurrent use, and a caller that tells it of an event does not wait for viewers of the
// page.
type Traffic struct {
	mu    sync.Mutex
	all   []*talk // begun first, first
	byOne map[string]*talk
	gone  int // connections that are no longer listed
	kept  int // bytes
}

// talk is one connection.
type talk struct {
	name      string
	since     time.Time
	transport string
	revision  string
	client    string
	server    string
	messages  int
	over      bool
	judged    bool

	steps   []step // the last of them
	next    int    // the number of the next step
	kept    int    // bytes
	waiting map[asked]string
}

// asked names a request that waits for its answer.
type asked struct {
	by protocol.Party
	id jsonrpc.ID
}

// step is a message, or something else that came to pass.
type step struct {
	Number int     `json:"number"`
	At     float64 `json:"at"`   // seconds since the beginning
	From   string  `json:"from"` // "client", "server", or "" for neither
	Kind   string  `json:"kind"`
	Title  string  `json:"title"`
	Size   int     `json:"size"` // bytes
	Wrong  bool    `json:"wrong,omitempty"`
	text   []byte  // as much as is kept
}

// NewTraffic returns one that has seen nothing.
func NewTraffic() *Traffic { return &Traffic{byOne: map[string]*talk{}} }

// See takes an event of a connection, in which secrets are hidden already. Events of one
// connection come one after the other.
func (t *Traffic) See(header transcript.Header, event transcript.Event) {
	message := jsonrpc.Message{Kind: jsonrpc.Invalid}
	if event.Kind == transcript.Message && event.Size == 0 && len(event.Raw) <= maxRead {
		message = jsonrpc.Parse(event.Raw)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.byOne[event.Connection]
	if one == nil {
		one = &talk{
			name: event.Connection, since: event.At, transport: header.Transport, waiting: map[asked]string{},
			judged: !header.Unjudged && !header.Joined,
		}
		t.byOne[one.name], t.all = one, append(t.all, one)
		t.forget()
	}
	one.revision = header.Revision
	one.over = one.over || event.Kind == transcript.Close
	if event.Kind == transcript.Message {
		one.messages++
		one.introduce(message)
	}
	shown, is := one.step(event, message)
	if !is {
		return
	}
	one.add(shown)
	t.kept += len(shown.text) + perStep
	for len(one.steps) > maxShown {
		t.kept -= one.dropOldest()
	}
	for t.kept > maxKept {
		t.kept -= slices.MaxFunc(t.all, func(a, b *talk) int { return a.kept - b.kept }).dropOldest()
	}
}

// forget takes the oldest connection off the list where there are too many, one that is over
// if there is any.
func (t *Traffic) forget() {
	if len(t.all) <= maxListed {
		return
	}
	at := max(0, slices.IndexFunc(t.all, func(one *talk) bool { return one.over }))
	t.kept -= t.all[at].kept
	delete(t.byOne, t.all[at].name)
	t.all = slices.Delete(t.all, at, at+1)
	t.gone++
}

func (o *talk) add(shown step) {
	shown.Number = o.next
	o.next++
	o.steps = append(o.steps, shown)
	o.kept += len(shown.text) + perStep
}

// dropOldest leaves the oldest step out, and returns how many bytes that gives back.
func (o *talk) dropOldest() int {
	size := len(o.steps[0].text) + perStep
	o.steps[0].text = nil
	o.steps = o.steps[1:]
	o.kept -= size
	return size
}

// step is what the page shows of an event; of those that only carry messages it shows none.
func (o *talk) step(event transcript.Event, message jsonrpc.Message) (shown step, is bool) {
	shown = step{
		At: event.At.Sub(o.since).Seconds(), From: string(event.From), Kind: string(event.Kind),
		Title: event.Note, Size: max(event.Size, len(event.Raw)),
	}
	switch event.Kind {
	case transcript.Message:
		shown.Title, shown.Wrong = o.title(event.From, message)
	case transcript.Head:
		if event.HTTP == nil || event.HTTP.Status < 400 {
			return shown, false
		}
		shown.Title, shown.Wrong = fmt.Sprintf("HTTP %d", event.HTTP.Status), true
	case transcript.End:
		if event.Note == transcript.Complete {
			return shown, false
		}
	case transcript.Body:
		shown.Title = strings.TrimSpace("no message " + event.Note)
	case transcript.Gap, transcript.Failure:
		shown.Wrong = true
	case transcript.Remark:
		shown.From = ""
	case transcript.Block, transcript.Close:
		return shown, false
	}
	shown.Title = line(shown.Title)
	shown.text = bytes.Clone(event.Raw[:min(len(event.Raw), maxText)])
	return shown, true
}

// title says what a message is: its method, or what it answers.
func (o *talk) title(from protocol.Party, message jsonrpc.Message) (title string, wrong bool) {
	switch message.Kind {
	case jsonrpc.Request:
		method := line(message.Method)
		if len(o.waiting) < maxWaiting && len(message.ID.String()) <= maxTitle {
			o.waiting[asked{from, message.ID}] = method
		}
		return method, false
	case jsonrpc.Notification:
		return message.Method, false
	case jsonrpc.Batch:
		return "a batch", false
	case jsonrpc.Response:
		request := asked{from.Other(), message.ID}
		method, known := o.waiting[request]
		delete(o.waiting, request)
		if !known {
			method = "id " + message.ID.String()
		}
		if _, refused := message.Object["error"]; refused {
			return "error for " + method, true
		}
		return "answer to " + method, false
	}
	return "not read as a message", false
}

// introduce takes from a message who the peers say that they are, and what they speak.
func (o *talk) introduce(message jsonrpc.Message) {
	for _, one := range []struct {
		name           *string
		from, key, own string
	}{{&o.client, "params", "clientInfo", mcp.MetaClientInfo}, {&o.server, "result", "serverInfo", mcp.MetaServerInfo}} {
		from := mcp.Object(message.Object, one.from)
		for _, info := range []any{from[one.key], mcp.Value(from, "_meta", one.own)} {
			if name := mcp.Text(info, "name"); name != "" {
				*one.name = line(name + " " + mcp.Text(info, "version"))
			}
		}
	}
	if o.revision == "" {
		o.revision = mcp.Text(message.Object, "params", "_meta", mcp.MetaVersion)
	}
}

// line is a text of a peer in one line, with everything escaped that could deceive a reader.
func line(text string) string {
	return strings.Clone(reports.Visible(strings.Join(strings.Fields(excerpt.Within(text, maxTitle)), " ")))
}

// row is a connection on the page.
type row struct {
	Name     string    `json:"name"`
	Since    time.Time `json:"since"`
	Speaks   string    `json:"speaks"` // revision and transport
	Client   string    `json:"client"`
	Server   string    `json:"server"`
	Messages int       `json:"messages"`
	Over     bool      `json:"over"`
	Judged   bool      `json:"judged"`
}

// rows are the connections, the newest first, and how many are no longer listed.
func (t *Traffic) rows() ([]row, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]row, 0, len(t.all))
	for _, one := range slices.Backward(t.all) {
		all = append(all, row{
			Name: one.name, Since: one.since, Speaks: line(one.revision + " " + one.transport),
			Client: one.client, Server: one.server, Messages: one.messages, Over: one.over, Judged: one.judged,
		})
	}
	return all, t.gone
}

// steps are those of a connection that have at least a number, and how many before all that
// are kept are left out.
func (t *Traffic) steps(name string, from int) (steps []step, left int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.byOne[name]
	if one == nil {
		return []step{}, 0
	}
	left = one.next - len(one.steps)
	return slices.Clone(one.steps[min(max(from-left, 0), len(one.steps)):]), left
}

// text is what is kept of a step, indented where it is JSON; false when it is left out by now.
func (t *Traffic) text(name string, number int) (string, bool) {
	t.mu.Lock()
	var text []byte
	size, found := 0, false
	if one := t.byOne[name]; one != nil {
		if at := number - (one.next - len(one.steps)); at >= 0 && at < len(one.steps) {
			text, size, found = one.steps[at].text, one.steps[at].Size, true
		}
	}
	t.mu.Unlock()
	var indented bytes.Buffer
	if json.Indent(&indented, text, "", "  ") == nil {
		text = indented.Bytes()
	}
	shown := reports.Visible(string(text))
	if size > maxText {
		shown += fmt.Sprintf("\n… of %d bytes", size)
	}
	return shown, found
}
