package scripted_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

func TestScriptedServerSendsRequests(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			lent := scripted.Object{"messages": []any{}, "maxTokens": 1, "tools": []any{}}
			client, _ := meet(t, revision, func(server *scripted.Server) {
				server.On("tools/call", func(call *scripted.Call) {
					if call.SendRequests(
						scripted.ServerRequest{Method: "roots/list"},
						scripted.ServerRequest{Method: "sampling/createMessage", Params: lent},
						scripted.ServerRequest{Method: "elicitation/create", Params: scripted.Object{"message": "?"}, Deliberate: "not declared"},
						scripted.ServerRequest{Method: "elicitation/create", Params: scripted.Object{"mode": "url"}},
						scripted.ServerRequest{Method: "unknown"},
					) {
						call.Answer(scripted.Text(fmt.Sprint("after ", call.Text("requestState"))))
					}
				})
			})
			shakeAs(t, client, revision, scripted.Everything(revision).Without("elicitation").With("sampling", scripted.Object{}))
			client.Answer("roots/list", scripted.Result(scripted.Object{"roots": []any{}}))
			client.Answer("elicitation/create", scripted.Result(scripted.Object{"action": "decline"}))
			mark := client.Mark()

			done := result(t, client, "tools/call", scripted.Object{"name": scripted.AddNumbers})

			asked := map[string]int{}
			for _, received := range client.Received(mark) {
				for _, method := range []string{"roots/list", "sampling/createMessage", "elicitation/create", "unknown"} {
					asked[method] += strings.Count(string(received.Raw), method)
				}
			}
			if asked["roots/list"] != 1 || asked["elicitation/create"] != 1 || asked["sampling/createMessage"]+asked["unknown"] != 0 {
				t.Errorf("asked for %v", asked)
			}
			if text := fmt.Sprint(done["content"]); !strings.Contains(text, "after") || strings.Contains(text, "question 2") != protocol.Has(revision, protocol.InputRequests) {
				t.Error(text)
			}
		})
	}
}

func TestScriptedServerRefusesStatesThatItNeverGave(t *testing.T) {
	t.Parallel()
	client, _ := meet(t, "2026-07-28", func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			if call.SendRequests(scripted.ServerRequest{Method: "roots/list"}) {
				call.Good()
			}
		})
	})
	shake(t, client, "2026-07-28")
	for _, wrong := range []scripted.Object{
		{"requestState": "question 2"}, {"requestState": "question 0"}, {"requestState": "1"}, {"requestState": "question x"},
		{"inputResponses": scripted.Object{}},
	} {
		wrong["name"] = scripted.AddNumbers
		answer, err := client.Call(t.Context(), "tools/call", wrong)
		if err == nil {
			if _, refused := answer.Error(); !refused {
				t.Errorf("%v is taken: %s", wrong, answer.Raw)
			}
		}
	}
}

// What is no mode says nothing of modes.
func TestOffersMode(t *testing.T) {
	t.Parallel()
	for declared, wanted := range map[string][]string{
		`{}`:                                     {"form"},
		`{"form":{}}`:                            {"form"},
		`{"url":{}}`:                             {"url"},
		`{"form":{},"url":{}}`:                   {"form", "url"},
		`{"x-vendor":true,"0":null,"b":"words"}`: {"form"},
		`{"_meta":{"com.example/a":1}}`:          {"form"},
		`{"url":{},"x-vendor":0.5}`:              {"url"},
		`{"voice":{}}`:                           nil,
		`null`:                                   nil,
	} {
		value, err := jsonrpc.Decode([]byte(declared))
		if err != nil {
			t.Fatal(err)
		}
		elicitation, _ := value.(scripted.Object)
		var offered []string
		for _, mode := range []string{"form", "url"} {
			if mcp.OffersMode(elicitation, mode) {
				offered = append(offered, mode)
			}
		}
		if !slices.Equal(offered, wanted) {
			t.Errorf("%s offers %v, not %v", declared, offered, wanted)
		}
	}
}
