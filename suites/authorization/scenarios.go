package authorization

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// The revisions since which clients are obliged to what scenarios are about.
const (
	sinceAuthorization    = "2025-03-26"
	sinceResourceMetadata = "2025-06-18"
	sinceOpenID           = "2025-11-25"
	sinceIssuers          = "2026-07-28"
)

// What the official suite calls its scenarios.
const (
	officialDefault       = "auth/metadata-default"
	officialAtThePath     = "auth/metadata-var1"
	officialAtTheRoot     = "auth/metadata-var2"
	officialNamed         = "auth/metadata-var3"
	officialMismatch      = "auth/resource-mismatch"
	officialDocument      = "auth/basic-cimd"
	officialRegistering   = "auth/token-endpoint-auth-none"
	officialPreregistered = "auth/pre-registration"
	officialMigration     = "auth/authorization-server-migration"
	officialByChallenge   = "auth/scope-from-www-authenticate"
	officialByList        = "auth/scope-from-scopes-supported"
	officialNoScope       = "auth/scope-omitted-when-undefined"
	officialStepUp        = "auth/scope-step-up"
	officialRetryLimit    = "auth/scope-retry-limit"
	officialIss           = "auth/iss-supported"
	officialIssMissing    = "auth/iss-supported-missing"
	officialIssWrong      = "auth/iss-wrong-issuer"
	officialIssUnexpected = "auth/iss-unexpected"
	officialIssNormalized = "auth/iss-normalized"
	officialIssuer        = "auth/metadata-issuer-mismatch"
)

// guarded makes a scenario whose server asks for authorization. It differs from a good one
// by the twist.
func guarded(name, since, official, says string, twist func(*scripted.Guard)) *Scenario {
	if twist == nil {
		twist = func(*scripted.Guard) {}
	}
	return &Scenario{
		Name: name, Says: says, Since: since, Official: official, Over: protocol.HTTP, Protected: twist,
		Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.TestTool, nil).ID("call"), ToClose()},
	}
}

// protected is the plain scenario, by which a client shows that it authorizes at all.
var protected = guarded("protected", sinceAuthorization, officialDefault, "The server requires authorization, in the usual form.", nil)

// Plain is the scenario by which a client shows that it authorizes at all.
func Plain() *Scenario { return protected }

// Servers that are their own authorization servers.

// ownOnly keeps a scenario to the revision at which servers are that.
func ownOnly(scenario *Scenario) *Scenario {
	scenario.Until = protocol.Last(protocol.OwnAuthorization)
	return scenario
}

var ownMetadata = ownOnly(guarded("metadata-of-the-server-itself", sinceAuthorization, "auth/2025-03-26-oauth-metadata-backcompat",
	"The server is its own authorization server, and has the metadata of that at the root of its host.", nil))

var ownDefaults = ownOnly(guarded("server-without-metadata", sinceAuthorization, "auth/2025-03-26-oauth-endpoint-fallback",
	"The server is its own authorization server, and has no metadata, but /authorize, /token and /register.",
	func(g *scripted.Guard) { g.Issuer().DefaultEndpoints() }))

// Discovery of the authorization server.

// trap answers for protected resource metadata at some paths with that of another
// authorization server, which the client must not use.
func trap(g *scripted.Guard, paths ...string) {
	other := g.NewIssuer("")
	g.OnVisit = func(v *scripted.Visit) bool {
		if !slices.Contains(paths, v.Request.URL.Path) {
			return false
		}
		metadata := g.Metadata(scripted.Origin(v.Request))
		metadata["authorization_servers"] = []any{other.Issuer}
		v.AnswerJSON(http.StatusOK, metadata)
		return true
	}
}

// trapIssuer is the number of the authorization server of a trap.
const trapIssuer = 2

// named is the path of metadata that only challenges name.
const named = "/custom/metadata/location.json"

func inChallenge(g *scripted.Guard) { g.Named, g.Places = named, []string{named} }

var namedMetadata = guarded("metadata-by-header-alone", sinceResourceMetadata, officialNamed,
	"The metadata of the server is at the URL in the challenge, and other metadata at the well-known URIs.",
	func(g *scripted.Guard) {
		inChallenge(g)
		trap(g, oauth.ResourcePath+scripted.Endpoint, oauth.ResourcePath)
	})

