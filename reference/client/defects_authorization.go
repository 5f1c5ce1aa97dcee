// Deliberate mistakes, and habits that are legal, of a client that authorizes.

package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/oauth2"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// authDefects make a good client authorize badly, in one way each.
var authDefects = map[string]func(*client, *authParts){
	"token-to-anybody": func(c *client, _ *authParts) { c.part.redirected = goesAnywhere },
	"plain-pkce": func(_ *client, p *authParts) {
		p.challengeOf = plainChallenge
	},
	"first-method": func(_ *client, p *authParts) {
		p.provesPKCE = func(*serverMetadata) error { return nil }
		p.challengeOf = func(v string, from *source) []oauth2.AuthCodeOption {
			if len(from.metadata.Methods) > 0 && from.metadata.Methods[0] == "plain" {
				return plainChallenge(v, from)
			}
			return []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(v)}
		}
	},
	"resource-is-the-origin": func(_ *client, p *authParts) {
		p.resource = func(_ string, from *source) string {
			parsed, _ := url.Parse(from.resource)
			return parsed.Scheme + "://" + parsed.Host
		}
	},
	"ignores-named-metadata": func(_ *client, p *authParts) {
		p.resourcePlaces = func(server string, _ oauth.Challenge) ([]string, error) { return oauth.ResourcePlaces(server) }
	},
	"metadata-root-first": func(_ *client, p *authParts) { p.resourcePlaces = wellKnown(reversed) },
	"guesses-the-server":  func(_ *client, p *authParts) { p.guessesIssuer = guessed },
	"default-endpoints":   func(_ *client, p *authParts) { p.endpoints = defaultEndpoints },
	"own-defaults-first":  func(_ *client, p *authParts) { p.discoversOwn = defaultsFirst },
	"own-defaults-below":  func(_ *client, p *authParts) { p.ownEndpoints = ownEndpointsBelow },
	"own-defaults-unknown": func(_ *client, p *authParts) {
		p.ownEndpoints = func(string) (serverMetadata, error) { return serverMetadata{}, errors.New("there is no metadata") }
	},
	"own-metadata-below":  func(_ *client, p *authParts) { p.baseURL = func(server string) (string, error) { return server, nil } },
	"own-metadata-unused": func(_ *client, p *authParts) { p.discoversOwn = asksInVain },
	"own-without-revision": func(_ *client, p *authParts) {
		p.namesRevision = func(string) http.Header { return nil }
	},
	"mixes-servers":       func(_ *client, p *authParts) { p.endpoints = mixesServers },
	"needs-refresh-token": func(_ *client, p *authParts) { p.needsRefresh = true },
	"registers-for-ever":  func(_ *client, p *authParts) { p.register = registersForEver },
	"resource-byte-by-byte": func(_ *client, p *authParts) {
		p.fitsResource = func(resource, server string) bool { return resource == server }
	},
	"openid-metadata-only": func(_ *client, p *authParts) {
		p.serverPlaces = serverPlaces(func(all []string) []string { return all[1:] })
	},
	"first-challenge-only": func(_ *client, p *authParts) {
		p.challenge = func(header http.Header) (oauth.Challenge, bool) {
			all, _ := oauth.Challenges(header)
			if len(all) == 0 || !all[0].Is("Bearer") {
				return oauth.Challenge{}, false
			}
			return all[0], true
		}
		p.resourcePlaces = wellKnown(func([]string) []string { return nil })
	},
	"openid-first": func(_ *client, p *authParts) {
		p.serverPlaces = serverPlaces(func(all []string) []string { return append(slices.Clone(all[1:]), all[0]) })
	},
	"issuer-path-forgotten": func(_ *client, p *authParts) {
		p.serverPlaces = func(issuer string) ([]string, error) {
			parsed, err := url.Parse(issuer)
			if err != nil {
				return nil, err
			}
			root, _ := oauth.IssuerPlaces(parsed.Scheme + "://" + parsed.Host)
			proper, err := oauth.IssuerPlaces(issuer)
			return append(root, proper...), err
		}
	},
	"any-resource": func(_ *client, p *authParts) { p.fitsResource = func(string, string) bool { return true } },
	"any-issuer":   func(_ *client, p *authParts) { p.fitsIssuer = func(string, string) bool { return true } },
	"no-issuer": func(_ *client, p *authParts) {
		p.fitsIssuer = func(text, issuer string) bool { return text == "" || text == issuer }
	},
	"drops-resource-at-login":   func(_ *client, p *authParts) { p.authorizationURL = dropsResource() },
	"drops-resource-at-token":   func(_ *client, p *authParts) { p.roundTripper = retriesWithout("authorization_code") },
	"drops-resource-at-refresh": func(_ *client, p *authParts) { p.roundTripper = retriesWithout("refresh_token") },
	"issuer-is-the-server": func(c *client, p *authParts) {
		p.fitsIssuer = func(text, _ string) bool { return text == c.options.URL }
	},
	"issuer-up-to-a-slash": func(_ *client, p *authParts) {
		p.fitsIssuer = func(text, issuer string) bool {
			return strings.TrimSuffix(text, "/") == strings.TrimSuffix(issuer, "/")
		}
	},
	"issuer-loses-its-slash": func(_ *client, p *authParts) {
		p.fitsIssuer = func(text, issuer string) bool { return text == strings.TrimSuffix(issuer, "/") }
	},
	"pkce-taken-for-granted": func(_ *client, p *authParts) {
		p.provesPKCE = grantedUnless(func(m *serverMetadata) bool { return m.openID })
	},
	"pkce-taken-for-granted-openid": func(_ *client, p *authParts) {
		p.provesPKCE = grantedUnless(func(m *serverMetadata) bool { return !m.openID })
	},
	"opens-anything":  func(_ *client, p *authParts) { p.checksURL = func(string) error { return nil } },
	"opens-plain":     func(_ *client, p *authParts) { p.checksURL = opensPlain },
	"opens-by-shell":  func(_ *client, p *authParts) { p.opensBrowser = byShell },
	"state-unchecked": func(_ *client, p *authParts) { p.fitsState = func(string, string) bool { return true } },
	"iss-unchecked":   func(_ *client, p *authParts) { p.fitsIss = func([]string, *source) error { return nil } },
	"iss-missing-accepted": func(_ *client, p *authParts) {
		p.fitsIss = func(given []string, from *source) error {
			if len(given) == 0 {
				return nil
			}
			return fitsIss(given, from)
		}
	},
	"iss-unadvertised-refused": func(_ *client, p *authParts) {
		p.fitsIss = func(given []string, from *source) error {
			if len(given) > 0 && !from.metadata.NamesItself {
				return errors.New("the answer has an iss that nobody spoke of")
			}
			return fitsIss(given, from)
		}
	},
	"iss-refused": func(_ *client, p *authParts) {
		p.fitsIss = func(given []string, from *source) error {
			if len(given) > 0 && from.metadata.NamesItself {
				return errors.New("the answer has an iss")
			}
			return fitsIss(given, from)
		}
	},
	"iss-normalized":       func(_ *client, p *authParts) { p.fitsIss = issNormalized },
	"shows-wrong-errors":   func(_ *client, p *authParts) { p.readsErrorsFirst = true },
	"known-beforehand":     func(_ *client, p *authParts) { p.register = knownBeforehand },
	"registers-before-all": func(_ *client, p *authParts) { p.register = registersBeforeAll },
	"makes-up-an-id":       func(_ *client, p *authParts) { p.register = makesUpAnID },
	"document-unsupported": func(_ *client, p *authParts) { p.register = documentAlways },
	"credentials-for-origins": func(_ *client, p *authParts) {
		p.bindsTo = func(issuer string) string {
			if at, err := url.Parse(issuer); err == nil {
				return at.Host
			}
			return issuer
		}
	},
	"credentials-for-all":   func(_ *client, p *authParts) { p.bindsTo = func(string) string { return "" } },
	"credentials-not-bound": func(_ *client, p *authParts) { p.register = registerUnbound },
	"refreshes-anywhere": func(_ *client, p *authParts) {
		p.tokenForNewIssuer = func(used *token, _ *source) *token { return used }
	},
	"every-scope":           func(_ *client, p *authParts) { p.scopes = everyScope },
	"challenge-within-list": func(_ *client, p *authParts) { p.scopes = challengeWithinList },
	"list-before-challenge": func(_ *client, p *authParts) { p.scopes = listBeforeChallenge },
	"steps-up-by-refresh":   func(_ *client, p *authParts) { p.stepsUpByRefresh = true },
	"steps-up-for-ever":     func(_ *client, p *authParts) { p.stepsUp, p.retriesRefused = forEver, forEver },
	"forgets-scopes":        func(_ *client, p *authParts) { p.scopes = forgetsScopes },
	"forgets-scopes-later": func(_ *client, p *authParts) {
		p.scopes = func(challenge oauth.Challenge, from *source, granted []string) []string {
			if len(granted) > 1 {
				return forgetsScopes(challenge, from, granted)
			}
			return scopesFor(challenge, from, granted)
		}
	},
	"any-token-type":                   func(_ *client, p *authParts) { p.knowsTokenType = func(string) bool { return true } },
	"insists-on-refused-refresh-token": func(_ *client, p *authParts) { p.reusesRefusedRefreshToken = true },
	"keeps-old-refresh-token":          func(_ *client, p *authParts) { p.tokenRefreshed = keepsOldRefreshToken },
	"token-type-in-capitals": func(_ *client, p *authParts) {
		p.knowsTokenType = func(kind string) bool { return kind == "Bearer" }
	},
	"secret-always-in-header": func(_ *client, p *authParts) {
		p.style = func(*source, *registration) oauth2.AuthStyle { return oauth2.AuthStyleInHeader }
	},
	"secret-not-encoded": func(_ *client, p *authParts) {
		p.roundTripper = func(base http.RoundTripper) http.RoundTripper { return rawBasic{base} }
	},
	"needs-expiry":       func(_ *client, p *authParts) { p.needsExpiry = true },
	"issuer-in-any-case": func(_ *client, p *authParts) { p.fitsIssuer = strings.EqualFold },
	"code-flow-always": func(_ *client, p *authParts) {
		p.grant = func(a *carrier) grantType { return a.authorize }
	},
	"secret-withheld": func(_ *client, p *authParts) {
		p.identifies = func(form url.Values, as *registration) bool { form.Set("client_id", as.ID); return false }
	},
	"assertion-withheld": func(_ *client, p *authParts) { p.asserts = func(a *assertion) { a.withheld = true } },
	"assertion-of-the-issuer": func(_ *client, p *authParts) {
		p.asserts = func(a *assertion) { a.claims["iss"] = a.claims["aud"] }
	},
	"assertion-without-subject": func(_ *client, p *authParts) {
		p.asserts = func(a *assertion) { delete(a.claims, "sub") }
	},
	"assertion-for-the-server": func(c *client, p *authParts) {
		p.asserts = func(a *assertion) { a.claims["aud"] = c.options.URL }
	},
	"assertion-for-ever": func(_ *client, p *authParts) { p.asserts = func(a *assertion) { delete(a.claims, "exp") } },
	"identity-token-as-grant": func(_ *client, p *authParts) {
		p.grant = func(a *carrier) grantType {
			if a.client.options.Authorization.Credentials.IdentityToken == "" {
				return grantOf(a)
			}
			return a.byIdentityToken
		}
	},
	"secret-needs-a-method": func(_ *client, p *authParts) {
		p.readsRegistration = func(as *registration) *registration {
			if as.Method == "" {
				as.Secret = ""
			}
			return as
		}
	},
}

