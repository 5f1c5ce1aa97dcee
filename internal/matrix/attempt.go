package matrix

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mcpconform/mcpconform/internal/baseline"
	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/reports"
)

// State is what has become of a target.
type State string

// The states, in the order in which they are counted out.
const (
	Conforms    State = "conforms"
	InPart      State = "no failure found" // in the part of the checks that a filter or profile chose
	Broken      State = "does not conform"
	EndedEarly  State = "ended early"    // by its deadline, a signal, or because the target went away
	Unreachable State = "not reached"    // it could not be started, or does not speak MCP
	NotRun      State = "not run"        // its options are wrong, or there was no attempt
	Harness     State = "harness failed" // nothing was found out about the target
)

// States lists every state.
func States() []State {
	return []State{Conforms, InPart, Broken, EndedEarly, Unreachable, NotRun, Harness}
}

// Of is the state behind a number of targets: "3 conform".
func (s State) Of(targets int) string {
	if targets != 1 {
		switch s {
		case Conforms:
			return "conform"
		case Broken:
			return "do not conform"
		}
	}
	return string(s)
}

// Attempt is one run of a target, or what kept it from being one. The run itself stands in
// a file beside it.
type Attempt struct {
	Format     int             `json:"format"` // always attemptFormat
	ID         string          `json:"id"`     // when it began, UTC: later ones sort behind
	Target     string          `json:"target"`
	Key        string          `json:"key"` // fingerprint of the entry, and of the harness
	Started    time.Time       `json:"started"`
	Duration   reports.Seconds `json:"duration"`
	State      State           `json:"state"`
	Reason     string          `json:"reason,omitempty"`     // one line: why it is not whole
	Conclusion string          `json:"conclusion,omitempty"` // of the run
	// Run is what the site needs of the run; nil where it says nothing of the target.
	Run *reports.Run `json:"run,omitempty"`
}

const (
	attemptFormat = 1
	// kept is how many attempts a folder keeps: two weeks of working days.
	kept = 10
	// idLayout has no colon, which Windows does not take.
	idLayout = "2006-01-02T15-04-05.000Z"
	// maxAttempt bounds the file of an attempt that is read: a hundred times a usual one.
	maxAttempt = 32 << 20

	runSuffix     = ".run.json"
	attemptSuffix = ".attempt.json"
	pageSuffix    = ".html"
)

// whole tells whether there is no reason to repeat the attempt.
func (a *Attempt) whole() bool { return a.State.good() || a.State == Broken }

// good tells whether nothing failed.
func (s State) good() bool { return s == Conforms || s == InPart }

// configFile is the config that a run of the entry reads, if it is there.
func (e *Entry) configFile() string { return e.path(cmp.Or(e.Config, config.DefaultFile)) }

// path is where a path of the entry leads from the working directory.
func (e *Entry) path(name string) string {
	if filepath.IsAbs(name) || e.Directory == "" {
		return name
	}
	return filepath.Join(e.Directory, name)
}

// key is the fingerprint of all that decides what a run of the entry finds, but for the
// target itself.
func (e *Entry) key(version string) string {
	raw, err := os.ReadFile(e.configFile())
	known := e.Baseline
	if known == "" && err == nil {
		if file, wrong := config.Parse(e.configFile(), raw); wrong == nil {
			known = file.Baseline
		}
	}
	var deviations []reports.Deviation
	if known != "" {
		if !strings.HasPrefix(known, baseline.SDKPrefix) {
			known = e.path(known)
		}
		deviations, _ = baseline.Load(known) // the run tells what is wrong with it
	}
	text, err := stdjson.Marshal([]any{e, string(raw), deviations, version})
	if err != nil {
		panic(err) // plain values
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// folder holds what was found of one target.
type folder string

func folderOf(out, name string) folder { return folder(filepath.Join(out, name)) }

func (f folder) file(id, suffix string) string { return filepath.Join(string(f), id+suffix) }

// ids are those of the attempts, the latest first.
func (f folder) ids() ([]string, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", f, files.Reason(err))
	}
	var ids []string
	for _, entry := range entries {
		if id, is := strings.CutSuffix(entry.Name(), attemptSuffix); is && !strings.HasPrefix(id, ".") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids, nil
}

// read reads an attempt.
func (f folder) read(id string) (*Attempt, error) {
	name := f.file(id, attemptSuffix)
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, files.Reason(err))
	}
	defer func() { _ = file.Close() }() // nothing was written
	var attempt Attempt
	if err := json.UnmarshalRead(io.LimitReader(file, maxAttempt), &attempt); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if attempt.Format != attemptFormat || !slices.Contains(States(), attempt.State) {
		return nil, fmt.Errorf("%s was written by another version of mcpconform", name)
	}
	return &attempt, nil
}

