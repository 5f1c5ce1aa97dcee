//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/reference/server"
)

// toolChanges are what becomes of a tool of the reference: it demands an argument, takes others
// as well, and is less safe.
const toolChanges = `- id: changes
  says: Changes a tool.
  breaks: [tools.list.answered]
  when: {response-to: tools/list, where: {/result/tools/0/name: test_simple_text}}
  do:
    - {replace: /result/tools/0/inputSchema, with: {type: object, properties: {a: {type: string}}, required: [a]}}
    - {replace: /result/tools/0/annotations/readOnlyHint, with: false}
    - {replace: /result/tools/0/description, with: "Deletes \e[31m it"}
`

// editContract writes a contract again with other words in the place of some.
func editContract(t *testing.T, directory, name, contract string, words ...string) {
	t.Helper()
	edited := strings.NewReplacer(words...).Replace(contract)
	if edited == contract {
		t.Fatalf("%q is not there:\n%s", words[0], contract)
	}
	writeFile(t, directory, name, edited)
}

// A contract is written, holds for the same server over each transport and from recordings, and
// fails if the server changes.
func TestContract(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	started := func(words ...string) []string {
		return append(args("--", os.Args[0], "reference", "server", "--stdio"), words...)
	}
	in := func(words ...[]string) outcome {
		var all []string
		for _, some := range words {
			all = append(all, some...)
		}
		return mcpconformIn(t, directory, append([]string{"contract"}, all...)...)
	}
	in(args("write", "--timeout", ample), started()).demand(t, exitConforms, "Wrote mcpconform-contract.yaml: ", " tools, ")
	in(args("check", "--timeout", ample), started()).demand(t, exitConforms, "Nothing has changed in what the server offers")
	first, err := os.ReadFile(filepath.Join(directory, contractFile))
	if err != nil {
		t.Fatal(err)
	}

	// What the file has less, or more, is what the server has changed.
	const greeting = "  - name: greet\n    title: Greeting\n"
	editContract(t, directory, "stricter.yaml", string(first), greeting, "  - name: greet\n    title: \"Hello \\u202e\"\n",
		"      required: [text]\n", "")
	editContract(t, directory, "looser.yaml", string(first), greeting, "  - name: greet\n")
	files := args("--junit", "contract.xml", "--markdown", "contract.md", "--json", "contract.json")
	in(args("check", "stricter.yaml", "--timeout", ample), files, started()).demand(t, exitDoesNot,
		"required", `\u202e`, "breaking, 1 of text", "mcpconform contract write --output stricter.yaml -- ")
	for _, name := range []string{"contract.xml", "contract.md", "contract.json"} {
		if text, err := os.ReadFile(filepath.Join(directory, name)); err != nil || !strings.Contains(string(text), "required") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	in(args("check", "looser.yaml", "--timeout", ample), started()).demand(t, exitConforms, "of text")
	in(args("diff", "stricter.yaml", contractFile, "-q")).demand(t, exitDoesNot, "breaking, 1 of text")
	in(args("diff", contractFile, "stricter.yaml")).demand(t, exitConforms, "compatible, 1 of text")

	faults := writeFile(t, directory, "faults.yaml", toolChanges)
	in(args("check", "--timeout", ample), started("--fault", faults+"#changes")).demand(t, exitDoesNot,
		"tool test_simple_text: new, and required", "tool test_simple_text: the tool is less safe to call",
		`Deletes \u001b[31m it`, "2 breaking, 1 compatible, 1 of text")

	// A server that speaks the revision of the contract no longer is compared at another.
	in(args("check", "-q", "--timeout", ample), started("--revision", "2025-11-25,2025-06-18")).demand(t, exitDoesNot, " breaking")
	in(args("check", "--timeout", ample, "--revision", "2024-11-05"), started("--revision", "2025-11-25")).
		demand(t, exitUnreachable, "not spoken")

	reference, err := server.New(server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := reference.Listen(t.Context(), anyAddress)
	if err != nil {
		t.Fatal(err)
	}
	serving := make(chan error, 1)
	go func() { serving <- reference.Serve(t.Context(), listener) }()
	t.Cleanup(func() { // the context has ended
		if err := <-serving; err != nil {
			t.Error(err)
		}
	})
	url := "http://" + listener.Addr().String() + "/mcp"
	in(args("write", "--timeout", ample, "--output", "http.yaml", "--url", url)).demand(t, exitConforms)
	if text, err := os.ReadFile(filepath.Join(directory, "http.yaml")); err != nil || string(text) != string(first) {
		t.Errorf("over HTTP the contract is another: %v", err)
	}
	in(args("check", "--timeout", ample, "http.yaml", "--url", url)).demand(t, exitConforms, "Nothing has changed")
}

// A contract of transcripts has what was seen there, and says so.
func TestContractOfTranscripts(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	started := args("--", os.Args[0], "reference", "server", "--stdio")
	mcpconformIn(t, directory, append(args("server", "--timeout", ample, "-q", "--revision", "2025-11-25", "--filter", "tools.list.answered",
		"--transcripts", "wires"), started...)...).demand(t, exitConforms)
	mcpconformIn(t, directory, "contract", "write", "wires").demand(t, exitConforms, "was recorded at 2025-11-25")
	text, err := os.ReadFile(filepath.Join(directory, contractFile))
	if err != nil || !strings.Contains(string(text), "\nrecorded: true\n") {
		t.Errorf("%v\n%.300s", err, text)
	}
	mcpconformIn(t, directory, append(args("contract", "check", "--timeout", ample, "--strict"), started...)...).
		demand(t, exitConforms, "made from recordings", "Nothing has changed")

	// A list that was not requested is unknown, not empty.
	paths, err := filepath.Glob(filepath.Join(directory, "wires", "*", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v: %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		other := strings.ReplaceAll(string(text), "prompts/list", "prompts/lost")
		if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mcpconformIn(t, directory, "contract", "write", "wires").
		demand(t, exitConforms, "0 prompts", "Left out: prompts/list failed: it was not recorded")
	mcpconformIn(t, directory, append(args("contract", "check", "--timeout", ample, "--strict"), started...)...).
		demand(t, exitConforms, "prompts/list is not in the old contract: not compared", "Nothing has changed")
}

// No text in the lists and schemas of a server is taken for a command by a CI system, and a
// contract with such texts can be read again.
func TestContractOfHostileServers(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	speaking := bad(t, "commands")
	written := mcpconformIn(t, directory, append(args("contract", "write", "--timeout", ample), speaking...)...)
	written.demand(t, exitConforms, "Wrote ")
	written.commandsNothing(t)
	checked := mcpconformIn(t, directory, append(args("contract", "check", "--timeout", ample), speaking...)...)
	checked.demand(t, exitConforms, "Nothing has changed")
}
