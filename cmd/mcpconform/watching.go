package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/filewatch"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/reports"
)

// completeWatch makes sure that a change of files can change the target.
func (s *settings) completeWatch() error {
	if s.watch && len(s.Command) == 0 && len(s.Start) == 0 {
		return usageError("--watch needs a command that restarts the target: after --, or in --start")
	}
	return nil
}

// watchRuns runs, and again whenever files of the target change: what failed first, and
// when that passes everything, until the user ends it.
func (s *settings) watchRuns(ctx context.Context) error {
	files := s.watchedFiles()
	watcher, err := filewatch.New(files.root, files.named, files.written)
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Close() }()
	found, last := s.runAndTell(ctx, s)
	if statusOf(last) == exitUsage {
		return last
	}
	for {
		during, err := watcher.Since(ctx)
		if err != nil {
			return err
		}
		changed, own := files.changedDuring(during)
		if len(own) > 0 {
			s.say(
				"changed during the run: %s; assumed to be written by the target: if you saved it, save it again now",
				relative(own),
			)
		}
		if len(changed) == 0 {
			if ctx.Err() == nil {
				s.say("watching files; Ctrl-C ends it")
			}
			if changed, err = watcher.Changed(ctx); err != nil {
				return err
			}
		}
		if len(changed) == 0 { // the user ended it
			return exitAs(last)
		}
		s.say("changed: %s", relative(changed))
		again := s.onlyFailed(found)
		if again != nil {
			s.say("checking what failed")
			if partly, err := s.runAndTell(ctx, again); err != nil || partly == nil {
				last = err
				continue
			}
			s.say("checking everything")
		}
		found, last = s.runAndTell(ctx, s)
	}
}

// watchedFiles are the working directory and the files that the command names, but not
// what the run itself writes. Between runs every change is the user's, as no target runs;
// a change during a run may be the target's.
type watchedFiles struct {
	root           string
	named, written []string
	own            map[string]bool // what the target changes while it runs
	before         []string        // what changed during the run before
	runs           int
}

func (s *settings) watchedFiles() *watchedFiles {
	root, _ := os.Getwd() // without one there is nothing to watch, which filewatch says
	files := &watchedFiles{root: root, own: map[string]bool{}}
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return filepath.Clean(path)
		}
		return filepath.Join(root, path)
	}
	for _, word := range slices.Concat(s.Command, s.Start) {
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			files.named = append(files.named, absolute(word))
		}
	}
	for _, one := range append(s.outputs(), output{path: s.Transcripts}) {
		if one.path != "" {
			files.written = append(files.written, absolute(one.path))
		}
	}
	return files
}

// changedDuring tells what changed during a run that starts another one, and what is from
// now on taken for the target's own doing: what changed during the first run, unless the
// command names it, and what changed during two runs, one after the other.
func (w *watchedFiles) changedDuring(during []string) (changed, own []string) {
	w.runs++
	for _, path := range during {
		switch {
		case w.isOwn(path):
		case w.runs == 1 && !slices.Contains(w.named, path), slices.Contains(w.before, path):
			w.own[path] = true
			own = append(own, path)
		default:
			changed = append(changed, path)
		}
	}
	w.before = during
	return changed, own
}

// isOwn tells whether the target changes a path, or a directory that it is in.
func (w *watchedFiles) isOwn(path string) bool {
	for ; path != w.root && path != filepath.Dir(path); path = filepath.Dir(path) {
		if w.own[path] {
			return true
		}
	}
	return false
}

// runAndTell runs and reports, which no failure of the target ends.
func (s *settings) runAndTell(ctx context.Context, run *settings) (*reports.Run, error) {
	found, err := run.runs(ctx)
	if found != nil {
		err = run.report(found, err)
	}
	if err != nil && err.Error() != "" && statusOf(err) != exitUsage {
		s.say("%s", s.redactor().Redact(err.Error()))
	}
	return found, err
}

// onlyFailed are the settings of a run of what failed or warned before; nil for nothing.
func (s *settings) onlyFailed(found *reports.Run) *settings {
	if found == nil {
		return nil
	}
	ids, _ := brokenIn(found)
	if len(ids) == 0 {
		return nil
	}
	again := *s
	again.Filter = plan.Both(s.Filter, strings.Join(ids, " || "))
	return &again
}

func (s *settings) say(format string, values ...any) {
	_, _ = fmt.Fprintln(stderr(), "mcpconform: "+reports.Visible(fmt.Sprintf(format, values...)))
}

// relative names files as the user does, a few of them.
func relative(paths []string) string {
	const most = 3
	root, _ := os.Getwd()
	var names []string
	for i, path := range paths {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(paths)-most))
			break
		}
		if name, err := filepath.Rel(root, path); err == nil && !strings.HasPrefix(name, "..") {
			path = name
		}
		names = append(names, path)
	}
	return strings.Join(names, ", ")
}

// exitAs is the exit of a run that has been told; nil for a good one.
func exitAs(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{Status: statusOf(err)}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
