// Package mrtr checks the page basic/patterns/mrtr: what becomes of requests that
// a server answers by asking for input.
package mrtr

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ServerChecks registers the checks of a target server. What they provoke is
// judged by the rules about input, too.
func ServerChecks() {
	Describe("Multi round-trip requests", func() {
		requests()
		requestsOfOne()
		retries()
		responses()
		states()
	})
}

func requests() {
	It(
		"sends no inputRequests to a client that declares no capabilities",
		Verifies("mrtr.requests.declared"),
		NeedsProvocation("input-several"),
		func(ctx SpecContext) {
			begin(ctx, Session(ctx), "input-several") // it does ask a client that declares all
			server := SessionOf(ctx, scripted.Nothing())
			mark := server.Mark()

			server.NeedReply(ctx, "tools/call", Provoking("input-several").Call())

			asking.DemandNone(
				slices.Concat(
					server.ServerRequests(mark, "elicitation/create"),
					server.ServerRequests(mark, "sampling/createMessage"),
					server.ServerRequests(mark, "roots/list"),
				)...)
		},
	)
}

func requestsOfOne() {
	It(
		"sends only inputRequests of the one capability that the client declares",
		Verifies("mrtr.requests.declared"),
		NeedsProvocation("input-several"),
		func(ctx SpecContext) {
			begin(ctx, Session(ctx), "input-several") // it does ask a client that declares all
			methods := map[string]string{
				"elicitation": "elicitation/create", "sampling": "sampling/createMessage", "roots": "roots/list",
			}

			for _, declared := range slices.Sorted(maps.Keys(methods)) {
				server := SessionOf(ctx, scripted.Nothing().With(declared, Object{}))
				mark := server.Mark()

				server.NeedReply(ctx, "tools/call", Provoking("input-several").Call())

				for _, other := range slices.Sorted(maps.Keys(methods)) {
					if other != declared {
						asking.DemandNone(server.ServerRequests(mark, methods[other])...)
					}
				}
			}
		},
	)
}

func retries() {
	It(
		"continues if the client does not retry after an input_required result",
		Verifies("mrtr.retry.not-awaited"),
		NeedsProvocation("elicitation"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			begin(ctx, server, "elicitation")

			server.NeedOnce(
				ctx,
				"tools/call",
				Provoking("elicitation").Call(),
			) // another call, with a question of its own
			server.StaysUsable(ctx)
		},
	)
}

func responses() {
	It(
		"requests input again that is missing in inputResponses",
		Verifies("mrtr.responses.missing"),
		NeedsProvocation("elicitation"),
		func(ctx SpecContext) {
			server := Session(ctx)

			for _, given := range []Object{{}, {"mcpconform-unknown": Acceptance(nil)}} {
				attempt := begin(ctx, server, "elicitation")

				reply := server.Once(ctx, "tools/call", attempt.retry(Object{"inputResponses": given}))

				judgeAskedAgain(reply, attempt.requests())
			}
		},
	)

	It(
		"requests input again if inputResponses has only a part of it",
		Verifies("mrtr.responses.missing"),
		NeedsProvocation("input-several"),
		func(ctx SpecContext) {
			server := Session(ctx)
			attempt := begin(ctx, server, "input-several")
			keys := slices.Sorted(maps.Keys(attempt.requests()))
			if len(keys) < 2 {
				Inconclusive(
					"the tool asked for one input only",
					"name one that asks for several under provocations.input-several in mcpconform.yaml",
				)
			}
			given, missing := Object{keys[0]: attempt.responses()[keys[0]]}, maps.Clone(attempt.requests())
			delete(missing, keys[0])

			reply := server.Once(ctx, "tools/call", attempt.retry(Object{"inputResponses": given}))

			judgeAskedAgain(reply, missing)
		},
	)

	It(
		"ignores inputResponses that it did not request",
		Verifies("mrtr.responses.unknown"),
		NeedsProvocation("elicitation"),
		func(ctx SpecContext) {
			server := Session(ctx)
			asking.NeedSuccess(ctx, server, "elicitation")
			attempt := begin(ctx, server, "elicitation")
			more := maps.Clone(attempt.responses())
			more["mcpconform-unknown"] = Object{"action": "decline"}

			reply := server.Once(ctx, "tools/call", attempt.retry(Object{"inputResponses": more}))

			Demand(asking.Succeeded(reply), "a success, as without the input that was not asked for", reply.Describe())
		},
	)

	It(
		"rejects inputResponses that are not an object",
		Verifies("mrtr.responses.refused"),
		NeedsProvocation("elicitation"),
		func(ctx SpecContext) {
			server := Session(ctx)
			asking.NeedSuccess(ctx, server, "elicitation")
			attempt := begin(ctx, server, "elicitation")

			reply := lie(ctx, server, attempt.retry(Object{"inputResponses": []any{"yes"}}), "inputResponses is a list")

			Expect(reply).To(BeJSONRPCError())
		},
	)

	It(
		"treats entries of inputResponses that are not objects as invalid",
		Verifies("mrtr.responses.validated"),
		NeedsProvocation("elicitation"),
		func(ctx SpecContext) {
			server := Session(ctx)
			asking.NeedSuccess(ctx, server, "elicitation")
			attempt := begin(ctx, server, "elicitation")
			wrong := Object{}
			for key := range attempt.requests() {
				wrong[key] = asking.Marker
			}

			reply := lie(ctx, server, attempt.retry(Object{"inputResponses": wrong}), "the responses are texts")

			asking.JudgeValidation(reply, "each response to its requests for input is a text")
		},
	)

	It(
		"treats inputResponses that are null, or hold numbers, as invalid",
		Verifies("mrtr.responses.validated"),
		NeedsProvocation("elicitation"),
		func(ctx SpecContext) {
			server := Session(ctx)
			asking.NeedSuccess(ctx, server, "elicitation")

			for _, reason := range []string{"null", "a number"} {
				attempt := begin(ctx, server, "elicitation")
				var given any // null
				if reason != "null" {
					numbers := Object{}
					for key := range attempt.requests() {
						numbers[key] = 12345
					}
					given = numbers
				}

				reply := lie(
					ctx,
					server,
					attempt.retry(Object{"inputResponses": given}),
					"inputResponses is or holds "+reason,
				)

				judgeNotTaken(reply, reason)
			}
		},
	)
}

