package runner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/relay"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/wait"
)

const (
	// repeats is how often the greedy client does everything, all at once.
	repeats = 3
	// greedyReply is how long a scripted server waits for an answer. Some do not come.
	greedyReply = 250 * time.Millisecond
	// greedyPatience is how long the greedy client waits for what has no end.
	greedyPatience = 2 * time.Second
	// scenarioTimeout bounds the end of a scenario, which is a matter of milliseconds.
	scenarioTimeout = time.Minute
)

// A scripted server comes to its end with every client: one that does each
// thing several times, at once, and answers every question twice or never, or that
// does not even read, holds up no handler for ever.
func TestEveryScenarioEndsWithAGreedyClient(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, revision := range protocol.Released() {
		for _, how := range []struct {
			over string
			mute bool
		}{{protocol.Stdio, false}, {protocol.HTTP, false}, {protocol.HTTP, true}} {
			t.Run(fmt.Sprintf("%s %s mute=%v", revision, how.over, how.mute), func(t *testing.T) {
				t.Parallel()
				environment := scenariosOf(t, revision, how.over)
				scenarios := environment.Client.Scenarios()
				environment.Client.Launch = func(ctx context.Context, invocation scenario.Invocation) (scenario.Exit, error) {
					at := slices.IndexFunc(scenarios, func(scenario *scenario.Scenario) bool { return scenario.Name == invocation.Scenario })
					(&greedy{revision: revision, told: scenarios[at].Steps, mute: how.mute}).play(ctx, invocation)
					return scenario.Exit{}, nil
				}
				var playing sync.WaitGroup
				for _, scenario := range scenarios {
					playing.Go(func() {
						playingAtOnce <- struct{}{} // its time begins when it does
						defer func() { <-playingAtOnce }()
						endsInTime(t, environment, scenario)
					})
				}
				playing.Wait()
			})
		}
	}
}

// playingAtOnce bounds the scenarios that are played at the same time, of all cells.
var playingAtOnce = make(chan struct{}, 32)

// endsInTime plays a scenario, again if the machine was too busy for the client to connect.
func endsInTime(t *testing.T, environment *session.Environment, scenario *scenario.Scenario) {
	ctx, cancel := wait.WithTimeout(t.Context(), scenarioTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		for {
			recording, _, err := environment.Client.Driver().Run(ctx, scenario)
			if err != nil || recording.Connected() {
				ended <- err
				return
			}
		}
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s: %v", scenario.Name, err)
		}
	case <-ctx.Done():
		t.Errorf("%s does not end", scenario.Name)
	}
}

// scenariosOf has all scenarios of a cell.
func scenariosOf(t *testing.T, revision, over string) *session.Environment {
	t.Helper()
	to := &Judging{options: Options{Role: protocol.ClientRole, Timeout: greedyReply, MaxMessage: 1 << 20}}
	to.cell = check.Cell{Role: protocol.ClientRole, Revision: revision, Transport: over}
	r := to.run(map[string]*scenario.Recording{}, &contact.Opening{Spoken: true, Survey: &survey.Survey{}})
	if err := r.declare(); err != nil {
		t.Fatal(err)
	}
	return r.planned[0]
}

// greedy is a client that wants everything.
type greedy struct {
	revision string
	told     scenario.Steps
	mute     bool // it answers nothing and reads nothing more than it must
}

func (g *greedy) play(ctx context.Context, invocation scenario.Invocation) {
	ctx, cancel := context.WithTimeout(ctx, greedyPatience)
	defer cancel()
	if invocation.Socket != "" {
		g.spawn(ctx, invocation.Socket)
	} else {
		g.visit(ctx, invocation.URL)
	}
}

// meta is the _meta of a request of the stateless era.
func (g *greedy) meta() map[string]any {
	return map[string]any{
		mcp.MetaVersion: g.revision, mcp.MetaClientInfo: map[string]any{"name": "greedy", "version": "1"},
		mcp.MetaCapabilities: g.capabilities(), "progressToken": "greed",
	}
}

