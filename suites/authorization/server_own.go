package authorization

import (
	"fmt"
	"net/http"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// ownAuthorization checks where clients find how to authorize at a server that is its own
// authorization server (2025-03-26, basic/authorization#server-metadata-discovery).
func ownAuthorization() {
	It("serves the metadata of an authorization server at the root of its host",
		Verifies("authorization.discovery.rfc8414-by-servers"), Guarded(), func(t *T) {
			unauthorized(t)

			answer := fetch(t, oauth.ServerPath)

			t.DemandOf(answer, describes(answer), "metadata with authorization_endpoint and token_endpoint at "+oauth.ServerPath)
		})

	It("has metadata of an authorization server at the root of its host if it has some",
		Verifies("authorization.discovery.base-metadata"), Guarded(), func(t *T) {
			unauthorized(t)
			root := fetch(t, oauth.ServerPath)
			if describes(root) {
				t.Observe()
				return
			}

			path := strings.TrimSuffix(pathOf(URL(t)), "/")
			for _, below := range []string{oauth.ServerPath + path, path + oauth.ServerPath} {
				answer := fetch(t, below)
				t.DemandOf(root, path == "" || !describes(answer), "the metadata that is at "+below+", at "+oauth.ServerPath)
			}
			t.NotApplicable("the server has no metadata of an authorization server")
		})

	It("has metadata of an authorization server, or /authorize, /token and /register at the root of its host",
		Verifies("authorization.discovery.default-paths"), Guarded(), func(t *T) {
			unauthorized(t)
			if describes(fetch(t, oauth.ServerPath)) {
				t.Observe()
				return
			}

			for _, endpoint := range []struct{ method, path string }{
				{http.MethodGet, "/authorize"}, {http.MethodPost, "/token"}, {http.MethodPost, "/register"},
			} {
				answer := ConnectAside(t).Exchange(transport.Request{
					Method: endpoint.method, URL: endpoint.path, Header: http.Header{"Authorization": nil},
				})
				t.DemandOf(answer, answer.Status != http.StatusNotFound,
					fmt.Sprintf("an answer to %s %s, as there is no metadata at %s", endpoint.method, endpoint.path, oauth.ServerPath))
			}
		})
}

// describes tells whether an answer is metadata by which a client can authorize.
func describes(answer *Response) bool {
	document := answer.Object()
	return answer.Status == http.StatusOK && mcp.Text(document, "authorization_endpoint") != "" &&
		mcp.Text(document, "token_endpoint") != ""
}