var metadataAtThePath = guarded(
	"metadata-at-the-path",
	sinceOpenID,
	officialAtThePath,
	"The challenge does not name the metadata, which is at the well-known URI of the path; other metadata is at that of the root.",
	func(g *scripted.Guard) {
		g.Named = ""
		trap(g, oauth.ResourcePath)
	},
)

var metadataAtTheRoot = guarded("metadata-at-the-root", sinceOpenID, officialAtTheRoot,
	"The challenge does not name the metadata, which is only at the well-known URI of the root.",
	func(g *scripted.Guard) {
		g.Named, g.Places = "", []string{oauth.ResourcePath}
		g.OnMetadata = func(v *scripted.Visit, metadata Object) { metadata["resource"] = scripted.Origin(v.Request) }
	})

var bareRefusal = guarded("bare-401", sinceOpenID, officialDefault,
	"The server refuses requests with 401 and no challenge.",
	func(g *scripted.Guard) { g.OnRequest = func(a *scripted.Admission) { a.Silent = true } })

var severalChallenges = guarded("several-challenges", sinceResourceMetadata, officialNamed,
	"The server refuses requests with challenges of three schemes in one field.",
	func(g *scripted.Guard) {
		inChallenge(g)
		g.OnChallenge = func(_ *scripted.Admission, good oauth.Challenge) []string {
			good.Scheme = "bEaReR"
			return []string{`Negotiate, Basic realm="a, Bearer x=\"1\"", ` + good.String()}
		}
	})

var severalFields = guarded("challenges-in-several-fields", sinceResourceMetadata, officialNamed,
	"The server refuses requests with challenges of several schemes, each in a field of its own.",
	func(g *scripted.Guard) {
		inChallenge(g)
		g.OnChallenge = func(_ *scripted.Admission, good oauth.Challenge) []string {
			return []string{`Basic realm="a"`, good.String(), `DPoP algs="ES256"`}
		}
	})

var foreignResource = guarded("metadata-of-another-resource", sinceResourceMetadata, officialMismatch,
	"The metadata of the server names another resource.",
	func(g *scripted.Guard) {
		g.OnMetadata = func(_ *scripted.Visit, metadata Object) { metadata["resource"] = "https://evil.example/mcp" }
	})

var capitals = guarded("host-in-capitals", sinceResourceMetadata, officialDefault,
	"The URL that the client is given has its host in upper case.",
	func(g *scripted.Guard) { g.Capitals = true })

// tenant is the path of an issuer.
const tenant = "/tenant1"

// withTenant lets the issuer have a path.
func withTenant(g *scripted.Guard) *scripted.AuthServer {
	issuer := g.NewIssuer(tenant)
	g.Trust(issuer)
	return issuer
}

// tenantIssuer is its number, since the good one is opened first.
const tenantIssuer = 2

var issuerWithPath = guarded("issuer-with-path", sinceOpenID, officialAtTheRoot,
	"The issuer has a path, and its metadata is at the OAuth URL with the path inserted.",
	func(g *scripted.Guard) { withTenant(g) })

var issuerWithPathOpenID = guarded("issuer-with-path-openid", sinceOpenID, officialAtTheRoot,
	"The issuer has a path, and its metadata is at the OpenID Connect Discovery URL with the path inserted.",
	func(g *scripted.Guard) { withTenant(g).OpenID(oauth.OpenIDPath + tenant) })

var issuerWithPathAppended = guarded("issuer-with-path-openid-appended", sinceOpenID, officialNamed,
	"The issuer has a path, and its metadata is at the OpenID Connect Discovery URL with the path first.",
	func(g *scripted.Guard) { withTenant(g).OpenID(tenant + oauth.OpenIDPath) })

var issuerOpenID = guarded("issuer-openid", sinceOpenID, officialAtThePath,
	"The issuer has no path, and its metadata is that of OpenID Connect Discovery.",
	func(g *scripted.Guard) { g.Issuer().OpenID(oauth.OpenIDPath) })