// goesAnywhere follows a redirect wherever it leads.
func goesAnywhere(_ *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// rawBasic sends the credentials of the header as they are.
type rawBasic struct{ http.RoundTripper }

func (t rawBasic) RoundTrip(r *http.Request) (*http.Response, error) {
	if id, secret, basic := r.BasicAuth(); basic {
		id, _ = url.QueryUnescape(id) // which was encoded
		secret, _ = url.QueryUnescape(secret)
		r = r.Clone(r.Context())
		r.SetBasicAuth(id, secret)
	}
	return t.RoundTripper.RoundTrip(r)
}

// formOf is the form that a request carries; nil for none.
func formOf(r *http.Request) url.Values {
	if r.GetBody == nil || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(body) // which is in memory
	form, _ := url.ParseQuery(string(text))
	return form
}

// withForm is the request with another form.
func withForm(r *http.Request, form url.Values) *http.Request {
	written := form.Encode()
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(written)), int64(len(written))
	return r
}

// A forgiving client sends token requests of a grant again without the resource where they
// are refused: the authorization server might not know it.
type forgiving struct {
	http.RoundTripper
	grant string
}

func retriesWithout(grant string) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper { return forgiving{base, grant} }
}

func (t forgiving) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	form := formOf(r)
	if err != nil || response.StatusCode != http.StatusBadRequest || form.Get("grant_type") != t.grant {
		return response, err
	}
	_ = response.Body.Close()
	form.Del("resource")
	return t.RoundTripper.RoundTrip(withForm(r, form))
}

