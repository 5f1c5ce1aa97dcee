package tryout_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/tryout"
	"github.com/mcpconform/mcpconform/reference/server"
)

// ample is how long a reply may take that comes.
const ample = time.Minute

// connect opens a connection to a server, which is asked what it has.
func connect(t *testing.T, url, revision string, reply time.Duration) (*scripted.Connection, *survey.Survey) {
	t.Helper()
	connection, err := scripted.Dial(
		scripted.Target{Transport: protocol.HTTP, URL: url, Reply: reply}, transcript.NewLog("tryout"),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close(context.Background()) })
	connection.AnswerAll()
	var handshake scripted.Handshake
	if capabilities := tryout.Capabilities(revision); protocol.Has(revision, protocol.Discovery) {
		handshake, err = connection.Discover(t.Context(), revision, capabilities)
	} else {
		handshake, err = connection.Initialize(t.Context(), scripted.Hello(revision, capabilities))
	}
	if err != nil {
		t.Fatal(err)
	}
	offered := survey.Take(t.Context(), connection, revision, handshake)
	connection.Learn(offered.Tools)
	return connection, offered
}

// What the tools of the reference are known for shows when they are tried.
func TestToolsOfTheReference(t *testing.T) {
	t.Parallel()
	shows := []string{"elicitation", "elicitation-url", "logging", "progress", "resource-link", "roots", "sampling", "sampling-tools"}
	for revision, wanted := range map[string][]string{
		"2025-06-18": slices.DeleteFunc(slices.Clone(shows), func(kind string) bool {
			return kind == "elicitation-url" || kind == "sampling-tools"
		}),
		"2025-11-25": append(slices.Clone(shows), "task", "task-input", "task-progress", "task-required"),
		"2026-07-28": shows,
	} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			reference, err := server.New(server.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(reference.Close)
			served := httptest.NewServer(reference.Handler())
			t.Cleanup(served.Close)
			connection, offered := connect(t, served.URL+"/mcp", revision, ample)
			known := offer.Offer{
				Scope: &scope.Scope{Cell: check.Cell{Revision: revision}, Survey: offered}, Policy: provoke.Policy{Calls: provoke.CallAll},
			}
			calls, unmade := known.Callable()
			if len(unmade) > 0 {
				t.Errorf("without arguments: %q", unmade)
			}

			found := tryout.Tools(t.Context(), connection, tryout.Order{
				Revision: revision, Survey: offered, Calls: calls, Most: ample,
			})

			if len(found.Tools) != len(calls) || len(found.Left) > 0 {
				t.Errorf("%d of %d tools were tried, %q were left", len(found.Tools), len(calls), found.Left)
			}
			provocations := found.Provocations()
			for _, kind := range wanted {
				if provocations[kind].Tool == "" {
					t.Errorf("nothing provokes %s", kind)
				}
			}
			// What changes is told on another stream, which may be late.
			for _, kind := range []string{"tools-changed", "prompts-changed", "resources-changed", "resource-updated"} {
				if one := provocations[kind]; one.Tool != "" && (one.Resource != "") != (kind == "resource-updated") {
					t.Errorf("%s: %+v", kind, one)
				}
			}
		})
	}
}

// odd is a server with tools that cannot be relied on.
func odd(t *testing.T, tools map[string]func(c *scripted.Call)) (url string) {
	t.Helper()
	s := scripted.NewServer(scripted.ServerOptions{
		Revision: "2025-11-25", Reply: ample, Log: func() *transcript.Log { return transcript.NewLog("odd") },
	})
	s.Features.Tools = nil
	for name, run := range tools {
		s.Features.AddTool(name, nil, run)
	}
	served := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		served.Close()
	})
	return served.URL + "/mcp"
}