var foreignIssuer = guarded("metadata-of-another-issuer", sinceIssuers, officialIssuer,
	"The metadata of the authorization server names another issuer.",
	func(g *scripted.Guard) {
		g.Issuer().Metadata["issuer"] = "https://honest.example"
		g.Issuer().ForbidEndpoints()
	})

// ofAnIssuer makes a scenario whose authorization server has metadata with something else for
// its issuer, where OAuth has it or OpenID Connect.
func ofAnIssuer(name, says, openID string, issuer any) *Scenario {
	return guarded(name, sinceIssuers, officialIssuer, says, func(g *scripted.Guard) {
		if openID != "" {
			g.Issuer().OpenID(openID)
		}
		g.Issuer().Metadata["issuer"] = issuer
		g.Issuer().ForbidEndpoints()
	})
}

// otherIssuers are scenarios whose metadata does not name the issuer, with what is wrong with it.
var otherIssuers = []struct {
	wrong    string
	scenario *Scenario
}{
	{"metadata of an authorization server that names another issuer", foreignIssuer},
	{"metadata of an authorization server without an issuer", ofAnIssuer("metadata-without-issuer",
		"The metadata of the authorization server has no issuer.", "", nil)},
	{"metadata of an authorization server with an empty issuer", ofAnIssuer("metadata-of-an-empty-issuer",
		"The metadata of the authorization server has an empty issuer.", "", "")},
	{"an OpenID configuration that names another issuer", ofAnIssuer("openid-of-another-issuer",
		"The authorization server has an OpenID configuration, which names another issuer.",
		oauth.OpenIDPath, "https://honest.example")},
	{"an OpenID configuration without an issuer", ofAnIssuer("openid-without-issuer",
		"The authorization server has an OpenID configuration, which has no issuer.", oauth.OpenIDPath, nil)},
}

var nearlyTheIssuer = guarded("metadata-of-nearly-the-issuer", sinceIssuers, officialIssuer,
	"The metadata of the authorization server names its issuer with an extra slash.",
	func(g *scripted.Guard) {
		g.Issuer().Metadata["issuer"] = g.Issuer().Issuer + "/"
		g.Issuer().ForbidEndpoints()
	})

var issuerInCapitals = guarded("metadata-of-the-issuer-in-capitals", sinceIssuers, officialIssuer,
	"The metadata of the authorization server names its issuer with the host in upper case.",
	func(g *scripted.Guard) {
		g.Issuer().Metadata["issuer"] = inCapitals(g.Issuer().Issuer)
		g.Issuer().ForbidEndpoints()
	})

// withSlash lets an issuer end with a slash, wherever it is named. The path of its metadata
// is the same (RFC 8414, section 3.1). It is also served with a slash, for clients that do
// not remove the slash of the issuer.
func withSlash(issuer *scripted.AuthServer) {
	issuer.Issuer += "/"
	issuer.Metadata["issuer"] = issuer.Issuer
	if place := issuer.Places[0]; place != oauth.ServerPath {
		issuer.Places = append(issuer.Places, place+"/")
	}
}

var slashIssuer = guarded("issuer-with-slash", sinceIssuers, officialDefault,
	"The issuer is an origin with a slash, in the metadata of both servers.",
	func(g *scripted.Guard) { withSlash(g.Issuer()) })

var slashTenant = guarded("issuer-with-path-and-slash", sinceIssuers, officialAtTheRoot,
	"The issuer has a path with a slash at its end, in the metadata of both servers.",
	func(g *scripted.Guard) { withSlash(withTenant(g)) })

func inCapitals(issuer string) string { return strings.Replace(issuer, "localhost", "LOCALHOST", 1) }

var twoServers = guarded("two-authorization-servers", sinceIssuers, officialDefault,
	"The server names two authorization servers.",
	func(g *scripted.Guard) { g.Trust(g.Issuer(), g.NewIssuer("")) })

// PKCE.

// methods is the member of metadata that says which code challenges are supported.
const methods = "code_challenge_methods_supported"

