//go:build linux

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/baseline"
	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/matrix"
	"github.com/mcpconform/mcpconform/suites"
)

// update rewrites what the documentation shows: output of commands, and numbers.
var update = flag.Bool("update", false, "rewrite the output and the numbers that the documentation shows (with -run TestDocs)")

// repository is the root of the checkout, seen from this package.
const repository = "../.."

// document is a page of the documentation.
type document struct {
	name   string // below the root of the repository
	source []byte
	root   ast.Node
}

// block is a fenced block of a document.
type block struct {
	document *document
	language string
	text     string
	from     int // where the text begins in the source
}

// at says where an offset of the source is: FILE:LINE.
func (d *document) at(offset int) string {
	return fmt.Sprintf("%s:%d", d.name, 1+bytes.Count(d.source[:offset], []byte("\n")))
}

func (b block) at() string { return b.document.at(b.from) }

// documents reads all of the documentation.
func documents(t testing.TB) []*document {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("found no docs: %v", err)
	}
	var all []*document
	for _, file := range append(paths, filepath.Join(repository, "README.md"), filepath.Join(repository, "CONTRIBUTING.md")) {
		all = append(all, readDocument(t, file))
	}
	return all
}

func readDocument(t testing.TB, file string) *document {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(repository, file)
	if err != nil {
		t.Fatal(err)
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table))
	return &document{name, source, markdown.Parser().Parse(text.NewReader(source))}
}

// walk visits the nodes of a kind.
func walk[Node ast.Node](d *document, visit func(Node)) {
	_ = ast.Walk(d.root, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // visit reports what is wrong
		if one, is := node.(Node); is && entering {
			visit(one)
		}
		return ast.WalkContinue, nil
	})
}

// blocks returns the fenced blocks of all documents, of a language or of any.
func blocks(t testing.TB, language string) []block {
	t.Helper()
	var all []block
	for _, d := range documents(t) {
		walk(d, func(fence *ast.FencedCodeBlock) {
			one := block{document: d, language: string(fence.Language(d.source))}
			if lines := fence.Lines(); lines.Len() > 0 {
				one.from = lines.At(0).Start
				one.text = string(d.source[one.from:lines.At(lines.Len()-1).Stop])
			}
			if language == "" || one.language == language {
				all = append(all, one)
			}
		})
	}
	return all
}

// edits are changes of documents that -update writes when all tests of them are over.
type edits struct {
	mu  sync.Mutex
	all map[string][]edit
}

type edit struct {
	from, to int // in the source
	text     string
}

func (e *edits) add(d *document, one edit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string][]edit{}
	}
	e.all[d.name] = append(e.all[d.name], one)
}

