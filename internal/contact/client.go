package contact

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// meeting is what came of the first contact with a client at one revision.
type meeting struct {
	revision     string
	err          error // it could not be started
	came, spoken bool
	note         string // why it is not spoken
	broken       string // in a line: how the opening differs from what the revision wants, which the client means to speak
	granted      bool   // the client asked for the revision, and left when it was granted
	another      bool   // the client asked for another revision, and left when it was not granted
	odd          string // what it sent that shows nothing of any revision
	started      time.Duration
	exit         scenario.Exit
	reports      bool               // its driver tells how steps go
	opening      []transcript.Event // of the connection that shows most
	flaw         string             // what it breaks in the opening of a revision that it speaks
	info         check.Object
	capabilities any
}

// Client makes first contact with a client: it plays one scenario at each revision. The error
// is a *TargetError.
func Client(ctx context.Context, to scripted.Target, o Options) (*Found, error) {
	meetings := meetings(ctx, to, o)
	for _, met := range meetings {
		if met.err != nil {
			return nil, &TargetError{Reason: met.err.Error()}
		}
	}
	came := slices.ContainsFunc(meetings, func(met *meeting) bool { return met.came })
	diagnoseMeetings(meetings, o.Revisions)
	found := &Found{Speaks: among(meetings, func(met *meeting) bool { return met.spoken })}
	chosen := o.Revisions.Choose(found.Speaks, among(meetings, func(met *meeting) bool { return met.broken != "" }))
	switch {
	case (!came || len(found.Speaks) == 0) && ctx.Err() != nil:
		return nil, &TargetError{
			Reason: "first contact with the client was not finished; " + context.Cause(ctx).Error(),
		}
	case !came:
		return nil, absent(meetings[0].exit)
	case !slices.ContainsFunc(meetings, (*meeting).checkable) && !o.Revisions.Named():
		return nil, foreign(meetings)
	}
	for _, revision := range chosen {
		at := slices.IndexFunc(meetings, func(met *meeting) bool { return met.revision == revision })
		one := meetings[at].found()
		one.AlsoSpeaks = found.alsoSpeaks(revision)
		one.Start = startOf(to, meetings[at].started)
		one.Habits = scenario.Habits{ShortWait: meetings[at].exit.Ended, Untold: !meetings[at].reports}
		late := !meetings[at].came && meetings[at].exit.Ended // it may have come later
		if !one.Checkable() && o.Revisions.Named() && !late {
			one.Denial = meetings[at].denied(one.Unspoken)
		}
		found.Openings = append(found.Openings, one)
	}
	return found, nil
}

// Read is what conversations show that were recorded of a client, by the scenarios that they
// belong to. A client that has shown in one of them that it speaks the revision, or has
// before, need not show it in another.
func Read(revision string, spoken bool, scenarios iter.Seq[[]*rules.Conversation]) *Opening {
	met := &meeting{revision: revision}
	for conversations := range scenarios {
		if met.read(conversations, Options{}); met.spoken {
			break
		}
	}
	met.spoken = met.spoken || spoken
	switch {
	case met.spoken:
		met.broken = ""
	case met.broken == "":
		met.broken = met.odd
	}
	return met.found()
}

// found is what a meeting showed.
func (m *meeting) found() *Opening {
	found := &Opening{
		Revision: m.revision, Spoken: m.spoken, Broken: m.broken, Info: m.info, Capabilities: m.capabilities,
		Survey: &survey.Survey{Revision: m.revision},
	}
	switch {
	case !found.Checkable():
		found.Unspoken = m.note
	case !m.spoken:
		found.Denial = m.denied(m.broken)
	}
	return found
}

