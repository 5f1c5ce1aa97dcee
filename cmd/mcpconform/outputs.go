package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/reports"
)

// output is a report that is a file.
type output struct {
	flag, path string
	write      func(*reports.Run, io.Writer) error
	place      *reports.Place // of the path before anything ran; nil to look now
}

// outputs are all that a run may be written as; those without a path are not wanted.
func (s *settings) outputs() []output {
	all := []output{
		{flag: "--json", path: s.JSON, write: (*reports.Run).Write},
		{flag: "--junit", path: s.JUnit, write: func(run *reports.Run, w io.Writer) error {
			return run.JUnit(w, reports.JUnitOptions{Warnings: s.JUnitWarnings})
		}},
		{flag: "--html", path: s.HTML, write: func(run *reports.Run, w io.Writer) error {
			return run.HTML(w, reports.HTMLOptions{Since: s.older})
		}},
		{flag: "--markdown", path: s.Markdown, write: (*reports.Run).Markdown},
		{flag: "--code-quality", path: s.CodeQuality, write: func(run *reports.Run, w io.Writer) error {
			return run.CodeQuality(w, cmp.Or(s.configFile, config.DefaultFile))
		}},
		{flag: "--badge", path: s.Badge, write: (*reports.Run).Badge},
	}
	for i := range all {
		all[i].place = s.places[all[i].path]
	}
	return all
}

// comparisonFiles are the files that a comparison is written to; "" for none.
type comparisonFiles struct {
	junit, markdown, json string
	places                map[string]*reports.Place
}

// comparison is what was found by comparing.
type comparison interface {
	JUnit(w io.Writer) error
	Markdown(w io.Writer) error
	Write(w io.Writer) error
}

// outputs are all of them.
func (c *comparisonFiles) outputs(found comparison) []output {
	all := []output{
		{flag: "--junit", path: c.junit, write: func(_ *reports.Run, w io.Writer) error { return found.JUnit(w) }},
		{
			flag:  "--markdown",
			path:  c.markdown,
			write: func(_ *reports.Run, w io.Writer) error { return found.Markdown(w) },
		},
		{flag: "--json", path: c.json, write: func(_ *reports.Run, w io.Writer) error { return found.Write(w) }},
	}
	for i := range all {
		all[i].place = c.places[all[i].path]
	}
	return all
}

// completeFiles makes sure, before anything runs, that they can be written.
func (s *settings) completeFiles(files *comparisonFiles) error {
	if err := allWritable(files.outputs(nil)); err != nil {
		return err
	}
	if err := s.locate(files.junit, files.markdown, files.json); err != nil {
		return err
	}
	files.places = s.places
	return nil
}

// locate finds where outputs are to be written, before a target can lay a link there.
func (s *settings) locate(paths ...string) error {
	if s.places == nil {
		s.places = map[string]*reports.Place{}
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		place, err := reports.Locate(path)
		if err != nil {
			return usageError("%s", err)
		}
		s.places[path] = place
	}
	return nil
}

// completeOutputs makes sure, before anything runs, that what the run is to
// write can be written.
func (s *settings) completeOutputs() error {
	if err := allWritable(s.outputs()); err != nil {
		return err
	}
	if err := s.locate(s.JSON, s.JUnit, s.HTML, s.Markdown, s.CodeQuality, s.Badge); err != nil {
		return err
	}
	if err := s.completeSince(); err != nil || s.Transcripts == "" {
		return err
	}
	if err := os.MkdirAll(s.Transcripts, 0o750); err != nil {
		return usageError("--transcripts %s cannot be created: %s", s.Transcripts, files.Reason(err))
	}
	return writable("--transcripts", filepath.Join(s.Transcripts, "transcript.jsonl"))
}

// allWritable makes sure that each can be written, to a file of its own.
func allWritable(outputs []output) error {
	flags := map[string]string{}
	for _, one := range outputs {
		if one.path == "" {
			continue
		}
		if err := writable(one.flag, one.path); err != nil {
			return err
		}
		if other := flags[one.path]; other != "" {
			return usageError("%s and %s both name %s", other, one.flag, one.path)
		}
		flags[one.path] = one.flag
	}
	return nil
}

// completeSince reads the run to compare with.
func (s *settings) completeSince() (err error) {
	switch {
	case s.since == "":
		return nil
	case s.HTML == "":
		return usageError("--since needs --html; mcpconform diff compares two runs as text")
	}
	s.older, err = readRunFile(s.since)
	return err
}

// writeFiles writes the reports that are files.
func writeFiles(outputs []output, found *reports.Run) (err error) {
	for _, one := range outputs {
		if one.path == "" {
			continue
		}
		place, wrong := one.place, error(nil)
		if place == nil {
			place, wrong = reports.Locate(one.path)
		}
		if wrong == nil {
			wrong = place.Write(func(w io.Writer) error { return one.write(found, w) })
		}
		err = errors.Join(err, wrong)
	}
	return err
}

// tellGitHub annotates the build, and adds the run to the summary of its step.
func tellGitHub(found *reports.Run) error {
	var err error
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		err = found.Annotations(os.Stdout)
	}
	return errors.Join(err, appendTo("GITHUB_STEP_SUMMARY", found.Markdown))
}

// appendTo adds to the file that a variable names; there may be none.
func appendTo(variable string, write func(io.Writer) error) error {
	path := os.Getenv(variable)
	if path == "" {
		return nil
	}
	const flags, mode = os.O_WRONLY | os.O_APPEND | os.O_CREATE, 0o644
	file, err := os.OpenFile(filepath.Clean(path), flags, mode) //nolint:gosec // it is for everyone
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", variable, files.Reason(err))
	}
	return errors.Join(write(file), file.Close())
}

// writeStepOutputs writes what later steps of a job on GitHub can refer to: how many results
// have each verdict, the conclusion, and where the reports are. Each value ends at a random
// delimiter, so that none can add an output of its own.
func writeStepOutputs(w io.Writer, outputs []output, found *reports.Run) error {
	values := [][2]string{{"conclusion", found.Conclusion()}}
	counts := found.Counts()
	for _, verdict := range reports.Verdicts() {
		values = append(values, [2]string{string(verdict), strconv.Itoa(counts.Of(verdict))})
	}
	for _, one := range outputs {
		if one.path != "" {
			values = append(values, [2]string{strings.TrimPrefix(one.flag, "--"), one.path})
		}
	}
	for _, value := range values {
		end := rand.Text()
		if _, err := fmt.Fprintf(w, "%s<<%s\n%s\n%s\n", value[0], end, value[1], end); err != nil {
			return err
		}
	}
	return nil
}

// writable tries whether a file can be made where path will stand, and leaves
// nothing there.
func writable(flag, path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return usageError("%s %s is a directory; name a file in it", flag, path)
	case err == nil && !info.Mode().IsRegular():
		return nil // a device or a pipe is written to directly
	}
	directory := filepath.Dir(path)
	if _, err := os.Stat(directory); errors.Is(err, fs.ErrNotExist) {
		return usageError(
			"%s %s: there is no directory %s; create it first: mkdir -p %s",
			flag,
			path,
			directory,
			directory,
		)
	}
	file, err := os.CreateTemp(directory, ".mcpconform-*.tmp")
	if err != nil {
		return usageError("%s %s cannot be written: %s", flag, path, files.Reason(err))
	}
	_ = file.Close() // nothing was written
	if err := os.Remove(file.Name()); err != nil {
		return usageError("%s %s: %s", flag, path, files.Reason(err))
	}
	return nil
}
