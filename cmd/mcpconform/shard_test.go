//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// The shards of a run, merged in any order, find what one run does: of either role, of
// what conforms and of what does not.
func TestShardsMergedAreOneRun(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for name, one := range map[string]struct {
		arguments []string
		status    int
	}{
		"a server with a fault": {status: exitDoesNot, arguments: []string{
			"server", "--revision", "2025-11-25", "--filter", "server", "--",
			os.Args[0], "reference", "server", "--stdio", "--fault", "tools-input-schema-null",
		}},
		"a client": {arguments: []string{"client", "--revision", "2026-07-28", "--transport", "http", "--filter", "server"}},
		"fewer checks than shards": {arguments: []string{
			"server", "--revision", "2025-11-25", "--filter", "lifecycle.version.countered", "--", os.Args[0], "reference", "server", "--stdio",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			run := func(file string, flags ...string) outcome {
				return mcpconformIn(t, directory, slices.Concat(one.arguments[:1], flags, []string{"-q", "--json", file}, one.arguments[1:])...)
			}
			run("whole.json").demand(t, one.status)
			var shards []string
			for index := range 3 {
				file := fmt.Sprintf("shard%d.json", 3-index)
				run(file, "--shard", fmt.Sprintf("%d/3", 3-index))
				shards = append(shards, file)
			}
			mcpconformIn(t, directory, slices.Concat([]string{"merge", "-q", "--json", "merged.json", "--junit", "merged.xml"}, shards)...).demand(t, one.status)
			whole, merged := verdictsIn(t, directory, "whole.json"), verdictsIn(t, directory, "merged.json")
			if !slices.Equal(whole, merged) || len(whole) == 0 {
				t.Errorf("one run finds\n%s\nand the merged shards\n%s", strings.Join(whole, "\n"), strings.Join(merged, "\n"))
			}
			if _, err := os.Stat(filepath.Join(directory, "merged.xml")); err != nil {
				t.Error(err)
			}
		})
	}
}

// verdictsIn are the results of a run in a file, a line each.
func verdictsIn(t *testing.T, directory, file string) []string {
	t.Helper()
	run := readRun(t, filepath.Join(directory, file))
	var verdicts []string
	for i := range run.Cells {
		for _, result := range run.Cells[i].Results {
			verdicts = append(verdicts, fmt.Sprint(run.Cells[i].Name(), " ", result.ID, " ", result.Text, " ", result.Verdict, " ", result.Follows))
		}
	}
	return verdicts
}

// What cannot be merged is told by its name.
func TestShardsThatDoNotBelongTogether(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	shard := func(file, shard, filter string) {
		mcpconformIn(t, directory, "server", "-q", "--revision", "2025-11-25", "--filter", filter, "--shard", shard, "--json", file,
			"--", os.Args[0], "reference", "server", "--stdio").demand(t, exitConforms)
	}
	const few, others = "lifecycle.version.countered", "lifecycle.errors.capabilities"
	shard("1.json", "1/2", few)
	shard("2.json", "2/2", few)
	shard("other.json", "2/2", others)
	shard("third.json", "3/3", few)
	mcpconformIn(t, directory, "server", "-q", "--revision", "2025-11-25", "--filter", few, "--json", "whole.json",
		"--", os.Args[0], "reference", "server", "--stdio").demand(t, exitConforms)
	mcpconformIn(t, directory, "selftest", "-q", "--filter", "version-not-echoed", "--shard", "1/2", "--json", "selftest.json").demand(t, exitConforms)
	for name, one := range map[string]struct {
		files []string
		says  string
	}{
		"none":                   {nil, "merge needs the shards of a run"},
		"missing":                {[]string{"2.json"}, "shard 1/2 is missing"},
		"twice":                  {[]string{"1.json", "1.json"}, "1.json and 1.json are both shard 1/2"},
		"of another":             {[]string{"1.json", "other.json"}, `other.json is of another run than 1.json: the --filter is "lifecycle.errors.capabilities" there`},
		"of more":                {[]string{"1.json", "third.json"}, `third.json is of another run than 1.json: the number of shards is "3" there and "2" here`},
		"whole":                  {[]string{"1.json", "whole.json"}, "whole.json is a whole run"},
		"selftest":               {[]string{"1.json", "selftest.json"}, "1.json is a run and selftest.json a selftest"},
		"no file":                {[]string{"nothing.json"}, "nothing.json: no such file"},
		"no run":                 {[]string{os.Args[0]}, os.Args[0] + ": "},
		"one half of a selftest": {[]string{"selftest.json"}, "shard 2/2 is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mcpconformIn(t, directory, append([]string{"merge"}, one.files...)...).demand(t, exitUsage, one.says)
		})
	}
}

func TestParseShard(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		text, environment string
		want              shard.Shard
		wrong             string
	}{
		{text: ""},
		{text: "2/4", want: shard.Shard{Index: 2, Count: 4}},
		{text: "auto", environment: "CI_NODE_INDEX=2 CI_NODE_TOTAL=4", want: shard.Shard{Index: 2, Count: 4}},
		{text: "auto/4", environment: "JOB_COMPLETION_INDEX=0", want: shard.Shard{Index: 1, Count: 4}},
		{text: "auto/3", environment: "CI_NODE_INDEX=3", want: shard.Shard{Index: 3, Count: 3}},
		{text: "auto", environment: "JOB_COMPLETION_INDEX=0", wrong: "the environment has no CI_NODE_TOTAL"},
		{text: "auto", wrong: "the environment has no CI_NODE_INDEX"},
		{text: "auto", environment: "CI_NODE_INDEX=5 CI_NODE_TOTAL=4", wrong: "which is 5/4 here"},
		{text: "auto/2", environment: "JOB_COMPLETION_INDEX=x", wrong: "which is x/2 here"},
		{text: "0/4", wrong: `"0/4" must be I/N`},
		{text: "5/4", wrong: `"5/4" must be I/N`},
		{text: "1", wrong: `"1" must be I/N`},
		{text: "1/4/2", wrong: "must be I/N"},
		{text: "1/100000", wrong: "must be I/N"},
	} {
		getenv := func(name string) string {
			for pair := range strings.FieldsSeq(one.environment) {
				if value, found := strings.CutPrefix(pair, name+"="); found {
					return value
				}
			}
			return ""
		}
		found, err := parseShard(one.text, getenv)
		if found != one.want || (err == nil) != (one.wrong == "") || err != nil && !strings.Contains(err.Error(), one.wrong) {
			t.Errorf("--shard %s with %s: %+v, %v", one.text, one.environment, found, err)
		}
	}
}
