package authorization

import (
	"net/http"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/session"
)

func scopes() {
	It("answers a request whose access token lacks a scope with 403",
		Verifies("authorization.scope.forbidden"), NeedsToken(oauth.Limited), func(t *T) {
			_, response := withoutScope(t)

			t.Expect(response).To(HaveStatus(http.StatusForbidden))
		})

	It("sends error=\"insufficient_scope\" in the challenge of the 403",
		Verifies("authorization.scope.error"), NeedsToken(oauth.Limited), func(t *T) {
			_, response := forbidden(t)

			t.Demand(response.Parameter("error") == "insufficient_scope",
				`a Bearer challenge with error="insufficient_scope"`, response.DescribeChallenge())
		})

	It("names the required scopes in the challenge of the 403", Verifies("authorization.scope.named"), NeedsToken(oauth.Limited), func(t *T) {
		tool, response := forbidden(t)

		scope := response.Parameter("scope")
		t.Demand(scope != "" && oauth.ScopeFlaw(scope) == "", "a Bearer challenge with scope", response.DescribeChallenge())
		named := oauth.Scopes(scope)
		t.Demand(
			len(tool.Needs) == 0 ||
				slices.ContainsFunc(named, func(one string) bool { return slices.Contains(tool.Needs, one) }),
			"a scope that "+tool.Tool+" takes: "+strings.Join(tool.Needs, " "),
			response.DescribeChallenge(),
		)
	})

	It("names the protected resource metadata in the challenge of the 403",
		Verifies("authorization.scope.metadata"), NeedsToken(oauth.Limited), func(t *T) {
			_, response := forbidden(t)

			t.Demand(isAbsolute(response.Parameter("resource_metadata")), "a Bearer challenge with resource_metadata", response.DescribeChallenge())
		})

	completeScopes()
}

func completeScopes() {
	It("names the same scopes each time that it rejects the same operation",
		Verifies("authorization.scope.consistent"), NeedsToken(oauth.Limited), func(t *T) {
			_, first := forbidden(t)
			_, second := forbidden(t)

			t.Demand(slices.Equal(oauth.Scopes(first.Parameter("scope")), oauth.Scopes(second.Parameter("scope"))),
				"the scopes of the challenge before: "+first.Parameter("scope"), second.DescribeChallenge())
		})

	It("names all required scopes in one challenge", Verifies("authorization.scope.complete"), NeedsToken(oauth.Limited), func(t *T) {
		tool, response := forbidden(t)
		if len(tool.Needs) == 0 {
			t.Inconclusive(
				"it is unknown which scopes "+tool.Tool+" takes",
				"name them in mcpconform.yaml: auth: {scopes: [{tool: "+tool.Tool+", needs: [...]}]}",
			)
		}

		named := oauth.Scopes(response.Parameter("scope"))
		missing := slices.DeleteFunc(slices.Clone(tool.Needs), func(one string) bool { return slices.Contains(named, one) })
		t.Demand(len(missing) == 0, "a challenge that names "+strings.Join(tool.Needs, " "), response.DescribeChallenge())
	})

	It("accepts a broader scope where a narrower one is needed",
		Verifies("authorization.scope.hierarchy"), NeedsToken(oauth.Limited, oauth.Broader), func(t *T) {
			tool, _ := forbidden(t) // so that the scope matters

			response := call(t, tool, oauth.Broader)

			t.DemandOf(response, accepted(response), "a response to tools/call with a token that has a broader scope")
		})
}

// withoutScope calls a tool with a token that lacks what it takes.
func withoutScope(t *T) (ScopedTool, *Response) {
	tools := ScopedTools(t)
	if len(tools) == 0 {
		t.Inconclusive("no known tool needs more scopes than others", "name one in mcpconform.yaml: auth: {scopes: [{tool: NAME, needs: [SCOPE]}]}")
	}
	return tools[0], call(t, tools[0], oauth.Limited)
}

// forbidden does so, and needs a 403.
func forbidden(t *T) (ScopedTool, *Response) {
	tool, response := withoutScope(t)
	if response.Status != http.StatusForbidden {
		t.Inconclusive("the call of "+tool.Tool+" is not answered with HTTP 403: "+response.Describe(),
			"see the result of authorization.scope.forbidden")
	}
	return tool, response
}

func call(t *T, tool ScopedTool, kind oauth.Kind) *Response {
	server := AuthorizedSession(t, kind)
	arguments := tool.Arguments
	if arguments == nil {
		arguments = map[string]any{}
	}
	body := server.Body("tools/call", map[string]any{"name": tool.Tool, "arguments": arguments})
	return server.Post(body, "")
}
