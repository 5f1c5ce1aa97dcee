//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// Every value that a flag takes, and every id, can be completed.
func TestShellsCompleteValues(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		arguments []string
		want      []string // among others
	}{
		"revision":          {[]string{"server", "--revision", "2025-"}, []string{"2025-06-18", "2025-11-25"}},
		"another revision":  {[]string{"server", "--revision", "2025-06-18,2025"}, []string{"2025-06-18,2025-11-25"}},
		"any revision":      {[]string{"client", "--revision", "a"}, []string{"all", "auto"}},
		"transport":         {[]string{"server", "--transport", ""}, []string{"http", "stdio"}},
		"tools":             {[]string{"server", "--call-tools", "l"}, []string{"listed"}},
		"warnings":          {[]string{"server", "--junit-warnings", ""}, []string{"pass", "skip", "fail"}},
		"page":              {[]string{"server", "--filter", "server/too"}, []string{"server/tools"}},
		"in an expression":  {[]string{"server", "--filter", "MUST && !tools.list.ans"}, []string{"MUST && !tools.list.answered"}},
		"of a client":       {[]string{"client", "--filter", "tools.header.rej"}, []string{"tools.header.rejected"}},
		"of serve":          {[]string{"serve", "--revision", "2026"}, []string{"2026-07-28"}},
		"of list":           {[]string{"list", "--role", "s"}, []string{"server"}},
		"id":                {[]string{"explain", "ping.ans"}, []string{"ping.answered"}},
		"transcripts":       {[]string{"check", ""}, []string{":0"}}, // files and directories
		"fault of a server": {[]string{"reference", "server", "--fault", "ping-unans"}, []string{"ping-unanswered"}},
		"fault of a client": {[]string{"reference", "client", "--fault", "client-ping-answered-with"}, []string{"client-ping-answered-with-status"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := mcpconform(t, append([]string{"__complete"}, one.arguments...)...)
			lines := strings.Split(found.stdout, "\n")
			for _, want := range one.want {
				if !slices.Contains(lines, want) {
					t.Errorf("%q is not completed to %q: %s", one.arguments, want, found)
				}
			}
		})
	}
	if found := mcpconform(t, "__complete", "server", "--filter", "client-only-nonsense"); strings.Contains(found.stdout, "nonsense") {
		t.Errorf("nonsense is completed: %s", found)
	}
}

func TestVersionIsAFlagToo(t *testing.T) {
	t.Parallel()
	asCommand, asFlag := mcpconform(t, "version"), mcpconform(t, "--version")
	asCommand.demand(t, exitConforms, "mcpconform ", "revisions: 2024-11-05, ")
	if asFlag.stdout != asCommand.stdout || asFlag.status != exitConforms {
		t.Errorf("%s\n%s", asFlag, asCommand)
	}
}

func TestExplainNamesTheProvocation(t *testing.T) {
	t.Parallel()
	mcpconform(t, "explain", "progress.token.provided").demand(t, exitConforms,
		"reports progress at least twice  (progress)", "known: test_tool_with_progress", "provocations: {progress: {tool: NAME, arguments: {…}}}", "never: [progress]")
	mcpconform(t, "explain", "elicitation.form.schema").demand(t, exitConforms, "sends a form elicitation  (elicitation)")
	mcpconform(t, "explain", "transports.http.version.unsupported").demand(t, exitConforms, "follows", "versioning.unsupported.refused")
	if found := mcpconform(t, "explain", "tools.list.answered"); strings.Contains(found.stdout, "provoke") {
		t.Errorf("nothing need be provoked: %s", found)
	}
}

// Without a revision the newest is listed that has any; what a filter takes, explain takes.
func TestListAndExplainByBeginnings(t *testing.T) {
	t.Parallel()
	if found := mcpconform(t, "list", "--role", "server"); strings.Contains(found.stdout, "server 2025") {
		t.Errorf("it lists an older revision\n%s", found)
	} else {
		found.demand(t, exitConforms, "server 2026-07-28", "--revision all lists every one")
	}
	mcpconform(t, "list", "--filter", "lifecycle").demand(t, exitConforms, "server 2025-11-25", "client 2025-11-25")
	mcpconform(t, "list", "--role", "server", "--filter", "ping.answered", "--revision", "all").demand(t, exitConforms, "server 2025-06-18", "server 2025-11-25")
	mcpconform(t, "explain", "tools.structured").demand(t, exitConforms, "tools.structured.conforms\n  A tool with", "tools.structured.validated", "requirements of tools.structured")
	mcpconform(t, "explain", "server/tools").demand(t, exitConforms, "tools.call.answered")
	mcpconform(t, "explain", "tools.structred").demand(t, exitUsage, `no requirement has the id "tools.structred"`)
}

