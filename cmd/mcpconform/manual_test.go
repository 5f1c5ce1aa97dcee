package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// writeManual runs the hidden command, and returns what it has written, by path.
func writeManual(t *testing.T) map[string]string {
	t.Helper()
	directory := t.TempDir()
	if err := execute(t.Context(), []string{"manual", directory}); err != nil {
		t.Fatal(err)
	}
	written := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(directory, "*", "*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(directory, file)
		if err != nil {
			t.Fatal(err)
		}
		written[filepath.ToSlash(name)] = string(text)
	}
	return written
}

// available are the commands that help shows, and those below them.
func available(command *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{command}
	for _, one := range command.Commands() {
		if one.IsAvailableCommand() && !one.IsAdditionalHelpTopicCommand() {
			all = append(all, available(one)...)
		}
	}
	return all
}

// Each command has a page, with what it is for and its flags, and there is no other page.
// The same date makes the same pages.
func TestManPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1790000000")
	written := writeManual(t)
	if diff := cmp.Diff(written, writeManual(t)); diff != "" {
		t.Errorf("written again, it is another:\n%s", diff)
	}
	root := newRoot()
	root.InitDefaultCompletionCmd()
	plain := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\&`, "", `\fB`, "", `\fP`, "", `\fI`, "")
	for _, command := range available(root) {
		file := "man/" + strings.ReplaceAll(command.CommandPath(), " ", "-") + ".1"
		page := plain.Replace(written[file])
		if !strings.Contains(page, command.Short) || !strings.Contains(page, "Sep 2026") {
			t.Errorf("%s does not have %q, and its date: %.300s", file, command.Short, page)
		}
		command.NonInheritedFlags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden && !strings.Contains(page, "--"+flag.Name) {
				t.Errorf("%s does not have --%s", file, flag.Name)
			}
		})
		delete(written, file)
	}
	for file := range written {
		if strings.HasPrefix(file, "man/") {
			t.Errorf("%s is of no command that help shows", file)
		}
	}
}

// The shells can read what completes commands in them, and it asks the program.
func TestCompletionFiles(t *testing.T) {
	t.Parallel()
	written := writeManual(t)
	for _, file := range []string{"mcpconform.bash", "_mcpconform", "mcpconform.fish", "mcpconform.ps1"} {
		if !strings.Contains(written["completions/"+file], "__complete") {
			t.Errorf("%s does not ask the program: %.100s", file, written["completions/"+file])
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	reading := exec.CommandContext(t.Context(), bash, "-n")
	reading.Stdin = strings.NewReader(written["completions/mcpconform.bash"])
	if raw, err := reading.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, raw)
	}
}
