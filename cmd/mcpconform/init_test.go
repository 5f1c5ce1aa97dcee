//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// What init writes is what server runs by.
func TestInit(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	begin := func(flags ...string) outcome {
		return mcpconformIn(t, directory, args("init", "--timeout", ample, flags, "--", self, "reference", "server", "--stdio")...)
	}

	begin("--ci", "shell").demand(t, exitConforms, "mcpconform-reference-server", "2026-07-28", "known, and not tried", "mcpconform.sh")
	if info, err := os.Stat(filepath.Join(directory, "mcpconform.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the script cannot be run: %v %v", info, err)
	}
	again := begin()
	again.demand(t, exitUsage, "mcpconform.yaml exists already", "--force")
	again.oneLine(t)
	begin("--force", "--call-tools", "none").demand(t, exitConforms, "not annotated readOnlyHint")

	run := mcpconformIn(t, directory, "server", "--timeout", ample, "--filter", "ping.answered", "--revision", "2025-11-25")
	run.demand(t, exitConforms, "No failure found")
	begin("--force", "--output", "other/mine.yaml").demand(t, exitConforms, "mcpconform server --config other/mine.yaml")
}

func TestInitUsage(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		arguments []string
		status    int
		says      string
	}{
		"no server":         {args("init"), exitUsage, "init needs a server"},
		"two servers":       {args("init", "--url", "http://127.0.0.1:1", "--", "x"), exitUsage, "exclude each other"},
		"an unknown system": {args("init", "--ci", "gitlob", "--", "x"), exitUsage, "gitlab"},
		"unknown tools":     {args("init", "--call-tools", "every", "--", "x"), exitUsage, "--call-tools \"every\" is unknown"},
		"no such command":   {args("init", "--", "/no/such"), exitUnreachable, "/no/such"},
		"a silent server":   {args("init", "--timeout", "50ms", bad(t, "deaf", "at-once")), exitUnreachable, "was not answered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			found := mcpconformIn(t, directory, one.arguments...)
			found.demand(t, one.status, one.says)
			if left, _ := os.ReadDir(directory); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A secret that was given is not written down.
func TestInitKeepsSecrets(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	mcpconformIn(t, directory, args("init", "--timeout", ample, "--env", "API_KEY=t0p-s3cret", "--", self, "reference", "server", "--stdio")...).
		demand(t, exitConforms, "Wrote mcpconform.yaml")
	text, err := os.ReadFile(filepath.Join(directory, "mcpconform.yaml"))
	if err != nil || strings.Contains(string(text), "t0p-s3cret") || !strings.Contains(string(text), "--env was given") {
		t.Errorf("%v\n%s", err, text)
	}
}

// The driver for the SDK that a project depends on is written, with the config that has it
// started; what is there is not written over.
func TestInitClient(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "package.json", `{"dependencies":{"@modelcontextprotocol/sdk":"1.32.2"}}`)
	mcpconformIn(t, directory, "init", "--client").demand(t, exitConforms,
		"Wrote mcpconform-driver.mjs and mcpconform.yaml, for the TypeScript SDK 1", "Then run: mcpconform client\n")
	onlyFiles(t, directory, "mcpconform-driver.mjs", "mcpconform.yaml", "package.json")
	again := mcpconformIn(t, directory, "init", "--client")
	again.demand(t, exitUsage, "mcpconform-driver.mjs exists already", "--force")
	again.oneLine(t)
	mcpconformIn(t, directory, "init", "--client=go").demand(t, exitConforms,
		`mcpconform.yaml exists already. Add to it: client: ["go","run","./mcpconform-driver"]`)
	text, err := os.ReadFile(filepath.Join(directory, "mcpconform-driver", "main.go"))
	if err != nil || strings.Contains(string(text), "go:build") {
		t.Errorf("%v\n%s", err, text)
	}
	writeFile(t, directory, "requirements.txt", "mcp\n")
	for arguments, says := range map[string]string{
		"--client":              "package.json names @modelcontextprotocol/sdk, and requirements.txt mcp; choose one with --client=typescript",
		"--client=pyhton":       `--client=pyhton is unknown, did you mean "python"?`,
		"--client --ci=github":  "--ci is for servers",
		"--client -- my-server": "init --client takes no server",
	} {
		found := mcpconformIn(t, directory, append([]string{"init"}, strings.Fields(arguments)...)...)
		found.demand(t, exitUsage, says)
		found.oneLine(t)
	}
	mcpconform(t, "init", "--client").demand(t, exitUsage, "names an MCP SDK")
}
