//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reference/server"
)

// notRun are the commands that the documentation shows and TestDocsExamples does not
// run, each with the reason. TestDocsCommands reads them.
var notRun = map[string]string{
	"go install github.com/mcpconform/mcpconform/cmd/mcpconform@latest": "needs the network",
	"make test": "is what runs this test",
	`mcpconform server --url http://127.0.0.1:3000/mcp --auth-server --start "node server.js"`:                                                "needs a server that can be told of its authorization server",
	"mcpconform server --url http://127.0.0.1:3000/mcp --auth-server=127.0.0.1:7788 --auth-seed word":                                         "needs a server that was told of its authorization server",
	"mcpconform auth-server --listen 127.0.0.1:7788 --auth-seed word --resource http://127.0.0.1:3000/mcp":                                    "serves until it is interrupted",
	"mcpconform authorization-server --url https://auth.example.com --client-id my-client --client-secret my-secret --login 'my-login {url}'": "listens at the port of the redirect URI; TestAuthorizationServer runs one",
	"mcpconform authorization-server --url https://auth.example.com --documents https://tunnel.example.com --documents-listen 127.0.0.1:8443": "needs a tunnel",
	"mcpconform proxy --record recordings --url http://localhost:3000/mcp":                                                                    "stands there until it is interrupted; TestProxyOverHTTP",
	"mcpconform proxy --record recordings --forward --url https://example.com/mcp -- ./my-client":                                             "needs a server over TLS; TestProxyForward has one",
	"mcpconform replay recordings --as-server --transport http --listen 127.0.0.1:3000":                                                       "stands there until it is interrupted; TestReplay runs it",
	"go test ./cmd/mcpconform -run '^$' -bench Growth -benchtime 3x -update":                                                                  "measures for minutes, and changes the documentation",
	"go test ./cmd/mcpconform -run TestDocs -update":                                                                                          "changes the documentation",
	"sha256sum --check --ignore-missing checksums.txt":                                                                                        "needs a release",
	"tar -xzf mcpconform_1.2.3_linux_amd64.tar.gz":                                                                                            "needs a release",
	"sudo cp mcpconform_1.2.3_linux_amd64/mcpconform /usr/local/bin/":                                                                         "needs a release, and changes the machine",
	"sudo cp mcpconform_1.2.3_linux_amd64/man/*.1 /usr/local/share/man/man1/":                                                                 "needs a release, and changes the machine",
	"gh attestation verify mcpconform_1.2.3_linux_amd64.tar.gz --repo mcpconform/mcpconform":                                                  "needs a release, and the network",
	`git add mcpconform.yaml .github && git commit -m "Check the server" && git push`:                                                         "needs a repository of the reader",
	"npx mcpconform server -- node my-server.js":                                                                                              "needs a release; TestNpx runs what it would install",
	"docker run --rm --network host mcpconform server --url http://127.0.0.1:3000/mcp":                                                        "needs a container engine",
	".ci/release/image --push=false --oci-layout-path=image":                                                                                  "needs the modules of ko; CI runs it within make release-snapshot",
	"make release-reproduce":  "needs minutes, and the modules of goreleaser",
	"make lint test selftest": "needs minutes, and the linter; CI runs it",
	"git clone https://github.com/mcpconform/mcpconform && cd mcpconform":                                                                      "needs the network",
	`make bench RUN="server --url http://localhost:3000 -q" BESIDE="npx @modelcontextprotocol/conformance server --url http://localhost:3000"`: "it measures, with what is not installed here",
	`jq -r '.legs[].results[] | "\(.duration) \(.text)"' run.json | sort -rn | head`:                                                           "not every machine has jq",
	"go build -o bin/mcpconform ./cmd/mcpconform":                                                                                              "the tests build it",
	"bin/mcpconform selftest --filter initialize-with-an-empty-name":                                                                           "TestDocsContributingIsFollowed runs it, with that fault",
	"bin/mcpconform server --revision 2025-11-25 -- bin/mcpconform reference server --stdio --fault initialize-with-an-empty-name":             "TestDocsContributingIsFollowed runs it, with that fault",
	"bin/mcpconform selftest --role client --filter sampling":                                                                                  "CI injects all faults; one of these is run as the target of mcpconform client",
}