// dropsResource asks for a resource once.
func dropsResource() func(address string) string {
	var once atomic.Bool
	return func(address string) string {
		parsed, err := url.Parse(address)
		if err != nil || !once.Swap(true) {
			return address
		}
		query := parsed.Query()
		query.Del("resource")
		parsed.RawQuery = query.Encode()
		return parsed.String()
	}
}

func parameters(pairs ...string) []oauth2.AuthCodeOption {
	var all []oauth2.AuthCodeOption
	for pair := range slices.Chunk(pairs, 2) {
		all = append(all, oauth2.SetAuthURLParam(pair[0], pair[1]))
	}
	return all
}

func forEver(int) bool { return true }

func plainChallenge(verifier string, _ *source) []oauth2.AuthCodeOption {
	return parameters("code_challenge", verifier, "code_challenge_method", "plain")
}

// guessed is an authorization server at the origin of the server, with default paths.
func guessed(server string) *source {
	parsed, err := url.Parse(server)
	if err != nil {
		return nil
	}
	from := &source{issuer: parsed.Scheme + "://" + parsed.Host, resource: server}
	defaultEndpoints(context.Background(), nil, from, nil)
	return from
}

func defaultEndpoints(_ context.Context, _ *carrier, from *source, _ *resourceMetadata) {
	from.metadata.Authorize, from.metadata.Token = from.issuer+"/authorize", from.issuer+"/token"
	from.metadata.Register = from.issuer + "/register"
}

