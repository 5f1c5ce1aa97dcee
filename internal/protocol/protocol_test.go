package protocol_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// features says which releases have which feature: "x" or "-" for each, oldest first.
// The places are those where the specification says so, or stops to.
var features = map[protocol.Feature]string{
	// basic/lifecycle#initialization until 2025-11-25; 2026-07-28 basic/versioning#protocol-version-negotiation.
	protocol.Handshake: "xxxx-",
	// 2026-07-28 server/discover.
	protocol.Discovery: "----x",
	// 2026-07-28 basic/index#statelessness.
	protocol.Statelessness: "----x",
	// 2026-07-28 basic/index#meta.
	protocol.PerRequestMeta: "----x",
	// 2026-07-28 basic/versioning#extension-negotiation.
	protocol.Extensions: "----x",

	// basic/utilities/ping until 2025-11-25.
	protocol.Ping: "xxxx-",
	// basic/index#requests until 2025-11-25 (2024-11-05: basic/messages#requests), "from the client to the server or vice versa"; 2026-07-28 basic/patterns/mrtr.
	protocol.ServerRequests: "xxxx-",
	// 2026-07-28 basic/patterns/mrtr#inputrequests.
	protocol.InputRequests: "----x",
	// 2026-07-28 basic/index#resulttype.
	protocol.ResultTypes: "----x",
	// 2026-07-28 basic/patterns/subscriptions#opening-a-stream.
	protocol.Subscriptions: "----x",
	// server/utilities/logging#setting-log-level until 2025-11-25; 2026-07-28 #per-request-log-level.
	protocol.LogLevelInMeta: "----x",
	// client/roots#root-list-changes until 2025-11-25.
	protocol.RootsListChanged: "xxxx-",
	// 2025-03-26 basic/authorization#authorization-base-url.
	protocol.OwnAuthorization: "-x---",
	// 2025-03-26 basic/index#batching.
	protocol.Batches: "-x---",
	// 2026-07-28 server/utilities/pagination#implementation-guidelines.
	protocol.EmptyCursors: "----x",
	// 2026-07-28 server/utilities/caching#cacheable-results.
	protocol.Caching: "----x",

	// 2024-11-05 basic/transports#http-with-sse; 2025-03-26 #backwards-compatibility.
	protocol.HTTPSSE: "x----",
	// basic/transports#session-management since 2025-03-26; 2026-07-28 basic/transports/streamable-http
	// #earlier-streamable-http-revisions.
	protocol.Sessions: "-xxx-",
	// basic/transports#listening-for-messages-from-the-server, likewise.
	protocol.GETStream: "-xxx-",
	// basic/transports#resumability-and-redelivery, likewise.
	protocol.Resumption: "-xxx-",
	// 2025-11-25 basic/transports#sending-messages-to-the-server, 6.
	protocol.Polling: "---x-", protocol.Tasks: "---x-", protocol.OpenIDDiscovery: "---xx",
	// basic/transports#protocol-version-header since 2025-06-18.
	protocol.VersionHeader: "--xxx",
	// 2026-07-28 basic/transports/streamable-http#standard-request-headers.
	protocol.MirroredHeaders: "----x",
	// 2026-07-28 basic/transports/streamable-http#cancellation; until 2025-11-25 a disconnection is none.
	protocol.ClosingCancels: "----x",
	// 2026-07-28 basic/transports/streamable-http#receiving-messages.
	protocol.Unbuffered: "----x",
	// 2026-07-28 basic/transports/streamable-http#protocol-version-header.
	protocol.UnknownMethodStatus: "----x",

	// basic/index#schema-dialect since 2025-11-25.
	protocol.SchemaDialect: "---xx",
	// server/tools#error-handling: "Invalid arguments" until 2025-06-18, "Input validation errors" since.
	protocol.InputErrorsInResults: "---xx",
	// server/utilities/completion#capabilities since 2025-03-26.
	protocol.Completions: "-xxxx",
	// server/utilities/completion#requesting-completions since 2025-06-18.
	protocol.CompletionContext: "--xxx",
	// basic/authorization, a page since 2025-03-26.
	protocol.Authorization: "-xxxx",
	// server/tools#tool since 2025-03-26.
	protocol.ToolAnnotations: "-xxxx",
	// "title" in server/tools#tool and its like since 2025-06-18.
	protocol.Titles: "--xxx",
	// server/tools#structured-content since 2025-06-18.
	protocol.StructuredContent: "--xxx",
	// server/tools#audio-content since 2025-03-26.
	protocol.AudioContent: "-xxxx",
	// server/tools#resource-links since 2025-06-18.
	protocol.ResourceLinks: "--xxx",
	// client/elicitation, a page since 2025-06-18.
	protocol.Elicitation: "--xxx",
	// server/tools#structured-content: "a JSON object" until 2025-11-25, "any JSON value" since.
	protocol.StructuredValues: "----x",
	// server/resources#error-handling: -32002 until 2025-11-25, -32602 since.
	protocol.ResourceNotFoundCode: "xxxx-",
	// client/elicitation#url-mode-elicitation-requests since 2025-11-25.
	protocol.URLElicitation: "---xx",
	protocol.Icons:          "---xx",
	protocol.SamplingTools:  "---xx",
	// 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation.
	protocol.ElicitationIDs: "---x-",
}

