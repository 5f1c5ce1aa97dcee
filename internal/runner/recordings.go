package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/importer"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// RecordingError says in one line why something is not a transcript that can be judged,
// where, and what to do.
type RecordingError struct{ Reason string }

func (e *RecordingError) Error() string { return e.Reason }

// StandardInput is the path that stands for standard input.
const StandardInput = "-"

// endings are how the names of the files end that are looked for in directories: of transcripts,
// and of what other programs record.
var endings = []string{".jsonl", ".ndjson", ".har"}

// isRecording tells whether a file of a directory is judged.
func isRecording(name string) bool {
	return slices.Contains(endings, filepath.Ext(name)) ||
		strings.HasPrefix(name, "mcp-server-") && filepath.Ext(name) == ".log" // of Claude Desktop
}

// FindTranscripts returns the files that are named, and those below the directories that
// are named, each once. The error is a *RecordingError.
func FindTranscripts(paths []string) ([]string, error) {
	var all []string
	known := map[string]bool{}
	for _, path := range paths {
		found, err := transcriptsAt(path)
		if err != nil {
			return nil, &RecordingError{fmt.Sprintf("%s cannot be read: %s", path, files.Reason(err))}
		}
		if len(found) == 0 {
			return nil, &RecordingError{
				fmt.Sprintf(
					"%s: no file in this directory ends with %s; record transcripts with --transcripts %s",
					path,
					strings.Join(endings, ", "),
					path,
				),
			}
		}
		for _, file := range found {
			place, err := filepath.Abs(file)
			if err != nil {
				place = file
			}
			if !known[place] {
				all = append(all, file)
			}
			known[place] = true
		}
	}
	return all, nil
}