var noPKCE = guarded("no-pkce-advertised", sinceOpenID, officialDefault,
	"The OAuth metadata of the authorization server has no "+methods+".",
	func(g *scripted.Guard) { g.Issuer().Metadata[methods] = nil })

var noPKCEOpenID = guarded("no-pkce-advertised-openid", sinceOpenID, officialAtThePath,
	"The OpenID configuration of the authorization server has no "+methods+".",
	func(g *scripted.Guard) {
		g.Issuer().OpenID(oauth.OpenIDPath)
		g.Issuer().Metadata[methods] = nil
	})

var plainFirst = guarded("plain-pkce-first", sinceOpenID, officialDefault,
	"The authorization server supports the code challenge methods plain and S256, in this order.",
	func(g *scripted.Guard) { g.Issuer().Metadata[methods] = []any{"plain", "S256"} })

var plainOnly = guarded("plain-pkce-only", sinceOpenID, officialDefault,
	"The authorization server supports only the code challenge method plain.",
	func(g *scripted.Guard) { g.Issuer().Metadata[methods] = []any{"plain"} })

// Registration.

// supportsDocuments is the member of metadata that says that client id metadata documents are
// supported.
const supportsDocuments = "client_id_metadata_document_supported"

var clientDocument = guarded("client-id-metadata-document", sinceOpenID, officialDocument,
	"The authorization server supports client id metadata documents, and registration.",
	func(g *scripted.Guard) { g.Issuer().Metadata[supportsDocuments] = true })

var noClientDocument = guarded("no-client-id-metadata-document", sinceOpenID, officialRegistering,
	"The authorization server supports registration, and no client id metadata documents.",
	func(g *scripted.Guard) { g.Issuer().Metadata[supportsDocuments] = false })

// Credentials of a client that is registered beforehand.
const (
	givenID     = "pre-registered-client"
	givenSecret = "pre-registered-secret-of-the-scenario"
)

var preregistered = guarded("pre-registered", sinceOpenID, officialPreregistered,
	"The client has pre-registered credentials; the authorization server supports documents and registration, too.",
	func(g *scripted.Guard) {
		g.Context = Object{"client_id": givenID, "client_secret": givenSecret, "issuer": g.Issuer().Issuer}
		g.Issuer().Metadata[supportsDocuments] = true
	})

var foreignCredentials = guarded("credentials-of-another-issuer", sinceIssuers, officialPreregistered,
	"The client has pre-registered credentials of another issuer than the server names.",
	func(g *scripted.Guard) {
		g.Context = Object{"client_id": givenID, "client_secret": givenSecret, "issuer": "https://other.example"}
	})

var refusedRegistration = guarded("registration-refused", sinceIssuers, officialRegistering,
	"The authorization server refuses to register the client, for its redirect URI.",
	func(g *scripted.Guard) {
		g.Issuer().OnRegister = func(r *scripted.Registration) {
			r.Status = http.StatusBadRequest
			r.Answer = Object{"error": "invalid_redirect_uri", "error_description": "The redirect URI does not fit application_type."}
		}
	})

var noRegistration = guarded("no-registration", sinceIssuers, officialRegistering,
	"The authorization server supports neither documents nor registration, and the client has no credentials.",
	func(g *scripted.Guard) { g.Issuer().Metadata["registration_endpoint"] = nil })

var serverMoves = guarded(
	"authorization-server-changes",
	sinceIssuers,
	officialMigration,
	"Before the call the metadata of the server names another authorization server, at another path of the same origin, and the server no longer accepts tokens of the first one.",
	func(g *scripted.Guard) {
		g.Issuer().Confidential = true
		next := g.Issuer().NewTenant("/next")
		g.OnRequest = func(a *scripted.Admission) {
			if a.Method == "tools/call" && a.Nth == 1 {
				g.Trust(next)
			}
		}
	},
)

// nextIssuer is the number of the authorization server that follows the first one.
const nextIssuer = 2

// The authorization response.

// namesIssuer is the member of metadata that says that answers have iss.
const namesIssuer = "authorization_response_iss_parameter_supported"