// write changes the files, from the end of each to its beginning.
func (e *edits) write(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, changes := range e.all {
		file := filepath.Join(repository, name)
		source, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		slices.SortFunc(changes, func(a, b edit) int { return cmp.Compare(b.from, a.from) })
		for _, one := range changes {
			source = slices.Concat(source[:one.from], []byte(one.text), source[one.to:])
		}
		if err := os.WriteFile(file, source, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// testedElsewhere are blocks that other tests read, by document and language.
var testedElsewhere = map[string]string{
	"docs/clients.md json": "docs/clients_test.go validates them",
	"docs/replay.md yaml":  "TestReplayRules plays by them",
	"docs/clients.md go":   "docs/clients_test.go compiles it and has it checked",
}

// Every block of the documentation is of a kind that a test reads.
func TestDocsBlocks(t *testing.T) {
	t.Parallel()
	all := blocks(t, "")
	for _, one := range all {
		if testedElsewhere[one.document.name+" "+one.language] != "" || isNewcomers(one) {
			continue
		}
		switch one.language {
		case "console": // TestDocsExamples
		case "yaml":
			if err := judgeYAML(one.text); err != nil {
				t.Errorf("%s: %v", one.at(), err)
			}
		case "go":
			if !slices.ContainsFunc(goSources(), func(source string) bool { return strings.Contains(unindented(source), unindented(one.text)) }) {
				t.Errorf("%s: this stands in no file of suites", one.at())
			}
		case "text":
			judgeLayout(t, one)
		case "dockerfile":
			judgeDockerfile(t, one)
		default:
			t.Errorf("%s: no test reads blocks of the language %q; commands are console, each with $ before it", one.at(), one.language)
		}
	}
	for kind := range testedElsewhere {
		if !slices.ContainsFunc(all, func(one block) bool { return one.document.name+" "+one.language == kind }) {
			t.Errorf("there is no block %s any more", kind)
		}
	}
}

var (
	copied     = regexp.MustCompile(`(?m)^COPY --from=mcpconform (\S+) `)
	entrypoint = regexp.MustCompile(`(?m)^ENTRYPOINT (\[.*\])$`)
)

// judgeDockerfile makes sure that it takes the program from where ko puts it, and runs
// what there is.
func judgeDockerfile(t *testing.T, one block) {
	t.Helper()
	var image struct{ Builds []struct{ Main string } }
	readYAML(t, ".ko.yaml", &image)
	if found := copied.FindStringSubmatch(one.text); found == nil || found[1] != "/ko-app/"+path.Base(image.Builds[0].Main) {
		t.Errorf("%s: it copies %q", one.at(), found)
	}
	var command []string
	if found := entrypoint.FindStringSubmatch(one.text); found == nil || json.Unmarshal([]byte(found[1]), &command) != nil {
		t.Errorf("%s: it has no command", one.at())
	} else if err := understood(strings.Join(command, " ")); err != nil {
		t.Errorf("%s: %v", one.at(), err)
	}
}

// judgeYAML compares an entry of a catalogue with the one of its id, reads a config,
// and leaves a step of a workflow to TestDocsExamples.
func judgeYAML(shown string) error {
	var content any
	if err := yaml.Unmarshal([]byte(shown), &content); err != nil {
		return err
	}
	entries, isList := content.([]any)
	if members, _ := content.(map[string]any); members["deviations"] != nil {
		return judgeBaseline(shown)
	}
	if !isList {
		_, err := config.Parse("mcpconform.yaml", []byte(shown))
		return err
	}
	if strings.HasPrefix(shown, "- target:") {
		_, err := matrix.Parse("targets.yaml", []byte(shown))
		return err
	}
	for _, entry := range entries {
		members, _ := entry.(map[string]any)
		switch {
		case members["run"] != nil:
		case isOthers(members["uses"]):
		case members["uses"] != nil:
			if err := knownInputs(members["with"]); err != nil {
				return err
			}
		case members["report"] != nil:
			if err := standsInRepository("report", members); err != nil {
				return err
			}
		case members["id"] != nil:
			if err := standsInRepository("id", members); err != nil {
				return err
			}
		default:
			return fmt.Errorf("no step of a workflow, no use of the action, no requirement, no fault and no report: %v", entry)
		}
	}
	return nil
}

// isOthers tells whether a step uses the action of another project.
func isOthers(uses any) bool {
	name, _ := uses.(string)
	return name != "" && !strings.HasPrefix(name, "mcpconform/mcpconform@")
}

// knownInputs makes sure that a step gives our action only what it takes.
func knownInputs(with any) error {
	text, err := os.ReadFile(filepath.Join(repository, "action.yml"))
	if err != nil {
		return err
	}
	var action struct{ Inputs map[string]any }
	if err := yaml.Unmarshal(text, &action); err != nil {
		return err
	}
	given, _ := with.(map[string]any)
	for name := range given {
		if action.Inputs[name] == nil {
			return fmt.Errorf("action.yml has no input %s", name)
		}
	}
	return nil
}

// judgeBaseline reads a baseline, of requirements that there are.
func judgeBaseline(shown string) error {
	folder, err := os.MkdirTemp("", "mcpconform-docs-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "baseline.yaml")
	if err := os.WriteFile(file, []byte(shown), 0o600); err != nil {
		return err
	}
	entries, err := baseline.Load(file)
	for _, one := range entries {
		if one.Requirement != "" && !newDeclared().Requirement(one.Requirement) {
			return fmt.Errorf("there is no requirement %s", one.Requirement)
		}
	}
	return err
}

// standsInRepository tells whether an entry is the one that has its key.
func standsInRepository(key string, shown map[string]any) error {
	var problem error
	found := false
	for _, fsys := range []fs.FS{suites.Requirements, fixtures.Wire, fixtures.Reports} {
		err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
				return err
			}
			source, err := fs.ReadFile(fsys, name)
			if err != nil || !bytes.Contains(source, fmt.Appendf(nil, "- %s: %s\n", key, shown[key])) {
				return err
			}
			var entries []map[string]any
			if err := yaml.Unmarshal(source, &entries); err != nil {
				return err
			}
			for _, one := range entries {
				if one[key] == shown[key] {
					found = true
					if !reflect.DeepEqual(one, shown) {
						problem = fmt.Errorf("%s has\n%v, not\n%v", name, one, shown)
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("there is no %v", shown[key])
	}
	return problem
}

// unindented is code without what only lays it out, and without comments.
func unindented(code string) string {
	return strings.Join(strings.Fields(regexp.MustCompile(`(?m)//.*$`).ReplaceAllString(code, "")), " ")
}

// goSources are the Go files of the suites.
var goSources = sync.OnceValue(func() []string { return sourcesBelow("suites") })

// allSources are the Go files whose names the documentation may use.
var allSources = sync.OnceValue(func() []string { return sourcesBelow("suites", "internal", "cmd", "reference", "fixtures") })

func sourcesBelow(folders ...string) []string {
	var all []string
	for _, folder := range folders {
		_ = filepath.WalkDir(filepath.Join(repository, folder), func(file string, entry fs.DirEntry, err error) error {
			if err == nil && path.Ext(file) == ".go" && !entry.IsDir() {
				source, readErr := os.ReadFile(file)
				all, err = append(all, string(source)), readErr
			}
			return err
		}) // what cannot be read is missed by the test that looks for it
	}
	return all
}

// judgeLayout reads a list of the folders of the repository.
func judgeLayout(t *testing.T, one block) {
	t.Helper()
	folders := regexp.MustCompile(`(?m)\S+/(?:\s|$)`).FindAllString(one.text, -1)
	if len(folders) == 0 {
		t.Errorf("%s: text that no test reads; output is console, behind the command that writes it", one.at())
	}
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(repository, strings.TrimSpace(folder))); err != nil {
			t.Errorf("%s: %v", one.at(), err)
		}
	}
}