// meetings are those at all revisions, of which there is but one with a client that
// does not come.
func meetings(ctx context.Context, to scripted.Target, o Options) []*meeting {
	first := o.meetAt(ctx, to, o.Revisions.first(), false)
	all := []*meeting{first}
	if !first.came {
		return all
	}
	var meetings sync.WaitGroup
	var adding sync.Mutex
	meet := func(revision string) {
		meetings.Go(func() {
			one := o.meetAt(ctx, to, revision, first.exit.Ended)
			if first.exit.Ended && one.exit.Ended && !one.spoken {
				one = o.meetAt(ctx, to, revision, false) // it may have been about to
			}
			adding.Lock()
			defer adding.Unlock()
			all = append(all, one)
		})
		if Heavy(o.Budget) {
			meetings.Wait() // there is no room for several at once
		}
	}
	for _, stage := range o.Revisions.stages() {
		for _, revision := range stage {
			if revision != first.revision {
				meet(revision)
			}
		}
		meetings.Wait()
		if slices.ContainsFunc(all, func(one *meeting) bool { return one.spoken }) {
			break
		}
	}
	slices.SortFunc(all, func(a, b *meeting) int { return cmp.Compare(a.revision, b.revision) })
	return all
}

func (o Options) meetAt(ctx context.Context, to scripted.Target, revision string, shortWait bool) *meeting {
	runner := clientrun.Runner{
		Scope: &scope.Scope{
			Cell:    check.Cell{Role: protocol.ClientRole, Revision: revision, Transport: to.Transport},
			Process: o.Process,
			Target:  to,
			Budget:  o.Budget,
		},
		Launch:  scenario.ByCommand(o.Process.Patience(), to.Command),
		Sockets: o.Sockets,
		Habits:  scenario.Habits{ShortWait: shortWait},
	}
	met := &meeting{revision: revision}
	begun := time.Now()
	met.err = runner.Meet(ctx, func(client *clientrun.Client) {
		met.exit, met.reports = client.Exit, client.Reports()
		if events := client.Events(); len(events) > 0 {
			met.started = events[0].At.Sub(begun)
		}
		if said := met.read(client.Conversations, o); met.spoken && o.Revisions.Auto {
			met.flaw = cmp.Or(met.flaw, o.flaw(said, endOfOpening(said)))
		}
		if o.Revisions.Auto {
			met.disown(client.Exit)
		}
	})
	return met
}

// read finds out whether the client speaks the revision, or means to, and returns the
// conversation that shows most.
func (m *meeting) read(conversations []*rules.Conversation, o Options) (most *rules.Conversation) {
	m.came = len(conversations) > 0
	m.note = "the client never connected"
	for _, conversation := range conversations {
		one := &meeting{revision: m.revision}
		if protocol.Has(m.revision, protocol.PerRequestMeta) {
			one.readRequests(conversation)
		} else {
			one.readHandshake(conversation)
		}
		if m.opening == nil || one.tells() > m.tells() {
			most = conversation
			m.opening = o.shown(asFarAsAnswered(conversation.Events))
			m.spoken, m.note, m.broken, m.odd = one.spoken, one.note, one.broken, one.odd
			m.info, m.capabilities, m.flaw = one.info, one.capabilities, one.flaw
			m.granted, m.another = one.granted, one.another
		}
	}
	return most
}

// disown takes for not spoken a revision of which the driver says that the library does not
// have it: the client asked for it only as it was told, and left when that was granted. One
// that speaks of what is no revision did not read the server's answer.
func (m *meeting) disown(exit scenario.Exit) {
	text := firstFailure(exit)
	named := date.FindAllString(text, -1)
	unread := slices.ContainsFunc(named, func(one string) bool { return !slices.Contains(protocol.Released(), one) })
	if m.granted && !m.spoken && slices.Contains(named, m.revision) && !unread {
		m.broken = ""
		m.note = "the client requested it as instructed, and disconnected when the server agreed" + text
	}
}

// date is what revisions are named by.
var date = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)

// tells ranks what conversations show.
func (m *meeting) tells() int {
	switch {
	case m.spoken:
		return 3
	case m.broken != "":
		return 2
	case m.odd != "":
		return 1
	}
	return 0
}