// answering makes a scenario in which the answers of the authorization server have an iss,
// made of its issuer.
func answering(name, official, says string, advertised bool, iss func(issuer string) string) *Scenario {
	return guarded(name, sinceIssuers, official, says, func(g *scripted.Guard) {
		if advertised {
			g.Issuer().Metadata[namesIssuer] = true
		}
		g.Issuer().SendsIssuer = iss(g.Issuer().Issuer)
	})
}

func itself(issuer string) string { return issuer }
func foreign(string) string       { return "https://attacker.example" }

var (
	issNamed   = answering("iss-advertised", officialIss, "The authorization server advertises iss, and sends it.", true, itself)
	issUnnamed = answering("iss-not-advertised", officialIss, "The authorization server sends iss, and does not advertise it.", false, itself)
	issMissing = answering("iss-missing", officialIssMissing,
		"The authorization server advertises iss, and does not send it.", true, func(string) string { return "" })
	issForeign = answering("iss-of-another", officialIssWrong,
		"The authorization response has the iss of another authorization server.", true, foreign)
	issUnexpected = answering(
		"iss-of-another-not-advertised",
		officialIssUnexpected,
		"The authorization response has the iss of another authorization server, and the metadata does not advertise iss.",
		false,
		foreign,
	)
	issSlash = answering("iss-with-a-slash", officialIssNormalized,
		"The authorization response has the iss with an extra slash.", true,
		func(issuer string) string { return issuer + "/" })
	issCapitals = answering("iss-in-capitals", officialIssNormalized,
		"The authorization response has the iss with the host in upper case.", true, inCapitals)
	issEncoded = answering("iss-percent-encoded", officialIssNormalized,
		"The authorization response has the iss with one letter of the host percent-encoded.", true,
		func(issuer string) string { return strings.Replace(issuer, "localhost", "%6cocalhost", 1) })
)

// canary is an error_description that the client must not display.
const canary = "mcpconform-canary-5e1f"

var issForeignError = guarded("iss-of-another-in-an-error", sinceIssuers, officialIssWrong,
	"The authorization response is an error with the iss of another authorization server.",
	func(g *scripted.Guard) {
		g.Issuer().Metadata[namesIssuer] = true
		g.Issuer().OnAuthorize = func(l *scripted.Login) {
			answer := url.Values{"error": {"access_denied"}, "error_description": {canary}, "iss": {foreign("")}}
			if state := l.Answer.Get("state"); state != "" {
				answer.Set("state", state)
			}
			l.Answer = answer
		}
	})

var stateMissing = guarded("state-missing", sinceResourceMetadata, officialDefault,
	"The authorization response has no state.",
	func(g *scripted.Guard) {
		g.Issuer().OnAuthorize = func(l *scripted.Login) { l.Answer.Del("state") }
	})

var stateWrong = guarded("state-of-another", sinceResourceMetadata, officialDefault,
	"The authorization response has the state of another request.",
	func(g *scripted.Guard) {
		g.Issuer().OnAuthorize = func(l *scripted.Login) { l.Answer.Set("state", "of-another-request") }
	})

// Scopes.

var scopeByChallenge = guarded("scope-by-challenge", sinceOpenID, officialByChallenge,
	"The challenge names one scope, and the metadata of the server lists more.",
	func(g *scripted.Guard) {
		g.Scope, g.Supported = "mcp:read", []string{"mcp:read", "mcp:write"}
		g.Issuer().Metadata["scopes_supported"] = []any{"mcp:read", "mcp:write", "mcp:admin"}
	})

var scopeByList = guarded("scope-by-list", sinceOpenID, officialByList,
	"The challenge names no scope, and the metadata of the server lists two.",
	func(g *scripted.Guard) { g.Scope, g.Supported = "", []string{"mcp:read", "mcp:write"} })

var noScope = guarded("no-scope", sinceOpenID, officialNoScope,
	"Neither the challenge nor the metadata of the server has scopes; the authorization server lists some.",
	func(g *scripted.Guard) {
		g.Scope, g.Supported = "", nil
		g.Issuer().Metadata["scopes_supported"] = []any{"mcp:read", "mcp:write"}
	})

