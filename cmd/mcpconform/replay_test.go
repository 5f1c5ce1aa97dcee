//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// steps are what a client does that is recorded: lists, results of every kind, progress,
// questions of the server, changes.
const replayedSteps = `[
	{"do":"answer-with","method":"sampling/createMessage","capability":{},
	 "result":{"role":"assistant","model":"m","content":{"type":"text","text":"hello"}}},
	{"do":"connect"},{"do":"list","of":"tools"},
	{"do":"call","tool":"test_simple_text"},
	{"do":"call","tool":"test_error_handling"},
	{"do":"call","tool":"test_tool_with_progress","progress":true},
	{"do":"call","tool":"test_sampling","arguments":{"prompt":"a"}},
	{"do":"call","tool":"test_echo","arguments":{"text":"same"}},
	{"do":"call","tool":"test_echo","arguments":{"text":"same"}},
	{"do":"read","uri":"test://static-text"},
	{"do":"get","prompt":"test_simple_prompt"},
	{"do":"close"}]`

var listeningAt = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/(mcp|sse)`)

// beside starts a program that says at which URL it listens, and returns that and what ends it.
func beside(t *testing.T, directory string, arguments ...string) (url string, stop func() outcome) {
	t.Helper()
	one := watch(t, directory, arguments...)
	for {
		line, err := one.said.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, one.finish())
		}
		if url = listeningAt.FindString(line); url != "" {
			break
		}
	}
	return url, func() outcome {
		_ = one.command.Process.Signal(syscall.SIGTERM)
		return one.finish()
	}
}

// What was recorded of two peers is played to each of them: the server answers as it did, the
// client does the same again, and what a server breaks now is told.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ revision, transport, fault, broken string }{
		{"2024-11-05", protocol.SSE, "progress-falls", "progress.increases"},
		{"2025-06-18", protocol.Stdio, "progress-falls", "progress.increases"},
		{"2025-11-25", protocol.HTTP, "schema-result-content-missing", "base.schema.results"},
		{"2026-07-28", protocol.HTTP, "progress-falls", "progress.increases"},
		{"2026-07-28", protocol.Stdio, "progress-falls", "progress.increases"},
	} {
		t.Run(test.revision+" "+test.transport, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			recorded := filepath.Join(directory, "recorded")
			server := []string{os.Args[0], "reference", "server", "--stdio"}
			client := []string{"--revision", test.revision, "--transport", test.transport}
			var first outcome
			target := args("--", server)
			faulty := args("--", server, "--fault", test.fault)
			if test.transport == protocol.Stdio {
				first = runReferenceClient(t, replayedSteps, args(client[:2], "--", os.Args[0], "proxy", "--record", recorded, "--", server)...)
			} else {
				at := func(url string) string {
					if test.transport == protocol.SSE {
						return strings.TrimSuffix(url, "/mcp") + "/sse"
					}
					return url
				}
				target = args("--transport", test.transport, "--url", at(listening(t, "reference", "server")))
				faulty = args("--transport", test.transport, "--url", at(listening(t, "reference", "server", "--fault", test.fault)))
				url, stop := beside(t, directory, "proxy", "--record", recorded, "--url", target[3])
				first = runReferenceClient(t, replayedSteps, args(client, url)...)
				stop()
			}
			if strings.Count(first.stdout, `"outcome":"done"`) != 12 {
				t.Fatalf("the client is not through: %s", first)
			}
			mcpconformIn(t, directory, args("replay", "--no-color", "--timeout", "20s", "--call-tools", "all", "recorded", target)...).
				demand(t, exitConforms, "requests played, answered as recorded")
			mcpconformIn(t, directory, args("replay", "--no-color", "--call-tools", "all", "--junit", "replay.xml", "--json", "replay.json", "recorded", faulty)...).
				demand(t, exitDoesNot, test.broken, "failed")

			var again outcome
			if test.transport == protocol.Stdio {
				again = runReferenceClient(t, replayedSteps, args(client[:2], "--", os.Args[0], "replay", "--as-server", recorded)...)
			} else {
				url, stop := beside(t, directory, "replay", "--as-server", "recorded")
				again = runReferenceClient(t, replayedSteps, args(client, url)...)
				stop().demand(t, exitConforms, "recorded requests were made")
			}
			if again.stdout != first.stdout {
				t.Errorf("the client has another result with the recorded server:\n%s\nnot\n%s", again.stdout, first.stdout)
			}
		})
	}
}

// What the recording does not have is refused, with the nearest, and ends in status 1.
func TestReplayWithoutMatch(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	recorded := filepath.Join(directory, "recorded")
	const steps = `[{"do":"connect"},{"do":"call","tool":"test_echo","arguments":{"text":"TEXT"}},{"do":"close"}]`
	runReferenceClient(t, strings.Replace(steps, "TEXT", "one", 1), "--revision", "2025-11-25", "--",
		os.Args[0], "proxy", "--record", recorded, "--", os.Args[0], "reference", "server", "--stdio").demand(t, exitConforms)
	url, stop := beside(t, directory, "replay", "--as-server", "--transport", "http", "--json", "out.json", "recorded")
	runReferenceClient(t, strings.Replace(steps, "TEXT", "two", 1), "--revision", "2025-11-25", url).
		demand(t, exitConforms, `"outcome":"failed"`)
	stop().demand(t, exitDoesNot,
		`the recording has no tools/call {"arguments":{"text":"two"},"name":"test_echo"}`,
		`the nearest, tools/call {"arguments":{"text":"one"},"name":"test_echo"}, differs at /params/arguments/text`,
		"not asked: tools/call test_echo")
}

// The rules that the documentation shows have a value fail.
func TestReplayRules(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	at := slices.IndexFunc(blocks(t, ""), func(one block) bool {
		return one.document.name == "docs/replay.md" && one.language == "yaml"
	})
	writeFile(t, directory, "rules.yaml", strings.Replace(blocks(t, "")[at].text, "get_*", "test_*", 1))
	writeFile(t, directory, "recorded.jsonl", strings.Join([]string{
		`{"from":"client","message":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}}`,
		`{"from":"server","message":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}}`,
		`{"from":"client","message":{"jsonrpc":"2.0","method":"notifications/initialized"}}`,
		`{"from":"client","message":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_echo","arguments":{"text":"Ulm"}}}}`,
		`{"from":"server","message":{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Snow in Ulm"}]}}}`,
	}, "\n"))
	server := args("recorded.jsonl", "--", os.Args[0], "reference", "server", "--stdio")
	mcpconformIn(t, directory, args("replay", server)...).demand(t, exitUsage, "calls test_echo", "--call-tools all plays it")
	mcpconformIn(t, directory, args("replay", "--call-tools", "all", server)...).demand(t, exitConforms, "the value is another")
	mcpconformIn(t, directory, args("replay", "--call-tools", "all", "--rules", "rules.yaml", server)...).
		demand(t, exitDoesNot, "FAILED", "/result/content/0/text")
}

