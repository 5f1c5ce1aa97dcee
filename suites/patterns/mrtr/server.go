// Package mrtr checks the page basic/patterns/mrtr: what becomes of requests that
// a server answers by asking for input.
package mrtr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
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
		strays()
		inOtherMethods()
		moreOfOtherMethods()
		secondRounds()
		states()
	})
}

func requests() {
	It("sends no inputRequests to a client that declares no capabilities",
		Verifies("mrtr.requests.declared"), NeedsProvocation("input-several"), func(t *T) {
			begin(t, Session(t), "input-several") // it does ask a client that declares all
			server := DeclaringSession(t, scripted.Nothing())
			mark := server.Mark()

			server.Call("tools/call", Provoking(t, "input-several").Call()).Need()

			asking.DemandNone(t,
				slices.Concat(
					server.ServerRequests(mark, "elicitation/create"),
					server.ServerRequests(mark, "sampling/createMessage"),
					server.ServerRequests(mark, "roots/list"),
				)...)
		})
}

func requestsOfOne() {
	It("sends only inputRequests of the one capability that the client declares",
		Verifies("mrtr.requests.declared"), NeedsProvocation("input-several"), func(t *T) {
			begin(t, Session(t), "input-several") // it does ask a client that declares all
			methods := map[string]string{"elicitation": "elicitation/create", "sampling": "sampling/createMessage", "roots": "roots/list"}

			for _, declared := range slices.Sorted(maps.Keys(methods)) {
				server := DeclaringSession(t, scripted.Nothing().With(declared, Object{}))
				mark := server.Mark()

				server.Call("tools/call", Provoking(t, "input-several").Call()).Need()

				for _, other := range slices.Sorted(maps.Keys(methods)) {
					if other != declared {
						asking.DemandNone(t, server.ServerRequests(mark, methods[other])...)
					}
				}
			}
		})
}

func retries() {
	It("continues if the client does not retry after an input_required result",
		Verifies("mrtr.retry.not-awaited"), NeedsProvocation("elicitation"), func(t *T) {
			server := FreshSession(t)

			begin(t, server, "elicitation")

			server.Call("tools/call", Provoking(t, "elicitation").Call(), Once).Need() // another call, with a question of its own
			server.StaysUsable()
		})
}

func responses() {
	It("requests input again that is missing in inputResponses", Verifies("mrtr.responses.missing"), NeedsProvocation("elicitation"), func(t *T) {
		server := Session(t)

		for _, given := range []Object{{}, {"mcpconform-unknown": scripted.Acceptance(nil)}} {
			attempt := begin(t, server, "elicitation")

			reply := server.Call("tools/call", attempt.retry(Object{"inputResponses": given}), Once).Must()

			judgeAskedAgain(t, reply, attempt.requests())
		}
	})

	It("requests input again if inputResponses has only a part of it",
		Verifies("mrtr.responses.missing"), NeedsProvocation("input-several"), func(t *T) {
			server := Session(t)
			attempt := begin(t, server, "input-several")
			keys := slices.Sorted(maps.Keys(attempt.requests()))
			if len(keys) < 2 {
				t.Inconclusive(
					"the tool requested only one input",
					"name one that requests several under provocations.input-several in mcpconform.yaml",
				)
			}
			given, missing := Object{keys[0]: attempt.responses()[keys[0]]}, maps.Clone(attempt.requests())
			delete(missing, keys[0])

			reply := server.Call("tools/call", attempt.retry(Object{"inputResponses": given}), Once).Must()

			judgeAskedAgain(t, reply, missing)
		})

	It("ignores inputResponses that it did not request", Verifies("mrtr.responses.unknown"), NeedsProvocation("elicitation"), func(t *T) {
		server := Session(t)
		asking.NeedSuccess(t, server, "elicitation")
		attempt := begin(t, server, "elicitation")
		more := maps.Clone(attempt.responses())
		more["mcpconform-unknown"] = Object{"action": "decline"}

		reply := server.Call("tools/call", attempt.retry(Object{"inputResponses": more}), Once).Must()

		t.DemandOf(reply, asking.Succeeded(reply), "a success, as without the unrequested input")
	})

	misshapenResponses()
}