func (g *greedy) capabilities() scripted.Capabilities {
	all := scripted.Everything(g.revision)
	all["sampling"] = map[string]any{"tools": map[string]any{}, "context": map[string]any{}}
	all["extensions"] = map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}
	all["tasks"] = map[string]any{"list": map[string]any{}, "cancel": map[string]any{}, "requests": map[string]any{
		"sampling":    map[string]any{"createMessage": map[string]any{}},
		"elicitation": map[string]any{"create": map[string]any{}},
	}}
	return all
}

// hello opens a session of the handshake era.
func (g *greedy) hello() []byte {
	return jsonrpc.NewRequest(jsonrpc.StringID("hello"), "initialize", scripted.Hello(g.revision, g.capabilities()))
}

// wishes are all that the client says, each thing as often as it is repeated.
func (g *greedy) wishes() [][]byte {
	type object = map[string]any
	var all [][]byte
	say := func(method string, params object) {
		for n := range repeats {
			said := object{}
			maps.Copy(said, params)
			if protocol.Has(g.revision, protocol.PerRequestMeta) {
				said["_meta"] = g.meta()
			} else {
				said["_meta"] = object{"progressToken": fmt.Sprintf("%s-%d", method, n)}
			}
			if n == 1 && method == "tools/call" {
				said["task"] = object{"ttl": 60_000}
			}
			if strings.HasPrefix(method, "notifications/") {
				all = append(all, jsonrpc.NewNotification(method, said))
				continue
			}
			all = append(all, jsonrpc.NewRequest(jsonrpc.StringID(fmt.Sprintf("%s-%d-%d", method, len(all), n)), method, said))
		}
	}
	tools := []string{scripted.AddNumbers, "no-such-tool"}
	for _, step := range g.told {
		if name, calls := step["tool"].(string); calls && !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	for _, tool := range tools {
		say("tools/call", object{"name": tool, "arguments": object{"a": 1, "b": 2}})
	}
	for _, method := range []string{
		"server/discover", "notifications/initialized", "ping", "tools/list", "resources/list", "resources/templates/list",
		"prompts/list", "tasks/list", "notifications/roots/list_changed",
	} {
		say(method, nil)
		if strings.HasSuffix(method, "/list") {
			say(method, object{"cursor": "second-page"})
		}
	}
	say("resources/read", object{"uri": scripted.ResourceURI})
	say("resources/subscribe", object{"uri": scripted.ResourceURI})
	say("resources/unsubscribe", object{"uri": scripted.ResourceURI})
	say("prompts/get", object{"name": scripted.PromptName, "arguments": object{"name": "you"}})
	say("completion/complete", object{"ref": object{"type": "ref/prompt", "name": scripted.PromptName}, "argument": object{"name": "name", "value": "y"}})
	say("logging/setLevel", object{"level": "debug"})
	say("subscriptions/listen", object{"notifications": object{"toolsListChanged": true, "resourceSubscriptions": []string{scripted.ResourceURI}}})
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/update", "tasks/cancel"} {
		say(method, object{"taskId": "mcpconform-5d9c1f0a7be24c6fb3a8-1", "inputResponses": object{}})
	}
	say("notifications/cancelled", object{"requestId": "tools/call-60-0"})
	return append(all, []byte("no message"), []byte("{}"), []byte("[]"), []byte(`{"jsonrpc":"2.0","id":"nobody","result":{}}`))
}

// answers are what the client says to a message of the server: to a request two
// results.
func (g *greedy) answers(message []byte) [][]byte {
	asked := jsonrpc.Parse(message)
	if g.mute || asked.Kind != jsonrpc.Request {
		return nil
	}
	answer := jsonrpc.NewResult(asked.ID, map[string]any{"action": "accept", "content": map[string]any{}})
	return [][]byte{answer, answer}
}

