//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// What --list tells is what the same run has in its report.
func TestListOfRun(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	target := []string{"--", os.Args[0], "reference", "server", "--stdio", "--fault", "ping-unknown"}
	mcpconformIn(t, directory, slices.Concat([]string{"server", "-q", "--json", "failed.json", "--revision", "2025-11-25", "--filter", "ping"}, target)...).
		demand(t, exitDoesNot)
	for place, flags := range [][]string{
		{"--revision", "2025-11-25,2025-06-18", "--filter", "ping || server/prompts"},
		{"--requirements", "2025-11-25@1", "--filter", "basic/lifecycle"},
		{"--revision", "2025-11-25", "--filter", "ping || server/prompts", "--shard", "2/3"},
		{"--revision", "2025-11-25", "--profile", "core", "--filter", "basic/lifecycle"},
		{"--last-failed", "failed.json"},
	} {
		if !chosen(place, oneListOf) {
			continue
		}
		listed := mcpconformIn(t, directory, slices.Concat([]string{"server", "--list"}, flags, target)...)
		listed.demand(t, exitConforms)
		name := filepath.Join(directory, "run.json")
		found := mcpconformIn(t, directory, slices.Concat([]string{"server", "-q", "--json", "run.json"}, flags, target)...)
		if found.status != exitConforms && found.status != exitDoesNot {
			t.Fatal(found)
		}
		var want []string
		for _, cell := range readRun(t, name).Cells {
			for _, result := range cell.Results {
				want = append(want, cell.Name()+" "+result.Text)
			}
		}
		slices.Sort(want)
		if got := textsListed(listed.stdout); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%q: lists\n%s\nand checks\n%s", flags, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	mcpconform(t, "server", "--list", "--filter", "ping").demand(t, exitConforms, "server 2025-11-25 · http",
		"A run checks the newest revision that the server speaks, of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25.")
	mcpconform(t, "server", "--list", "--url", "http://127.0.0.1:1/mcp", "--profile", "core").demand(t, exitConforms, "checks and")
	mcpconform(t, "client", "--list", "--filter", "server/tools").demand(t, exitConforms, "client 2026-07-28 · stdio")
	mcpconform(t, "authorization-server", "--list").demand(t, exitConforms, "authorization-server 2026-07-28 · http")
}

var (
	listedCell  = regexp.MustCompile(`^server (\S+ · \S+)$`)
	listedCheck = regexp.MustCompile(`^    (?:check|rule ) \S+ +(.+)$`)
)

// textsListed are the checks and rules of a list, by cell.
func textsListed(list string) []string {
	cell := ""
	var texts []string
	for line := range strings.SplitSeq(list, "\n") {
		if found := listedCell.FindStringSubmatch(line); found != nil {
			cell = found[1]
		}
		if found := listedCheck.FindStringSubmatch(line); found != nil {
			texts = append(texts, cell+" "+found[1])
		}
	}
	slices.Sort(texts)
	return texts
}

func TestProfiles(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	target := []string{"--revision", "2025-11-25", "--", os.Args[0], "reference", "server", "--stdio"}
	mcpconformIn(t, directory, slices.Concat([]string{"server", "-q", "--profile", "core", "--filter", "ping", "--json", "run.json"}, target)...).
		demand(t, exitConforms, "(--profile core,", "--filter ping)")
	run := readRun(t, filepath.Join(directory, "run.json"))
	if run.Profile != "core" || run.Filter != "ping" {
		t.Errorf("the run is of profile %q and filter %q", run.Profile, run.Filter)
	}
	for _, result := range run.Cells[0].Results {
		if !strings.HasPrefix(result.Requirements[0].Level, "MUST") {
			t.Errorf("core has %q, a %s", result.Text, result.Requirements[0].Level)
		}
	}
	mcpconformIn(t, directory, slices.Concat([]string{"server", "-q", "--profile", "full", "--filter", "ping", "--json", "run.json"}, target)...).
		demand(t, exitConforms, "(--filter ping)")
	unknown := mcpconform(t, "server", "--profile", "secrity")
	unknown.demand(t, exitUsage, `--profile "secrity" is unknown, did you mean "security"?`)
	unknown.oneLine(t)
	mcpconform(t, "list", "--profile", "secrity").demand(t, exitUsage, `did you mean "security"?`)
	mcpconformIn(t, directory, slices.Concat([]string{"server", "--profile", "core", "--filter", "server/prompts && SHOULD"}, target)...).
		demand(t, exitUsage, `--filter "server/prompts && SHOULD" matches nothing of --profile core`)
	all, core := lastCount(t, mcpconform(t, "list", "--role", "server", "--revision", "2025-11-25")),
		lastCount(t, mcpconform(t, "list", "--role", "server", "--revision", "2025-11-25", "--profile", "core"))
	if core == 0 || core >= all {
		t.Errorf("core has %d of %d checks", core, all)
	}
}

// lastCount is the number of checks that a list ends with.
func lastCount(t *testing.T, listed outcome) int {
	t.Helper()
	listed.demand(t, exitConforms)
	found := regexp.MustCompile(`(\d+) checks and \d+ rules`).FindAllStringSubmatch(listed.stdout, -1)
	if len(found) == 0 {
		t.Fatal(listed)
	}
	count, err := strconv.Atoi(found[len(found)-1][1])
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// What the specification has under a heading of security or safety is in the profile, save what
// the page of 2024-11-05 goes on to say of HTTP with SSE below its warning.
func TestSecurityProfileIsWhole(t *testing.T) {
	t.Parallel()
	requirements, checked, err := declaredByRole()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range protocol.Roles() {
		chosen, _, err := plan.ParseChoice(role, "security", "")
		if err != nil {
			t.Fatal(err)
		}
		all, _, err := plan.All(role, protocol.Released())
		if err != nil {
			t.Fatal(err)
		}
		for _, requirement := range requirements.All() {
			for _, revision := range protocol.Released() {
				at := requirement.At(revision)
				if slices.Contains([]string{
					"transports.sse.stream", "transports.sse.endpoint", "transports.sse.endpoint-event", "transports.sse.messages",
					"transports.sse.post", "transports.sse.forms",
				}, requirement.ID) {
					continue
				}
				if !checked(requirement.ID, revision, role) || !strings.Contains(at, "security") && !strings.Contains(at, "safe-") {
					continue
				}
				if !slices.ContainsFunc(all[revision], func(one plan.Declared) bool {
					return slices.Contains(one.Requirements, requirement.ID) && one.Matches(chosen)
				}) {
					t.Errorf("the profile of a %s lacks %s, which stands at %s", role, requirement.ID, at)
				}
			}
		}
	}
}