// save writes an attempt, and removes what is older than those that are kept.
func (f folder) save(attempt *Attempt) error {
	attempt.Format = attemptFormat
	if err := reports.WriteFile(f.file(attempt.ID, attemptSuffix), func(w io.Writer) error {
		return json.MarshalWrite(w, attempt)
	}); err != nil {
		return err
	}
	return f.prune()
}

// prune removes all but the latest attempts. The last one that is whole stays: changes are
// told since then.
func (f folder) prune() error {
	ids, err := f.ids()
	if err != nil || len(ids) <= kept {
		return err
	}
	latest, older := ids[:kept], slices.Clone(ids[kept:])
	if !slices.ContainsFunc(latest, f.whole) {
		if at := slices.IndexFunc(older, f.whole); at >= 0 {
			older = slices.Delete(older, at, at+1)
		}
	}
	for _, id := range older {
		for _, suffix := range []string{attemptSuffix, runSuffix, pageSuffix} {
			if err := os.Remove(f.file(id, suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (f folder) whole(id string) bool {
	attempt, err := f.read(id)
	return err == nil && attempt.whole()
}

// newID is that of an attempt which begins now: no other has it.
func (f folder) newID(now time.Time) (string, error) {
	ids, err := f.ids()
	if err != nil {
		return "", err
	}
	for ; ; now = now.Add(time.Millisecond) {
		if id := now.UTC().Format(idLayout); len(ids) == 0 || id > ids[0] {
			return id, nil
		}
	}
}

// latest is the newest attempt; nil for none.
func (f folder) latest() (*Attempt, error) {
	ids, err := f.ids()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return f.read(ids[0])
}

// textKept bounds what is kept of what a target said, in bytes: its own page has all.
const textKept = 200

// digest is what the site needs of a run: verdicts, and what is broken.
func digest(run *reports.Run) *reports.Run {
	small := *run
	small.Command, small.Baseline = nil, nil
	small.Cells = slices.Clone(run.Cells)
	for i := range small.Cells {
		cell := &small.Cells[i]
		cell.Capabilities, cell.Notices = nil, nil
		cell.Results = slices.Clone(cell.Results)
		for j, result := range cell.Results {
			cell.Results[j] = brief(&result)
		}
	}
	return &small
}

func brief(result *reports.Result) reports.Result {
	small := reports.Result{
		ID: result.ID, Kind: result.Kind, Page: result.Page, Group: result.Group, Text: result.Text,
		Verdict: result.Verdict, Follows: result.Follows,
	}
	if result.Known != nil {
		small.Known = &reports.Excuse{Was: result.Known.Was, Reason: clip(result.Known.Reason), At: result.Known.At}
	}
	if result.Verdict == reports.Passed || result.Verdict == reports.Skipped {
		return small
	}
	small.Requirements = result.Requirements
	if len(result.Failures) > 0 {
		first := result.Failures[0]
		small.Failures = []reports.Failure{{Wanted: clip(first.Wanted), Found: clip(first.Found)}}
	}
	return small
}

// clip makes one short line of a text.
func clip(text string) string {
	return excerpt.Within(reports.Visible(excerpt.OneLine(text)), textKept)
}

// Found says in a few words what a run found; "" where there is none.
func (a *Attempt) Found() string {
	if a.Run == nil {
		return ""
	}
	counts := a.Run.Counts()
	texts := []string{fmt.Sprintf("%d passed", counts.Passed)}
	for _, v := range []reports.Verdict{reports.Failed, reports.Known, reports.Warned, reports.Inconclusive} {
		if n := counts.Of(v); n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(texts, ", ")
}