var scopeOutsideTheList = guarded("scope-outside-the-list", sinceOpenID, officialByChallenge,
	"The challenge names a scope that the metadata of the server does not list.",
	func(g *scripted.Guard) { g.Scope, g.Supported = "mcp:special", []string{"mcp:read", "mcp:write"} })

var stepUp = guarded("scope-step-up", sinceOpenID, officialStepUp,
	"The server refuses the call with 403 insufficient_scope, until the token has another scope.",
	func(g *scripted.Guard) {
		g.Supported = nil
		g.OnRequest = func(a *scripted.Admission) {
			if a.Method == "tools/call" {
				a.Needs = []string{moreScope}
			}
		}
	})

var stepUpTwice = guarded(
	"scope-step-up-twice",
	sinceOpenID,
	officialStepUp,
	"The server refuses the list of tools with 403 insufficient_scope, and then the call, each until the token has another scope.",
	func(g *scripted.Guard) {
		g.Supported = nil
		g.OnRequest = func(a *scripted.Admission) {
			switch a.Method {
			case "tools/list":
				a.Needs = []string{listScope}
			case "tools/call":
				a.Needs = []string{moreScope}
			}
		}
	},
)

// Scopes of stepUp and stepUpTwice.
const (
	firstScope = "mcp:basic"
	listScope  = "mcp:list"
	moreScope  = "mcp:write"
)

// manyCalls is how often a client may call before it gets another refusal.
const manyCalls = 10

var neverEnough = guarded("scope-never-enough", sinceOpenID, officialRetryLimit,
	"The server refuses the call with 403 insufficient_scope, whatever scopes the token has.",
	func(g *scripted.Guard) {
		g.OnRequest = func(a *scripted.Admission) {
			switch {
			case a.Method != "tools/call" || a.Token == nil:
			case a.Nth > manyCalls:
				a.Status, a.Silent = http.StatusGone, true
			default:
				a.Status, a.Error, a.Scope = http.StatusForbidden, "insufficient_scope", moreScope
			}
		}
	})

// Tokens.

var expiring = guarded("token-expires", sinceResourceMetadata, officialDefault,
	"The token expires before the list of tools, and the next one before the call.",
	func(g *scripted.Guard) { g.OnRequest = expiresTwice })

// expiresTwice ends the life of a token at the first list of tools and at the first call.
func expiresTwice(a *scripted.Admission) {
	if (a.Method == "tools/list" || a.Method == "tools/call") && a.Nth == 1 && a.Token != nil {
		a.Token.Expire()
	}
}

// redirects are the methods whose requests the server redirects, with the status: to both of
// them clients send the same request again.
var redirects = map[string]int{"tools/list": http.StatusPermanentRedirect, "tools/call": http.StatusTemporaryRedirect}

var redirected = func() *Scenario {
	s := guarded("redirected-to-another-host", sinceResourceMetadata, officialDefault,
		"The server redirects the list of tools with 308, and the call with 307, to another host.",
		func(g *scripted.Guard) {
			elsewhere := strings.Replace(g.Decoy(), "localhost", "127.0.0.1", 1) + scripted.Endpoint
			g.OnRequest = func(a *scripted.Admission) {
				if status := redirects[a.Method]; status != 0 && a.Token != nil {
					a.Status, a.Location, a.Silent = status, elsewhere, true
				}
			}
		})
	s.Refused = []string{"list-tools", "call"}
	return s
}()

var refusedRefresh = guarded(
	"refresh-token-refused",
	sinceResourceMetadata,
	officialDefault,
	"The token expires before the list of tools, and the authorization server refuses the refresh token with invalid_grant.",
	func(g *scripted.Guard) {
		g.OnRequest = func(a *scripted.Admission) {
			if a.Method == "tools/list" && a.Nth == 1 && a.Token != nil {
				a.Token.Expire()
			}
		}
		g.Issuer().OnToken = func(r *scripted.TokenRequest) {
			if r.Grant == grantRefresh {
				r.Status, r.Answer = http.StatusBadRequest, Object{"error": "invalid_grant"}
			}
		}
	},
)

// refusals are what an authorization server may answer who asks for a resource, one after the
// other (RFC 8707, section 2; RFC 6749, sections 4.1.2.1 and 5.2).
var refusals = []string{"invalid_target", "invalid_request"}