// supposedIssuer is the authorization server that the documentation supposes.
const supposedIssuer = "https://auth.example.com"

// supposedStream is that of a server over HTTP with SSE.
const supposedStream = "http://127.0.0.1:3000/sse"

// standIns are the programs that the documentation supposes: servers and clients of
// the reader. They are the references.
var standIns = map[string]func(){
	"mcpconform": func() { os.Exit(run(os.Args[1:])) },
	"npx":        standInServer,
	"my-server":  standInServer,
	"my-client":  standInClient,
	"my-driver":  standInClient,
	"my-login":   standInLogin,

	"weather-1.0": standInWeather("1.0"),
	"weather-1.1": standInWeather("1.1"),
	"weather-2.0": standInWeather("2.0"),
}

// standInLogin goes where a browser is led with which everybody is logged in.
func standInLogin() {
	response, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = response.Body.Close()
	os.Exit(0)
}

func standInServer() { os.Exit(run([]string{"reference", "server", "--stdio"})) }

// standInClient takes the server from where the examples put it.
func standInClient() {
	arguments := os.Args[1:]
	spawned, spawns := strings.CutPrefix(arguments[0], "--spawn=")
	switch {
	case spawns:
		arguments = append([]string{"--"}, strings.Fields(spawned)...)
	case arguments[0] == "--endpoint":
		arguments = arguments[1:2]
	case len(arguments) > 1:
		arguments = append([]string{"--"}, arguments...)
	}
	os.Exit(run(append([]string{"reference", "client"}, arguments...)))
}

// example is a command that the documentation shows, with the output that it shows.
type example struct {
	document *document
	from, to int // of the output, in the source
	command  string
	output   string
}

func (e *example) at() string { return e.document.at(e.from - 1) }

// examplesOf reads the commands of a console block, or the step of a workflow.
func examplesOf(t *testing.T, b block) []*example {
	t.Helper()
	var all []*example
	if b.language == "yaml" {
		var steps []struct{ Run string }
		_ = yaml.Unmarshal([]byte(b.text), &steps) // TestDocsBlocks reads what is no step
		for _, step := range steps {
			if step.Run != "" {
				all = append(all, &example{document: b.document, from: b.from + 1, to: b.from + 1, command: step.Run})
			}
		}
		return all
	}
	from := b.from
	for line := range strings.Lines(b.text) {
		from += len(line)
		if command, is := strings.CutPrefix(line, "$ "); is {
			all = append(all, &example{document: b.document, from: from, to: from, command: strings.TrimSpace(command)})
			continue
		}
		if len(all) == 0 {
			t.Errorf("%s: output of no command", b.at())
			return nil
		}
		last := all[len(all)-1]
		last.to, last.output = from, last.output+line
	}
	return all
}

// elided is a line of shown output that stands for any number of lines.
const elided = "…"

// moving is what is not compared: what depends on the machine, on the run, or on how many
// checks, requirements and reports there are, so that one more changes no document.
var moving = []struct {
	what  *regexp.Regexp
	stays string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:0"},
	{regexp.MustCompile(`"id":\d+`), `"id":0`},
	{regexp.MustCompile(`\d+ times? in \d+ connections?`), "0 times in 0 connections"}, // depends on which checks shared one
	{regexp.MustCompile(`\b(answered) in (?:\d+m)?\d+(?:\.\d+)?s\b`), "$1"},            // by a slow tool
	{regexp.MustCompile(`\b(?:\d+ min )?\d+(?:\.\d+)? m?s\b`), "0 s"},
	{regexp.MustCompile(`\b\d+ (passed|skipped|inconclusive|scenarios|reports)\b`), "0 $1"},
	{regexp.MustCompile(`\b\d+ of \d+ (checks and rules)\b`), "0 of 0 $1"},
	{regexp.MustCompile(`^  ([a-z]+(?:[/-][a-z]+)*)(?: +(?:\d+|·))+$`), "  $1"}, // a page of the specification, counted by verdict
	{regexp.MustCompile(`^ +\d+(?: +\d+)?  (\S)`), "  0  $1"},                   // how many have a reason, or a requirement
}

