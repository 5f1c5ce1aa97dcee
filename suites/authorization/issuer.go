package authorization

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/issuer"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// IssuerChecks registers the checks of a target authorization server. They
// need more and more of the user: the issuer alone; a client, given or registered
// dynamically; a command that logs in, where no redirect comes by itself.
func IssuerChecks() {
	Describe("Authorization server", func() {
		issuerMetadata()
		issuerRegistration()
		issuerDocuments()
		issuerRequests()
		issuerCodes()
		issuerRefresh()
	})
}

func issuerMetadata() {
	It("serves its metadata as JSON at a well-known URI", Verifies("authorization.server.metadata"), func(t *T) {
		issuer := ConnectIssuer(t)

		found := metadataPlaces(t, issuer.Documents())
		var answers []string
		for _, document := range found {
			if document.Members != nil {
				t.Expect(document.Response).To(HaveContentType("application/json"))
				return
			}
			answers = append(answers, document.Place+": "+document.Response.Describe())
		}
		t.Demand(false, "a JSON object at one of these places", strings.Join(answers, "; "))
	})

	It("names the issuer of its well-known URI in its metadata", Verifies("authorization.server.issuer"), func(t *T) {
		issuer := ConnectIssuer(t)

		for _, document := range needIssuerDocuments(t, issuer.Documents()) {
			named := mcp.Text(document.Members, "issuer")
			if named != URL(t) &&
				(strings.TrimSuffix(named, "/") == strings.TrimSuffix(URL(t), "/") || isAlias(t, named)) {
				t.Inconclusive("the authorization server names itself "+named, "give exactly that URL")
			}
			t.Demand(named == URL(t), "the issuer "+URL(t), Show(document.Members["issuer"]))
		}
	})

	It("names its endpoints and response types in its metadata", Verifies("authorization.server.members"), func(t *T) {
		issuer := ConnectIssuer(t)

		for _, document := range needIssuerDocuments(t, issuer.Documents()) {
			for _, name := range []string{"authorization_endpoint", "token_endpoint"} {
				address := mcp.Text(document.Members, name)
				t.Demand(isAbsolute(address), "an absolute URL as "+name, Show(document.Members[name]))
				t.Demand(!strings.Contains(address, "#"), "no fragment in "+name, address)
			}
			types, isList := document.Members["response_types_supported"].([]any)
			t.Demand(isList && len(types) > 0, "a list as response_types_supported", Show(document.Members["response_types_supported"]))
		}
	})

	issuerEndpoints()
}

func issuerEndpoints() {
	It("lists code_challenge_methods_supported in its OpenID configuration", Verifies("authorization.pkce.advertised"), func(t *T) {
		issuer := ConnectIssuer(t)

		documents := slices.DeleteFunc(issuer.Documents(), func(document MetadataDocument) bool {
			return document.Members == nil || !document.IsOpenID()
		})
		if len(documents) == 0 {
			t.NotApplicable("the authorization server has no OpenID configuration")
		}
		for _, document := range documents {
			methods, isList := document.Members["code_challenge_methods_supported"].([]any)
			t.Demand(isList && len(methods) > 0, "a list as code_challenge_methods_supported at "+document.Place,
				Show(document.Members["code_challenge_methods_supported"]))
		}
	})

	It("uses https for all its endpoints", Verifies("authorization.server.https"), func(t *T) {
		issuer := ConnectIssuer(t)

		remote := remoteEndpoints(needIssuerDocuments(t, issuer.Documents()))
		if len(remote) == 0 {
			t.NotApplicable("all endpoints are on this machine, where OAuth 2.1, section 1.5 asks for no TLS")
		}
		for _, name := range slices.Sorted(maps.Keys(remote)) {
			t.Demand(!oauth.Insecure(remote[name]), "https in "+name+", which is not on this machine", remote[name])
		}
	})

	It("supports client id metadata documents", Verifies("authorization.registration.documents-supported"), func(t *T) {
		issuer := ConnectIssuer(t)

		const name = "client_id_metadata_document_supported"
		for _, document := range needIssuerDocuments(t, issuer.Documents()) {
			t.Demand(document.Members[name] == true, name+": true in its metadata", Show(document.Members[name]))
		}
	})
}

// remoteEndpoints are the endpoints in metadata that are not on this machine, by name.
func remoteEndpoints(documents []MetadataDocument) map[string]string {
	remote := map[string]string{}
	for _, document := range documents {
		for name, value := range document.Members {
			address := mcp.Text(value)
			parsed, err := url.Parse(address)
			if strings.HasSuffix(name, "_endpoint") && err == nil && parsed.Host != "" &&
				!oauth.Loopback(parsed.Hostname()) {
				remote[name] = address
			}
		}
	}
	return remote
}

// metadataPlaces are the answers at places that count: until 2025-06-18 OAuth has one.
func metadataPlaces(t *T, all []MetadataDocument) []MetadataDocument {
	if t.Has(protocol.OpenIDDiscovery) {
		return all
	}
	return slices.DeleteFunc(all, MetadataDocument.IsOpenID)
}

// needIssuerDocuments are those that there are.
func needIssuerDocuments(t *T, all []MetadataDocument) []MetadataDocument {
	found := slices.DeleteFunc(all, func(document MetadataDocument) bool { return document.Members == nil })
	if len(found) == 0 {
		t.Inconclusive("the authorization server has no metadata", "see the result of authorization.server.metadata")
	}
	return found
}

func issuerRegistration() {
	It("registers clients dynamically", Verifies("authorization.registration.dynamic-offered"), func(t *T) {
		issuer := NeedIssuer(t)
		_, offered := issuer.Metadata["registration_endpoint"]
		t.Demand(offered, "a registration_endpoint in its metadata", "none")

		_, answer := issuer.Register(PublicClient, nil, "")

		if answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden {
			return // it registers those that it knows (RFC 7591, section 3)
		}
		t.Expect(answer).To(HaveStatus(http.StatusCreated))
		t.Expect(answer.Object()).To(HaveMember("client_id", BeText()))
	})

	It("registers no redirect URI that is neither on this machine nor uses https", Verifies("authorization.redirect.secure-registered"), func(t *T) {
		issuer := NeedIssuer(t)
		if _, offered := issuer.Metadata["registration_endpoint"]; !offered {
			t.NotApplicable("the authorization server registers no clients dynamically")
		}
		if client, answer := issuer.Register(PublicClient, nil, ""); client == nil {
			t.Inconclusive("a valid registration is refused: "+answer.Describe(), "let clients register")
		}

		for _, uri := range []string{"http://client.example/callback", "javascript:alert(1)"} {
			client, answer := issuer.Register(PublicClient, Object{"redirect_uris": []string{uri}}, "requests the redirect URI "+uri)
			kept := mcp.List(answer.Object(), "redirect_uris")
			t.DemandOf(answer, client == nil || kept != nil && !slices.Contains(kept, any(uri)), "an error for the redirect URI "+uri)
		}
	})
}