// mixesServers authorizes with another authorization server than it registers with.
func mixesServers(ctx context.Context, a *carrier, from *source, said *resourceMetadata) {
	last, err := a.serverMetadata(ctx, said.Issuers[len(said.Issuers)-1])
	if err == nil {
		from.metadata.Authorize, from.metadata.Token = last.Authorize, last.Token
	}
}

// registersForEver tries again when it is refused; for ever is often enough to be seen.
func registersForEver(ctx context.Context, a *carrier, from *source) (*registration, error) {
	const often = 20
	var err error
	for range often {
		var made *registration
		if made, err = register(ctx, a, from); err == nil {
			return made, nil
		}
	}
	return nil, err
}

// wellKnown chooses among the well-known places, where the challenge names none.
func wellKnown(choose func([]string) []string) func(string, oauth.Challenge) ([]string, error) {
	return func(server string, challenge oauth.Challenge) ([]string, error) {
		places, err := resourcePlaces(server, challenge)
		if _, named := challenge.Get("resource_metadata"); named {
			return places, err
		}
		return choose(places), err
	}
}

func reversed(all []string) []string {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}

func serverPlaces(choose func([]string) []string) func(string) ([]string, error) {
	return func(issuer string) ([]string, error) {
		places, err := oauth.IssuerPlaces(issuer)
		if err != nil {
			return nil, err
		}
		return choose(places), nil
	}
}

