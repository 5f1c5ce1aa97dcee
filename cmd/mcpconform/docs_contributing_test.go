//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/slowtest"
)

const contributing = "CONTRIBUTING.md"

// newcomer is what CONTRIBUTING.md adds by way of example: it is in no file.
var newcomer = struct{ requirement, text, fault string }{
	"lifecycle.initialize.server-name", "gives its name in the serverInfo of initialize", "initialize-with-an-empty-name",
}

// isNewcomers tells whether a block of CONTRIBUTING.md is a part of that.
func isNewcomers(one block) bool {
	return one.document.name == contributing && strings.Contains(one.text, newcomer.requirement)
}

// newcomersBlocks are its requirement, its check and its fault.
func newcomersBlocks(t *testing.T) (requirement, check, broken string) {
	t.Helper()
	for _, one := range blocks(t, "") {
		switch {
		case !isNewcomers(one):
		case one.language == "go":
			check = one.text
		case strings.Contains(one.text, "breaks:"):
			broken = one.text
		default:
			requirement = one.text
		}
	}
	if requirement == "" || check == "" || broken == "" {
		t.Fatalf("%s shows no requirement, no check or no fault of %s", contributing, newcomer.requirement)
	}
	return requirement, check, broken
}

// What the page adds is not there yet, so that who follows it adds it.
func TestDocsContributingAddsWhatIsNew(t *testing.T) {
	t.Parallel()
	newcomersBlocks(t)
	if newDeclared().Requirement(newcomer.requirement) {
		t.Errorf("there is a requirement %s: the page needs another example", newcomer.requirement)
	}
	if _, err := fault.Find(fixtures.Wire, newcomer.fault); err == nil {
		t.Errorf("there is a fault %s: the page needs another example", newcomer.fault)
	}
}

// Who follows the page to its end has a check that finds the fault, and a selftest that is
// satisfied with both.
func TestDocsContributingIsFollowed(t *testing.T) {
	if !slowtest.All() {
		t.Skip("builds the program with what the page adds: with -all")
	}
	t.Parallel()
	requirement, check, broken := newcomersBlocks(t)
	folder := t.TempDir()
	replaced := map[string]string{}
	change := func(name string, edit func(text string) string) {
		path, err := filepath.Abs(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			t.Fatal(err)
		}
		replaced[path] = writeFile(t, folder, strings.ReplaceAll(name, "/", "-"), edit(string(text)))
	}
	const begins = "func initialization() {\n"
	change("suites/lifecycle/requirements.yaml", func(text string) string { return text + "\n" + requirement })
	change("suites/lifecycle/server.go", func(text string) string { return strings.Replace(text, begins, begins+check+"\n", 1) })
	change("fixtures/faults/lifecycle.yaml", func(text string) string { return text + "\n" + broken })
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "mcpconform")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", writeFile(t, folder, "overlay.json", string(overlay)), "-o", program, ".")
	if raw, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	for _, one := range []struct {
		status    int
		says      []string
		arguments []string
	}{
		{exitConforms, []string{"Proven", "1 of 1 fault caught"}, []string{"selftest", "--filter", newcomer.fault}},
		{exitConforms, []string{newcomer.text, "rests", "common sense"}, []string{"explain", newcomer.requirement}},
		{exitConforms, []string{"1 passed"}, []string{"server", "--transport", "stdio", "--filter", newcomer.requirement}},
		{exitConforms, []string{"WARNED  " + newcomer.text, "a non-empty string"}, []string{
			"server", "--revision", "2025-11-25", "--filter", newcomer.requirement, "--", program, "reference", "server", "--stdio", "--fault", newcomer.fault,
		}},
	} {
		command := exec.CommandContext(t.Context(), program, one.arguments...)
		command.Dir = t.TempDir()
		raw, err := command.CombinedOutput()
		if command.ProcessState == nil {
			t.Fatal(err)
		}
		outcome{status: command.ProcessState.ExitCode(), stdout: string(raw)}.demand(t, one.status, one.says...)
	}
}

// The page lists every matcher that there is.
func TestDocsContributingListsMatchers(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join(repository, "internal", "check", "messages.go"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(repository, contributing))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, found := range regexp.MustCompile("`((?:Be|Have)\\w*)\\(").FindAllStringSubmatch(string(page), -1) {
		shown = append(shown, found[1])
	}
	matchers := regexp.MustCompile(`(?m)^func ([A-Z]\w*)\(.*\) types\.GomegaMatcher {`).FindAllStringSubmatch(string(source), -1)
	if len(matchers) == 0 {
		t.Fatal("found no matchers")
	}
	for _, matcher := range matchers {
		if !slices.Contains(shown, matcher[1]) {
			t.Errorf("%s does not list the matcher %s", contributing, matcher[1])
		}
	}
}
