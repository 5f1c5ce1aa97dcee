//go:build linux

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/yuin/goldmark/ast"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// claim is a sentence of the documentation with numbers, and what they are. Without
// numbers it cannot be judged here. What one more check, fault or requirement changes is no
// claim: documents do not say it, or changes of two people could not be merged.
type claim struct {
	sentence string // a pattern; a blank is any white space
	numbers  func(t *testing.T) []int
}

var claims = []claim{
	{`with Go 1\.(\d+)`, func(t *testing.T) []int {
		module, err := os.ReadFile(filepath.Join(repository, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		version, err := strconv.Atoi(string(regexp.MustCompile(`(?m)^go 1\.(\d+)`).FindSubmatch(module)[1]))
		if err != nil {
			t.Fatal(err)
		}
		return []int{version}
	}},
	{`at most (\d+) MiB of memory`, func(*testing.T) []int { return []int{memoryBound >> 10} }},
	{
		`like a shell with (\d+) where the command is not found, and with (\d+) where it cannot be started`,
		func(*testing.T) []int { return []int{exitNotFound, exitNotRunnable} },
	},
	{`all (\d+) at 2024-11-05, all (\d+) at 2025-03-26, all (\d+) at 2025-06-18, all (\d+) at 2025-11-25 and all (\d+) at 2026-07-28 are catalogued`, sentences},
}

// noClaims are texts with numbers that say nothing about this repository.
var noClaims = []string{
	`Licensed under the Apache License 2.0`,
	`taken from it with a 202`,
	`an integer beyond 2\^53-1`,
}

var allFaults = sync.OnceValues(func() ([]*fault.Fault, error) { return fault.Load(fixtures.Wire) })

func faultsOf(t *testing.T, folder, role string) []*fault.Fault {
	t.Helper()
	all, err := allFaults()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(one *fault.Fault) bool {
		return path.Dir(one.File) != folder || role != "" && cmp.Or(one.Role, protocol.ServerRole) != role
	})
}

// sentences counts the normative sentences that are catalogued, by revision, and makes
// sure that these are all. It needs the specification.
func sentences(t *testing.T) []int {
	t.Helper()
	directory := os.Getenv("MCP_SPEC_DIR")
	if directory == "" {
		t.Log("MCP_SPEC_DIR is not set: the sentences of the specification are not counted")
		return nil
	}
	requirements, checked, err := declaredByRole()
	if err != nil {
		t.Fatal(err)
	}
	coverage, err := catalogue.Trace(os.DirFS(directory), requirements, checked)
	if err != nil {
		t.Fatal(err)
	}
	if !coverage.Complete() {
		t.Error("not every normative sentence is catalogued")
	}
	var all []int
	for _, revision := range coverage.Revisions {
		if slices.Contains(protocol.Released(), revision.Revision) {
			all = append(all, revision.Total.Catalogued)
		}
	}
	return all
}

// prose is the source of a document with blanks for blocks, code and links.
func (d *document) prose() []byte {
	text := slices.Clone(d.source)
	blank := func(from, to int) {
		for at := from; at < to; at++ {
			if text[at] != '\n' {
				text[at] = ' '
			}
		}
	}
	walk(d, func(fence *ast.FencedCodeBlock) {
		if lines := fence.Lines(); lines.Len() > 0 {
			blank(lines.At(0).Start, lines.At(lines.Len()-1).Stop)
		}
	})
	walk(d, func(span *ast.CodeSpan) {
		for part := span.FirstChild(); part != nil; part = part.NextSibling() {
			if one, is := part.(*ast.Text); is {
				blank(one.Segment.Start, one.Segment.Stop)
			}
		}
	})
	for _, target := range regexp.MustCompile(`\]\([^)]*\)`).FindAllIndex(text, -1) {
		blank(target[0], target[1])
	}
	return text
}

func pattern(sentence string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(sentence, " ", `\s+`))
}

var (
	dated  = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	number = regexp.MustCompile(`\b\d{2,}\b`)

	errorCode = regexp.MustCompile(`^-\d+$`)
)