// lie sends a call that is illegal on purpose, and returns its very answer.
func lie(ctx context.Context, server *Server, params Object, reason string) Reply {
	id := server.NextID()
	raw := jsonrpc.NewRequest(id, "tools/call", server.WithMeta(params))
	request := server.StartRaw(ctx, id, "tools/call", scripted.Outgoing{Raw: raw, Deliberate: reason}, params)
	return server.Await(ctx, request)
}

// An attempt is a call that was answered by a request for input.
type attempt struct {
	call  Object // its params
	reply Reply
	more  Object // what a good client adds to the retry
}

// begin calls a tool that asks for input. One that does not makes the check
// inconclusive.
func begin(ctx context.Context, server *Server, kind string) attempt {
	provocation := Provoking(kind)
	reply := server.NeedOnce(ctx, "tools/call", provocation.Call())
	more, asked := server.Fulfil(reply.Received)
	if !asked {
		Inconclusive("the tool "+provocation.Tool+" did not ask for input: "+reply.Describe(),
			"name one that does under provocations."+kind+" in mcpconform.yaml")
	}
	return attempt{call: provocation.Call(), reply: reply, more: more}
}

// retry returns the params of the next attempt, as a good client makes them, save
// for what is other.
func (a attempt) retry(other Object) Object {
	params := maps.Clone(a.call)
	maps.Copy(params, a.more)
	maps.Copy(params, other)
	return params
}

func (a attempt) requests() Object  { return member(a.reply.Object(), "inputRequests") }
func (a attempt) responses() Object { return member(a.more, "inputResponses") }

func member(object Object, name string) Object {
	found, _ := object[name].(map[string]any)
	return found
}

// judgeAskedAgain judges the answer to a retry in which the responses to requests
// are missing.
func judgeAskedAgain(reply Reply, missing Object) {
	if asking.Succeeded(reply) {
		Inconclusive("the call succeeded without the input that it had asked for, so that it can do without",
			"name a tool that needs its input under provocations in mcpconform.yaml")
	}
	asked := false
	for _, one := range member(reply.Object(), "inputRequests") {
		for _, request := range missing {
			asked = asked || method(one) == method(request)
		}
	}
	Demand(asked, "another request for the missing input", reply.Describe())
}

// judgeNotTaken judges the answer to a retry whose input is none. A tool that succeeds
// without any shows nothing.
func judgeNotTaken(reply Reply, given string) {
	Demand(!asking.Succeeded(reply), "an error, or the question anew: the input is "+given, reply.Describe())
}

func method(request any) any {
	object, _ := request.(map[string]any)
	return object["method"]
}
