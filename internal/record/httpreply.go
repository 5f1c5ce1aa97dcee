package record

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Media types of the transport.
const (
	jsonMedia        = "application/json"
	eventStreamMedia = "text/event-stream"
)

// over lays a plan over this one: what it says counts.
func (p HeadPlan) over(plan HeadPlan) HeadPlan {
	p.Respond = cmp.Or(plan.Respond, p.Respond)
	p.Status = cmp.Or(plan.Status, p.Status)
	p.Header = mapOver(plan.Header, p.Header)
	p.Challenge = mapOver(plan.Challenge, p.Challenge)
	p.Body = cmp.Or(plan.Body, p.Body)
	p.As = cmp.Or(plan.As, p.As)
	p.Wait = max(p.Wait, plan.Wait)
	p.Chunk = max(p.Chunk, plan.Chunk)
	p.Drop = p.Drop || plan.Drop
	p.Cut = p.Cut || plan.Cut
	p.KeepOpen = p.KeepOpen || plan.KeepOpen
	return p
}

// mapOver is one map with what another has beside it.
func mapOver(over, under map[string]*string) map[string]*string {
	if len(over) == 0 {
		return under
	}
	both := map[string]*string{}
	maps.Copy(both, under)
	maps.Copy(both, over)
	return both
}

// changeHeader sets and removes what the plan says; %s stands for the value that
// there was. A name in lower case is written so, which is as good as any other.
func (p HeadPlan) changeHeader(header http.Header) {
	p.changeChallenge(header)
	for name, value := range p.Header {
		was := header.Get(name)
		header.Del(name)
		switch {
		case value == nil:
			continue
		case name != strings.ToLower(name):
			name = http.CanonicalHeaderKey(name)
		}
		header[name] = []string{strings.ReplaceAll(*value, "%s", was)}
	}
}

// changeChallenge sets and removes parameters of the Bearer challenge, where there is one.
func (p HeadPlan) changeChallenge(header http.Header) {
	if len(p.Challenge) == 0 {
		return
	}
	challenges, _ := oauth.Challenges(header)
	var fields []string
	for _, one := range challenges {
		if one.Is("Bearer") {
			one = p.changed(one)
		}
		fields = append(fields, one.String())
	}
	header["Www-Authenticate"] = fields
}

func (p HeadPlan) changed(challenge oauth.Challenge) oauth.Challenge {
	for _, name := range slices.Sorted(maps.Keys(p.Challenge)) {
		value := p.Challenge[name]
		was, _ := challenge.Get(name)
		isIt := func(one oauth.Param) bool { return one.Name == name }
		challenge.Params = slices.DeleteFunc(slices.Clone(challenge.Params), isIt)
		if value != nil {
			now := oauth.Param{Name: name, Value: strings.ReplaceAll(*value, "%s", was)}
			challenge.Params = append(challenge.Params, now)
		}
	}
	return challenge
}

// reply writes the response to the client: its head once, then pieces, each of
// which goes out at once.
type reply struct {
	told func(http.Header) // of the head, before it is written

	mu      sync.Mutex
	writer  http.ResponseWriter
	control *http.ResponseController
	status  int
	header  http.Header
	plan    HeadPlan
	begun   bool
	closed  bool
}

func newReply(w http.ResponseWriter) *reply {
	r := &reply{writer: w, control: http.NewResponseController(w), status: http.StatusOK, header: http.Header{}}
	_ = r.control.EnableFullDuplex() // HTTP/2 has it
	return r
}

// is sets the head, as it is without changes.
func (r *reply) is(status int, header http.Header) { r.status, r.header = status, header.Clone() }

// change lays a plan over the head that is not written yet.
func (r *reply) change(plan HeadPlan) { r.plan = r.plan.over(plan) }

// stream makes the body an event stream of unknown length, with what a good server
// says of one (2026-07-28, basic/transports/streamable-http#receiving-messages).
func (r *reply) stream() {
	if transport.MediaType(r.header.Get("Content-Type")) != eventStreamMedia {
		r.header.Set("Content-Type", eventStreamMedia)
		r.header.Set("X-Accel-Buffering", "no")
	}
	r.header.Del("Content-Length")
}

// begin writes the head.
func (r *reply) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.beginLocked()
}

func (r *reply) beginLocked() error {
	if r.begun {
		return nil
	}
	r.begun = true
	if r.plan.KeepOpen {
		r.header.Del("Content-Length")
	}
	r.plan.changeHeader(r.header)
	if r.plan.Status != 0 {
		r.status = r.plan.Status
	}
	r.told(r.header)
	header := r.writer.Header()
	maps.Copy(header, r.header)
	for _, name := range []string{"Date", "Content-Type"} {
		if _, there := header[name]; !there {
			header[name] = nil // else net/http adds its own
		}
	}
	r.writer.WriteHeader(r.status)
	return r.control.Flush()
}

// write writes the head, if need be, and a piece of the body; in smaller pieces
// when the step or the plan says so.
func (r *reply) write(piece []byte, chunk int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return http.ErrHandlerTimeout
	}
	if err := r.beginLocked(); err != nil {
		return err
	}
	if chunk == 0 {
		chunk = r.plan.Chunk
	}
	for len(piece) > 0 {
		size := len(piece)
		if chunk > 0 {
			size = min(size, chunk)
		}
		if _, err := r.writer.Write(piece[:size]); err != nil {
			return err
		}
		if err := r.control.Flush(); err != nil {
			return err
		}
		piece = piece[size:]
	}
	return nil
}

// whole writes the head and the whole body.
func (r *reply) whole(body []byte, chunk int) error {
	if r.header.Get("Content-Length") != "" {
		r.header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if err := r.begin(); err != nil {
		return err
	}
	return r.write(body, chunk)
}

// respond writes a response that is made up.
func (r *reply) respond(made *Respond) error {
	header := http.Header{}
	for name, value := range made.Header {
		header.Set(name, value)
	}
	r.is(made.Status, header)
	return r.whole([]byte(made.Body), 0)
}

// close makes later writes fail.
func (r *reply) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}