// Every number of the documentation is the real one: a number of two digits or more
// that no claim computes fails.
func TestDocsNumbers(t *testing.T) {
	changes := &edits{}
	t.Cleanup(func() { changes.write(t) })
	t.Parallel()
	unused := slices.Clone(claims)
	for _, d := range documents(t) {
		if slices.Contains([]string{"docs/tried.md", "docs/crossing.md", "docs/performance.md"}, d.name) {
			continue // TestDocsTried and TestDocsCrossing write two, the last says what was measured and how
		}
		text := d.prose()
		for _, release := range dated.FindAllIndex(text, -1) {
			if revision := string(text[release[0]:release[1]]); !slices.Contains(protocol.Released(), revision) {
				t.Errorf("%s: %s is no revision that is checked", d.at(release[0]), revision)
			}
		}
		for _, one := range claims {
			found := pattern(one.sentence).FindSubmatchIndex(text)
			if found == nil {
				continue
			}
			unused = slices.DeleteFunc(unused, func(other claim) bool { return other.sentence == one.sentence })
			for i, want := range one.numbers(t) {
				from, to := found[2+2*i], found[3+2*i]
				if shown := string(text[from:to]); shown != strconv.Itoa(want) {
					if *update {
						changes.add(d, edit{from, to, strconv.Itoa(want)})
						continue
					}
					t.Errorf("%s: %q has the number %s, and it is %d (go test ./cmd/mcpconform -run TestDocs -update writes that)",
						d.at(from), text[found[0]:found[1]], shown, want)
				}
			}
			copy(text[found[0]:], bytes.Repeat([]byte(" "), found[1]-found[0]))
		}
		for _, one := range noClaims {
			text = pattern(one).ReplaceAll(text, nil)
		}
		text = dated.ReplaceAll(text, nil)
		for _, left := range number.FindAll(text, -1) {
			t.Errorf("%s: nothing computes the number %s: leave it out if one more check would change it, or add it to claims", d.name, left)
		}
	}
	for _, one := range unused {
		t.Errorf("no document says %q any more", one.sentence)
	}
}

// Every link within the repository leads somewhere, and every picture is there; also on
// the pages that are not tested otherwise.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	all := documents(t)
	for _, name := range []string{"CHANGELOG.md", "SECURITY.md"} {
		all = append(all, readDocument(t, filepath.Join(repository, name)))
	}
	for _, d := range all {
		walk(d, func(link *ast.Link) {
			if err := d.leads(string(link.Destination)); err != nil {
				t.Error(err)
			}
		})
		walk(d, func(image *ast.Image) {
			if err := d.leads(string(image.Destination)); err != nil {
				t.Error(err)
			}
		})
	}
}

// leads follows a link of the document, unless that needs the network.
func (d *document) leads(target string) error {
	if strings.Contains(target, "://") {
		return nil
	}
	name, anchor, _ := strings.Cut(target, "#")
	file := filepath.Join(repository, path.Dir(d.name), name)
	if name == "" {
		file = filepath.Join(repository, d.name)
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	if anchor == "" {
		return nil
	}
	source, err := os.ReadFile(file)
	if err == nil && !catalogue.ParsePage(file, source).Anchors[anchor] {
		err = fmt.Errorf("%s: %s has no heading of that name", d.name, target)
	}
	return err
}

var (
	requirementID = regexp.MustCompile(`^[a-z]+(?:-[a-z]+)*(?:\.[a-z][a-z-]+)+$`)
	goName        = regexp.MustCompile(`^(?:[a-z]+\.)?([A-Z]+[a-z]\w*)(?:\(.*\))?$`)
	variable      = regexp.MustCompile(`^MCP[A-Z_]+$`)
)

// What stands as code in the text is there: commands, flags, files, ids, names.
func TestDocsNames(t *testing.T) {
	t.Parallel()
	top, err := os.ReadDir(repository)
	if err != nil {
		t.Fatal(err)
	}
	inRepository := func(span string) bool {
		first, _, below := strings.Cut(span, "/")
		return below && slices.ContainsFunc(top, func(one os.DirEntry) bool { return one.Name() == first })
	}
	requirements, _, err := declaredByRole()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents(t) {
		walk(d, func(code *ast.CodeSpan) {
			span := strings.ReplaceAll(string(code.Text(d.source)), "\n", " ") //nolint:staticcheck // a span has only text
			var problem error
			switch name := goName.FindStringSubmatch(span); {
			case strings.HasPrefix(span, "mcpconform "), strings.HasPrefix(span, "make "):
				problem = understood(span)
			case errorCode.MatchString(span): // of JSON-RPC
			case span != "--" && strings.HasPrefix(span, "-"):
				problem = isFlag(span)
			case inRepository(span):
				if found, _ := filepath.Glob(filepath.Join(repository, span)); found == nil {
					problem = errors.New("there is no such file")
				}
			case slices.Contains([]string{".yaml", ".json", ".mod", ".toml", ".txt"}, path.Ext(span)): // of the reader
			case requirementID.MatchString(span):
				if !slices.ContainsFunc(requirements.All(), func(one *catalogue.Requirement) bool {
					return one.ID == span || strings.HasPrefix(one.ID, span+".")
				}) {
					problem = errors.New("there is no requirement of that id")
				}
			case name != nil:
				if !declaredNames()[name[1]] {
					problem = errors.New("there is no Go name like it")
				}
			case variable.MatchString(span):
				if !slices.ContainsFunc(allSources(), func(source string) bool { return strings.Contains(source, `"`+span+`"`) }) {
					problem = errors.New("nothing reads the variable")
				}
			}
			if problem != nil {
				t.Errorf("%s: `%s`: %v", d.name, span, problem)
			}
		})
	}
}

// declaredNames are what the Go files declare, members and methods among it.
var declaredNames = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, source := range allSources() {
		for _, found := range regexp.MustCompile(`(?m)(?:^func |^func \([^)]*\) |^type |^\t)(\w+)`).FindAllStringSubmatch(source, -1) {
			all[found[1]] = true
		}
	}
	return all
})