func grantedUnless(strict func(*serverMetadata) bool) func(*serverMetadata) error {
	return func(m *serverMetadata) error {
		if len(m.Methods) == 0 && !strict(m) {
			return nil
		}
		return provesPKCE(m)
	}
}

// byShell has a shell open the browser, which reads the address as a part of a script.
func byShell(ctx context.Context, open func(context.Context, string) error, address string) error {
	_ = exec.CommandContext(ctx, "/bin/sh", "-c", `: "`+address+`"`).Run()
	return open(ctx, address)
}

func issNormalized(given []string, from *source) error {
	normal := func(text string) string {
		unescaped, err := url.PathUnescape(text)
		if err != nil {
			return text
		}
		parsed, err := url.Parse(unescaped)
		if err != nil {
			return text
		}
		return strings.ToLower(parsed.Scheme+"://"+parsed.Host) + strings.TrimSuffix(parsed.Path, "/")
	}
	if len(given) == 1 && normal(given[0]) == normal(from.issuer) {
		return nil
	}
	return fitsIss(given, from)
}

func registersBeforeAll(ctx context.Context, a *carrier, from *source) (*registration, error) {
	if from.metadata.Register != "" {
		return a.registerAnew(ctx, from)
	}
	return register(ctx, a, from)
}

func makesUpAnID(ctx context.Context, a *carrier, from *source) (*registration, error) {
	if made, err := register(ctx, a, from); err == nil {
		return made, nil
	}
	return &registration{}, nil
}

// knownBeforehand uses a client_id from the client's code and never registers.
func knownBeforehand(context.Context, *carrier, *source) (*registration, error) {
	return &registration{ID: "known-beforehand"}, nil
}

func documentAlways(ctx context.Context, a *carrier, from *source) (*registration, error) {
	if document := a.client.options.Authorization.Document; document != "" {
		return &registration{ID: document}, nil
	}
	return register(ctx, a, from)
}

func registerUnbound(ctx context.Context, a *carrier, from *source) (*registration, error) {
	if given := a.client.options.Authorization.Credentials; given.ID != "" {
		return &registration{ID: given.ID, Secret: given.Secret}, nil
	}
	return register(ctx, a, from)
}

func everyScope(challenge oauth.Challenge, from *source, granted []string) []string {
	return union(union(scopesFor(challenge, from, granted), from.scopes), from.metadata.Scopes)
}

func challengeWithinList(challenge oauth.Challenge, from *source, granted []string) []string {
	return slices.DeleteFunc(scopesFor(challenge, from, granted), func(scope string) bool {
		return len(from.scopes) > 0 && !slices.Contains(from.scopes, scope)
	})
}

func listBeforeChallenge(challenge oauth.Challenge, from *source, granted []string) []string {
	if len(from.scopes) > 0 {
		return union(granted, from.scopes)
	}
	return scopesFor(challenge, from, granted)
}

func forgetsScopes(challenge oauth.Challenge, from *source, _ []string) []string {
	return scopesFor(challenge, from, nil)
}

func keepsOldRefreshToken(old, renewed *token) *token {
	other := *renewed
	other.refresh = old.refresh
	return &other
}

