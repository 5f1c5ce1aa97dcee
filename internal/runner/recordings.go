package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/mcp"
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

// transcriptEnding is how the names of transcript files end.
const transcriptEnding = ".jsonl"

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
					transcriptEnding,
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
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{filepath.Clean(path)}, err
	}
	err = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasSuffix(path, transcriptEnding) {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

// Recorded judges transcripts by the rules: each connection at the revision that it has
// negotiated. Of the options, those of the report and the filter count. It holds one
// transcript at a time; when the context ends, the report has those judged until then.
// The error is a *RecordingError for the first that cannot be read, or a *plan.FilterError.
func Recorded(ctx context.Context, options Options, files []string) (*reports.Run, error) {
	started := time.Now()
	confine(memoryAlone)
	requirements, err := suites.Catalogue()
	if err != nil {
		return nil, err
	}
	r := &recordings{
		collector: collector{options: options, catalogue: requirements, report: &reports.Run{
			Format:   reports.Format,
			Tool:     options.Tool,
			Started:  started,
			Host:     hostname(),
			Draft:    options.Draft,
			Recorded: &reports.Recorded{All: len(files)},
		}},
		rules: suites.Rules(),
	}
	for _, file := range files {
		if ctx.Err() != nil {
			r.report.Interrupted = context.Cause(ctx).Error()
			break
		}
		if err := r.judge(file); err != nil {
			return nil, err
		}
	}
	if err := r.conclude(); err != nil {
		return nil, err
	}
	r.report.Duration = reports.SecondsOf(time.Since(started))
	return r.report, nil
}

// recordings are judged by rules alone: each cell has the connections that belong to it.
type recordings struct {
	collector

	rules []rules.Rule
	first string // path of the transcript that says of which role all are
}

// judge reads and judges one transcript.
func (r *recordings) judge(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return &RecordingError{fmt.Sprintf("%s cannot be read: %s", path, files.Reason(err))}
	}
	defer func() { _ = file.Close() }() // it was only read
	header, events, err := transcript.Read(file)
	if err == nil {
		err = known(header)
	}
	if err != nil {
		line := 1
		if at, isLine := errors.AsType[*transcript.LineError](err); isLine {
			line, err = at.Line, at.Err
		}
		return &RecordingError{fmt.Sprintf("%s:%d: %s", path, line, files.Reason(err))}
	}
	if err := r.enter(header.Role, path); err != nil {
		return err
	}
	if header.Unjudged {
		return nil
	}
	conversation := recall(header, events, path)
	if !slices.Contains(protocol.Released(), conversation.Revision) {
		return nil // it was negotiated, and has no rules
	}
	r.report.Recorded.Judged++
	state := r.cell(conversation)
	if header.Draft && r.options.Draft == nil {
		state.ofDraft++
	}
	r.closed(state.planned, scope.Connection{
		Cell: conversation.Cell, Name: path, Findings: rules.Apply(state.rules, conversation),
	})
	return nil
}

// enter makes sure that all transcripts are of targets of one role, for whose rules the
// filter is.
func (r *recordings) enter(role, path string) (err error) {
	switch target := &r.report.Target; {
	case target.Role == role:
		return nil
	case target.Role != "":
		return &RecordingError{
			fmt.Sprintf(
				"%s is of a %s, and %s of a %s; check the transcripts of each role by themselves",
				r.first,
				target.Role,
				path,
				role,
			),
		}
	}
	r.report.Target.Role, r.options.Role, r.first = role, role, path
	return r.readFilter()
}

// known tells what of a header is nothing that can be judged; nil when all of it can.
func known(header transcript.Header) error {
	revisions := protocol.Released()
	if header.Unjudged {
		revisions = append(revisions, header.Revision) // it may be any
	}
	for _, one := range []struct {
		member, value string
		known         []string
	}{
		{"role", header.Role, protocol.Roles()},
		{"transport", header.Transport, protocol.Transports()},
		{"revision", header.Revision, revisions},
	} {
		if !slices.Contains(one.known, one.value) {
			return fmt.Errorf(
				"the %s in the header is %.40q, not one of %s; record the transcript again",
				one.member,
				one.value,
				strings.Join(one.known, ", "),
			)
		}
	}
	return nil
}

// recall makes of a transcript the conversation that it was. Its events are known by the
// path of the file.
func recall(header transcript.Header, events []transcript.Event, path string) *rules.Conversation {
	whole, budget := true, budgetAlone
	for position := range events {
		budget -= len(events[position].Raw)
		whole = whole && events[position].Sequence == position
		events[position].Connection = path
	}
	cell := check.Cell{Role: header.Role, Revision: header.Revision, Transport: header.Transport}
	log := transcript.NewLogIn(transcript.NewMemoryBudget(max(leastBudget, budget)), path)
	conversation := rules.ReadConversation(cell, events, whole, log)
	conversation.Recall(rules.Facts{
		Incomplete:         header.Dropped,
		ClientCapabilities: header.Capabilities.Client,
		ServerCapabilities: header.Capabilities.Server,
		Tools:              header.Tools,
	})
	return conversation
}

// cell returns the cell that a conversation belongs to.
func (r *recordings) cell(conversation *rules.Conversation) *cellState {
	if state := r.stateOf(conversation.Cell); state != nil {
		return state
	}
	declared := conversation.ServerCapabilities
	if conversation.Role == protocol.ClientRole {
		declared = conversation.ClientCapabilities
	}
	state := &cellState{
		planned:  len(r.cells),
		findings: map[string]*found{},
		environment: &session.Environment{Scope: &scope.Scope{
			Cell: conversation.Cell, Catalogue: r.catalogue, Rules: r.rules, Survey: &survey.Survey{},
		}},
		report: reports.Cell{
			Role: conversation.Role, Revision: conversation.Revision, Transport: conversation.Transport, Spoken: true,
			Target: identity(introduction(conversation)), Capabilities: rawJSON(declared),
		},
	}
	state.rules, state.otherTransport = state.environment.ApplicableRules()
	state.all = len(state.rules) + len(state.otherTransport)
	r.cells = append(r.cells, state)
	return state
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
func (r *recordings) conclude() error {
	if len(r.cells) == 0 && r.report.Interrupted == "" {
		return &RecordingError{
			"none of these transcripts can be judged: the target agreed to none of the revisions " + strings.Join(
				protocol.Released(),
				", ",
			),
		}
	}
	slices.SortStableFunc(
		r.cells,
		func(a, b *cellState) int { return strings.Compare(a.report.Name(), b.report.Name()) },
	)
	none := !slices.ContainsFunc(r.cells, func(state *cellState) bool { return len(r.chosenRules(state)) > 0 })
	if len(r.cells) > 0 && none {
		return r.unmatched()
	}
	for _, state := range r.cells {
		if state.ofDraft > 0 {
			state.report.Notices = append(state.report.Notices, fmt.Sprintf(
				"%d of these transcripts are of a target that was judged by a draft, and are judged by %s here; check --revision draft --spec DIR --schema FILE judges them by a draft",
				state.ofDraft,
				state.report.Revision,
			))
		}
	}
	r.merge()
	return nil
}

// unmatched says why a filter chooses no rule of those that judge the transcripts.
func (r *recordings) unmatched() error {
	cells := make([]string, len(r.cells))
	for i, state := range r.cells {
		cells[i] = state.report.Name()
	}
	return &plan.FilterError{
		Reason: fmt.Sprintf("--filter %q matches no rule at %s; a check needs a target: mcpconform %s",
			r.options.Filter, strings.Join(cells, ", "), r.report.Target.Role),
	}
}
