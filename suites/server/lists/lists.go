// Package lists judges the lists of tools, resources and prompts by what the
// pages about them ask alike.
package lists

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/server/arguments"
)

// JudgeDeclaration judges that a server which lists something declares the capability for
// it: tools, resources or prompts. The key is what an item is told by.
func JudgeDeclaration(ctx context.Context, capability, key string) {
	NeedDeclarations()
	server := Session(ctx)
	offered := triedPage(ctx, server, capability, capability+"/list")
	if len(offered) == 0 && capability == "resources" {
		offered, key = triedPage(ctx, server, "resourceTemplates", "resources/templates/list"), "uriTemplate"
	}
	if len(offered) == 0 {
		NotApplicable("the server offers no " + capability)
	}
	Demand(Declares(capability), fmt.Sprintf("the capability %q, or no %s", capability, capability),
		fmt.Sprintf("no such capability, and the %s %s", strings.TrimSuffix(capability, "s"), Show(offered[0][key])))
}

// JudgeDeclarationToAll judges that a server which declares tools, resources or prompts
// does so, too, to a client that declares nothing, if it lists any to that client. The
// key is what an item is told by.
func JudgeDeclarationToAll(ctx context.Context, capability, key string) {
	if !Declares(capability) {
		NotApplicable("the server does not declare the capability " + capability)
	}
	server := Connect(ctx)
	declared := declaredToNobody(ctx, server)
	offered := triedPage(ctx, server, capability, capability+"/list")
	if len(offered) == 0 {
		NotApplicable("the server lists no " + capability + " to a client without capabilities")
	}
	_, there := declared[capability]
	Demand(there, fmt.Sprintf("the capability %q, or no %s", capability, capability),
		fmt.Sprintf("no such capability for a client that declares none, and the %s %s",
			strings.TrimSuffix(capability, "s"), Show(offered[0][key])))
}

// declaredToNobody are the capabilities that a server declares to a client that declares
// none.
func declaredToNobody(ctx context.Context, server *Server) map[string]any {
	if !RevisionHas(protocol.Handshake) {
		server.Speak(Revision(), scripted.Nothing())
		declared, _ := server.Need(ctx, "server/discover", nil)["capabilities"].(map[string]any)
		return declared
	}
	handshake, err := server.Handshake(ctx, scripted.Hello(Revision(), scripted.Nothing()))
	if err != nil {
		NotApplicable("the server does not serve a client without capabilities: " + err.Error())
	}
	return handshake.Capabilities
}

// triedPage is the first page with anything of a list that the server may refuse.
func triedPage(ctx context.Context, server *Server, member, method string) []Object {
	return FirstPage(member, func(cursor any) Object {
		var params any
		if cursor != nil {
			params = Object{"cursor": cursor}
		}
		reply, _ := server.Try(ctx, method, params)
		return reply.Object()
	})
}

// StayTheSame judges that a list depends neither on the connection nor on what
// was asked for on it before: other lists, a resource, and those calls of tools. A list
// may change with time: one that does so meanwhile shows nothing.
func StayTheSame(ctx context.Context, method string, calls ...Provocation) {
	one, other := Session(ctx), FreshSession(ctx)
	askAround(ctx, other)
	for _, call := range calls[:min(maxCalls, len(calls))] {
		other.TryTool(ctx, call.Call()) // what it brings, others judge
	}

	first, elsewhere := Keys(ctx, one, method), Keys(ctx, other, method)
	if len(first)+len(elsewhere) == 0 {
		Inconclusive(method+" lists nothing", "check a server that lists something")
	}
	Observe()
	if SameItems(first, elsewhere) {
		return
	}
	if !SameItems(first, Keys(ctx, one, method)) || !SameItems(elsewhere, Keys(ctx, other, method)) {
		Inconclusive("what "+method+" lists changes over time", "check a server whose lists stay the same")
	}
	Judge(Mismatch{
		Wanted: "the same list on both of two connections: " + Show(first),
		Found:  "on the other one, after other requests, " + Show(elsewhere),
	})
}

// maxCalls bounds the tools that are called: some show as much as all.
const maxCalls = 3

// askAround asks for what changes nothing, also as a client that offers nothing.
func askAround(ctx context.Context, server *Server) {
	bare := Object{"_meta": Object{mcp.MetaCapabilities: Object{}}}
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if Declares(feature) {
			server.Try(ctx, feature+"/list", bare) // others judge the answer
		}
	}
	for _, resource := range ListedResources()[:min(1, len(ListedResources()))] {
		server.Try(ctx, "resources/read", Object{"uri": resource["uri"]})
	}
	for _, template := range ListedTemplates()[:min(1, len(ListedTemplates()))] {
		if uri, made := arguments.Expand(template, arguments.Made(arguments.OfTemplate(template))); made {
			server.Try(ctx, "resources/read", Object{"uri": uri})
		}
	}
	for _, request := range HarmlessRequests() {
		if request.Method == "prompts/get" || request.Method == "completion/complete" {
			server.Try(ctx, request.Method, request.Params)
		}
	}
}

// Keys returns the names of what a list has, or the URIs of resources, in their
// order. A list that cannot be had makes the check inconclusive.
func Keys(ctx context.Context, server *Server, method string) []any {
	key := "name"
	if method == "resources/list" {
		key = "uri"
	}
	var keys []any
	for _, item := range server.All(ctx, method) {
		keys = append(keys, item[key])
	}
	return keys
}

// SameItems tells whether two lists have the same items, in whatever order.
func SameItems(first, second []any) bool {
	counted := func(keys []any) map[jsonrpc.ID]int {
		counts := map[jsonrpc.ID]int{}
		for _, key := range keys {
			counts[jsonrpc.IDOf(key)]++
		}
		return counts
	}
	return maps.Equal(counted(first), counted(second))
}

// Unchanged tells whether two lists are the same to a client: what is said beside an item, in
// its _meta, may be another each time.
func Unchanged(first, second []Object) bool {
	return slices.EqualFunc(first, second, func(one, other Object) bool {
		one, other = maps.Clone(one), maps.Clone(other)
		delete(one, "_meta")
		delete(other, "_meta")
		return reflect.DeepEqual(one, other)
	})
}

// AnnounceChanges judges that the server announces each of two changes of its tools,
// resources or prompts. Not every tool that changes a list does so a second time.
func AnnounceChanges(ctx context.Context, capability string) {
	method, announcement, kind := capability+"/list", "notifications/"+capability+"/list_changed", capability+"-changed"
	server := FreshSession(ctx)
	server.Hear(ctx)
	for round := range 2 {
		before := server.All(ctx, method)
		mark := server.Mark()

		changed := server.Need(ctx, "tools/call", Provoking(kind).Call())

		if changed["isError"] == true || Unchanged(before, server.All(ctx, method)) {
			if round > 0 {
				return
			}
			Inconclusive("the list of "+capability+" did not change", "make sure that the tool for "+kind+" changes it")
		}
		server.Until(ctx, mark, announcement, Notification(announcement))
	}
}
