package streamablehttp

import (
	"context"
	"net/http"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	. "github.com/mcpconform/mcpconform/internal/requests"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/suites/server/arguments"
)

// standardHeaders checks the headings Standard Request Headers, Case Sensitivity and
// Server Validation of the stateless era.
func standardHeaders() {
	It("rejects a request without Mcp-Method", Verifies("transports.http.headers.missing"), ByBarrier(), func(t *T) {
		server := Session(t)

		InEachMethod(t, beTurnedDown(), func(request Harmless) any {
			return postRequest(t, server, request, noMethod, WithoutHeader(transport.MethodHeader))
		})
	})

	It("rejects a request without Mcp-Name", Verifies("transports.http.headers.missing"), func(t *T) {
		server := Session(t)

		for _, named := range mustNameEach(t, server) {
			given := post(t, server, server.Body(named.method, named.params), "lacks Mcp-Name", WithoutHeader(transport.NameHeader))

			t.DemandOf(given, given.refused(), "a rejection of "+named.method)
		}
	})

	It("rejects a request whose Mcp-Method differs from the method in the body",
		Verifies("transports.http.headers.mismatch"), ByBarrier(), func(t *T) {
			server := Session(t)

			InEachMethod(t, beTurnedDown(), func(request Harmless) any {
				other := WithHeader(transport.MethodHeader, besides(request.Method))
				return postRequest(t, server, request, otherMethod, other)
			})
		})

	It("rejects a request whose Mcp-Method differs from the method only in case",
		Verifies("transports.http.headers.mismatch"), ByBarrier(), func(t *T) {
			given := withMethodInCapitals(t)

			t.Expect(given).To(beTurnedDown())
		})

	differingNames()

	headerErrors()

	spelledHeaders()
}

func differingNames() {
	It("rejects a request whose Mcp-Name differs from the name or uri in the body", Verifies("transports.http.headers.mismatch"), func(t *T) {
		refusesNames(t, otherName, func(string) string { return Stranger })
	})

	It("rejects a request whose decoded Mcp-Name differs from the name or uri in the body", Verifies("transports.http.headers.mismatch"), func(t *T) {
		refusesNames(t, otherName, func(string) string { return transport.EncodedHeaderValue(Stranger) })
	})

	It("rejects a request whose Mcp-Name has invalid Base64 in =?base64?…?=", Verifies("transports.http.headers.mismatch"), func(t *T) {
		refusesNames(t, "has no Base64 between the markers of Mcp-Name", func(string) string { return "=?base64?%%%?=" })
	})
}

func headerErrors() {
	It("returns HTTP 400 and -32020 if Mcp-Method is missing", Verifies("transports.http.headers.error"), ByBarrier(), func(t *T) {
		given := withoutMethod(t)

		judgeRefusal(t, given, "transports.http.headers.missing")
	})

	It("returns HTTP 400 and -32020 if Mcp-Method differs from the method in the body",
		Verifies("transports.http.headers.error"), ByBarrier(), func(t *T) {
			given := withOtherMethod(t)

			judgeRefusal(t, given, "transports.http.headers.mismatch")
		})

	It("returns HTTP 400 and -32020 if Mcp-Method differs from the method only in case",
		Verifies("transports.http.headers.error"), ByBarrier(), func(t *T) {
			given := withMethodInCapitals(t)

			judgeRefusal(t, given, "transports.http.headers.mismatch")
		})

	It("returns HTTP 400 and -32020 if Mcp-Name is missing or differs from the name or uri in the body",
		Verifies("transports.http.headers.error"), func(t *T) {
			server := Session(t)

			refused := false
			for _, named := range mustNameEach(t, server) {
				for reason, edit := range map[string]HeaderEdit{
					"lacks Mcp-Name": WithoutHeader(transport.NameHeader),
					otherName:        WithHeader(transport.NameHeader, Stranger),
				} {
					given := post(t, server, server.Body(named.method, named.params), reason, edit)
					if !given.refused() {
						continue
					}
					refused = true
					t.Expect(given).To(beTheError(http.StatusBadRequest, jsonrpc.HeaderMismatch))
				}
			}
			if !refused {
				t.NotApplicable("the server rejects none of them: see transports.http.headers.mismatch")
			}
		})
}

func spelledHeaders() {
	It("accepts header names in lower case", Verifies("transports.http.headers.names"), func(t *T) {
		server := Session(t)
		named := mustName(t, server)

		given := postSpelled(t, server, named.identified(server, "mcpconform-lower-case"), strings.ToLower)

		t.DemandOf(given, !given.refused(), "the same answer as with names in the usual case")
	})

	It("accepts header names in upper case", Verifies("transports.http.headers.names"), func(t *T) {
		server := Session(t)
		named := mustName(t, server)

		given := postSpelled(t, server, named.identified(server, "mcpconform-upper-case"), strings.ToUpper)

		t.DemandOf(given, !given.refused(), "the same answer as with names in the usual case")
	})

	It("decodes a Base64-encoded Mcp-Name header", Verifies("transports.http.encoding.decoded"), func(t *T) {
		server := Session(t)

		for _, named := range mustNameEach(t, server) {
			encoded := WithHeader(transport.NameHeader, transport.EncodedHeaderValue(named.name))

			given := post(t, server, server.Body(named.method, named.params), "", encoded)

			t.DemandOf(given, !given.refused(), "the answer that "+named.method+" gets with the plain name")
		}
	})

	It("rejects a Mcp-Name header with =?BASE64?…?= in upper case", Verifies("transports.http.encoding.markers"), func(t *T) {
		refusesNames(t, "has other markers around Mcp-Name", func(name string) string {
			return strings.Replace(transport.EncodedHeaderValue(name), "base64", "BASE64", 1)
		})
	})
}

