package suites_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// TestMain lets this test binary be the worker of a run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Command {
		if err := worker.Work(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A check passes only on what shows that its requirement is kept. These servers are there,
// declare and list everything, and then show nothing of what most checks are about.
func TestNoCheckPassesOnWhatShowsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("whole runs are for tests that are not short")
	}
	t.Parallel()
	for name, one := range map[string]struct {
		answer func(request) (int, string)
		shows  []string // requirements that this server does keep
	}{
		"refuses as invalid params":    {refusal(-32602, "Invalid params"), nil},
		"refuses as an unknown method": {refusal(-32601, "Method not found"), nil},
		"refuses by an HTTP status":    {func(request) (int, string) { return http.StatusBadRequest, "no" }, nil},
		"fails whatever is wanted":     {failing, []string{"tools.call.answered"}},
		"answers with an empty result": {
			func(request) (int, string) { return http.StatusOK, `"result":{"resultType":"complete"}` },
			[]string{"resources.subscribe.answered", "resources.unsubscribe.answered", "logging.set-level.answered"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := httptest.NewServer(silent{one.answer})
			t.Cleanup(target.Close)
			found, err := runner.Run(context.Background(), runner.Options{
				URL: target.URL, Revisions: contact.Revise{Listed: []string{"2025-11-25", "2026-07-28"}}, Timeout: patience, Tool: reports.Tool{Name: "test", Version: "1"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Cells) != 2 {
				t.Errorf("%d cells", len(found.Cells))
			}
			passed := map[string]bool{}
			for _, cell := range found.Cells {
				for _, result := range cell.Results {
					shown := slices.Contains(shownByAll, result.ID) || slices.Contains(one.shows, result.ID) || isOfConnections(result.Page)
					if result.Kind == reports.KindCheck && result.Verdict == reports.Passed && !shown {
						passed[result.ID+": "+result.Text] = true
					}
				}
			}
			for _, text := range slices.Sorted(maps.Keys(passed)) {
				t.Error("passes: " + text)
			}
		})
	}
}

// patience is how long a reply may take; what takes longer on a busy machine passes nothing.
const patience = 250 * time.Millisecond

// isOfConnections tells the pages of what each of these servers does well.
func isOfConnections(page string) bool {
	return slices.Contains([]string{"basic/index", "basic/lifecycle", "basic/versioning", "basic/utilities/ping", "server/discover"}, page) ||
		strings.HasPrefix(page, "basic/transports")
}

// shownByAll are the requirements of other pages that each of them keeps: they answer
// pings and server/discover with any params, and return their lists.
var shownByAll = []string{
	"cancellation.invalid.completed", "cancellation.invalid.malformed", "cancellation.invalid.unknown", "cancellation.races",
	"tasks.undeclared.ignored", "logging.level.accepted", "pagination.cursor.invalid-handled",
	"tools.capability.declared", "tools.list.answered", "tools.list.ordered", "tools.list.stateless",
	"prompts.capability.declared", "prompts.list.answered", "prompts.list.stateless",
	"resources.capability.declared", "resources.list.answered", "resources.list.stateless",
}

type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProtocolVersion string
		Name            string
	}
}

func refusal(code int, message string) func(request) (int, string) {
	return func(request) (int, string) {
		return http.StatusOK, fmt.Sprintf(`"error":{"code":%d,"message":%q}`, code, message)
	}
}

// failing fails wherever something is wanted of a tool, a prompt or a resource.
func failing(asked request) (int, string) {
	if asked.Method == "tools/call" {
		return http.StatusOK, `"result":{"resultType":"complete","isError":true,"content":[{"type":"text","text":"getaddrinfo ENOTFOUND"}]}`
	}
	return http.StatusOK, `"error":{"code":-32603,"message":"getaddrinfo ENOTFOUND"}`
}

// silent is a server that answers what is asked of all with its answer.
type silent struct {
	answer func(request) (status int, outcome string)
}

func (s silent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var asked request
	if err != nil || r.Method != http.MethodPost || json.Unmarshal(body, &asked) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if asked.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	status, outcome := http.StatusOK, known(asked)
	if outcome == "" {
		status, outcome = s.answer(asked)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, asked.ID, outcome)
}

// known is what each of these servers answers with.
func known(asked request) string {
	const declared = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},` +
		`"completions":{},"logging":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	const hints = `"resultType":"complete","ttlMs":0,"cacheScope":"public"`
	switch asked.Method {
	case "initialize":
		version := asked.Params.ProtocolVersion
		if !slices.Contains(protocol.Released(), version) {
			version = "2025-11-25"
		}
		return fmt.Sprintf(`"result":{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"silent","version":"1"}}`, version, declared)
	case "ping":
		return `"result":{}`
	case "server/discover":
		return fmt.Sprintf(`"result":{%s,"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":%s,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"silent","version":"1"}}}`, hints, declared)
	case "tools/list":
		var tools []string
		for _, name := range provoking {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"optional"},`+
				`"inputSchema":{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"Text"}},"required":["text"]}}`, name))
		}
		return fmt.Sprintf(`"result":{%s,"tools":[%s]}`, hints, strings.Join(tools, ","))
	case "prompts/list":
		return fmt.Sprintf(`"result":{%s,"prompts":[{"name":"one"},{"name":"two","arguments":[{"name":"what","required":true}]}]}`, hints)
	case "resources/list":
		return fmt.Sprintf(`"result":{%s,"resources":[{"name":"one","uri":"test://one"}]}`, hints)
	case "resources/templates/list":
		return fmt.Sprintf(`"result":{%s,"resourceTemplates":[{"name":"any","uriTemplate":"test://of/{kind}"}]}`, hints)
	}
	return ""
}

// provoking are tools that are known to provoke what checks need.
var provoking = []string{
	"test_simple_text", "test_image_content", "test_resource_link", "test_error_handling", "test_tool_with_progress", "test_tool_with_logging",
	"test_slow", "test_sampling", "test_elicitation", "test_sampling_with_tools", "test_sampling_as_task", "test_elicitation_url",
	"test_elicitation_url_required", "test_list_roots", "test_task_required", "test_task_failing", "test_reconnection",
	"test_trigger_tool_change", "test_trigger_resource_change", "test_trigger_prompt_change", "test_touch_resource",
	"test_input_required_result_elicitation", "test_input_required_result_multiple_inputs", "test_input_required_result_tampered_state",
	"test_x_mcp_header", "slow_compute", "confirm_delete", "failing_job", "protocol_error_job",
}