// What the table, the list and the failures print, a filter takes.
func TestListTakesWhatReportsPrint(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{
		"server/utilities": "server/utilities/logging", "tools.list": "tools.list.answered", "basic/transports/stdio && stdio": "transports.stdio.",
		"2025-11-25 && ping": "server 2025-11-25\n\n  basic/utilities/ping", "SHOULD NOT": "SHOULD  ",
	} {
		mcpconform(t, "list", "--role", "server", "--filter", filter).demand(t, exitConforms, want)
	}
	if found := mcpconform(t, "list", "--json", "--filter", "server/tools"); strings.Contains(found.stdout, "∕") || !strings.Contains(found.stdout, `"server/tools"`) {
		t.Errorf("the labels are not those that a user types: %.600s", found.stdout)
	}
}

// A server that declares a method and rejects it as unknown has one failure, under which the
// report names the other requirement that it breaks.
func TestWhatIsDeclaredInVainIsToldOnce(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	found := mcpconform(t, "server", "--revision", "2025-11-25", "--filter", "lifecycle.capabilities.offered || resources.subscribe.answered",
		"--", os.Args[0], "reference", "server", "--stdio", "--fault", "declares-subscriptions-without-having-them")
	found.demand(t, exitDoesNot, "FAILED  accepts resources/subscribe", "also    breaks lifecycle.capabilities.offered", "1 failed, 0 warned")
}

// Where every tool wants something that is not there, checks say that no tool served them,
// not that there is none.
func TestToolsThatServeNobodyAreNamed(t *testing.T) {
	t.Parallel()
	found := mcpconform(t, "server", "--revision", "2025-11-25", "--filter", "tools.call.answered || tools.inputs.validated", "-v",
		"--", os.Args[0], "reference", "server", "--stdio", "--fault", "tools-without-what-any-needs")
	found.demand(t, exitConforms, "no tool that takes any text as argument serves a call: ",
		"no tool that has an integer as argument serves a call: ")
	if strings.Contains(found.stdout, "the target sent nothing that shows it") {
		t.Errorf("a check does not say why nothing shows it: %s", found)
	}
}

// A server that breaks something is told what, at the end; a revision that was asked
// for and is not spoken fails in every report.
func TestWhatIsBrokenStandsInEveryReport(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	found := mcpconformIn(t, directory, args("server", "--revision", "2025-11-25,2026-07-28", "--filter", "ping || base.icons.source || base.schema.results",
		"--junit", "run.xml", "--json", "run.json", "--junit-warnings", "pass",
		"--", os.Args[0], "reference", "server", "--stdio", "--revision", "2025-11-25", "--fault", "icons-by-relative-path")...)
	found.demand(t, exitDoesNot, "\nFAILED  discover.implemented  speaks 2026-07-28", "\nFAILED  base.schema.results   sends results", "also    breaks base.icons.source",
		"Does not conform to 2025-11-25; does not speak 2026-07-28 (--filter ping || base.icons.source || base.schema.results)")
	for name, wants := range map[string][]string{
		"run.xml":  {`name="speaks 2026-07-28"`, `<failure type="MUST" message="wanted server/discover answered with 2026-07-28`, `<skipped message="follows from base.schema.results">`},
		"run.json": {`"filter": "ping || base.icons.source || base.schema.results"`, `"follows": [`, `"rerun": "mcpconform server --revision 2026-07-28 --filter discover.implemented -v -- `, `"declared": `, `"host": "`},
	} {
		text, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not say %s", name, want)
			}
		}
	}
}

// What a server never does is skipped with that word, by the name of the config.
func TestNeverIsReadFromTheConfig(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "of-mine.yaml", "never: [sampling]\njunit-warnings: fail\n")
	mcpconformIn(t, directory, args("server", "--config", "of-mine.yaml", "--revision", "2025-11-25", "--transport", "stdio", "--filter", "client/sampling")...).
		demand(t, exitConforms, "never sampling, by of-mine.yaml")
}
