package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/matrix"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/internal/starter"
	"github.com/mcpconform/mcpconform/reports"
)

// many are the flags of the command matrix.
type many struct {
	out       string
	jobs      int
	deadline  time.Duration
	maxAge    time.Duration
	force     bool
	siteOnly  bool
	shardText string
	shard     shard.Shard
	print     string
	shards    int
	quiet     bool
	file      string
	text      []byte
	entries   []matrix.Entry // of the shard
	targets   int            // of the file
}

func newMatrix() *cobra.Command {
	m := &many{}
	command := &cobra.Command{
		Use:   "matrix [flags] TARGETS.yaml",
		Short: "Check many targets, and write a site of them",
		Long: `Matrix checks each target of a file in a run of its own, and writes a static
site: targets by revision and by page of the specification, what breaks most, and what
has changed. A target that has a result is not checked again unless its entry, its config
or mcpconform has changed: the same command continues what was interrupted.

A shard writes only results; --site-only then writes the site of all of them.

Exit status: 0 all targets conform, 1 some do not, or their runs ended early, 2 wrong
usage or file, 4 the harness itself failed. A shard ends with 0 when its results are
written.`,
		Example: `  mcpconform matrix targets.yaml
  mcpconform matrix --jobs 4 --max-age 12h targets.yaml
  mcpconform matrix --shard 1/4 targets.yaml
  mcpconform matrix --print github --shards 4 targets.yaml`,
		RunE: func(command *cobra.Command, paths []string) error { return m.run(command.Context(), paths) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := command.Flags()
	flags.StringVar(&m.out, "out", "matrix", "`DIR` of the results and the site")
	flags.IntVar(&m.jobs, "jobs", 0, "how many targets are checked at once (default half the processors)")
	flags.DurationVar(&m.deadline, "deadline", 0, "how long a target may take that names no deadline (default "+
		inShort(runner.DefaultDeadline)+")")
	flags.BoolVar(&m.force, "force", false, "check targets again that have a result")
	flags.DurationVar(&m.maxAge, "max-age", 0, "check targets again whose result is older")
	flags.StringVar(&m.shardText, "shard", "", "check every N-th target, `I/N` counted from 1; "+shardByEnvironment)
	flags.BoolVar(&m.siteOnly, "site-only", false, "check nothing; write the site of the existing results")
	flags.StringVar(&m.print, "print", "", "print the same work for an `ENGINE`: github, gitlab or kubernetes")
	flags.IntVar(&m.shards, "shards", 0, "how many machines share the work of --print (default 4)")
	flags.BoolVarP(&m.quiet, "quiet", "q", false, "show only the conclusion")
	completes(command, map[string]values{"print": oneOf(matrix.Engines()...)})
	return command
}

const (
	// defaultShards is how many machines a printed matrix has.
	defaultShards = 4
	// maxMinutes is how long a job of GitHub may take.
	maxMinutes = 360
)

func (m *many) run(ctx context.Context, paths []string) error {
	if err := m.complete(paths); err != nil {
		return err
	}
	switch {
	case m.print != "":
		return matrix.Print(stdout(), m.print, m.job())
	case m.siteOnly:
		return m.site(ctx)
	}
	if err := m.check(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return &exitError{
			Status:  exitDoesNot,
			Message: fmt.Sprintf("%s; the same command continues with what is left", cause),
		}
	}
	if m.shard.Count > 0 {
		return nil
	}
	return m.site(ctx)
}

func (m *many) complete(paths []string) error {
	if len(paths) != 1 {
		return usageError("matrix needs one file of targets: mcpconform matrix targets.yaml")
	}
	m.file = paths[0]
	var err error
	if m.shard, err = parseShard(m.shardText, os.Getenv); err != nil {
		return err
	}
	switch {
	case m.print != "" && !slices.Contains(matrix.Engines(), m.print):
		return usageError("--print %q is unknown%s", m.print, nearest.Hint(m.print, matrix.Engines()))
	case m.shards != 0 && m.print == "":
		return usageError("--shards needs --print")
	case m.shards > maxShards:
		return usageError("--shards %d must be between 1 and %d", m.shards, maxShards)
	case m.siteOnly && m.shard.Count > 0:
		return usageError("--site-only and --shard exclude each other")
	case m.siteOnly && m.force:
		return usageError("--site-only and --force exclude each other: --site-only checks nothing")
	}
	m.deadline = cmp.Or(m.deadline, runner.DefaultDeadline)
	if m.text, err = os.ReadFile(m.file); err != nil {
		return usageError("%s: %s", m.file, files.Reason(err))
	}
	all, err := matrix.Parse(m.file, m.text)
	if err != nil {
		return usageError("%s", err)
	}
	m.targets = len(all)
	for i, entry := range all {
		if m.shard.Count == 0 || i%m.shard.Count == m.shard.Index-1 {
			m.entries = append(m.entries, entry)
		}
	}
	return nil
}

// check runs the targets and tells of each when it has ended.
func (m *many) check(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	defer guard()()
	ended, out := 0, stdout()
	return matrix.Run(ctx, m.entries, matrix.Options{
		Out: m.out, Program: []string{program}, Version: version(),
		Jobs: cmp.Or(m.jobs, max(1, runtime.NumCPU()/2)), Deadline: m.deadline, Force: m.force, MaxAge: m.maxAge,
		Done: func(attempt *matrix.Attempt, before bool) {
			ended++
			if !m.quiet {
				number := fmt.Sprintf("%*d/%d", len(strconv.Itoa(len(m.entries))), ended, len(m.entries))
				// An error of the terminal does not end the run.
				_, _ = io.WriteString(out, attemptText(number, attempt, before, terminalWidth(os.Stdout)))
			}
		},
	})
}

// attemptText tells of one target in a line, and why it was not judged in lines below.
func attemptText(number string, attempt *matrix.Attempt, before bool, width int) string {
	words := attempt.Found()
	switch took := fmt.Sprintf("%.1f s", float64(attempt.Duration)); {
	case before && words == "":
		words = "as before"
	case before:
		words = "as before: " + words
	case words == "":
		words = took
	default:
		words += ", " + took
	}
	text := cut(fmt.Sprintf("%s  %-16s  %-20s  %s", number, attempt.State, attempt.Target, words), width)
	if attempt.Reason == "" {
		return text
	}
	indent := strings.Repeat(" ", len(number)+2)
	line := indent
	for word := range strings.FieldsSeq(reports.Visible(attempt.Reason)) {
		if line != indent && len([]rune(line))+1+len([]rune(word)) > width {
			text, line = text+cut(line, width), indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return text + cut(line, width)
}

// cut makes a line that is no wider than the terminal.
func cut(line string, width int) string {
	if letters := []rune(line); len(letters) > width {
		line = string(letters[:width-1]) + "…"
	}
	return line + "\n"
}

// site writes the site, and says what all targets have come to.
func (m *many) site(ctx context.Context) error {
	found, err := matrix.Site(ctx, m.entries, m.out, version())
	if err != nil {
		return err
	}
	var parts []string
	for _, state := range matrix.States() {
		if n := found.Of[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state.Of(n)))
		}
	}
	noun := "targets"
	if found.Targets == 1 {
		noun = "target"
	}
	fmt.Printf("%d %s: %s\n", found.Targets, noun, strings.Join(parts, ", "))
	if !m.quiet {
		fmt.Printf("Site: %s\n", filepath.Join(m.out, "index.html"))
	}
	switch {
	case found.Of[matrix.Harness] > 0:
		return &exitError{Status: exitHarness}
	case !found.Good():
		return &exitError{Status: exitDoesNot}
	}
	return nil
}

// job is the matrix for several machines.
func (m *many) job() matrix.Job {
	shards := min(cmp.Or(m.shards, defaultShards), m.targets)
	file, out, which := m.file, m.out, "auto"
	if m.print == "kubernetes" {
		file, out, which = matrix.KubernetesFile, matrix.KubernetesOut, fmt.Sprintf("auto/%d", shards)
	}
	words := []string{"mcpconform", "matrix", file, "--out", out}
	check := slices.Clone(words)
	if m.jobs > 0 {
		check = append(check, "--jobs", strconv.Itoa(m.jobs))
	}
	if m.maxAge > 0 {
		check = append(check, "--max-age", m.maxAge.String())
	}
	if m.deadline != runner.DefaultDeadline {
		check = append(check, "--deadline", m.deadline.String())
	}
	each := (m.targets + shards - 1) / shards // targets of one machine
	rounds := (each + m.jobs) / max(m.jobs, 1)
	return matrix.Job{
		Shards: shards, Text: string(m.text), Targets: m.targets, Out: out, Version: starter.Installable(version()),
		Check:   shellWords(append(check, "--shard", which)),
		Site:    shellWords(append(words, "--site-only")),
		Minutes: min(10+rounds*int(m.deadline.Minutes()+1), maxMinutes),
	}
}