func misshapenResponses() {
	It("rejects inputResponses that are not an object", Verifies("mrtr.responses.refused"), NeedsProvocation("elicitation"), func(t *T) {
		server := Session(t)
		asking.NeedSuccess(t, server, "elicitation")
		attempt := begin(t, server, "elicitation")

		reply := lie(server, attempt.retry(Object{"inputResponses": []any{"yes"}}), "inputResponses is a list")

		t.Expect(reply).To(BeJSONRPCError())
	})

	It("treats entries of inputResponses that are not objects as invalid",
		Verifies("mrtr.responses.validated"), NeedsProvocation("elicitation"), func(t *T) {
			server := Session(t)
			asking.NeedSuccess(t, server, "elicitation")
			attempt := begin(t, server, "elicitation")
			wrong := Object{}
			for key := range attempt.requests() {
				wrong[key] = asking.Marker
			}

			reply := lie(server, attempt.retry(Object{"inputResponses": wrong}), "the responses are texts")

			asking.JudgeValidation(t, reply, "each response to its requests for input is a text")
		})

	It("treats inputResponses that are null, or hold numbers, as invalid",
		Verifies("mrtr.responses.validated"), NeedsProvocation("elicitation"), func(t *T) {
			server := Session(t)
			asking.NeedSuccess(t, server, "elicitation")

			for _, reason := range []string{"null", "a number"} {
				attempt := begin(t, server, "elicitation")
				var given any // null
				if reason != "null" {
					numbers := Object{}
					for key := range attempt.requests() {
						numbers[key] = 12345
					}
					given = numbers
				}

				reply := lie(server, attempt.retry(Object{"inputResponses": given}), "inputResponses is or holds "+reason)

				judgeNotTaken(t, reply, reason)
			}
		})
}

// strays checks responses to requests for input that the schema does not allow.
func strays() {
	for _, stray := range []struct {
		kind, says string // of the tool that asks, and what is wrong
		response   Object
	}{
		{"elicitation", "an action that does not exist", Object{"action": asking.Marker, "content": Object{}}},
		{"sampling", "a number for its stopReason", Object{
			"role": "assistant", "model": "scripted", "stopReason": 4711,
			"content": Object{"type": "text", "text": "The answer is 8."},
		}},
		{"sampling", "a content block without a type", Object{"role": "assistant", "model": "scripted", "content": Object{}}},
		{"sampling", "no content", Object{"role": "assistant", "model": "scripted"}},
		{"elicitation", "no action", Object{"content": Object{}}},
	} {
		It("treats a response to "+stray.kind+" with "+stray.says+" in inputResponses as invalid",
			Verifies("mrtr.responses.validated"), NeedsProvocation(stray.kind), func(t *T) {
				server := Session(t)
				asking.NeedSuccess(t, server, stray.kind)
				attempt := begin(t, server, stray.kind)
				given := Object{}
				for key := range attempt.requests() {
					given[key] = stray.response
				}

				reply := lie(server, attempt.retry(Object{"inputResponses": given}), "a response has "+stray.says)

				judgeNotTaken(t, reply, "a response with "+stray.says)
			})
	}
}

// inOtherMethods checks of prompts and resources what the others check of tools.
func inOtherMethods() {
	It("ignores inputResponses of prompts/get and resources/read that it did not request", Verifies("mrtr.responses.unknown"), func(t *T) {
		server := Session(t)

		for _, request := range othersThatAsk(t, server) {
			attempt := beginWith(server, request)
			more := maps.Clone(attempt.responses())
			more["mcpconform-unknown"] = Object{"action": "decline"}

			reply := server.Call(request.Method, attempt.retry(Object{"inputResponses": more}), Once).Must()

			t.DemandOf(reply, asking.Succeeded(reply), "a success of "+request.Method+", as without the unrequested input")
		}
	})

	It("treats entries of inputResponses of prompts/get and resources/read that are null as invalid",
		Verifies("mrtr.responses.validated"), func(t *T) {
			server := Session(t)

			for _, request := range othersThatAsk(t, server) {
				attempt := beginWith(server, request)
				nothing := Object{}
				for key := range attempt.requests() {
					nothing[key] = nil
				}

				reply := lieTo(server, request.Method, attempt.retry(Object{"inputResponses": nothing}), "the responses are null")

				judgeNotTaken(t, reply, "null")
			}
		})
}