// lateAsking lets the client connect without a token, so that it comes back with the next
// step when it has been refused one.
func lateAsking(a *scripted.Admission) { a.Open = a.Method != "tools/list" && a.Method != "tools/call" }

// refusesGrant makes a scenario in which the first token requests of a grant type are refused.
func refusesGrant(name, grant, says string, onRequest func(*scripted.Admission)) *Scenario {
	return guarded(name, sinceResourceMetadata, officialDefault, says, func(g *scripted.Guard) {
		g.OnRequest = onRequest
		g.Issuer().OnToken = func(r *scripted.TokenRequest) {
			if r.Grant == grant && r.Nth <= len(refusals) {
				r.Status, r.Answer = http.StatusBadRequest, Object{"error": refusals[r.Nth-1]}
			}
		}
	})
}

var refreshOfResourceRefused = refusesGrant(
	"resource-refused-at-refresh",
	grantRefresh,
	"The token expires before the list of tools, and the next one before the call; the authorization server refuses to refresh them with invalid_target, then with invalid_request.",
	expiresTwice,
)

var tokenOfResourceRefused = refusesGrant(
	"resource-refused-at-token",
	grantCode,
	"The server requires a token for the list of tools and the call; the authorization server refuses the first code with invalid_target, and the second with invalid_request.",
	lateAsking,
)

var loginOfResourceRefused = guarded(
	"resource-refused-at-login",
	sinceResourceMetadata,
	officialDefault,
	"The server requires a token for the list of tools and the call; the authorization server refuses the first authorization request with invalid_target, and the second with invalid_request.",
	func(g *scripted.Guard) {
		g.OnRequest = lateAsking
		logins := 0
		var mu sync.Mutex
		g.Issuer().OnAuthorize = func(l *scripted.Login) {
			mu.Lock()
			defer mu.Unlock()
			if logins++; logins <= len(refusals) {
				l.Answer.Del("code")
				l.Answer.Set("error", refusals[logins-1])
			}
		}
	},
)

var noRefreshToken = guarded("no-refresh-token", sinceIssuers, officialDefault,
	"The authorization server issues no refresh token.",
	func(g *scripted.Guard) { g.Issuer().Unrefreshed = true })

// answersTokens makes a scenario in which the answers to token requests are others.
func answersTokens(name, says string, change func(answer Object)) *Scenario {
	return guarded(name, sinceResourceMetadata, officialDefault, says, func(g *scripted.Guard) {
		g.Issuer().OnToken = func(r *scripted.TokenRequest) {
			if r.Status == http.StatusOK {
				change(r.Answer)
			}
		}
	})
}

var (
	unknownType = answersTokens(
		"token-of-another-type",
		"The token response has the token_type N_A.",
		func(answer Object) { answer["token_type"] = "N_A" },
	)
	tersely = answersTokens("terse-token-response",
		"The token response has only access_token and the token_type bearer, in lower case.",
		func(answer Object) {
			answer["token_type"] = "bearer"
			for _, optional := range []string{"expires_in", "refresh_token", "scope"} {
				delete(answer, optional)
			}
		})
)

// registeredTo makes a scenario in which clients that register are told how to authenticate;
// a method that is empty is not named.
func registeredTo(name, official, method, secret, says string) *Scenario {
	return guarded(name, sinceResourceMetadata, official, says, func(g *scripted.Guard) {
		if method != "" {
			g.Issuer().Metadata["token_endpoint_auth_methods_supported"] = []any{method}
		}
		g.Issuer().OnRegister = func(r *scripted.Registration) {
			delete(r.Answer, "token_endpoint_auth_method")
			if method != "" {
				r.Answer["token_endpoint_auth_method"] = method
			}
			if secret != "" {
				r.Answer["client_secret"], r.Answer["client_secret_expires_at"] = secret, 0
			}
		}
	})
}

// registeredSecret has characters that a form encodes.
const registeredSecret = "secret:of+the%41client/that&registered"

// How clients authenticate at the token endpoint.
const (
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodNone  = "none"
)