func steady(line string) string {
	for _, one := range moving {
		line = one.what.ReplaceAllString(line, one.stays)
	}
	return strings.TrimRight(line, " ")
}

// conclusion are the lines at the end of a run: where they are broken depends on numbers.
var conclusion = regexp.MustCompile(`(?m)^No failure found in [^:]*:$|` +
	`^  \d+ passed,[\w\s,]*?inconclusive(?:\s+in\s+(?:\d+\s+min\s+)?[\d.]+\s+s$)?`)

// unbroken has each of them in one line.
func unbroken(text string) string {
	return conclusion.ReplaceAllStringFunc(text, func(found string) string {
		return strings.Join(strings.Fields(found), " ")
	})
}

// outline is what stays of a line when its numbers change.
func outline(line string) string {
	line = regexp.MustCompile(`\d+|·`).ReplaceAllString(steady(line), "#")
	return strings.Join(strings.Fields(line), " ")
}

// shownIn looks for shown lines in the output of a command, comparing what same
// leaves of each line; it returns them as they are there.
func shownIn(shown, output []string, same func(string) string) (found []string, ok bool) {
	anywhere := false
	for len(shown) > 0 {
		if shown[0] == elided {
			found, shown, anywhere = append(found, elided), shown[1:], true
			continue
		}
		length := slices.Index(append(slices.Clone(shown), elided), elided)
		last := length == len(shown)
		at := slices.IndexFunc(shifts(output, length), func(part []string) bool {
			return slices.EqualFunc(part, shown[:length], func(a, b string) bool { return same(a) == same(b) })
		})
		if at < 0 || at > 0 && !anywhere {
			return nil, false
		}
		if last && anywhere && at+length < len(output) { // the end of the output is meant
			output = output[at+1:]
			continue
		}
		found = append(found, output[at:at+length]...)
		shown, output, anywhere = shown[length:], output[at+length:], false
	}
	return found, anywhere || len(output) == 0
}

// shifts are all the parts of a length.
func shifts(lines []string, length int) [][]string {
	var all [][]string
	for at := 0; at+length <= len(lines); at++ {
		all = append(all, lines[at:at+length])
	}
	return all
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// judge compares the shown output, or has it changed.
func (e *example) judge(output string, changes *edits) error {
	if _, same := shownIn(linesOf(unbroken(e.output)), linesOf(unbroken(output)), steady); same {
		return nil
	}
	shown, lines := linesOf(e.output), linesOf(output)
	if !*update {
		return fmt.Errorf("%s: %s\nwrites something else than is shown (go test ./cmd/mcpconform -run TestDocs -update writes that):\n%s",
			e.at(), e.command, output)
	}
	if found, alike := shownIn(shown, lines, outline); alike {
		lines = found
	}
	changes.add(e.document, edit{e.from, e.to, strings.Join(lines, "\n") + "\n"})
	return nil
}

// Every command of the documentation does what it shows: plain tests run those of the
// README.
func TestDocsExamples(t *testing.T) {
	changes := &edits{}
	t.Cleanup(func() { changes.write(t) })
	if !*update {
		slowtest.Skip(t)
	}
	t.Parallel()
	var files []string
	all := map[string]*example{}
	directory := t.TempDir()
	shown := map[string]bool{} // commands of which the output is shown
	blocks := append(blocks(t, "console"), blocks(t, "yaml")...)
	for _, b := range blocks {
		for _, one := range examplesOf(t, b) {
			shown[one.command] = shown[one.command] || one.output != ""
		}
	}
	for _, b := range blocks {
		var script strings.Builder
		for _, one := range examplesOf(t, b) {
			if one.output == "" && shown[one.command] {
				continue // is run where it is
			}
			script.WriteString(scriptOf(t, one))
			all[one.at()] = one
		}
		if script.Len() > 0 {
			name := strings.NewReplacer("/", "-", ":", "-", ".md", "").Replace(b.at())
			files = append(files, writeFile(t, directory, name+".txtar", script.String()))
		}
	}
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: setUpExamples,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// run STATUS COMMAND... runs a command to its end.
			"run": func(script *testscript.TestScript, _ bool, arguments []string) {
				status := 0
				err := script.Exec(arguments[1], arguments[2:]...)
				if exit, exited := errors.AsType[*exec.ExitError](err); exited {
					status, err = exit.ExitCode(), nil
				}
				script.Check(err)
				if strconv.Itoa(status) != arguments[0] {
					script.Fatalf("status %d, want %s", status, arguments[0])
				}
			},
			// shows FILE:LINE compares what was written last with what is shown there.
			"shows": func(script *testscript.TestScript, _ bool, arguments []string) {
				script.Check(all[arguments[0]].judge(script.ReadFile("stdout"), changes))
			},
			// serves FILE:LINE ARGUMENT... serves a client, is interrupted, and compares.
			"serves": func(script *testscript.TestScript, _ bool, arguments []string) {
				text, err := serveOne(script, arguments[1:])
				script.Check(err)
				script.Check(all[arguments[0]].judge(text, changes))
			},
		},
	})
}

