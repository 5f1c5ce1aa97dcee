package versioning

import (
	"fmt"
	"net/http"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// A refusal is what a server of the handshake era may answer server/discover with.
type refusal struct {
	words    string // for a check
	scenario *Scenario
}

// refusesBy makes a server that refuses what comes before initialize in a way of its own.
func refusesBy(name, says, over string, refuse func(*scripted.Call)) *Scenario {
	return &Scenario{
		Name:    "versioning-server-refusing-" + name,
		Since:   protocol.First(protocol.Discovery),
		Speaks:  protocol.Last(protocol.Handshake),
		Over:    over,
		Unnamed: true,
		Says:    "The server rejects requests before initialize with " + says + ", and accepts initialize.",
		Steps:   Meeting.Steps,
		Server:  func(server *scripted.Server) { server.On("server/discover", refuse) },
	}
}

// refusals are errors that speak neither of a session nor of a method: one is as good as the
// other, over HTTP with the status 400.
var refusals = func() (all []refusal) {
	for _, one := range []struct {
		name, message string
		code          int64
	}{
		{"invalid-params", "Invalid request parameters", jsonrpc.InvalidParams},
		{"an-invalid-request", "Invalid Request", jsonrpc.InvalidRequest},
		{"an-internal-error", "Internal error", jsonrpc.InternalError},
		{"in-words-of-its-own", "I cannot do that", notInitialized},
	} {
		words := fmt.Sprintf("the error %d %q", one.code, one.message)
		scenario := refusesBy(one.name, words, "", nil)
		scenario.Server = func(server *scripted.Server) { refuseDiscovery(server, one.code, one.message) }
		all = append(all, refusal{words, scenario})
	}
	return all
}()

// otherStatuses are refusals at the level of HTTP, and one that is none there.
var otherStatuses = []refusal{
	{"HTTP 404 with a text", refusesBy("with-404", "the status 404 and a text", protocol.HTTP,
		func(call *scripted.Call) { refuseInWords(call, http.StatusNotFound) })},
	{"HTTP 406 with a text", refusesBy("with-406", "the status 406 and a text", protocol.HTTP,
		func(call *scripted.Call) { refuseInWords(call, http.StatusNotAcceptable) })},
	{"the error -32602 with HTTP 200", refusesBy("with-200", "the status 200 and the error -32602", protocol.HTTP, func(call *scripted.Call) {
		answer := jsonrpc.NewError(call.Message.ID, jsonrpc.InvalidParams, "Invalid request parameters")
		call.Exchange.Answer(http.StatusOK, nil, answer, "")
	})},
}

// refuseInWords refuses by what people read.
func refuseInWords(call *scripted.Call, status int) {
	header := map[string]string{"Content-Type": "text/plain; charset=utf-8"}
	call.Exchange.Answer(status, header, []byte(http.StatusText(status)), "")
}