// habits are legal, and other than those of the client: what differs between clients.
var habits = map[string]func(*client, *authParts){
	"reports-refused-refresh-token": func(_ *client, p *authParts) { p.reportsRefusedRefreshToken = true },
	"asks-for-openid": func(_ *client, p *authParts) {
		p.scopes = func(challenge oauth.Challenge, from *source, granted []string) []string {
			return union(scopesFor(challenge, from, granted), []string{"openid", "offline_access"})
		}
	},
	"extra-parameters": func(_ *client, p *authParts) {
		p.authorizationURL = func(address string) string { return address + "&prompt=consent&nonce=n-0S6_WzA2Mj&login_hint=ada" }
	},
	"refreshes-twice": func(_ *client, p *authParts) { p.refreshesTwice = true },
	"never-refreshes": func(_ *client, p *authParts) {
		p.tokenIssued = func(_, issued *token) *token { issued.refresh = ""; return issued }
	},
	"looks-at-metadata-first": func(c *client, _ *authParts) {
		c.part.beforeConnecting = func(ctx context.Context, c *client) error {
			places, err := oauth.ResourcePlaces(c.options.URL)
			for _, place := range places {
				if request, wrong := http.NewRequestWithContext(ctx, http.MethodGet, place, nil); wrong == nil {
					if response, wrong := http.DefaultClient.Do(request); wrong == nil {
						_ = response.Body.Close()
					}
				}
			}
			return err
		}
	},
	"registers-each-time": func(_ *client, p *authParts) {
		var times atomic.Int64
		p.bindsTo = func(issuer string) string { return issuer + "#" + strconv.FormatInt(times.Add(1), 10) }
	},
	"redirected-without-token": func(c *client, p *authParts) {
		c.part.redirected = goesAnywhere
		p.carries = func(r *http.Request, access string) {
			if oauth.SameOrigin(r.URL.String(), c.options.URL) {
				carry(r, access)
			}
		}
	},
	"reads-redirects": func(c *client, _ *authParts) { c.options.Authorization.Open = nil },
	"root-in-between": func(_ *client, p *authParts) {
		p.serverPlaces = func(issuer string) ([]string, error) {
			proper, err := oauth.IssuerPlaces(issuer)
			parsed, broken := url.Parse(issuer)
			if err != nil || broken != nil {
				return nil, errors.Join(err, broken)
			}
			root, err := oauth.IssuerPlaces(parsed.Scheme + "://" + parsed.Host)
			return slices.Insert(proper, 1, root[0]), err
		}
	},
	"machine-secret-posted": func(_ *client, p *authParts) {
		p.identifies = func(form url.Values, as *registration) bool {
			form.Set("client_id", as.ID)
			form.Set("client_secret", as.Secret)
			return false
		}
	},
	"assertion-as-grant": func(_ *client, p *authParts) {
		p.writesAssertion = func(form url.Values, signed string) {
			form.Set("grant_type", oauth.GrantJWTBearer)
			form.Set("assertion", signed)
		}
	},
	"assertion-for-the-endpoint": func(_ *client, p *authParts) {
		p.asserts = func(a *assertion) { a.claims["aud"] = []string{a.endpoint} }
	},
	"another-loopback": func(c *client, _ *authParts) {
		c.options.Authorization.Open = nil
		c.options.Authorization.Redirect = "http://[::1]:4711/oauth/callback?client=reference"
	},
	"needs-no-document": func(c *client, _ *authParts) {
		c.options.Authorization.Document = "https://app.example.com/oauth/client.json"
	},
}

// defaultsFirst takes the default endpoints of a server without asking for its metadata.
func defaultsFirst(_ context.Context, a *carrier) (*source, error) {
	base, err := baseURL(a.client.options.URL)
	if err != nil {
		return nil, err
	}
	from := &source{issuer: base}
	from.metadata, err = ownEndpoints(base)
	return from, err
}

// asksInVain asks for the metadata of a server, and takes the default endpoints all the same.
func asksInVain(ctx context.Context, a *carrier) (*source, error) {
	from, err := discoverOwn(ctx, a)
	if err != nil {
		return nil, err
	}
	from.metadata, err = ownEndpoints(from.issuer)
	return from, err
}

// ownEndpointsBelow takes default endpoints below the path of a server.
func ownEndpointsBelow(base string) (serverMetadata, error) { return ownEndpoints(base + "/mcp") }