// refusesNames demands that a request of each method that names something is refused with
// such a Mcp-Name.
func refusesNames(t *T, deliberate string, header func(name string) string) {
	server := Session(t)
	for _, named := range mustNameEach(t, server) {
		wrong := WithHeader(transport.NameHeader, header(named.name))

		given := post(t, server, server.Body(named.method, named.params), deliberate, wrong)

		t.DemandOf(given, given.refused(), "a rejection of "+named.method)
	}
}

// withoutMethod, and those below, post a request that every server answers, with the
// header wrong that repeats its method.
func withoutMethod(t *T) answer {
	return postBarrier(t, noMethod, WithoutHeader(transport.MethodHeader))
}

func withOtherMethod(t *T) answer {
	return postBarrier(t, otherMethod, WithHeader(transport.MethodHeader, besides(BarrierMethod(t))))
}

func withMethodInCapitals(t *T) answer {
	return postBarrier(
		t,
		"has an Mcp-Method in a different case than the body",
		WithHeader(transport.MethodHeader, strings.ToUpper(BarrierMethod(t))),
	)
}

func postBarrier(t *T, deliberate string, edit HeaderEdit) answer {
	return postRequest(t, Session(t), Harmless{Method: BarrierMethod(t)}, deliberate, edit)
}

func postRequest(ctx context.Context, server *Server, request Harmless, deliberate string, edit HeaderEdit) answer {
	return post(ctx, server, server.Body(request.Method, request.With(nil)), deliberate, edit)
}

const (
	noMethod    = "lacks Mcp-Method"
	otherMethod = "has an Mcp-Method other than the method in the body"
	otherName   = "has an Mcp-Name other than the name in the body"
)

// besides is another method than the one of a request.
func besides(method string) string {
	if method == "prompts/get" {
		return "tools/list"
	}
	return "prompts/get"
}

// judgeRefusal demands the status and the error of a refusal for headers. What is not
// refused other checks report.
func judgeRefusal(t *T, given answer, reported string) {
	if !given.refused() {
		t.NotApplicable("the server does not reject it: see " + reported)
	}
	t.Expect(given).To(beTheError(http.StatusBadRequest, jsonrpc.HeaderMismatch))
}

// postSpelled posts a request with the names of its headers spelled otherwise.
func postSpelled(ctx context.Context, server *Server, body []byte, spell func(string) string) answer {
	header := http.Header{}
	for name, values := range server.HTTP.HeaderOf(http.MethodPost, body) {
		header[spell(name)] = values
	}
	response := server.Exchange(transport.Request{Method: http.MethodPost, Header: header, Body: body})
	return answered(ctx, server, response, body)
}

// naming is a request that a header names the object of.
type naming struct {
	method string
	params Object
	name   string
}

// identified is the body of the request with an id of its own.
func (n naming) identified(server *Server, id string) []byte {
	return jsonrpc.NewRequest(jsonrpc.StringID(id), n.method, server.WithMeta(n.params))
}

// mustName returns a request with a name that the server does not refuse.
func mustName(t *T, server *Server) naming { return mustNameEach(t, server)[0] }

// mustNameEach returns such a request of each method that names something: the read of
// a resource, a prompt that needs nothing, the call of a tool.
func mustNameEach(t *T, server *Server) []naming {
	var served []naming
	for _, one := range namings(t) {
		if !post(t, server, server.Body(one.method, one.params), "").refused() {
			served = append(served, one)
		}
	}
	if len(served) == 0 {
		t.Inconclusive(
			"the server has no callable tool, no resource and no prompt without arguments",
			"name a callable tool in mcpconform.yaml: arguments: {NAME: {…}}",
		)
	}
	return served
}

// namings are the first things that the server lists.
func namings(t *T) []naming {
	var all []naming
	for _, resource := range ListedResources(t) {
		if uri, isText := resource["uri"].(string); isText {
			all = append(all, naming{"resources/read", Object{"uri": uri}, uri})
			break
		}
	}
	for _, prompt := range ListedPrompts(t) {
		if name, isText := prompt["name"].(string); isText && len(arguments.OfPrompt(prompt)) == 0 {
			all = append(all, naming{"prompts/get", Object{"name": name}, name})
			break
		}
	}
	if calls, _ := CallableTools(t); len(calls) > 0 {
		all = append(all, naming{"tools/call", calls[0].Call(), calls[0].Tool})
	}
	return all
}