var (
	supposedURL = regexp.MustCompile(`https?://(?:127\.0\.0\.1:3000|example\.com)/mcp`)
	doubleQuote = regexp.MustCompile(`"([^"]*)"`)
	faultFlag   = regexp.MustCompile(`--fault (\S+)`)
	breaking    = regexp.MustCompile(`(?m)^BREAKING|^\d+ changes?: [1-9]\d* breaking`)
)

// narrow is chosen of the checks where the documentation shows no output: one that
// shows that the target was found and asked. Of a target with a fault those are chosen
// that the fault breaks.
const narrow = "base.components.required"

// scriptOf runs a command, and compares what is shown of it.
func scriptOf(t *testing.T, one *example) string {
	t.Helper()
	if notRun[one.command] != "" {
		return ""
	}
	command := strings.Replace(one.command, "go run -v ./cmd/mcpconform", "mcpconform", 1)
	arguments, known := strings.CutPrefix(command, "mcpconform ")
	if !known {
		t.Errorf("%s: is no mcpconform; if it cannot be run, tell notRun the reason: %s", one.at(), one.command)
		return ""
	}
	command = supposedURL.ReplaceAllString(command, "$$SERVER")
	command = strings.ReplaceAll(command, supposedStream, "$STREAM")
	command = strings.ReplaceAll(command, supposedIssuer, "$ISSUER")
	command = doubleQuote.ReplaceAllStringFunc(command, func(quoted string) string {
		return strings.ReplaceAll(strings.Trim(quoted, `"`), " ", "' '") // as testscript has it
	})
	verb, _, _ := strings.Cut(arguments, " ")
	if verb == "serve" {
		return fmt.Sprintf("serves %s%s\n", one.at(), strings.TrimPrefix(command, "mcpconform serve"))
	}
	status := exitConforms
	if (verb == "check" || verb == "replay") && strings.Contains(one.output, "FAILED") {
		status = exitDoesNot
	}
	if verb == "server" || verb == "client" {
		var options []string
		if id := faultFlag.FindStringSubmatch(command); id != nil {
			if !strings.Contains(command, "--baseline") {
				status = exitDoesNot
			}
			broken, err := fault.Find(fixtures.Wire, id[1])
			if err != nil {
				t.Errorf("%s: %v", one.at(), err)
				return ""
			}
			options = []string{"--filter", strings.Join(broken.Breaks, "||")}
			if !strings.Contains(command, "--revision") {
				options = append(options, "--revision", protocol.Newest()) // not the one that the filter finds
			}
		} else if !strings.Contains(command, "--filter") {
			options = []string{"--filter", narrow}
		}
		if one.output == "" {
			command = strings.Join(append([]string{"mcpconform", verb}, options...), " ") + strings.TrimPrefix(command, "mcpconform "+verb)
		}
	}
	if breaking.MatchString(one.output) || strings.Contains(one.output, "entry to correct") || strings.Contains(one.output, "\nDoes not conform to ") || strings.Contains(one.output, "\n1 regression") ||
		verb == "matrix" && strings.Contains(one.output, "does not conform") {
		status = exitDoesNot
	}
	script := fmt.Sprintf("run %d %s\n", status, command)
	if one.output != "" {
		script += "shows " + one.at() + "\n"
	}
	return script
}

