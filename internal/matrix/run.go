package matrix

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/wait"
	"github.com/mcpconform/mcpconform/reports"
)

// Options say how targets are run.
type Options struct {
	Out      string   // the folder in which the folders of targets stand
	Program  []string // the harness
	Version  string   // of the harness
	Jobs     int      // how many targets run at once
	Deadline time.Duration
	Force    bool          // run again what was run
	MaxAge   time.Duration // run again what is older; 0 for nothing
	// Done is told of each target that has ended, or was run before; not concurrently.
	Done func(attempt *Attempt, before bool)

	slack time.Duration // for tests; 0 for the usual one
}

// Run runs each target that has no whole attempt by the same entry and version. It ends
// with the context; what was not begun by then has no attempt. An error is one of this
// machine, such as a full disk: what a target does is in its attempt.
func Run(ctx context.Context, entries []Entry, o Options) error {
	var mu sync.Mutex // of problems and Done
	var problems []error
	var workers sync.WaitGroup
	next := make(chan *Entry)
	for range o.Jobs {
		workers.Go(func() {
			for entry := range next {
				if ctx.Err() != nil {
					continue
				}
				attempt, before, err := o.one(ctx, entry)
				mu.Lock()
				if err != nil {
					problems = append(problems, fmt.Errorf("%s: %w", entry.Name, err))
				} else {
					o.Done(attempt, before)
				}
				mu.Unlock()
			}
		})
	}
	for i := range entries {
		next <- &entries[i] // a worker is free within the bounds of a run
	}
	close(next)
	workers.Wait()
	return errors.Join(problems...)
}

// one runs a target, unless it was run before.
func (o *Options) one(ctx context.Context, entry *Entry) (attempt *Attempt, before bool, err error) {
	folder := folderOf(o.Out, entry.Name)
	key := entry.key(o.Version)
	if !o.Force {
		if known, err := folder.latest(); err == nil && known != nil && known.whole() && known.Key == key &&
			(o.MaxAge == 0 || time.Since(known.Started) <= o.MaxAge) {
			return known, true, nil
		}
	}
	if err := os.MkdirAll(string(folder), 0o755); err != nil { //nolint:gosec // a site is for everyone
		return nil, false, fmt.Errorf("cannot create %s: %w", folder, files.Reason(err))
	}
	started := time.Now()
	id, err := folder.newID(started)
	if err != nil {
		return nil, false, err
	}
	attempt = &Attempt{ID: id, Target: entry.Name, Key: key, Started: started.UTC()}
	o.check(ctx, entry, attempt, folder.file(id, runSuffix))
	attempt.Duration = reports.SecondsOf(time.Since(started))
	return attempt, false, folder.save(attempt)
}

const (
	// overrun is how long a run may take to end and to write its reports: two seconds, and
	// ten times more on a machine that is busy with others.
	overrun = 30 * time.Second
	// parting is how much of it a run has when all are to end.
	parting = 3500 * time.Millisecond
	// slack is what a run has beyond its deadline: to start, and to end.
	slack = 2 * overrun
)

// check starts a run and waits for its end, which no target can put off.
func (o *Options) check(ctx context.Context, entry *Entry, attempt *Attempt, file string) {
	deadline := o.deadline(entry)
	arguments, err := entry.arguments(file, deadline)
	if err != nil {
		attempt.State, attempt.Reason = Harness, clip(err.Error())
		return
	}
	process, err := target.Start(target.Command{
		Args: append(append([]string{}, o.Program...), arguments...),
		Dir:  entry.Directory,
		Env:  []string{"GITHUB_ACTIONS="}, // what a build shows of itself is told for all targets together
	})
	if err != nil {
		attempt.State, attempt.Reason = Harness, clip(err.Error())
		if errors.Is(err, target.ErrDirectory) {
			attempt.State = NotRun
		}
		return
	}
	defer func() { _ = process.Close() }() // it has ended
	go func() { _, _ = io.Copy(io.Discard, process.Stdout) }()
	tooLong := time.NewTimer(deadline + cmp.Or(o.slack, slack))
	defer tooLong.Stop()
	cut := ""
	select {
	case <-process.Done():
	case <-ctx.Done():
		cut = "interrupt"
	case <-tooLong.C:
		cut = fmt.Sprintf("it did not finish by its deadline of %s", deadline)
	}
	if cut != "" {
		// Its own context is over; the steps of a shutdown are bounded.
		ending, stop := wait.WithTimeout(context.WithoutCancel(ctx), parting)
		if ctx.Err() == nil {
			ending = context.Background()
		}
		_, _ = process.Shutdown(ending, target.Grace{Terminate: overrun}) // Done or stuck
		stop()
	}
	tail, _ := process.Stderr()
	attempt.judge(process.Exit(), file, tail, cut)
}

