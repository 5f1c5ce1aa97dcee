package matrix_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/matrix"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const text = `
# a comment
- target: weather
  command: [node, server.js, "1"]
  directory: servers/weather
  config: weather.yaml
  baseline: "sdk:typescript@1.32"
  revision: 2025-06-18,2025-11-25
  transport: stdio
  filter: server/tools && MUST
  call-tools: all
  timeout: 10s
  deadline: 5m
  strict: true
- target: boxed
  image: example/server
  command: [--quick]
- {target: client.1, role: client, command: [./client]}
- {target: auth, role: authorization-server, url: "https://auth.example.com"}
`
	found, err := matrix.Parse("t.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []matrix.Entry{
		{
			Name: "weather", Role: "server", Command: []string{"node", "server.js", "1"}, Directory: "servers/weather",
			Config: "weather.yaml", Baseline: "sdk:typescript@1.32", Revision: "2025-06-18,2025-11-25", Transport: "stdio",
			Filter: "server/tools && MUST", CallTools: "all", Timeout: 10 * time.Second, Deadline: 5 * time.Minute, Strict: true,
		},
		{Name: "boxed", Role: "server", Command: []string{"docker", "run", "--rm", "-i", "example/server", "--quick"}},
		{Name: "client.1", Role: "client", Command: []string{"./client"}},
		{Name: "auth", Role: "authorization-server", URL: "https://auth.example.com"},
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("found %+v\nwanted %+v", found, want)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                     `t.yaml:1: expected a list of targets, each beginning with "- target:"`,
		"target: a":                            `t.yaml:1: expected a list of targets, each beginning with "- target:"`,
		"- a":                                  "t.yaml:1: a target: expected a map",
		"- target: a\n  comand: [x]":           `t.yaml:2: unknown key "comand", did you mean "command"?`,
		"- target: a\n  target: b":             `t.yaml:2: key "target" is given twice, the first time on line 1`,
		"- command: [x]":                       "t.yaml:1: a target has no name: target",
		"- target: [a]\n  command: [x]":        "t.yaml:1: target needs one value",
		"- target: ../a\n  command: [x]":       `t.yaml:1: the name "../a" must be letters, digits, dots, dashes and underscores, at most 64, and begin and end with a letter or digit`,
		"- target: a.\n  command: [x]":         `t.yaml:1: the name "a." must be letters`,
		"- target: .a\n  command: [x]":         `t.yaml:1: the name ".a" must be letters`,
		"- target: a b\n  command: [x]":        `t.yaml:1: the name "a b" must be letters`,
		"- target: index.html\n  command: [x]": `t.yaml:1: the name "index.html" cannot be used as a folder name`,
		"- target: Nul.txt\n  command: [x]":    `t.yaml:1: the name "Nul.txt" cannot be used as a folder name`,
		"- target: a\n  command: [x]\n- target: A\n  command: [x]":       `t.yaml:3: the target on line 1 has the name "A" too`,
		"- target: a\n  role: sever\n  command: [x]":                     `t.yaml:2: unknown role "sever", did you mean "server"?`,
		"- target: a\n  role: client\n  url: http://x":                   "t.yaml:3: url is not for the role client",
		"- target: a\n  role: client\n  command: [x]\n  call-tools: all": "t.yaml:4: call-tools is not for the role client",
		"- target: a":                                         "t.yaml:1: a has no url, command or image",
		"- target: a\n  role: client":                         "t.yaml:1: a has no command or image",
		"- target: a\n  role: authorization-server":           "t.yaml:1: a has no url",
		"- target: a\n  config: none.yaml":                    "t.yaml:1: a has no url or command, and is reached by its config: none.yaml: no such file",
		"- target: a\n  url: http://x\n  command: [x]":        "t.yaml:2: url and command exclude each other",
		"- target: a\n  url: http://x\n  image: x":            "t.yaml:2: url and image exclude each other",
		"- target: a\n  url: x.example.com":                   "t.yaml:2: url must begin with http:// or https:// and name a host",
		"- target: a\n  command: node server.js":              "t.yaml:2: command must be a list of words, such as [node, server.js]",
		"- target: a\n  command: []":                          "t.yaml:2: command must be a list of words",
		"- target: a\n  command: [[x]]":                       "t.yaml:2: command must be a list of words",
		"- target: a\n  command: [x]\n  timeout: 10":          `t.yaml:3: timeout "10" must be a duration such as 10s`,
		"- target: a\n  command: [x]\n  deadline: -1s":        `t.yaml:3: deadline "-1s" must be a duration such as 10s`,
		"- target: a\n  command: [x]\n  strict: 1":            "t.yaml:3: strict must be true or false",
		"- target: a\n  command: [x]\n  revision: 2025-11-26": `t.yaml:3: revision "2025-11-26" is unknown, did you mean "2025-11-25"?`,
		"- target: a\n  command: [x]\n  revision: all,auto":   `t.yaml:3: revision "all" is unknown`,
		"- target: a\n  command: [x]\n  revision:":            "t.yaml:3: revision needs one value",
		"- target: a\n  command: [x]\n  transport: htp":       `t.yaml:3: unknown transport "htp", did you mean "http"?`,
		"- target: a\n  command: [x]\n  call-tools: al":       `t.yaml:3: unknown call-tools "al", did you mean "all"?`,
		"- target: a\n  command: [x]\n  filter: '&&'":         `t.yaml:3: filter "&&" cannot be read: `,
		"- target: a\n  command: &x [x]\n  config: *x":        "t.yaml:1: aliases of YAML are not for targets: write it out",
		strings.Repeat("#", 1<<20) + "\n":                     "t.yaml: larger than 1024 KiB",
	} {
		_, err := matrix.Parse("t.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80q: %v\nwanted %s", text, err, want)
		}
	}
}

// A target that is reached as its config says needs no more than that; one of which the
// config says nothing would be the reference of the harness.
func TestParseReachedByConfig(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for name, test := range map[string]struct{ config, role, problem string }{
		"a server":     {"command: [x]", "server", ""},
		"a URL":        {"url: http://x", "server", ""},
		"a client":     {"client: [x]", "client", ""},
		"an authority": {"authorization-server: {url: https://x}", "authorization-server", ""},
		"another role": {"client: [x]", "server", "has neither url nor command for the server a"},
		"nothing":      {"", "client", "has neither url nor command for the client a"},
		"a bad config": {"\nurl: [x]", "server", "mcpconform.yaml:2: a list stands where text belongs"},
	} {
		folder := filepath.Join(directory, strings.ReplaceAll(name, " ", "-"))
		write(t, filepath.Join(folder, "mcpconform.yaml"), test.config)
		_, err := matrix.Parse("t.yaml", []byte("- target: a\n  role: "+test.role+"\n  directory: "+folder+"\n"))
		switch {
		case test.problem == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
			t.Errorf("%s: %v, wanted %s", name, err, test.problem)
		}
	}
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