// setUpExamples puts the stand-ins where the examples have them, and starts the server
// that they suppose at a URL.
func setUpExamples(environment *testscript.Env) error {
	for name := range standIns {
		if name == "mcpconform" || name == "npx" {
			continue // in the PATH
		}
		program, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		if err := os.Symlink(program, filepath.Join(environment.WorkDir, name)); err != nil {
			return err
		}
	}
	t := environment.T().(testing.TB)
	for _, one := range blocks(t, "yaml") { // the files of the reader
		for begins, name := range map[string]string{"deviations:": "known.yaml", "- target:": "targets.yaml"} {
			if strings.HasPrefix(one.text, begins) {
				if err := os.WriteFile(filepath.Join(environment.WorkDir, name), []byte(one.text), 0o600); err != nil {
					return err
				}
			}
		}
	}
	reference, err := server.New(server.Options{})
	if err != nil {
		return err
	}
	listener, err := reference.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- reference.Serve(t.Context(), listener) }()
	t.Cleanup(func() { // the context has ended
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	environment.Setenv("SERVER", "http://"+listener.Addr().String()+"/mcp")
	environment.Setenv("STREAM", "http://"+listener.Addr().String()+server.SSEPath)
	issuer, err := startAuthServer(t.Context(), anyAddress, "")
	if err != nil {
		return err
	}
	t.Cleanup(issuer.stop)
	environment.Setenv("ISSUER", issuer.Issuer())
	environment.Setenv("TOKEN", "secret")
	return nil
}

// serveOne lets a client come to mcpconform serve, waits for what is found, and ends it
// by Ctrl-C. It returns what was said of that.
func serveOne(script *testscript.TestScript, arguments []string) (text string, err error) {
	serving := exec.Command("mcpconform", append([]string{"serve", "--listen", "127.0.0.1:0"}, arguments...)...)
	serving.Dir = script.MkAbs(".")
	var reported bytes.Buffer
	serving.Stdout = &reported
	pipe, err := serving.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := serving.Start(); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = serving.Process.Kill()
			_ = serving.Wait()
		}
	}()
	lines := bufio.NewReader(pipe)
	first, err := lines.ReadString('\n')
	if err != nil {
		return "", err
	}
	page := servedPage.FindString(first)
	if err := script.Exec("mcpconform", "reference", "client", page+"mcp"); err != nil {
		return "", err
	}
	found, err := lines.ReadString('\n')
	if err != nil {
		return "", err
	}
	if err := serving.Process.Signal(os.Interrupt); err != nil {
		return "", err
	}
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(lines); err != nil {
		return "", err
	}
	if err := serving.Wait(); err != nil {
		return "", fmt.Errorf("%w\n%s%s%s\n%s", err, first, found, &rest, &reported)
	}
	text = first + found + rest.String()
	return strings.ReplaceAll(text, page, "http://"+servedAt+"/"), nil
}