// deadline is that of the entry, or of its config, or else of the options.
func (o *Options) deadline(entry *Entry) time.Duration {
	file, _ := config.Load(entry.configFile()) // the run tells what is wrong with it
	return cmp.Or(entry.Deadline, file.Deadline, o.Deadline)
}

// arguments are those of the run of an entry, which writes a file.
func (e *Entry) arguments(file string, deadline time.Duration) ([]string, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	arguments := []string{e.Role, "--quiet", "--no-color", "--json", file, "--deadline", deadline.String()}
	for _, one := range []struct{ flag, value string }{
		{"--url", e.URL},
		{"--config", e.Config},
		{"--baseline", e.Baseline},
		{"--revision", e.Revision},
		{"--transport", e.Transport},
		{"--filter", e.Filter},
		{"--call-tools", e.CallTools},
	} {
		if one.value != "" {
			arguments = append(arguments, one.flag, one.value)
		}
	}
	if e.Timeout > 0 {
		arguments = append(arguments, "--timeout", e.Timeout.String())
	}
	if e.Strict {
		arguments = append(arguments, "--strict")
	}
	if len(e.Command) > 0 {
		arguments = append(append(arguments, "--"), e.Command...)
	}
	return arguments, nil
}

// Exit statuses of the harness.
const (
	exitConforms    = 0
	exitDoesNot     = 1
	exitUsage       = 2
	exitUnreachable = 3
)

// judge makes a state of how a run ended, and of what it wrote.
func (a *Attempt) judge(exit target.Exit, file string, stderr []byte, cut string) {
	run, err := readRun(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.State, a.Reason = Harness, clip(fmt.Sprintf("its report cannot be read: %s", err))
		return
	}
	if run != nil && len(run.Cells) > 0 {
		a.Run, a.Conclusion = digest(run), clip(run.Conclusion())
	}
	switch {
	case cut != "":
		a.State, a.Reason = EndedEarly, cut
	case exit.Signal == "" && exit.Code == exitUnreachable:
		a.State, a.Reason = Unreachable, said(run, stderr)
	case exit.Signal == "" && exit.Code == exitUsage:
		a.State, a.Reason = NotRun, said(run, stderr)
	case run == nil || exit.Signal != "" || exit.Code != exitConforms && exit.Code != exitDoesNot:
		a.State, a.Reason = Harness, cmp.Or(said(run, stderr), "the harness "+exit.String())
	case endedBy(run) != "":
		a.State, a.Reason = EndedEarly, endedBy(run)
	case exit.Code == exitDoesNot:
		a.State = Broken
	case run.Selected():
		a.State = InPart
	default:
		a.State = Conforms
	}
}

// endedBy says why a run did not come to its end; "" where it did.
func endedBy(run *reports.Run) string {
	if run.Interrupted != "" {
		return clip(run.Interrupted)
	}
	for i := range run.Cells {
		if cell := &run.Cells[i]; cell.Ended != nil {
			return clip(cell.Name() + ": " + cell.Ended.Reason)
		}
	}
	return ""
}

// said is the error that a run told last.
func said(run *reports.Run, stderr []byte) string {
	if run != nil && len(run.Errors) > 0 {
		return clip(run.Errors[0])
	}
	last := bytes.TrimSpace(stderr)
	if at := bytes.LastIndexByte(last, '\n'); at >= 0 {
		last = last[at+1:]
	}
	return clip(strings.TrimPrefix(string(last), "mcpconform: "))
}

// readRun reads a run that --json has written.
func readRun(name string) (run *reports.Run, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	return reports.Read(file)
}