// readHandshake looks for a handshake at the revision.
func (m *meeting) readHandshake(conversation *rules.Conversation) {
	hello := conversation.Requests("initialize")
	if len(hello) == 0 {
		m.note = "the client did not send initialize, but " + methodsOf(conversation)
		m.readStray(conversation, meansHandshake, meansStateless)
		return
	}
	first := hello[len(hello)-1]
	m.info, _ = first.ParamsObject()["clientInfo"].(map[string]any)
	m.capabilities = first.ParamsObject()["capabilities"]
	asked := first.ParamsObject()["protocolVersion"]
	known := slices.ContainsFunc(protocol.Released(), func(revision string) bool { return asked == revision })
	if len(first.Answers) > 0 &&
		slices.ContainsFunc(
			conversation.ByTarget(),
			func(message *rules.Message) bool { return message.Index > first.Answers[0].Index },
		) {
		m.spoken = true
		if !known {
			m.flaw = "the client requested " + shown(asked) + ", which is not a revision of the protocol"
		}
		return
	}
	text := fmt.Sprintf(
		"the client requested %s, and sent nothing more after the server answered with %s",
		shown(asked),
		m.revision,
	)
	m.note = text
	m.granted = asked == m.revision && len(first.Answers) > 0
	m.another = known && asked != m.revision && len(first.Answers) > 0
	if !known || asked == m.revision {
		m.broken = text
	}
}

// shown shows the revision that a client asked for.
func shown(asked any) string {
	if asked == nil {
		return "no protocolVersion"
	}
	return rules.Show(asked)
}

// readRequests looks for a request that names the revision.
func (m *meeting) readRequests(conversation *rules.Conversation) {
	for _, message := range conversation.ByTarget() {
		meta := message.Meta()
		if message.Kind == jsonrpc.Request && meta[mcp.MetaVersion] == m.revision {
			m.info, _ = meta[mcp.MetaClientInfo].(map[string]any)
			m.capabilities = meta[mcp.MetaCapabilities]
			m.spoken = true
			return
		}
	}
	m.note = "the client sent no request that names " + m.revision + ", but " + methodsOf(conversation)
	m.readStray(conversation, meansStateless, meansHandshake)
	if m.broken == "" && m.headed(conversation) {
		m.broken = "the client names " + m.revision + " in the header " + scripted.VersionHeader + ", and in the _meta of no request"
	}
}

// headed tells whether the revision stands in the header of an HTTP request.
func (m *meeting) headed(conversation *rules.Conversation) bool {
	return slices.ContainsFunc(conversation.Events, func(event transcript.Event) bool {
		return event.IsRequestHead() && event.HTTP.Header.Get(scripted.VersionHeader) == m.revision
	})
}

// readStray looks for what was meant for an opening of the era and is none, and for what
// shows nothing of either era.
func (m *meeting) readStray(conversation *rules.Conversation, meant, foreign func(*rules.Message) bool) {
	for _, message := range conversation.ByTarget() {
		switch {
		case meant(message):
			m.broken, m.odd = "the client began with "+excerpt.Short(message.Raw), ""
			return
		case foreign(message), namesAnother(message):
			m.odd = ""
			return
		case m.odd == "":
			m.odd = "the client began with " + excerpt.Short(message.Raw)
		}
	}
}

// meansHandshake tells whether what a client sent belongs to a handshake, be it a message
// or not.
func meansHandshake(message *rules.Message) bool {
	return message.Method == "initialize" || !isMessage(message) && bytes.Contains(message.Raw, []byte(`"initialize"`))
}

// meansStateless tells whether it belongs to the stateless era. A request that names another
// revision shows nothing of this one.
func meansStateless(message *rules.Message) bool {
	meta := message.Meta()
	if _, named := meta[mcp.MetaVersion].(string); named {
		return !namesAnother(message)
	}
	_, declares := meta[mcp.MetaCapabilities]
	_, introduces := meta[mcp.MetaClientInfo]
	return message.Method == "server/discover" || declares || introduces ||
		!isMessage(message) &&
			(bytes.Contains(message.Raw, []byte(`"server/discover"`)) || bytes.Contains(message.Raw, []byte(mcp.MetaVersion)))
}