// moreOfOtherMethods checks of them what other checks do of tools.
func moreOfOtherMethods() {
	It("sends no inputRequests for prompts/get and resources/read to a client that declares no capabilities",
		Verifies("mrtr.requests.declared"), func(t *T) {
			requests := othersThatAsk(t, Session(t))
			server := DeclaringSession(t, scripted.Nothing())
			mark := server.Mark()

			for _, request := range requests {
				server.Call(request.Method, request.Params).Need()
			}

			asking.DemandNone(t,
				slices.Concat(
					server.ServerRequests(mark, "elicitation/create"),
					server.ServerRequests(mark, "sampling/createMessage"),
					server.ServerRequests(mark, "roots/list"),
				)...)
		})

	It("rejects inputResponses of prompts/get and resources/read that are not an object", Verifies("mrtr.responses.refused"), func(t *T) {
		server := Session(t)

		for _, request := range othersThatAsk(t, server) {
			attempt := beginWith(server, request)

			reply := lieTo(server, request.Method, attempt.retry(Object{"inputResponses": []any{"yes"}}), "inputResponses is a list")

			t.Expect(reply).To(BeJSONRPCError())
		}
	})
}

// secondRounds checks of the second request for input in one call what others check of the
// first.
func secondRounds() {
	It("sends only inputRequests that the client declares in a second round",
		Verifies("mrtr.requests.declared"), NeedsProvocation("input-rounds"), func(t *T) {
			able := Session(t)
			beginSecond(t, able, begin(t, able, "input-rounds")) // it does ask twice
			capabilities := scripted.Nothing()
			for _, request := range begin(t, able, "input-rounds").requests() {
				capability, _, _ := strings.Cut(fmt.Sprint(mcp.Value(request, "method")), "/")
				capabilities = capabilities.With(capability, Object{})
			}
			server := DeclaringSession(t, capabilities)
			first := begin(t, server, "input-rounds")

			second := server.Call("tools/call", first.retry(nil), Once).Must()

			for _, request := range mcp.Object(second.Object(), "inputRequests") {
				capability, _, _ := strings.Cut(fmt.Sprint(mcp.Value(request, "method")), "/")
				_, declared := capabilities[capability]
				t.DemandOf(second, declared, "only what the client declares: "+Show(capabilities))
			}
			t.Observe()
		})

	It("treats entries of inputResponses that are null as invalid in a second round",
		Verifies("mrtr.responses.validated"), NeedsProvocation("input-rounds"), func(t *T) {
			server := Session(t)
			asking.NeedSuccess(t, server, "input-rounds")
			second := beginSecond(t, server, begin(t, server, "input-rounds"))
			nothing := Object{}
			for key := range second.requests() {
				nothing[key] = nil
			}

			reply := lie(server, second.retry(Object{"inputResponses": nothing}), "the responses are null")

			judgeNotTaken(t, reply, "null")
		})

	It("requests input again that is missing in a second round", Verifies("mrtr.responses.missing"), NeedsProvocation("input-rounds"), func(t *T) {
		server := Session(t)
		second := beginSecond(t, server, begin(t, server, "input-rounds"))

		reply := server.Call("tools/call", second.retry(Object{"inputResponses": Object{}}), Once).Must()

		if asking.Succeeded(reply) {
			t.Inconclusive("the call succeeded without its second input, so it does not need it",
				"name a tool that needs it under provocations.input-rounds in mcpconform.yaml")
		}
		t.DemandOf(reply, len(mcp.Object(reply.Object(), "inputRequests")) > 0, "another request for input")
	})
}

// beginSecond makes a call again with the input that it asked for, and is asked for more.
func beginSecond(t *T, server *Server, first attempt) attempt {
	reply := server.Call("tools/call", first.retry(nil), Once).Need()
	more, asked := server.Fulfil(reply.Received)
	if !asked {
		t.Inconclusive(fmt.Sprintf("the tool %v requested input only once: %s", first.call["name"], reply.Describe()),
			"name one that requests it twice under provocations.input-rounds in mcpconform.yaml")
	}
	return attempt{method: "tools/call", call: first.call, reply: reply, more: more}
}