func transcriptsAt(path string) (found []string, err error) {
	if path == StandardInput {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{filepath.Clean(path)}, err
	}
	err = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && isRecording(entry.Name()) {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

// Recordings are transcripts that lie in files.
type Recordings struct {
	// Roles are those of the targets: one, or the server and the client where who recorded
	// stood between them.
	Roles []string

	sittings []sitting
	notices  []string // what of imported files is not judged
	input    []byte   // what came on standard input
	held     int      // bytes of what was imported
}

// sitting is one connection: a file, or the parts of one in order.
type sitting []part

type part struct {
	path   string
	header transcript.Header
	events []transcript.Event // of an imported recording; those of a transcript are read when they are judged
	input  []byte             // of a transcript that came on standard input
}

// maxHeld bounds what is imported at once, in bytes of messages.
const maxHeld = 256 << 20

// OpenRecordings reads the first lines of transcripts, and all of what other programs have
// recorded. The error is a *RecordingError for the first that cannot be read, or where they are of
// targets of different roles.
func OpenRecordings(paths []string, input io.Reader) (*Recordings, error) {
	all := &Recordings{}
	known := map[string]int{} // sittings by the name of the recording
	for _, path := range paths {
		if path == StandardInput {
			var err error
			if all.input, err = io.ReadAll(io.LimitReader(input, maxInput+1)); err != nil {
				return nil, &RecordingError{fmt.Sprintf("standard input cannot be read: %s", err)}
			}
			if len(all.input) > maxInput {
				return nil, &RecordingError{
					fmt.Sprintf("standard input has more than %d MiB; put it into a file", maxInput>>20),
				}
			}
		}
		parts, err := all.open(path)
		if err != nil {
			return nil, err
		}
		for _, one := range parts {
			at, begun := known[one.header.Recording]
			if !begun || one.header.Recording == "" {
				at = len(all.sittings)
				known[one.header.Recording] = at
				all.sittings = append(all.sittings, nil)
			}
			all.sittings[at] = append(all.sittings[at], one)
		}
	}
	for _, one := range all.sittings {
		slices.SortStableFunc(one, func(a, b part) int { return a.header.Part - b.header.Part })
		if err := all.enter(one[0]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// maxInput bounds what is read of standard input.
const maxInput = 128 << 20

// open reads the header of a transcript, or all of what another program has recorded.
func (r *Recordings) open(path string) ([]part, error) {
	own := false
	prefix, err := readRecording(path, r.input, func(file io.Reader) ([]byte, error) {
		begun := make([]byte, importer.PrefixSize)
		count, err := io.ReadFull(file, begun)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return begun[:count], err
	})
	if err == nil {
		own = importer.IsTranscript(prefix)
	}
	switch {
	case err != nil:
		return nil, err
	case own:
		header, err := readRecording(path, r.input, transcript.ReadHeader)
		if err == nil {
			err = wrongHeader(path, header)
		}
		one := part{path: path, header: header}
		if path == StandardInput {
			one.input = r.input
		}
		return []part{one}, err
	}
	found, err := readRecording(path, r.input, importer.Read)
	if err != nil {
		return nil, err
	}
	if text := found.Notice(); text != "" {
		r.notices = append(r.notices, shownPath(path)+": "+text)
	}
	var parts []part
	for position, one := range found.Connections {
		name := path
		if len(found.Connections) > 1 {
			name = fmt.Sprintf("%s#%d", path, position+1)
		}
		for _, event := range one.Events {
			r.held += len(event.Raw)
		}
		if err := wrongHeader(path, one.Header); err != nil {
			return nil, err
		}
		one.Header.Recording, one.Header.Part = "", 0
		parts = append(parts, part{path: name, header: one.Header, events: one.Events})
	}
	if r.held > maxHeld {
		return nil, &RecordingError{
			fmt.Sprintf(
				"%s and those before it have more than %d MiB of messages; check fewer files at once",
				shownPath(path),
				maxHeld>>20,
			),
		}
	}
	return parts, nil
}

// shownPath is a path for people.
func shownPath(path string) string {
	if path == StandardInput {
		return "standard input"
	}
	return path
}

// Each shows all connections one after the other, each read anew.
func (r *Recordings) Each(show func(Recorded) error) error {
	for _, one := range r.sittings {
		header, events, err := one.read()
		if err == nil {
			err = show(Recorded{one[0].path, header, events})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enter makes sure that all transcripts are of targets of one role, or of both peers.
func (r *Recordings) enter(one part) error {
	roles := []string{one.header.Role}
	if one.header.Role == "" {
		roles = peers()
	}
	switch {
	case len(r.Roles) == 0:
		r.Roles = roles
	case !slices.Equal(r.Roles, roles):
		first := r.sittings[0][0]
		return &RecordingError{
			fmt.Sprintf(
				"%s is of %s, and %s of %s; check the transcripts of each role by themselves",
				first.path, described(r.Roles), one.path, described(roles),
			),
		}
	}
	return nil
}

func described(roles []string) string {
	if len(roles) > 1 {
		return "both peers"
	}
	return "a " + roles[0]
}

// readRecording opens a file, or what came on standard input, and reads of it.
func readRecording[T any](path string, input []byte, read func(io.Reader) (T, error)) (found T, err error) {
	var from io.Reader = bytes.NewReader(input)
	if path != StandardInput {
		file, err := os.Open(path)
		if err != nil {
			return found, &RecordingError{fmt.Sprintf("%s cannot be read: %s", path, files.Reason(err))}
		}
		defer func() { _ = file.Close() }() // it was only read
		from = file
	}
	path = shownPath(path)
	if found, err = read(from); err == nil {
		return found, nil
	}
	line := 1
	if at, isLine := errors.AsType[*transcript.LineError](err); isLine {
		line, err = at.Line, at.Err
	}
	return found, &RecordingError{fmt.Sprintf("%s:%d: %s", path, line, files.Reason(err))}
}

// wrongHeader tells what of a header is nothing that can be judged; nil when all of it can.
func wrongHeader(path string, header transcript.Header) error {
	revisions := protocol.Released()
	if header.Unjudged {
		revisions = append(revisions, header.Revision) // it may be any
	}
	roles := protocol.Roles()
	if header.Grade != "" || len(header.Lacks) > 0 { // recorded between two peers, maybe before they agreed
		revisions, roles = append(revisions, ""), append(roles, "")
	}
	for _, one := range []struct {
		member, value string
		known         []string
	}{
		{"role", header.Role, roles},
		{"transport", header.Transport, protocol.Transports()},
		{"revision", header.Revision, revisions},
	} {
		if !slices.Contains(one.known, one.value) {
			return &RecordingError{fmt.Sprintf(
				"%s:1: the %s in the header is %.40q, not one of %s; record the transcript again",
				path, one.member, one.value,
				strings.Join(slices.DeleteFunc(one.known, func(known string) bool { return known == "" }), ", "),
			)}
		}
	}
	return nil
}

// Judge judges the target of a role by the rules: each connection at the revision that it
// has negotiated. Of the options, those of the report, the role and the filter count. It
// holds one connection at a time; when the context ends, the report has those judged until
// then. The error is a *RecordingError for the first that cannot be read, or a
// *plan.FilterError.
func (r *Recordings) Judge(ctx context.Context, options Options) (*reports.Run, error) {
	all := 0
	for _, one := range r.sittings {
		all += len(one)
	}
	judging, err := newJudgement(options, all)
	if err != nil {
		return nil, err
	}
	judging.notices = r.notices
	for _, one := range r.sittings {
		if ctx.Err() != nil {
			judging.report.Interrupted = context.Cause(ctx).Error()
			break
		}
		header, events, err := one.read()
		if err != nil {
			return nil, err
		}
		judging.judge(header, events, one[0].path, len(one))
	}
	return judging.conclude()
}

// read reads a connection.
func (s sitting) read() (header transcript.Header, events []transcript.Event, err error) {
	type contents struct {
		header transcript.Header
		events []transcript.Event
	}
	for position, one := range s {
		if one.events != nil {
			return one.header, slices.Clone(one.events), nil // which judging marks
		}
		read, err := readRecording(one.path, one.input, func(r io.Reader) (found contents, err error) {
			found.header, found.events, err = transcript.Read(r)
			return found, err
		})
		if err != nil {
			return header, nil, err
		}
		if position == 0 {
			header = read.header
			header.Joined = header.Joined || header.Part > 1
		}
		header.Agreement = header.With(read.header.Agreement)
		header.Dropped = header.Dropped || read.header.Dropped ||
			position > 0 && one.header.Part != s[position-1].header.Part+1
		events = append(events, read.events...)
	}
	return header, events, nil
}

// judgement is of recorded connections, by rules alone: each cell has the connections that
// belong to it.
type judgement struct {
	collector

	started time.Time
	rules   []rules.Rule
	joined  int // connections that had begun before they were recorded
	notices []string
	altered int // connections into which faults were injected
	cut     int // connections of which more was sent than is judged
}

func newJudgement(options Options, transcripts int) (*judgement, error) {
	started := time.Now()
	memory.Confine(memory.Alone)
	requirements, err := suites.Catalogue()
	if err != nil {
		return nil, err
	}
	j := &judgement{
		collector: collector{options: options, catalogue: requirements, report: &reports.Run{
			Format:   reports.Format,
			Tool:     options.Tool,
			Started:  started,
			Host:     hostname(),
			Draft:    options.Draft,
			Target:   reports.Target{Role: options.Role},
			Recorded: &reports.Recorded{All: transcripts},
		}},
		started: started, rules: suites.Rules(),
	}
	return j, j.readFilter()
}

// judge judges one connection, which was recorded in some transcripts.
func (j *judgement) judge(header transcript.Header, events []transcript.Event, name string, transcripts int) {
	j.count(j.examine(header, events, name), transcripts)
}

// examined is what was found in one connection.
type examined struct {
	joined, altered bool   // it is not judged for that
	defect          string // of the harness, for which it is not judged
	judged          bool
	cut             bool // there was more of it
	draft           bool
	target          reports.Identity
	capabilities    json.RawMessage
	lacking         map[string]transcript.Lack // what rules need that the recording has not, by rule
	scope.Connection
}

// examine judges one connection, and keeps nothing of it. Several goroutines may do so at a time.
func (j *judgement) examine(header transcript.Header, events []transcript.Event, name string) (found examined) {
	switch {
	case header.Unjudged:
		return found
	case header.Joined:
		found.joined = true
		return found
	case slices.ContainsFunc(events, func(event transcript.Event) bool { return event.Made != "" }):
		found.altered = true
		return found
	}
	if missing(events) {
		header.Lacks = append(slices.Clone(header.Lacks), transcript.Whole)
	}
	if header.Role == "" {
		events = bounded(&header, events, name)
		header.Role = other(j.options.Role)
		j.mark(header, events, name)
		header.Role = j.options.Role
	}
	conversation := recall(header, events, name)
	if !slices.Contains(protocol.Released(), conversation.Revision) {
		return found // it was negotiated, and has no rules
	}
	found.judged, found.cut, found.draft = true, header.Dropped, header.Draft && j.options.Draft == nil
	found.target, found.capabilities = identity(introduction(conversation)), rawJSON(declared(conversation))
	of := &scope.Scope{Cell: conversation.Cell, Catalogue: j.catalogue, Rules: j.rules}
	standing, _ := of.ApplicableRules()
	standing, found.lacking = able(of, standing, header.Lacks)
	found.Connection = scope.Connection{
		Cell: conversation.Cell, Name: name, Findings: rules.Apply(standing, conversation),
	}
	return found
}

// maxDefects bounds those that are told.
const maxDefects = 3

// missing tells whether something is missing before the last event.
func missing(events []transcript.Event) bool {
	for position, event := range events {
		if event.Kind == transcript.Gap || event.Sequence != position {
			return true
		}
	}
	return false
}

// count takes what was found in a connection, which was recorded in some transcripts.
func (j *judgement) count(found examined, transcripts int) {
	switch {
	case found.joined:
		j.joined++
	case found.altered:
		j.altered++
	case found.defect != "":
		if len(j.report.Errors) < maxDefects {
			j.Failed(errors.New(found.defect))
		}
	case found.judged:
		j.report.Recorded.Judged += transcripts
		state := j.cell(found)
		for id, lack := range found.lacking {
			state.lacking[id] = lack.Reason()
		}
		if found.draft {
			state.ofDraft += transcripts
		}
		if found.cut {
			j.cut++
		}
		j.closed(state.planned, found.Connection)
	}
}

// able returns the rules that need nothing of what a recording lacks, and for the others
// what they need, by their ids.
func able(of *scope.Scope, all []rules.Rule, lacks []transcript.Lack) ([]rules.Rule, map[string]transcript.Lack) {
	lacking := map[string]transcript.Lack{}
	judging := slices.DeleteFunc(slices.Clone(all), func(rule rules.Rule) bool {
		lack := of.Lacking(rule, lacks)
		if lack != "" {
			lacking[rule.ID()] = lack
		}
		return lack != ""
	})
	return judging, lacking
}

// other is the role of the peer.
func other(role string) string {
	if role == protocol.ClientRole {
		return protocol.ServerRole
	}
	return protocol.ClientRole
}

// bounded leaves as much of a connection as is judged while it grows.
func bounded(header *transcript.Header, events []transcript.Event, name string) []transcript.Event {
	log := transcript.NewLog(name)
	for _, event := range events {
		log.Keep(event)
	}
	header.Dropped = header.Dropped || log.Dropped() > 0
	return log.Events()
}

// mark marks the events with which the peer breaks what it must keep: what the target does
// in answer is not to be judged as if they were legal.
func (j *judgement) mark(header transcript.Header, events []transcript.Event, name string) {
	conversation := recall(header, events, name)
	if !slices.Contains(protocol.Released(), conversation.Revision) {
		return
	}
	of := &scope.Scope{Cell: conversation.Cell, Catalogue: j.catalogue, Rules: j.rules}
	standing, _ := of.ApplicableRules()
	standing, _ = able(of, standing, header.Lacks)
	for _, finding := range rules.Apply(standing, conversation) {
		at := slices.IndexFunc(standing, func(rule rules.Rule) bool { return rule.ID() == finding.Rule })
		ids := of.Applicable(standing[at].Verifies.IDs)
		for _, sequence := range finding.Broken {
			at, there := slices.BinarySearchFunc(events, sequence, func(one transcript.Event, sequence int) int {
				return one.Sequence - sequence
			})
			if there {
				events[at].Breaks = ids[0]
			}
		}
	}
}

// recall makes of a transcript the conversation that it was. Its events are known by the
// path of the file.
func recall(header transcript.Header, events []transcript.Event, path string) *rules.Conversation {
	whole, budget := !missing(events), memory.BudgetAlone
	for position := range events {
		budget -= len(events[position].Raw)
		events[position].Connection = path
	}
	cell := check.Cell{Role: header.Role, Revision: header.Revision, Transport: header.Transport}
	if cell.Revision == "" {
		cell.Revision = spoken(cell, events)
	}
	log := transcript.NewLogIn(transcript.NewMemoryBudget(max(memory.LeastBudget, budget)), path)
	conversation := rules.ReadConversation(cell, events, whole, log)
	conversation.Recall(rules.Facts{
		Incomplete:         header.Dropped,
		ClientCapabilities: header.Capabilities.Client,
		ServerCapabilities: header.Capabilities.Server,
		Tools:              header.Tools,
	})
	return conversation
}

// spoken is the revision that peers spoke who have agreed on none in a handshake: the one
// that a request names which was served; "" for none.
func spoken(cell check.Cell, events []transcript.Event) string {
	released := protocol.Released()
	cell.Revision = released[len(released)-1]
	conversation := rules.NewConversation(cell, events, true)
	if conversation.Negotiated {
		return conversation.Revision
	}
	for _, message := range conversation.Messages {
		if message.Kind != jsonrpc.Response || message.Request == nil {
			continue
		}
		if _, refused := message.Error(); refused {
			continue
		}
		if revision, _ := message.Request.Meta()[mcp.MetaVersion].(string); slices.Contains(released, revision) {
			return revision
		}
	}
	return ""
}

// cell returns the cell that a connection belongs to.
func (j *judgement) cell(one examined) *cellState {
	if state := j.stateOf(one.Cell); state != nil {
		return state
	}
	state := &cellState{
		planned:  len(j.cells),
		findings: map[string]*found{},
		lacking:  map[string]string{},
		environment: &session.Environment{Offer: offer.Offer{Scope: &scope.Scope{
			Cell: one.Cell, Catalogue: j.catalogue, Rules: j.rules, Survey: &survey.Survey{},
		}}},
		report: reports.Cell{
			Role: one.Cell.Role, Revision: one.Cell.Revision, Transport: one.Cell.Transport, Spoken: true,
			Target: one.target, Capabilities: one.capabilities,
		},
	}
	state.rules, state.otherTransport = state.environment.ApplicableRules()
	state.all = len(state.rules) + len(state.otherTransport)
	j.cells = append(j.cells, state)
	return state
}

// declared are the capabilities of the target in a conversation.
func declared(conversation *rules.Conversation) map[string]any {
	if conversation.Role == protocol.ClientRole {
		return conversation.ClientCapabilities
	}
	return conversation.ServerCapabilities
}

// introduction is what the target says of itself in a conversation; nil when it says
// nothing.
func introduction(conversation *rules.Conversation) map[string]any {
	for _, message := range conversation.Messages {
		var info any
		switch {
		case conversation.Role == protocol.ServerRole && message.FromTarget(conversation.Cell) && message.Request != nil:
			info = message.ResultObject()["serverInfo"]
			if info == nil {
				info = message.Meta()[mcp.MetaServerInfo]
			}
		case conversation.Role == protocol.ClientRole && message.FromTarget(conversation.Cell):
			info = message.ParamsObject()["clientInfo"]
			if info == nil {
				info = message.Meta()[mcp.MetaClientInfo]
			}
		}
		if introduced, isObject := info.(map[string]any); isObject {
			return introduced
		}
	}
	return nil
}

// conclude makes the report.
func (j *judgement) conclude() (*reports.Run, error) {
	switch {
	case len(j.cells) > 0 || j.report.Interrupted != "" || len(j.report.Errors) > 0:
	case j.altered > 0:
		return nil, &RecordingError{"none of these transcripts is judged: faults were injected into all of them"}
	case j.joined > 0:
		return nil, &RecordingError{
			"none of these transcripts can be judged: the connections had begun before they were recorded, or their first parts are missing",
		}
	default:
		return nil, &RecordingError{
			"none of these transcripts can be judged: the target agreed to none of the revisions " + strings.Join(
				protocol.Released(),
				", ",
			),
		}
	}
	slices.SortStableFunc(
		j.cells,
		func(a, b *cellState) int { return strings.Compare(a.report.Name(), b.report.Name()) },
	)
	none := !slices.ContainsFunc(j.cells, func(state *cellState) bool { return len(j.chosenRules(state)) > 0 })
	if len(j.cells) > 0 && none {
		return nil, j.unmatched()
	}
	for _, state := range j.cells {
		if state.ofDraft > 0 {
			state.report.Notices = append(state.report.Notices, fmt.Sprintf(
				"%d of these transcripts are of a target that was judged by a draft, and are judged by %s here; check --revision draft --spec DIR --schema FILE judges them by a draft",
				state.ofDraft,
				state.report.Revision,
			))
		}
	}
	if j.altered > 0 && len(j.cells) > 0 {
		notices := &j.cells[0].report.Notices
		*notices = append(*notices, fmt.Sprintf("not judged: %d into which faults were injected", j.altered))
	}
	if j.joined > 0 && len(j.cells) > 0 {
		notices := &j.cells[0].report.Notices
		*notices = append(*notices, fmt.Sprintf(
			"not judged: %d that had begun before the recording did, or of which the first part is missing", j.joined,
		))
	}
	if j.cut > 0 {
		notices := &j.cells[0].report.Notices
		*notices = append(*notices, fmt.Sprintf(
			"judged in part: %d of which more was sent than is judged of one connection, %d events or %d MiB, or was recorded",
			j.cut,
			transcript.MaxEvents,
			transcript.MaxBytes>>20,
		))
	}
	if len(j.cells) > 0 {
		j.cells[0].report.Notices = append(j.cells[0].report.Notices, j.notices...)
	}
	j.merge()
	j.report.Duration = reports.SecondsOf(time.Since(j.started))
	return j.report, nil
}

// unmatched says why a filter chooses no rule of those that judge the transcripts.
func (j *judgement) unmatched() error {
	cells := make([]string, len(j.cells))
	for i, state := range j.cells {
		cells[i] = state.report.Name()
	}
	return &plan.FilterError{
		Reason: fmt.Sprintf("--filter %q matches no rule at %s; a check needs a target: mcpconform %s",
			j.options.Filter, strings.Join(cells, ", "), j.report.Target.Role),
	}
}