// namesAnother tells whether a request names a revision that cannot be checked.
func namesAnother(message *rules.Message) bool {
	version, named := message.Meta()[mcp.MetaVersion].(string)
	return named && !slices.Contains(protocol.Released(), version)
}

func isMessage(message *rules.Message) bool {
	return message.Kind != jsonrpc.Invalid && message.Kind != jsonrpc.Batch
}

func methodsOf(conversation *rules.Conversation) string {
	var methods []string
	for _, message := range conversation.ByTarget() {
		method := message.Method
		if method == "" && message.Kind != jsonrpc.Response {
			method = excerpt.Short(message.Raw)
		}
		if method != "" && !slices.Contains(methods, method) {
			methods = append(methods, method)
		}
	}
	const most = 5
	switch {
	case len(methods) == 0:
		return "nothing"
	case len(methods) > most:
		methods = append(methods[:most], "more")
	}
	return strings.Join(methods, ", ")
}

// diagnoseMeetings finds the revisions that the client means to speak and whose opening
// it gets wrong. One that shows nothing of any revision is judged by the first that it
// was offered.
func diagnoseMeetings(meetings []*meeting, policy Revise) {
	other := newestOf(ofOtherEra(among(meetings, func(met *meeting) bool { return met.spoken })))
	for _, met := range meetings {
		if met.revision == other {
			met.broken = met.flaw
		}
	}
	at := slices.IndexFunc(meetings, func(met *meeting) bool { return met.revision == policy.first() })
	if !slices.ContainsFunc(meetings, (*meeting).checkable) {
		meetings[at].broken = meetings[at].odd
	}
}

// endOfOpening is the sequence of the last event that belongs to the opening of a client:
// what it says first when it was answered.
func endOfOpening(conversation *rules.Conversation) int {
	answered := false
	for _, message := range conversation.Messages {
		fromTarget := message.FromTarget(conversation.Cell)
		switch {
		case fromTarget && answered:
			return message.Event.Sequence
		case !fromTarget && message.Request != nil:
			answered = answered || message.Request.Method == "initialize" || !conversation.Has(protocol.Handshake)
		}
	}
	return math.MaxInt
}

// checkable tells whether there is anything to check at the revision.
func (m *meeting) checkable() bool { return m.spoken || m.broken != "" }

// among lists the revisions of the meetings of a kind, oldest first.
func among(meetings []*meeting, kind func(*meeting) bool) []string {
	var revisions []string
	for _, met := range meetings {
		if kind(met) {
			revisions = append(revisions, met.revision)
		}
	}
	slices.Sort(revisions)
	return revisions
}

// foreign says that a client speaks no revision that can be checked.
func foreign(meetings []*meeting) error {
	var notes []string
	for _, met := range meetings {
		notes = append(notes, met.revision+" is not spoken: "+met.note)
	}
	return &TargetError{Reason: "the client speaks no revision that is checked: " + strings.Join(notes, "; ")}
}

// firstFailure says which step of a client failed first, as its driver tells.
func firstFailure(exit scenario.Exit) string {
	outcomes := (&scenario.Recording{Exit: exit}).Outcomes(scenario.Meeting.Steps)
	for id := range scenario.Meeting.Steps.All() {
		if one := outcomes[id]; one.Failed() && one.Error != "" {
			return fmt.Sprintf(
				"; its driver reports that step %d failed: %s",
				one.Step,
				excerpt.Short([]byte(one.Error)),
			)
		}
	}
	return ""
}

// absent says how a client ended that did not come.
func absent(exit scenario.Exit) error {
	how := exit.Status
	if exit.Ended {
		how = "did not exit by itself"
	}
	reason := "the client never connected to the scripted server, and " + how
	reason += firstFailure(exit)
	reason += "; make sure that its command takes the URL as its last argument, or at " + scenario.URLPlace +
		", or the command of the server at " + scenario.ServerPlace
	if stderr := excerpt.Stderr(string(exit.Stderr)); stderr != "" {
		reason += "\nits standard error ended with:\n" + indent(stderr)
	}
	return &TargetError{Reason: reason}
}
