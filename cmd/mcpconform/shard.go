package main

import (
	"errors"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/baseline"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/selftest"
	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/internal/verdict"
	"github.com/mcpconform/mcpconform/reports"
)

// shardHelp says what the flag takes.
const shardHelp = "run one of several parts, `I/N` counted from 1, and write it with --json for mcpconform merge; " + shardByEnvironment

// shardByEnvironment says what stands for the numbers of a shard.
const shardByEnvironment = "auto takes both numbers from CI_NODE_INDEX and CI_NODE_TOTAL, auto/N the first from there or from JOB_COMPLETION_INDEX"

// maxShards bounds the parts of a run: there are fewer checks.
const maxShards = 1000

// completeShard reads which part of the run is wanted.
func (s *settings) completeShard() error {
	var err error
	s.shard, err = parseShard(s.shardText, os.Getenv)
	return err
}

// shardIsWritten makes sure that what a shard finds is kept: it says nothing alone.
func (s *settings) shardIsWritten() error {
	if s.shard.Count > 0 && s.JSON == "" && !s.list {
		return usageError(
			"--shard %s needs --json FILE: a shard has no verdict until mcpconform merge has all of them",
			s.shardText,
		)
	}
	return nil
}

func parseShard(text string, getenv func(string) string) (shard.Shard, error) {
	if text == "" {
		return shard.Shard{}, nil
	}
	index, count, hasCount := strings.Cut(text, "/")
	fromIndex, fromCount := "", ""
	if index == "auto" {
		if !hasCount {
			fromCount, count = "CI_NODE_TOTAL", getenv("CI_NODE_TOTAL")
		}
		fromIndex, index = "CI_NODE_INDEX", getenv("CI_NODE_INDEX")
		if completion := getenv("JOB_COMPLETION_INDEX"); index == "" && completion != "" {
			fromIndex, index = "JOB_COMPLETION_INDEX", completion
			if number, err := strconv.Atoi(completion); err == nil {
				index = strconv.Itoa(number + 1) // it counts from 0
			}
		}
	}
	for _, missing := range []struct{ variable, value string }{{fromIndex, index}, {fromCount, count}} {
		if missing.variable != "" && missing.value == "" {
			return shard.Shard{}, usageError(
				"--shard %s: the environment has no %s; name the shard, such as --shard 1/4",
				text,
				missing.variable,
			)
		}
	}
	number, wrongIndex := strconv.Atoi(index)
	total, wrongCount := strconv.Atoi(count)
	if wrongIndex != nil || wrongCount != nil || number < 1 || total < 1 || number > total || total > maxShards {
		if fromIndex != "" {
			text += ", which is " + index + "/" + count + " here,"
		} else {
			text = strconv.Quote(text)
		}
		return shard.Shard{}, usageError("--shard %s must be I/N, such as 1/4: the first of four parts", text)
	}
	return shard.Shard{Index: number, Count: total}, nil
}

func newMerge() *cobra.Command {
	s := &settings{}
	command := &cobra.Command{
		Use:   "merge [flags] SHARD.json...",
		Short: "Merge the shards of a run, or of a selftest, into one",
		Long: `Merge makes one run of its shards, which --shard and --json of the commands server,
client and selftest have written: what it reports, and its exit status, are those of
one run of all checks.`,
		Example: `  mcpconform merge shard-*.json
  mcpconform merge --junit report.xml --json run.json shard-1.json shard-2.json`,
		RunE: func(_ *cobra.Command, paths []string) error { return s.merge(paths) },
	}
	s.addReportFlags(command.Flags(), "check")
	completes(command, map[string]values{"junit-warnings": warningValues})
	return command
}

func (s *settings) merge(paths []string) error {
	if len(paths) == 0 {
		return usageError("merge needs the shards of a run: mcpconform merge shard-*.json")
	}
	for _, check := range []func() error{s.completeJUnit, s.completeBaseline, s.completeOutputs} {
		if err := check(); err != nil {
			return err
		}
	}
	var runs []shard.Part[reports.Run]
	var selftests []shard.Part[reports.Selftest]
	for _, name := range paths {
		run, proof, err := readAny(name)
		switch {
		case err != nil:
			return usageError("%s: %s", name, files.Reason(err))
		case run != nil:
			runs = append(runs, shard.Part[reports.Run]{File: name, Found: run})
		default:
			selftests = append(selftests, shard.Part[reports.Selftest]{File: name, Found: proof})
		}
	}
	switch {
	case len(runs) > 0 && len(selftests) > 0:
		return usageError(
			"%s is a run and %s a selftest: merge them separately",
			runs[0].File,
			selftests[0].File,
		)
	case len(selftests) > 0 && s.forRunsAlone() != "":
		return usageError("%s is for runs, not for selftests", s.forRunsAlone())
	case len(selftests) > 0:
		found, err := selftest.Merge(selftests)
		if err != nil {
			return usageError("%s", err)
		}
		return s.tellSelftest(found)
	}
	found, err := s.mergeRuns(runs)
	if err != nil {
		return err
	}
	s.Strict = found.Strict
	return s.tell(found)
}

// forRunsAlone is the first flag that was given and that a selftest cannot have; "" for
// none.
func (s *settings) forRunsAlone() string {
	for _, one := range append(s.outputs(), output{flag: "--baseline", path: s.Baseline}) {
		if one.path != "" && one.flag != "--json" {
			return one.flag
		}
	}
	return ""
}

// mergeRuns makes one run of its shards. Their baseline, or the one that is named here, is
// applied to all of it: what no longer holds shows there alone.
func (s *settings) mergeRuns(parts []shard.Part[reports.Run]) (*reports.Run, error) {
	for _, part := range parts {
		if err := sameBaseline(parts[0], part); err != nil && s.Baseline == "" {
			return nil, err
		}
		baseline.Lift(part.Found)
	}
	found, err := verdict.Merge(parts)
	if err != nil {
		return nil, usageError("%s", err)
	}
	if s.Baseline == "" && found.Baseline != nil {
		s.known = found.Baseline.Entries
	}
	return found, s.applyBaseline(found)
}

// sameBaseline makes sure that two shards were held to the same.
func sameBaseline(one, other shard.Part[reports.Run]) error {
	entries := func(run *reports.Run) []reports.Deviation {
		if run.Baseline == nil {
			return nil
		}
		return run.Baseline.Entries
	}
	if reflect.DeepEqual(entries(one.Found), entries(other.Found)) {
		return nil
	}
	return usageError("%s is of a run with another baseline than %s; name one with --baseline", other.File, one.File)
}

func readAny(name string) (run *reports.Run, proof *reports.Selftest, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return reports.ReadAny(file)
}