// Neither a slow machine nor one more check, requirement or report changes what is compared;
// what a run found does.
func TestDocsMove(t *testing.T) {
	t.Parallel()
	same := func(a, b string) bool {
		_, found := shownIn(linesOf(unbroken(a)), linesOf(unbroken(b)), steady)
		return found
	}
	for a, b := range map[string]string{
		"  9 passed, 0 failed, 0 warned, 8 skipped, 7 inconclusive in 13 s":                                             "  10 passed, 0 failed, 0 warned, 9 skipped, 11 inconclusive in 1 min 13 s",
		"Conforms to 2025-11-25:\n  9 passed, 0 failed, 0 inconclusive in 0.7 s":                                        "Conforms to 2025-11-25:\n  1000 passed, 0 failed, 0\n  inconclusive in 61 min 3 s",
		"  basic/index        9       ·        8":                                                                       "  basic/index       10       ·        ·",
		"   99  applies to the http transport only":                                                                     "  100  applies to the http transport only",
		"     23        9  ping.answered":                                                                               "     24       10  ping.answered",
		"              9  roots.answered":                                                                               "             10  roots.answered",
		"67 scenarios at 2025-11-25: open http://127.0.0.1:7777/":                                                       "68 scenarios at 2025-11-25: open http://127.0.0.1:7777/",
		"  broken in the wild: 9 reports":                                                                               "  broken in the wild: 10 reports",
		"  get_forecast  answered":                                                                                      "  get_forecast  answered in 1m2.5s",
		"1/2  conforms  weather  9 passed, 0.9 s":                                                                       "1/2  conforms  weather  10 passed, 2 min 0 s",
		"No failure found in 9 of 486 checks and rules at 2025-11-25 (--filter\nping):":                                 "No failure found in 10 of 1000 checks and rules at 2025-11-25 (--filter\nping):",
		"No failure found in 9 of 86 checks and rules at 2025-11-25 (--filter a,b):\n  9 passed, 0 inconclusive in 1 s": "No failure found in 9 of 486 checks and rules at 2025-11-25 (--filter\na,b):\n  9 passed, 0 inconclusive in 1 s",
	} {
		if !same(a, b) {
			t.Errorf("these are compared as different:\n%s\n%s\n%s\n%s", a, b, steady(unbroken(a)), steady(unbroken(b)))
		}
	}
	for a, b := range map[string]string{
		"  9 passed, 0 failed, 0 warned":                       "  9 passed, 1 failed, 0 warned",
		"        found   10 after 50":                          "        found   50 after 50",
		"  9 passed, 0 failed, 1 known, 0 warned in 1 s":       "  9 passed, 0 failed, 2 known, 0 warned in 1 s",
		"2025-06-18@1  200 of servers":                         "2025-06-18@1  201 of servers",
		"Conforms to 2025-11-25:\n  9 passed, 0 failed in 1 s": "Conforms to 2025-06-18:\n  9 passed, 0 failed in 1 s",
		"  get_forecast  answered":                             "  get_forecast  failed",
	} {
		if same(a, b) {
			t.Errorf("these are compared as the same:\n%s\n%s", a, b)
		}
	}
}

// A line … stands for any number of lines, and everything else must be there.
func TestDocsElision(t *testing.T) {
	t.Parallel()
	const output = "one\ntwo in 0.4 s at http://127.0.0.1:41519/mcp\nthree 3\ntwo\nfour"
	for shown, same := range map[string]bool{
		output: true,
		"one\ntwo in 12 s at http://127.0.0.1:7777/mcp\nthree 3\ntwo\nfour": true,
		"one\n…":                true,
		"…\nfour":               true,
		"…\nthree 3\n…":         true,
		"…\ntwo\nfour":          true,
		"one\n…\nthree 3\n…":    true,
		"…":                     true,
		"one":                   false,
		"four":                  false,
		"three 3\n…":            false,
		"…\nthree 3":            false,
		"…\nthree 4\n…":         false,
		"…\nthree 3\none\n…":    false,
		"one\nthree 3\n…":       false,
		"…\nfour\n…\none\n…":    false,
		"one\n…\nfive":          false,
		"…\ntwo\n…\nthree 3\n…": false,
	} {
		if _, found := shownIn(linesOf(shown), linesOf(output), steady); found != same {
			t.Errorf("%q: found is %v", shown, found)
		}
	}
	if found, alike := shownIn(linesOf("…\nthree 7\n…"), linesOf(output), outline); !alike || !slices.Equal(found, linesOf("…\nthree 3\n…")) {
		t.Errorf("the new numbers are %q", found)
	}
}