func TestToolsThatNobodyCanRelyOn(t *testing.T) {
	t.Parallel()
	var once sync.Once
	url := odd(t, map[string]func(c *scripted.Call){
		"a-changes-once": func(c *scripted.Call) {
			once.Do(func() { c.Notify("notifications/tools/list_changed", nil) })
			c.Answer(scripted.Text("done"))
		},
		"b-changes": func(c *scripted.Call) {
			c.Notify("notifications/tools/list_changed", nil)
			c.Answer(scripted.Text("done"))
		},
		"c-fails": func(c *scripted.Call) {
			result := scripted.Text(strings.Repeat("no ", 100))
			result["isError"] = true
			c.Answer(result)
		},
		"d-refuses": func(c *scripted.Call) { c.Refuse(-32602, "no such city", nil) },
		"e-silent":  func(*scripted.Call) {},
		"g-updates": func(c *scripted.Call) {
			c.Notify("notifications/resources/updated", scripted.Object{"uri": scripted.ResourceURI})
			c.Answer(scripted.Text("done"))
		},
		"f-good": func(c *scripted.Call) { c.Answer(scripted.Text("here")) },
	})
	connection, offered := connect(t, url, "2025-11-25", 300*time.Millisecond)
	var calls []provoke.Provocation
	for _, name := range []string{"a-changes-once", "b-changes", "c-fails", "d-refuses", "e-silent", "f-good", "g-updates"} {
		calls = append(calls, provoke.Provocation{Tool: name})
	}

	found := tryout.Tools(t.Context(), connection, tryout.Order{Revision: "2025-11-25", Survey: offered, Calls: calls, Most: ample})

	var texts []string
	for _, tool := range found.Tools {
		texts = append(texts, strings.TrimSpace(fmt.Sprint(tool.Tool, " ", tool.Outcome, " ", strings.Join(tool.Kinds, " "))))
	}
	want := []string{
		"a-changes-once answered", "b-changes answered tools-changed", "c-fails failed", "d-refuses refused", "e-silent silent", "f-good answered",
		"g-updates answered resource-updated",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("wanted - found +\n%s", diff)
	}
	if found := found.Provocations()["resource-updated"]; found.Resource != scripted.ResourceURI {
		t.Errorf("the resource that changes is %q", found.Resource)
	}
	if says := found.Tools[2].Says; len([]rune(says)) > 201 || !strings.HasPrefix(says, "no no") {
		t.Errorf("it says %q", says)
	}
	if says := found.Tools[3].Says; says != "no such city" {
		t.Errorf("it says %q", says)
	}
}

// What comes on another stream may come when another tool is called already.
func TestToolsWhoseChangeComesLate(t *testing.T) {
	t.Parallel()
	var changed, told atomic.Bool
	url := odd(t, map[string]func(c *scripted.Call){
		"a-changes": func(c *scripted.Call) {
			if changed.Swap(true) {
				c.Session.Notify("notifications/tools/list_changed", nil)
			}
			c.Answer(scripted.Text("done"))
		},
		"b-good": func(c *scripted.Call) {
			c.Answer(scripted.Text("done"))
			if !told.Swap(true) {
				c.Session.Notify("notifications/tools/list_changed", nil)
			}
		},
	})
	connection, offered := connect(t, url, "2025-11-25", ample)

	found := tryout.Tools(t.Context(), connection, tryout.Order{
		Revision: "2025-11-25", Survey: offered, Most: ample, Quiet: 400 * time.Millisecond,
		Calls: []provoke.Provocation{{Tool: "a-changes"}, {Tool: "b-good"}},
	})

	for i, want := range [][]string{{"tools-changed"}, nil} {
		if tool := found.Tools[i]; !slices.Equal(tool.Kinds, want) {
			t.Errorf("%s shows %q, want %q", tool.Tool, tool.Kinds, want)
		}
	}
}

// A capability of another revision is no reason to call a tool as a task.
func TestToolsAreTasksWhereThereAreTasksAlone(t *testing.T) {
	t.Parallel()
	for revision, want := range map[string]bool{"2025-06-18": false, "2025-11-25": true, "2026-07-28": false} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			var asTask atomic.Bool
			s := scripted.NewServer(scripted.ServerOptions{
				Revision: revision, Reply: ample, Log: func() *transcript.Log { return transcript.NewLog("tasks") },
			})
			s.Features.Declare(scripted.Object{
				"tasks": scripted.Object{"requests": scripted.Object{"tools": scripted.Object{"call": scripted.Object{}}}},
			})
			s.Features.AddTool("either", nil, func(c *scripted.Call) {
				if c.Params()["task"] != nil {
					asTask.Store(true)
				}
				c.Answer(scripted.Text("done"))
			})["execution"] = scripted.Object{"taskSupport": "optional"}
			served := httptest.NewServer(s)
			t.Cleanup(func() {
				s.Close()
				served.Close()
			})
			connection, offered := connect(t, served.URL+"/mcp", revision, ample)

			tryout.Tools(t.Context(), connection, tryout.Order{
				Revision: revision, Survey: offered, Calls: []provoke.Provocation{{Tool: "either"}}, Most: ample,
			})

			if asTask.Load() != want {
				t.Errorf("called as a task: %t, want %t", asTask.Load(), want)
			}
		})
	}
}

func TestToolsForWhichThereIsNoTime(t *testing.T) {
	t.Parallel()
	waits := func(c *scripted.Call) { c.Await(func(scripted.Received) bool { return false }) }
	url := odd(t, map[string]func(c *scripted.Call){"silent": waits, "other": waits})
	connection, offered := connect(t, url, "2025-11-25", ample)
	found := tryout.Tools(t.Context(), connection, tryout.Order{
		Revision: "2025-11-25", Survey: offered, Most: 10 * time.Millisecond,
		Calls: []provoke.Provocation{{Tool: "silent"}, {Tool: "other"}},
	})
	if len(found.Tools)+len(found.Left) != 2 || !slices.Contains(found.Left, "other") {
		t.Errorf("tried %v, left %q", found.Tools, found.Left)
	}
}