// spawn is the client over stdio, with a server of its own.
func (g *greedy) spawn(ctx context.Context, socket string) {
	reader, input := io.Pipe()
	output, writer := io.Pipe()
	var relaying sync.WaitGroup
	relaying.Go(func() {
		_, _ = relay.Run(ctx, socket, reader, writer, io.Discard, nil) // or the harness has enough
		_ = reader.Close()
		_ = writer.Close()
	})
	relaying.Go(func() {
		lines := bufio.NewScanner(output)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			for _, answer := range g.answers(lines.Bytes()) {
				go func() { _, _ = input.Write(append(answer, '\n')) }()
			}
		}
		_, _ = io.Copy(io.Discard, output)
	})
	say := func(message []byte) { _, _ = input.Write(append(slices.Clip(message), '\n')) }
	if protocol.Has(g.revision, protocol.Handshake) {
		say(g.hello())
	}
	for _, wish := range g.wishes() {
		say(wish)
	}
	_ = input.Close()
	<-ctx.Done()
	relaying.Wait()
}

// visit is the client over HTTP.
func (g *greedy) visit(ctx context.Context, url string) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	v := &visitor{greedy: g, ctx: ctx, url: url, client: &http.Client{Transport: &http.Transport{}}}
	defer v.client.CloseIdleConnections()
	if protocol.Has(g.revision, protocol.Handshake) {
		v.send(http.MethodPost, g.hello(), "")
	}
	v.hushed = g.mute
	for range repeats {
		v.begin(http.MethodGet, nil, "")
	}
	var answered sync.WaitGroup
	for _, wish := range g.wishes() {
		if bytes.Contains(wish, []byte("subscriptions/listen")) {
			v.begin(http.MethodPost, wish, "")
		} else {
			answered.Go(func() { v.send(http.MethodPost, wish, "") })
		}
	}
	answered.Wait()
	v.send(http.MethodDelete, nil, "")
	leave() // what has no end
	v.working.Wait()
}

type visitor struct {
	*greedy
	ctx     context.Context
	url     string
	client  *http.Client
	working sync.WaitGroup
	hushed  bool // it reads nothing

	mu      sync.Mutex
	session string
}

func (v *visitor) begin(method string, body []byte, last string) {
	v.working.Go(func() { v.send(method, body, last) })
}

func (v *visitor) send(method string, body []byte, last string) {
	request, err := http.NewRequestWithContext(v.ctx, method, v.url, bytes.NewReader(body))
	if err != nil {
		return
	}
	v.mu.Lock()
	session := v.session
	v.mu.Unlock()
	request.Header.Set("Accept", scripted.AcceptBoth)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(scripted.VersionHeader, v.revision)
	if session != "" {
		request.Header.Set(scripted.SessionHeader, session)
	}
	if last != "" {
		request.Header.Set(scripted.LastEventID, last)
	}
	response, err := v.client.Do(request)
	if err != nil {
		return
	}
	if given := response.Header.Get(scripted.SessionHeader); given != "" {
		v.mu.Lock()
		v.session = given
		v.mu.Unlock()
	}
	if v.hushed {
		v.working.Go(func() {
			<-v.ctx.Done() // nothing is read
			_ = response.Body.Close()
		})
		return
	}
	v.read(response.Body, last)
	_ = response.Body.Close()
}

func (v *visitor) read(body io.Reader, resumed string) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := bytes.TrimPrefix(lines.Bytes(), []byte("data: "))
		if id, isID := bytes.CutPrefix(text, []byte("id: ")); isID && resumed == "" {
			for range repeats {
				v.begin(http.MethodGet, nil, string(id))
			}
		}
		if json.Valid(text) {
			for _, answer := range v.answers(bytes.Clone(text)) {
				v.begin(http.MethodPost, answer, "")
			}
		}
	}
}