func TestFeaturesOfReleases(t *testing.T) {
	t.Parallel()
	for feature, wanted := range features {
		var found strings.Builder
		for _, revision := range protocol.Released() {
			if protocol.Has(revision, feature) {
				found.WriteByte('x')
			} else {
				found.WriteByte('-')
			}
		}
		if found.String() != wanted {
			t.Errorf("%s: %s, want %s, of %v", feature, found.String(), wanted, protocol.Released())
		}
		first, last := strings.IndexByte(wanted, 'x'), strings.LastIndexByte(wanted, 'x')
		if one, other := protocol.First(feature), protocol.Last(feature); one != protocol.Released()[first] || other != protocol.Released()[last] {
			t.Errorf("%s: from %s to %s, want %s", feature, one, other, wanted)
		}
	}
}

// A feature that the table does not know was not looked up in the specification.
func TestEveryFeatureIsInTheTable(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "feature.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		if one, isValue := node.(*ast.ValueSpec); isValue {
			if kind, isName := one.Type.(*ast.Ident); !isName || kind.Name != "Feature" {
				t.Errorf("%v is no Feature", one.Names)
			}
			declared[strings.Trim(one.Values[0].(*ast.BasicLit).Value, `"`)] = true
		}
		return true
	})
	for name := range declared {
		if features[protocol.Feature(name)] == "" {
			t.Errorf("%s is not in the table", name)
		}
	}
	if len(declared) != len(features) {
		t.Errorf("%d features are declared, %d are in the table: two have the same name", len(declared), len(features))
	}
}

func TestTextsThatAreNoRelease(t *testing.T) {
	t.Parallel()
	for text, release := range map[string]string{
		"": "2024-11-05", "1.0.0": "2024-11-05", "2024-10-07": "2024-11-05", "2025-03-25": "2024-11-05",
		"2025-12-01": "2025-11-25", "2026-07-29": "2026-07-28", "2999-12-31": protocol.Newest(), "draft": protocol.Newest(),
	} {
		for feature := range features {
			if protocol.Has(text, feature) != protocol.Has(release, feature) {
				t.Errorf("%q does not have the features of %s: %s", text, release, feature)
			}
		}
	}
}

func TestUnknownFeaturePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a feature that does not exist is in no release")
		}
	}()
	protocol.Has("2025-11-25", "handshakes")
}

func TestLists(t *testing.T) {
	t.Parallel()
	released := protocol.Released()
	if !slices.IsSorted(released) || protocol.Newest() != slices.Max(released) {
		t.Errorf("not the oldest first, or not to the newest: %v, %s", released, protocol.Newest())
	}
	released[0] = "changed"
	if protocol.Released()[0] == "changed" {
		t.Error("who has a list can change that of others")
	}
}

func TestOtherParty(t *testing.T) {
	t.Parallel()
	if protocol.Client.Other() != protocol.Server || protocol.Server.Other() != protocol.Client {
		t.Error("the other end of an end is wrong")
	}
}

// TestTransports tells what each transport can do: basic/transports of 2025-11-25, and of
// 2024-11-05 for HTTP with SSE.
func TestTransports(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                                                           string
		processes, exchanges, sharesStream, inOrder, sessions, mirrors bool
	}{
		{name: protocol.Stdio, processes: true, inOrder: true},
		{name: protocol.HTTP, exchanges: true, sessions: true, mirrors: true},
		{name: protocol.SSE, sharesStream: true},
		{name: "carrier pigeon"},
	} {
		over := protocol.Over(test.name)
		if over.Processes() != test.processes || over.Exchanges() != test.exchanges ||
			over.SharesStream() != test.sharesStream || over.InOrder() != test.inOrder || over.Sessions() != test.sessions || over.Mirrors() != test.mirrors {
			t.Errorf("%s can do something else than %+v", test.name, test)
		}
	}
}