var (
	basicSecret = registeredTo("registered-for-basic", "auth/token-endpoint-auth-basic", methodBasic, registeredSecret,
		"Clients that register get a secret to send in the Authorization header.")
	postedSecret = registeredTo("registered-for-post", "auth/token-endpoint-auth-post", methodPost, registeredSecret,
		"Clients that register get a secret to send in the body.")
	anySecret = registeredTo("registered-without-method", officialRegistering, "", registeredSecret,
		"Clients that register get a secret, and no token_endpoint_auth_method.")
	noSecret = registeredTo("registered-without-secret", officialRegistering, methodNone, "", "Clients that register get no secret.")
)

// resumed is a scenario whose server ends the stream of a call before the response, which it
// sends when the client resumes the stream.
var resumed = func() *Scenario {
	s := guarded(
		"resumed-with-a-token",
		sinceAuthorization,
		officialDefault,
		"The server ends the stream of the call before the response, and sends the response when the client resumes with a token.",
		nil,
	)
	s.Until = protocol.Last(protocol.Resumption)
	s.Server = breaksOff
	s.Waits = true
	return s
}()

// comingBack is how long a client may take to come back: many times what it is told.
const comingBack = time.Second

func breaksOff(server *scripted.Server) {
	var mu sync.Mutex
	waiting := map[string]jsonrpc.ID{} // calls whose answer is to come, by the id of the last event
	server.On("tools/call", func(call *scripted.Call) {
		last := "mcpconform-event-" + strconv.Itoa(call.Nth)
		mu.Lock()
		waiting[last] = call.Message.ID
		mu.Unlock()
		call.Streaming()
		call.Exchange.Write([]byte("id: "+last+"\nretry: 50\ndata:\n\n"), "")
		call.Exchange.Finish()
		call.Pause(comingBack) // a client that waits, as it should, is not ended
	})
	server.OnExchange(func(exchange *scripted.Exchange) bool {
		mu.Lock()
		id, waits := waiting[exchange.LastEventID()]
		mu.Unlock()
		if exchange.Request.Method != http.MethodGet || !waits {
			return false
		}
		exchange.Event(new(exchange.LastEventID()+"-answer"), jsonrpc.NewResult(id, scripted.Text("tested")), "")
		exchange.Finish()
		return true
	})
}

// The browser of the user.

// logsInAt makes a scenario in which the metadata has another authorization endpoint.
func logsInAt(name, address, says string) *Scenario {
	return guarded(name, sinceOpenID, officialDefault, says, func(g *scripted.Guard) { g.Issuer().Metadata["authorization_endpoint"] = address })
}

var (
	scriptAsLogin = logsInAt("login-page-is-a-script", "javascript:alert(1)", "The authorization endpoint is a URL with the scheme javascript.")
	dataAsLogin   = logsInAt("login-page-is-data", "data:text/html,<script>alert(1)</script>",
		"The authorization endpoint is a URL with the scheme data.")
	fileAsLogin        = logsInAt("login-page-is-a-file", "file:///etc/passwd", "The authorization endpoint is a URL with the scheme file.")
	otherScriptAsLogin = logsInAt("login-page-is-another-script", "vbscript:msgbox(1)",
		"The authorization endpoint is a URL with the scheme vbscript.")
	plainLogin = logsInAt("login-page-without-tls", "http://"+plainHost+"/authorize",
		"The authorization endpoint has no TLS, and is not on loopback.")
)

// plainHost is a host name that never resolves (RFC 6761, section 6.4).
const plainHost = "login.mcpconform.invalid"

var shellLogin = guarded("login-page-for-a-shell", sinceOpenID, officialDefault,
	"The authorization endpoint has shell metacharacters in its query.",
	func(g *scripted.Guard) {
		g.Canary = filepath.Join(os.TempDir(), "mcpconform-canary-"+rand.Text())
		command := "touch${IFS}" + g.Canary
		endpoint := mcp.Text(g.Issuer().Metadata, "authorization_endpoint")
		g.Issuer().Metadata["authorization_endpoint"] = endpoint + "?x=$(" + command + ")&y=`" + command + "`&z=1|2"
	})