// othersThatAsk are requests for a prompt or resource that the server answers by asking for
// input, and serves with it. None ends the check.
func othersThatAsk(t *T, server *Server) []Request {
	var found []Request
	for _, request := range plainRequests(t) {
		begun := beginWith(server, request)
		if len(begun.requests()) > 0 && begun.served(server) {
			found = append(found, request)
		}
	}
	if len(found) == 0 {
		t.NotApplicable("no known resource and no known prompt without arguments requests input")
	}
	return found
}

// maxAsked bounds the prompts, and the resources, that are tried.
const maxAsked = 10

// plainRequests get prompts that can do without arguments, and read resources.
func plainRequests(t *T) []Request {
	var all []Request
	for _, prompt := range ListedPrompts(t) {
		if len(mcp.List(prompt, "arguments")) == 0 && len(all) < maxAsked {
			all = append(all, Request{Method: "prompts/get", Params: Object{"name": prompt["name"]}})
		}
	}
	for _, resource := range ListedResources(t)[:min(maxAsked, len(ListedResources(t)))] {
		all = append(all, Request{Method: "resources/read", Params: Object{"uri": resource["uri"]}})
	}
	return all
}

// lie sends a call that is illegal on purpose, and returns its very answer.
func lie(server *Server, params Object, reason string) Reply {
	return lieTo(server, "tools/call", params, reason)
}

// lieTo does the same with a request of another method.
func lieTo(server *Server, method string, params Object, reason string) Reply {
	id := server.NextID()
	raw := jsonrpc.NewRequest(id, method, server.WithMeta(params))
	request := server.Call(method, params, WithID(id), Raw(raw, reason))
	return request.Must()
}

// An attempt is a call that was answered by a request for input.
type attempt struct {
	method string
	call   Object // its params
	reply  Reply
	more   Object // what a good client adds to the retry
}

// begin calls a tool that asks for input. One that does not makes the check
// inconclusive.
func begin(t *T, server *Server, kind string) attempt {
	provocation := Provoking(t, kind)
	reply := server.Call("tools/call", provocation.Call(), Once).Need()
	more, asked := server.Fulfil(reply.Received)
	if !asked {
		t.Inconclusive("the tool "+provocation.Tool+" did not ask for input: "+reply.Describe(),
			"name one that does under provocations."+kind+" in mcpconform.yaml")
	}
	return attempt{method: "tools/call", call: provocation.Call(), reply: reply, more: more}
}

// beginWith sends a request that may ask for input; what it does not ask for is empty.
func beginWith(server *Server, request Request) attempt {
	params := mcp.Object(request.Params)
	reply := server.Call(request.Method, params, Once).Need()
	more, _ := server.Fulfil(reply.Received)
	return attempt{method: request.Method, call: params, reply: reply, more: more}
}

// served tells whether the request is served with the input that it asked for.
func (a attempt) served(server *Server) bool {
	return asking.Succeeded(server.Call(a.method, a.retry(nil), Once).Need())
}

// retry returns the params of the next attempt, as a good client makes them, save
// for what is other.
func (a attempt) retry(other Object) Object {
	params := maps.Clone(a.call)
	maps.Copy(params, a.more)
	maps.Copy(params, other)
	return params
}

func (a attempt) requests() Object  { return mcp.Object(a.reply.Object(), "inputRequests") }
func (a attempt) responses() Object { return mcp.Object(a.more, "inputResponses") }

// judgeAskedAgain judges the answer to a retry in which the responses to requests
// are missing.
func judgeAskedAgain(t *T, reply Reply, missing Object) {
	if asking.Succeeded(reply) {
		t.Inconclusive("the call succeeded without the input that it had requested, so it does not need it",
			"name a tool that needs its input under provocations in mcpconform.yaml")
	}
	asked := false
	for _, one := range mcp.Object(reply.Object(), "inputRequests") {
		for _, request := range missing {
			asked = asked || mcp.Value(one, "method") == mcp.Value(request, "method")
		}
	}
	t.DemandOf(reply, asked, "another request for the missing input")
}

// judgeNotTaken judges the answer to a retry whose input is none. A tool that succeeds
// without any shows nothing.
func judgeNotTaken(t *T, reply Reply, given string) {
	t.DemandOf(reply, !asking.Succeeded(reply), "an error, or the input request again: the input is "+given)
}
