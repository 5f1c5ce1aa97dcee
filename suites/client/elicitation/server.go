// Package elicitation checks the page client/elicitation.
package elicitation

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

const (
	method     = "elicitation/create"
	completion = "notifications/elicitation/complete"
	// urlRequired is the code of the error that demands a visit to a URL.
	urlRequired = -32042
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Elicitation", Together("asking"), func() {
		requests()
		answers()
		visits()
	})
}

func requests() {
	It("requests elicitation/create only from a client that declares elicitation",
		Verifies("lifecycle.capabilities.of-peer", "mrtr.requests.declared"), AtRevisionsWith(protocol.Elicitation), NeedsProvocation("elicitation"), func(t *T) {
			server := DeclaringSession(t, scripted.Everything(t.Revision()).Without("elicitation"))

			requests := asking.Unasked(t, Session(t), server, "elicitation", method)

			asking.DemandNone(t, requests...)
		})

	It("sends no form elicitation to a client that declares only elicitation.url",
		Verifies("elicitation.request.mode"), NeedsProvocation("elicitation"), func(t *T) {
			server := DeclaringSession(t, offering(t, Object{"url": Object{}}))

			requests := asking.Unasked(t, Session(t), server, "elicitation", method)

			asking.DemandNone(t, inMode(false, requests)...)
		})

	It("sends no URL elicitation to a client that declares only elicitation.form",
		Verifies("elicitation.request.mode"), NeedsProvocation("elicitation-url"), func(t *T) {
			server := DeclaringSession(t, offering(t, Object{"form": Object{}}))

			requests := asking.Unasked(t, Session(t), server, "elicitation-url", method)

			asking.DemandNone(t, inMode(true, requests)...)
		})

	It("sends form, not URL, elicitation to a client that declares only elicitation.form",
		Verifies("elicitation.request.mode"), NeedsProvocation("elicitation"), func(t *T) {
			server := DeclaringSession(t, offering(t, Object{"form": Object{}}))

			question := asking.Provoke(t, server, "elicitation", method)
			question.Outcome()

			asking.DemandNone(t, inMode(true, question.Since(method))...)
		})

	It("sends no URL elicitation to a client whose elicitation capability is an empty object",
		Verifies("elicitation.request.mode"), NeedsProvocation("elicitation-url"), func(t *T) {
			server := DeclaringSession(t, offering(t, Object{}))

			requests := asking.Unasked(t, Session(t), server, "elicitation-url", method)

			asking.DemandNone(t, inMode(true, requests)...)
		})
}

// inMode returns the requests in URL mode, or those that are not.
func inMode(url bool, all []ServerRequest) []ServerRequest {
	return slices.DeleteFunc(all, func(asked ServerRequest) bool { return (asked.Parameters["mode"] == "url") != url })
}

// offering is a client that declares elicitation in its own way.
func offering(t *T, modes Object) scripted.Capabilities {
	return scripted.Everything(t.Revision()).With("elicitation", modes)
}

// acting is the answer of a user who declines or cancels.
func acting(action string) scripted.Answer {
	return scripted.Answering(func(Object) Object { return Object{"action": action} })
}

func answers() {
	asking.Answered("continues after form elicitation was accepted", "elicitation.answer.handled", "elicitation", method, nil)

	asking.Answered("continues after form elicitation was declined", "elicitation.answer.handled", "elicitation", method, acting("decline"))

	asking.Answered("continues after form elicitation was cancelled", "elicitation.answer.handled", "elicitation", method, acting("cancel"))

	It(
		"continues after form elicitation of a second round was declined or cancelled",
		Verifies("elicitation.answer.handled"),
		AtRevisionsWith(protocol.PerRequestMeta),
		NeedsProvocation("input-rounds"),
		func(t *T) {
			server := Session(t)
			for _, action := range []string{"decline", "cancel"} {
				rounds := 0
				server.Answer(method, scripted.Answering(func(asked Object) Object {
					if rounds++; rounds == 1 {
						return scripted.Acceptance(asked)
					}
					return Object{"action": action}
				}))

				asking.Provoke(t, server, "input-rounds", method).MustEnd()

				if rounds < 2 {
					t.Inconclusive("the tool requested input only once",
						"name one that requests it twice under provocations.input-rounds in mcpconform.yaml")
				}
				server.StaysUsable()
			}
		},
	)

	refusedForms()
}

func refusedForms() {
	asking.Answered("continues after the client rejected elicitation/create with -32602", "elicitation.answer.handled", "elicitation", method,
		scripted.Refusal(jsonrpc.InvalidParams, "this client cannot show this form"))

	asking.Unanswered("continues while elicitation/create is unanswered", "elicitation.answer.handled", "elicitation", method)

	It("rejects elicitation content that does not match requestedSchema",
		Verifies("elicitation.answer.validated"), NeedsProvocation("elicitation"), func(t *T) {
			server := Session(t)
			good := asking.NeedSuccess(t, server, "elicitation")
			server.Answer(method, scripted.Answering(func(params Object) Object {
				content := Object{}
				for _, name := range fieldsOf(params) {
					content[name] = Object{"wrong": asking.Marker}
				}
				return Object{"action": "accept", "content": content}
			}))

			question := asking.Provoke(t, server, "elicitation", method)
			outcome := question.Outcome()

			if len(question.Since(method)) > 1 {
				t.Observe() // it asked again
				return
			}
			question.JudgeValidation(t, outcome, good, "every field of the answer has a value that the schema does not allow")
		})
}