// The commands that are not run are understood.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for _, b := range blocks(t, "console") {
		for _, one := range examplesOf(t, b) {
			shown[one.command] = true
			if notRun[one.command] != "" {
				if err := understood(one.command); err != nil {
					t.Errorf("%s: %s: %v", one.at(), one.command, err)
				}
			}
		}
	}
	for command := range notRun {
		if !shown[command] {
			t.Errorf("no document shows %q any more", command)
		}
	}
}

// understood reads a command without running it.
func understood(command string) error {
	words := strings.Fields(command)
	switch words[0] {
	case "make":
		makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
		for _, target := range words[1:] {
			if strings.Contains(target, "=") {
				return err // the rest are variables
			}
			if err == nil && !regexp.MustCompile(`(?m)^`+target+`:`).Match(makefile) {
				err = fmt.Errorf("there is no target %s", target)
			}
		}
		return err
	case "go":
		if words[1] == "test" {
			if at := slices.Index(words, "-bench"); at > 0 {
				return testsIn(words[2], "Benchmark"+words[at+1])
			}
			return testsIn(words[2], words[4])
		}
		if words[1] == "build" {
			_, err := os.Stat(filepath.Join(repository, words[len(words)-1], "main.go"))
			return err
		}
		module, err := os.ReadFile(filepath.Join(repository, "go.mod"))
		if err != nil {
			return err
		}
		name := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(module)
		folder, ours := strings.CutPrefix(strings.TrimSuffix(words[len(words)-1], "@latest"), string(name[1])+"/")
		if _, err := os.Stat(filepath.Join(repository, folder, "main.go")); !ours || err != nil {
			return fmt.Errorf("there is no program %s in %s", folder, name[1])
		}
		return nil
	case "npx", "docker": // run it
		at := slices.Index(words, "mcpconform")
		if at < 0 {
			return fmt.Errorf("%s does not run mcpconform", words[0])
		}
		return understood(strings.Join(words[at:], " "))
	case "gh", "git", "jq", "sha256sum", "sudo", "tar":
		return nil // are not ours
	case ".ci/release/image":
		_, err := os.Stat(filepath.Join(repository, words[0]))
		return err
	}
	if strings.TrimPrefix(words[0], "bin/") != "mcpconform" {
		return errors.New("it is no command of ours")
	}
	root := newRoot()
	root.InitDefaultCompletionCmd(words...)
	found, rest, err := root.Find(words[1:])
	switch {
	case err != nil:
		return err
	case found == root:
		return fmt.Errorf("there is no command %s", words[1])
	}
	return found.ParseFlags(rest)
}

// testsIn finds tests that a pattern of go test -run chooses.
func testsIn(folder, chosen string) error {
	files, _ := filepath.Glob(filepath.Join(repository, folder, "*_test.go"))
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil || regexp.MustCompile(`(?m)^func `+chosen).Match(source) {
			return err
		}
	}
	return fmt.Errorf("%s has no test %s", folder, chosen)
}

// isFlag finds flags by what stands for each, such as --timeout D, and the values that
// are named, such as auto|all.
func isFlag(span string) error {
	for one := range strings.SplitSeq(span, ", ") {
		words := strings.Fields(one)
		var known *pflag.Flag
		for _, command := range commandsBelow(newRoot()) {
			if name, long := strings.CutPrefix(words[0], "--"); long {
				known = command.Flags().Lookup(name)
			} else {
				known = command.Flags().ShorthandLookup(strings.TrimPrefix(words[0], "-"))
			}
			if known != nil {
				break
			}
		}
		if known == nil {
			return fmt.Errorf("no command has the flag %s", words[0])
		}
		for value := range strings.SplitSeq(strings.Join(words[1:], " "), "|") {
			if value = strings.Trim(value, `\ `); value == strings.ToLower(value) && !dated.MatchString(value) && !strings.Contains(known.Usage, value) {
				return fmt.Errorf("the help of %s does not have the value %s", words[0], value)
			}
		}
	}
	return nil
}

func commandsBelow(command *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{command}
	for _, one := range command.Commands() {
		all = append(all, commandsBelow(one)...)
	}
	return all
}