// A secret that --map puts in stands in no report and no transcript, though the server says it again.
func TestReplayHidesWhatMapReveals(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "recorded.jsonl", strings.Join([]string{
		`{"from":"client","message":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}}`,
		`{"from":"server","message":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}}`,
		`{"from":"client","message":{"jsonrpc":"2.0","method":"notifications/initialized"}}`,
		`{"from":"client","message":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_echo","arguments":{"text":"key ***"}}}}`,
		`{"from":"server","message":{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"x"}]}}}`,
	}, "\n"))
	const secret = "abracadabra-17"
	found := mcpconformIn(t, directory, "replay", "-v", "--call-tools", "all", "--map", "***="+secret, "--transcripts", ".",
		"--json", "r.json", "--junit", "r.xml", "--markdown", "r.md", "recorded.jsonl", "--", os.Args[0], "reference", "server", "--stdio")
	found.demand(t, exitConforms, "the value is another", "key ***")
	for _, name := range []string{"r.json", "r.xml", "r.md", "replay-1.jsonl"} {
		text, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%s has the secret: %v", name, err)
		}
	}
	if strings.Contains(found.stdout+found.stderr, secret) {
		t.Errorf("has the secret: %s", found)
	}
}

// A whole run of the suite is played again: hundreds of connections, legal and not, are answered
// as they were. Tasks are left out, whose races come out either way.
func TestReplayOfARun(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, test := range []struct{ revision, transport string }{
		{"2024-11-05", protocol.SSE}, {"2025-03-26", protocol.HTTP}, {"2025-11-25", protocol.Stdio}, {"2026-07-28", protocol.HTTP},
	} {
		t.Run(test.revision+" "+test.transport, func(t *testing.T) {
			directory := t.TempDir()
			target := args("--", os.Args[0], "reference", "server", "--stdio")
			if test.transport != protocol.Stdio {
				url := listening(t, "reference", "server")
				if test.transport == protocol.SSE {
					url = strings.TrimSuffix(url, "/mcp") + "/sse"
				}
				target = args("--transport", test.transport, "--url", url)
			}
			mcpconformIn(t, directory, args("server", "-q", "--revision", test.revision, "--filter", "!tasks && !tasks-extension",
				"--transcripts", "recorded", target)...).demand(t, exitConforms)
			mcpconformIn(t, directory, args("replay", "--no-color", "--timeout", "20s", "--call-tools", "all", "recorded", target)...).
				demand(t, exitConforms, "requests played")
		})
	}
}