// fieldsOf returns the names of the fields of a form.
func fieldsOf(params Object) []string {
	properties := mcp.Object(params, "requestedSchema", "properties")
	var names []string
	for name := range properties {
		names = append(names, name)
	}
	return names
}

func visits() {
	It("sends URL elicitation with mode url, a message, a url and, until 2025-11-25, an elicitationId",
		Verifies("elicitation.url.parameters"), NeedsProvocation("elicitation-url"), func(t *T) {
			server := Session(t)

			question := asking.Provoke(t, server, "elicitation-url", method)

			t.Expect(question.Params()).To(HaveMember("mode", "url"))
			t.Expect(question.Params()).To(HaveMember("message", BeText()))
			t.Expect(question.Params()).To(HaveMember("url", BeText()))
			if t.Has(protocol.ElicitationIDs) {
				t.Expect(question.Params()).To(HaveMember("elicitationId", BeText()))
			}
			question.Outcome()
		})

	It("gives URL elicitations in two sessions different elicitationIds",
		Verifies("elicitation.url.id-unique"), NeedsProvocation("elicitation-url"), func(t *T) {
			server, other := FreshSession(t), FreshSession(t)

			first := asking.Provoke(t, server, "elicitation-url", method)
			second := asking.Provoke(t, other, "elicitation-url", method)

			if elicitationID(first) == nil || elicitationID(second) == nil {
				t.Inconclusive("the server sent no elicitationId", "see the result of elicitation.url.parameters")
			}
			t.Expect(second.Params()).NotTo(HaveMember("elicitationId", elicitationID(first)))
			first.Outcome()
			second.Outcome()
			server.Call("tools/call", Provoking(t, "elicitation-url").Call()).May() // a rule compares those of one session
		})

	asking.Answered("continues after URL elicitation was declined", "elicitation.answer.url-mode", "elicitation-url", method, acting("decline"))

	asking.Answered("continues after URL elicitation was cancelled", "elicitation.answer.url-mode", "elicitation-url", method, acting("cancel"))

	completedVisits()
}

func completedVisits() {
	It(
		"sends notifications/elicitation/complete only to the client that received the elicitation",
		Verifies("elicitation.completion.client"),
		NeedsTransport(protocol.HTTP, protocol.SSE),
		NeedsProvocation("elicitation-url"),
		func(t *T) {
			server, bystander := FreshSession(t), FreshSession(t)
			listen(server)
			listen(bystander)

			question := asking.Provoke(t, server, "elicitation-url", method)
			question.Outcome()
			if demanding, there := Provocable(t, "url-required"); there {
				server.Call("tools/call", demanding.Call()).May(BeLate) // its error, too, makes the client visit a URL
			}

			server.Barrier()
			bystander.BarrierOnAllStreams()
			announced := bystander.Sent(bystander.Began(), Notification(completion))
			if len(announced)+len(server.Sent(server.Began(), Notification(completion))) == 0 {
				t.Inconclusive("the server sent no notifications/elicitation/complete",
					"name a tool after which it is sent under provocations.elicitation-url in mcpconform.yaml")
			}
			t.DemandNone("nothing on a connection without an elicitation", announced)
		},
	)

	It(
		"lists at least one URL elicitation, with elicitationId and url, in the error -32042",
		Verifies("elicitation.required.listed", "elicitation.required.elicitations"),
		NeedsProvocation("url-required"),
		func(t *T) {
			server := FreshSession(t)

			reply := server.Call("tools/call", Provoking(t, "url-required").Call()).Need()

			refusal, refused := reply.Error()
			if !refused || refusal.Code != urlRequired {
				t.Inconclusive("the call was not rejected with the error -32042: "+reply.Describe(),
					"name a tool that is rejected so under provocations.url-required in mcpconform.yaml")
			}
			t.Expect(refusal.Data).To(HaveMember("elicitations", BeAList()))
			elicitations := mcp.List(refusal.Data, "elicitations")
			t.Demand(len(elicitations) > 0, "at least one elicitation", "an empty list")
			for _, one := range elicitations {
				t.Expect(one).To(HaveMember("mode", "url"))
				t.Expect(one).To(HaveMember("elicitationId", BeText()))
				t.Expect(one).To(HaveMember("url", BeText()))
			}
		},
	)
}

// listen opens the stream for what belongs to no request, if the server has one.
func listen(server *Server) {
	server.KeepListening()
}

func elicitationID(question *asking.ServerRequest) any { return question.Params()["elicitationId"] }
