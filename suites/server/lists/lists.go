// Package lists judges the lists of tools, resources and prompts by what the
// pages about them ask alike.
package lists

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites/server/arguments"
)

// JudgeDeclaration judges that a server which lists something declares the capability for
// it: tools, resources or prompts. The key is what an item is told by.
func JudgeDeclaration(t *T, capability, key string) {
	NeedDeclarations(t)
	server := Session(t)
	offered := triedPage(server, capability, capability+"/list")
	if len(offered) == 0 && capability == "resources" {
		offered, key = triedPage(server, "resourceTemplates", "resources/templates/list"), "uriTemplate"
	}
	if len(offered) == 0 {
		t.NotApplicable("the server offers no " + capability)
	}
	t.Demand(Declares(t, capability), fmt.Sprintf("the capability %q, or no %s", capability, capability),
		fmt.Sprintf("no such capability, and the %s %s", strings.TrimSuffix(capability, "s"), Show(offered[0][key])))
}

// JudgeDeclarationToAll judges that a server which declares tools, resources or prompts
// does so, too, to a client that declares nothing, if it lists any to that client. The
// key is what an item is told by.
func JudgeDeclarationToAll(t *T, capability, key string) {
	if !Declares(t, capability) {
		t.NotApplicable("the server does not declare the capability " + capability)
	}
	server := Connect(t)
	declared := declaredToNobody(t, server)
	offered := triedPage(server, capability, capability+"/list")
	if len(offered) == 0 {
		t.NotApplicable("the server lists no " + capability + " to a client without capabilities")
	}
	_, there := declared[capability]
	t.Demand(there, fmt.Sprintf("the capability %q, or no %s", capability, capability),
		fmt.Sprintf("no such capability for a client that declares none, and the %s %s", strings.TrimSuffix(capability, "s"), Show(offered[0][key])))
}

// declaredToNobody are the capabilities that a server declares to a client that declares
// none.
func declaredToNobody(t *T, server *Server) map[string]any {
	if !t.Has(protocol.Handshake) {
		server.Speak(t.Revision(), scripted.Nothing())
		declared := mcp.Object(server.Call("server/discover", nil).Need().Result(), "capabilities")
		return declared
	}
	handshake, err := server.Handshake(scripted.Hello(t.Revision(), scripted.Nothing()))
	if err != nil {
		t.NotApplicable("the server does not serve a client without capabilities: " + err.Error())
	}
	return handshake.Capabilities
}

// triedPage is the first page with anything of a list that the server may refuse.
func triedPage(server *Server, member, method string) []Object {
	return FirstPage(member, func(cursor any) Object {
		var params any
		if cursor != nil {
			params = Object{"cursor": cursor}
		}
		reply := server.Call(method, params).May()
		return reply.Object()
	})
}

// StayTheSame judges that a list depends neither on the connection nor on what
// was asked for on it before: other lists, a resource, and those calls of tools. A list
// may change with time: one that does so meanwhile shows nothing.
func StayTheSame(t *T, method string, calls ...Provocation) {
	one, other := Session(t), FreshSession(t)
	askAround(t, other)
	for _, call := range calls[:min(maxCalls, len(calls))] {
		other.Call("tools/call", call.Call()).May(BeLate) // what it brings, others judge
	}

	first, elsewhere := Keys(one, method), Keys(other, method)
	if len(first)+len(elsewhere) == 0 {
		t.Inconclusive(method+" lists nothing", "check a server that lists something")
	}
	t.Observe()
	if SameItems(first, elsewhere) {
		return
	}
	if !SameItems(first, Keys(one, method)) || !SameItems(elsewhere, Keys(other, method)) {
		t.Inconclusive("what "+method+" lists changes over time", "check a server whose lists stay the same")
	}
	t.Judge(Mismatch{
		Wanted: "the same list on both of two connections: " + Show(first),
		Found:  "on the other one, after other requests, " + Show(elsewhere),
	})
}

// maxCalls bounds the tools that are called: some show as much as all.
const maxCalls = 3

// askAround asks for what changes nothing, also as a client that offers nothing.
func askAround(t *T, server *Server) {
	bare := Object{"_meta": Object{mcp.MetaCapabilities: Object{}}}
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if Declares(t, feature) {
			server.Call(feature+"/list", bare).May() // others judge the answer
		}
	}
	for _, resource := range ListedResources(t)[:min(1, len(ListedResources(t)))] {
		server.Call("resources/read", Object{"uri": resource["uri"]}).May()
	}
	for _, template := range ListedTemplates(t)[:min(1, len(ListedTemplates(t)))] {
		if uri, made := arguments.Expand(template, arguments.Made(t, arguments.OfTemplate(template))); made {
			server.Call("resources/read", Object{"uri": uri}).May()
		}
	}
	for _, request := range HarmlessRequests(t) {
		if request.Method == "prompts/get" || request.Method == "completion/complete" {
			server.Call(request.Method, request.Params).May()
		}
	}
}

// Keys returns the names of what a list has, or the URIs of resources, in their
// order. A list that cannot be had makes the check inconclusive.
func Keys(server *Server, method string) []any {
	key := "name"
	if method == "resources/list" {
		key = "uri"
	}
	var keys []any
	for _, item := range server.All(method) {
		keys = append(keys, item[key])
	}
	return keys
}

// SameItems tells whether two lists have the same items, in any order.
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
func AnnounceChanges(t *T, capability string) {
	method, announcement, kind := capability+"/list", "notifications/"+capability+"/list_changed", capability+"-changed"
	server := FreshSession(t)
	server.ListenForChanges()
	for round := range 2 {
		before := server.All(method)
		mark := server.Mark()

		changed := server.Call("tools/call", Provoking(t, kind).Call()).Need().Result()

		if changed["isError"] == true || Unchanged(before, server.All(method)) {
			if round > 0 {
				return
			}
			t.Inconclusive("the list of "+capability+" did not change", "make sure that the tool for "+kind+" changes it")
		}
		server.Until(mark, announcement, Notification(announcement))
	}
}
