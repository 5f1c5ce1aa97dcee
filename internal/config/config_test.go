package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/provoke"
)

const everything = `# Everything that a file can say.
url: http://localhost:3000/mcp
command: [node, server.js, --port, 3000]
revision: 2025-11-25
transport: http
filter: MUST && !logging
header:
  Authorization: Bearer secret
env: {DEBUG: "1", PORT: 3000}
junit: junit.xml
json: run.json
transcripts: out
workers: 4
timeout: 2s500ms
deadline: 5m
max-message: 16MiB
strict: true
call-tools: listed
arguments:
  search: {query: cats, limit: 3, exact: false, tags: [a, {b: null}]}
  now: {}
provocations:
  progress: {tool: count, arguments: {to: 3}}
  resource-updated:
    tool: touch
    resource: file:///a
`

func TestParse(t *testing.T) {
	t.Parallel()
	read, err := config.Parse("mcpconform.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	want := config.File{
		URL: "http://localhost:3000/mcp", Command: []string{"node", "server.js", "--port", "3000"},
		Revision: "2025-11-25", Transport: "http", Filter: "MUST && !logging",
		Header: map[string]string{"Authorization": "Bearer secret"},
		Env:    map[string]string{"DEBUG": "1", "PORT": "3000"},
		JUnit:  "junit.xml", JSON: "run.json", Transcripts: "out",
		Workers: 4, Timeout: 2500 * time.Millisecond, Deadline: 5 * time.Minute, MaxMessage: "16MiB", Strict: true,
		CallTools: "listed",
		Arguments: map[string]map[string]any{
			"search": {"query": "cats", "limit": 3, "exact": false, "tags": []any{"a", map[string]any{"b": nil}}},
			"now":    {},
		},
		Provocations: map[string]provoke.Provocation{
			"progress":         {Tool: "count", Arguments: map[string]any{"to": 3}},
			"resource-updated": {Tool: "touch", Resource: "file:///a"},
		},
	}
	if difference := cmp.Diff(want, read); difference != "" {
		t.Error(difference)
	}
}

// What YAML reads as a date or a number is text where JSON has nothing else.
func TestParseArgumentsAsJSON(t *testing.T) {
	t.Parallel()
	read, err := config.Parse("f", []byte("arguments: {a: &a {2020-01-01: 2020-01-01, 1: {2: 0x10}}, b: {<<: *a, again: *a}}"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(read.Arguments)
	if want := `{"a":{"1":{"2":16},"2020-01-01":"2020-01-01"},"b":{"1":{"2":16},"2020-01-01":"2020-01-01","again":{"1":{"2":16},"2020-01-01":"2020-01-01"}}}`; err != nil || string(got) != want {
		t.Errorf("read %s, %v\nwanted %s", got, err, want)
	}
}

func TestParseNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n\n", "# only a comment\n", "---\n", "\xef\xbb\xbf"} {
		read, err := config.Parse("f", []byte(text))
		if err != nil || !cmp.Equal(read, config.File{}) {
			t.Errorf("%q says %+v, %v", text, read, err)
		}
	}
}

func TestParseTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, says string }{
		"unknown key":                {"\nreversion: x", `f:2: unknown key "reversion", did you mean "revision"?`},
		"unknown key, far off":       {"zzz: x", `f:1: unknown key "zzz"; known are arguments, auth, authorization-server, badge, baseline, `},
		"unknown key of a login":     {"authorization-server:\n  logn: [a]", `f:2: unknown key "logn", did you mean "login"?`},
		"another case":               {"URL: x", `f:1: unknown key "URL", did you mean "url"?`},
		"unknown key, further in":    {"provocations:\n  text:\n    tol: a", `f:3: unknown key "tol", did you mean "tool"?`},
		"duplicate key":              {"url: a\nurl: b", `f:2: key "url" is given twice, the first time on line 1`},
		"duplicate, further in":      {"header:\n  A: a\n  A: b", `f:3: key "A" is given twice, the first time on line 2`},
		"not a duration":             {"url: x\ntimeout: 5x", `f:2: "5x" stands where a duration such as 5s belongs`},
		"not a duration, the second": {"timeout: 5s\n\ndeadline: soon", `f:3: "soon" stands where a duration such as 5s belongs`},
		"a duration without a unit":  {"timeout: 5", `f:1: "5" stands where a duration such as 5s belongs`},
		"not a number":               {"\n\nworkers: many", `f:3: "many" stands where a whole number belongs`},
		"too large a number":         {"workers: 99999999999999999999", `f:1: "9999999..." stands where a whole number belongs`},
		"not true or false":          {"strict: maybe", `f:1: "maybe" stands where true or false belongs`},
		"not text":                   {"url: [a]", `f:1: a list stands where text belongs`},
		"not a list":                 {"command: ls -l", `f:1: "ls -l" stands where a list belongs`},
		"not a mapping":              {"\nheader: Authorization", `f:2: "Authori..." stands where a mapping belongs`},
		"a list of settings":         {"- url: a", `f:1: a list stands where a mapping belongs`},
		"words":                      {"hello", `f:1: "hello" stands where a mapping belongs`},
		"not YAML":                   {"url: a\nb: c: d", "f:2: mapping values are not allowed in this context"},
		"not closed":                 {"command: [a", "f:1: did not find expected ',' or ']'"},
		"a tab":                      {"\turl: a", "f:1: found character that cannot start any token"},
		"not UTF-8":                  {"url: \xff", "f:1: not UTF-8"},
		"an unknown alias":           {"url: *b", "f:1: unknown anchor 'b' referenced"},
		"two documents":              {"url: a\n---\nurl: b", "f:2: more than one document"},
		"a second that is not YAML":  {"url: a\n---\nb: c: d", "f:3: mapping values are not allowed"},
		"unknown provocation":        {"url: x\nprovocations:\n  text: {tool: a}\n  txt: {tool: a}", `f:4: provocations: unknown kind "txt", did you mean "text"?`},
		"the first of two":           {"provocations:\n  zz: {tool: a}\n  aa: {tool: a}", `f:3: provocations: unknown kind "aa"; known are audio, `},
		"never what is unknown":      {"never: [sampling, elicitatoin]", `f:1: never: unknown name "elicitatoin", did you mean "elicitation"?`},
		"never, a line for each":     {"url: x\nnever:\n  - roots\n  - rots", `f:4: never: unknown name "rots", did you mean "roots"?`},
		"never, but provoked":        {"provocations:\n  elicitation-url: {tool: a}\nnever: [elicitation]", "f:2: provocations: elicitation-url names a tool, but never says elicitation"},
		"never alone":                {"never: sampling", `f:1: "sampling" stands where a list belongs`},
		"a provocation of nothing":   {"provocations:\n  text: {}", "f:2: provocations: text names no tool"},
		"not a JSON number":          {"arguments:\n  a: {}\n  b: {x: [1, .nan]}", "f:3: arguments: those of b contain the number NaN, which JSON does not have"},
		"unknown key of auth":        {"auth:\n  token: a", `f:2: unknown key "token", did you mean "tokens"?`},
		"unknown token":              {"auth:\n  tokens:\n    vald: secret", `f:3: auth: tokens: unknown name "vald", did you mean "valid"?`},
		"a token of two words":       {"auth:\n  tokens: {valid: Bearer secret}", "f:2: auth: tokens: valid is not an access token"},
		"a scope of no tool":         {"auth:\n  scopes: [{needs: [a]}]", "f:2: auth: scopes: an entry names no tool"},
		"unknown key of a scope":     {"auth:\n  scopes:\n    - {tol: a}", `f:3: unknown key "tol", did you mean "tool"?`},
		"a mapping as a key":         {"arguments:\n  a: {x: {? {b: c} : d}}", "f:2: a list, mapping or alias stands where a key belongs"},
		"too many values":            {"arguments:\n  a: {x: [" + strings.Repeat("1, ", 100_000) + "]}", "f:2: more than 100000 keys and values"},
		"too many by aliases":        {"arguments:\n  a: {x: &x [" + strings.Repeat("1, ", 10_000) + "], y: [" + strings.Repeat("*x, ", 10) + "]}", "f:2: arguments: those of a have more than 100000 values"},
		"infinite, in a provocation": {"provocations:\n  text: {tool: a, arguments: {x: {y: -.inf}}}", "f:2: provocations: the arguments of text contain the number -Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, err := config.Parse("f", []byte(test.text))
			if err == nil || !strings.HasPrefix(err.Error(), test.says) {
				t.Errorf("told %v\nwanted %s", err, test.says)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("told in more than one line: %v", err)
			}
			if !cmp.Equal(read, config.File{}) {
				t.Errorf("and said %+v", read)
			}
		})
	}
}

// Aliases that repeat aliases would be written out to workers and targets.
func TestParseBoundsAliases(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("arguments:\n  tool:\n    a0: &a0 {x: 1}\n")
	for level := 1; level <= 40; level++ {
		fmt.Fprintf(&text, "    a%d: &a%d [*a%d, *a%d]\n", level, level, level-1, level-1)
	}
	_, err := config.Parse("f", []byte(text.String()))
	if err == nil || err.Error() != "f:1: document contains excessive aliasing" {
		t.Errorf("told %v", err)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), config.DefaultFile)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	t.Parallel()
	read, err := config.Load(write(t, "url: http://localhost\n"))
	if err != nil || read.URL != "http://localhost" {
		t.Errorf("said %+v, %v", read, err)
	}
}

func TestLoadTellsTheFile(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none.yaml")
	directory := t.TempDir()
	wrong := write(t, "\nworkers: many")
	huge := write(t, "# "+strings.Repeat("x", 1<<20))
	for path, says := range map[string]string{
		missing:   ": no such file or directory",
		directory: ": is a directory",
		wrong:     `:2: "many" stands where a whole number belongs`,
		huge:      ": larger than 1024 KiB",
	} {
		if _, err := config.Load(path); err == nil || err.Error() != path+says {
			t.Errorf("told %v, wanted %s", err, path+says)
		}
	}
}
