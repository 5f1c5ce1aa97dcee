// Package provoketest proves what is known of a server by the server itself.
package provoketest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/schema"
)

// closeTimeout bounds the end of a connection; a server may have to be killed.
const closeTimeout = 10 * time.Second

// Prove makes sure that a server lists each tool that is known of it, at a revision at
// which the tool would be called, and that its arguments match inputSchema.
func Prove(t *testing.T, name string, to scripted.Target, revisions ...string) {
	t.Helper()
	servers := provoke.WellKnown()
	at := slices.IndexFunc(servers, func(server provoke.Server) bool { return server.Name == name })
	if at < 0 || len(servers[at].Tools) == 0 {
		t.Fatalf("%s is unknown", name)
	}
	listed := map[string][]map[string]any{}
	for _, revision := range revisions {
		listed[revision] = list(t, to, revision)
	}
	for _, tool := range servers[at].Tools {
		seen := false
		for _, revision := range revisions {
			if tool.Needs != "" && !protocol.Has(revision, tool.Needs) {
				continue
			}
			index := slices.IndexFunc(
				listed[revision],
				func(one map[string]any) bool { return one["name"] == tool.Tool },
			)
			if index < 0 {
				continue
			}
			seen = true
			if wrong := mismatch(t, listed[revision][index]["inputSchema"], tool.Call()["arguments"]); wrong != "" {
				t.Errorf(
					"%s.yaml:%d: at %s, the inputSchema of %s does not allow the arguments: %s",
					name,
					tool.Line,
					revision,
					tool.Tool,
					wrong,
				)
			}
		}
		if !seen {
			t.Errorf("%s.yaml:%d: %s is not listed at %s", name, tool.Line, tool.Tool, strings.Join(revisions, ", "))
		}
	}
}

// list returns the tools that a server lists to a client that declares everything.
func list(t *testing.T, to scripted.Target, revision string) []map[string]any {
	t.Helper()
	connection, err := scripted.Dial(to, transcript.NewLog("provoke-"+revision))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		connection.Close(ctx)
	}()
	ctx, everything := context.Background(), scripted.Everything(revision)
	if protocol.Has(revision, protocol.Handshake) {
		if _, err := connection.Initialize(ctx, scripted.Hello(revision, everything)); err != nil {
			t.Fatal(err)
		}
	} else {
		connection.Speak(revision, everything)
		connection.SetVersion(revision)
	}
	tools, err := survey.List(ctx, connection.Client, "tools/list", "tools")
	if err != nil {
		t.Fatalf("%s: %v", revision, err)
	}
	return tools
}

// mismatch says why arguments do not match a schema; "" when they do.
func mismatch(t *testing.T, document, arguments any) string {
	t.Helper()
	compiled, err := schema.Compile(document)
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	violations, err := compiled.Validate(instance)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, violation := range violations {
		all = append(all, violation.String())
	}
	return strings.Join(all, "; ")
}
