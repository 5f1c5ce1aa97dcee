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

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// authDefects make a good client authorize badly, in one way each. Others stand in namedDefects.
var authDefects = map[string]func(*authParts){
	"plain-pkce": func(p *authParts) { p.challenges = challengePlain },
	"first-method": func(p *authParts) {
		p.provesPKCE = func(*serverMetadata) error { return nil }
		p.challenges = challengeByFirst
	},
	"ignores-named-metadata": func(p *authParts) {
		p.resourcePlaces = func(server string, _ oauth.Challenge) ([]string, error) { return oauth.ResourcePlaces(server) }
	},
	"metadata-root-first":   func(p *authParts) { p.resourcePlaces = wellKnown(reversed) },
	"default-endpoints":     func(p *authParts) { p.endpoints = defaultEndpoints },
	"own-defaults-first":    func(p *authParts) { p.discoversOwn = defaultsFirst },
	"own-defaults-below":    func(p *authParts) { p.ownEndpoints = ownEndpointsBelow },
	"own-defaults-unknown":  func(p *authParts) { p.ownEndpoints = noOwnEndpoints },
	"own-metadata-unused":   func(p *authParts) { p.discoversOwn = asksInVain },
	"mixes-servers":         func(p *authParts) { p.endpoints = mixesServers },
	"registers-for-ever":    func(p *authParts) { p.register = registersForEver },
	"resource-byte-by-byte": func(p *authParts) { p.fitsResource = same },
	"openid-metadata-only":  func(p *authParts) { p.serverPlaces = serverPlaces(withoutFirst) },
	"first-challenge-only": func(p *authParts) {
		p.challenge = firstIfBearer
		p.resourcePlaces = wellKnown(func([]string) []string { return nil })
	},
	"openid-first":              func(p *authParts) { p.serverPlaces = serverPlaces(firstLast) },
	"issuer-path-forgotten":     func(p *authParts) { p.serverPlaces = rootAt(0) },
	"any-resource":              func(p *authParts) { p.fitsResource = anyTwo },
	"any-issuer":                func(p *authParts) { p.fitsIssuer = anyTwo },
	"no-issuer":                 func(p *authParts) { p.fitsIssuer = sameOrNone },
	"drops-resource-at-login":   func(p *authParts) { p.authorizationURL = dropsResource() },
	"drops-resource-at-token":   func(p *authParts) { p.roundTripper = retriesWithout("authorization_code") },
	"drops-resource-at-refresh": func(p *authParts) { p.roundTripper = retriesWithout("refresh_token") },
	"issuer-up-to-a-slash": func(p *authParts) {
		p.fitsIssuer = func(text, issuer string) bool { return unslashed(text) == unslashed(issuer) }
	},
	"issuer-loses-its-slash": func(p *authParts) {
		p.fitsIssuer = func(text, issuer string) bool { return text == unslashed(issuer) }
	},
	"pkce-taken-for-granted":        func(p *authParts) { p.provesPKCE = grantedWhereOpenID(false) },
	"pkce-taken-for-granted-openid": func(p *authParts) { p.provesPKCE = grantedWhereOpenID(true) },
	"opens-anything":                func(p *authParts) { p.checksURL = func(string) error { return nil } },
	"opens-plain":                   func(p *authParts) { p.checksURL = opensPlain },
	"iss-unchecked":                 func(p *authParts) { p.fitsIss = func([]string, *source) error { return nil } },
	"iss-missing-accepted":          func(p *authParts) { p.fitsIss = issMissingAccepted },
	"iss-unadvertised-refused":      func(p *authParts) { p.fitsIss = refusesIssWhereAdvertised(false) },
	"iss-refused":                   func(p *authParts) { p.fitsIss = refusesIssWhereAdvertised(true) },
	"iss-normalized":                func(p *authParts) { p.fitsIss = issNormalized },
	"known-beforehand":              func(p *authParts) { p.register = knownBeforehand },
	"registers-before-all":          func(p *authParts) { p.register = registersBeforeAll },
	"makes-up-an-id":                func(p *authParts) { p.register = makesUpAnID },
	"document-unsupported":          func(p *authParts) { p.register = documentAlways },
	"credentials-for-origins":       func(p *authParts) { p.bindsTo = hostOf },
	"credentials-for-all":           func(p *authParts) { p.bindsTo = func(string) string { return "" } },
	"credentials-not-bound":         func(p *authParts) { p.register = registerUnbound },
	"every-scope":                   func(p *authParts) { p.scopes = everyScope },
	"challenge-within-list":         func(p *authParts) { p.scopes = challengeWithinList },
	"list-before-challenge":         func(p *authParts) { p.scopes = listBeforeChallenge },
	"forgets-scopes":                func(p *authParts) { p.scopes = forgetsScopes(0) },
	"forgets-scopes-later":          func(p *authParts) { p.scopes = forgetsScopes(2) },
	"any-token-type":                func(p *authParts) { p.knowsTokenType = func(string) bool { return true } },
	"token-type-in-capitals": func(p *authParts) {
		p.knowsTokenType = func(kind string) bool { return kind == "Bearer" }
	},
	"secret-not-encoded": func(p *authParts) {
		p.roundTripper = func(base http.RoundTripper) http.RoundTripper { return rawBasic{base} }
	},
	"issuer-in-any-case": func(p *authParts) { p.fitsIssuer = strings.EqualFold },
	"assertion-of-the-issuer": func(p *authParts) {
		p.asserts = func(a *assertion) { a.claims["iss"] = a.claims["aud"] }
	},
	"assertion-without-subject": func(p *authParts) { p.asserts = func(a *assertion) { delete(a.claims, "sub") } },
	"assertion-for-ever":        func(p *authParts) { p.asserts = func(a *assertion) { delete(a.claims, "exp") } },
	// What follows is legal, and another habit than that of the client.
	"asks-for-openid": func(p *authParts) { p.scopes = asksForOpenID },
	"extra-parameters": func(p *authParts) {
		p.authorizationURL = func(address string) string { return address + "&prompt=consent&nonce=n-0S6_WzA2Mj&login_hint=ada" }
	},
	"registers-each-time": func(p *authParts) {
		var times atomic.Int64
		p.bindsTo = func(issuer string) string { return issuer + "#" + strconv.FormatInt(times.Add(1), 10) }
	},
	"root-in-between": func(p *authParts) { p.serverPlaces = rootAt(1) },
	"assertion-for-the-endpoint": func(p *authParts) {
		p.asserts = func(a *assertion) { a.claims["aud"] = []string{a.endpoint} }
	},
}

func same(a, b string) bool          { return a == b }
func anyTwo(_, _ string) bool        { return true }
func sameOrNone(text, b string) bool { return text == "" || text == b }

func unslashed(address string) string { return strings.TrimSuffix(address, "/") }

func withoutFirst(all []string) []string { return all[1:] }
func firstLast(all []string) []string    { return append(slices.Clone(all[1:]), all[0]) }

// rootAt looks also for the metadata of an issuer without a path, at a place among the others.
func rootAt(place int) func(issuer string) ([]string, error) {
	return func(issuer string) ([]string, error) {
		proper, err := oauth.IssuerPlaces(issuer)
		if err != nil {
			return nil, err
		}
		base, err := baseURL(issuer)
		if err != nil {
			return nil, err
		}
		root, err := oauth.IssuerPlaces(base)
		if place > 0 {
			root = root[:1]
		}
		return slices.Insert(proper, place, root...), err
	}
}

// firstIfBearer looks at the first challenge alone.
func firstIfBearer(header http.Header) (oauth.Challenge, bool) {
	all, _ := oauth.Challenges(header)
	if len(all) == 0 || !all[0].Is("Bearer") {
		return oauth.Challenge{}, false
	}
	return all[0], true
}

// hostOf is of an issuer what all issuers there have in common.
func hostOf(issuer string) string {
	if at, err := url.Parse(issuer); err == nil {
		return at.Host
	}
	return issuer
}

// issMissingAccepted takes an answer without an iss even if the issuer sends one.
func issMissingAccepted(given []string, from *source) error {
	if len(given) == 0 {
		return nil
	}
	return fitsIss(given, from)
}

// refusesIssWhereAdvertised refuses each iss, of issuers that said that they send it or of those
// that did not.
func refusesIssWhereAdvertised(advertised bool) func([]string, *source) error {
	return func(given []string, from *source) error {
		if len(given) > 0 && from.metadata.NamesItself == advertised {
			return errors.New("the answer has an iss")
		}
		return fitsIss(given, from)
	}
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

func challengePlain(query url.Values, verifier string, _ *source) {
	query.Set("code_challenge", verifier)
	query.Set("code_challenge_method", "plain")
}

// challengeByFirst uses the first method that the authorization server lists.
func challengeByFirst(query url.Values, verifier string, from *source) {
	if methods := from.metadata.Methods; len(methods) > 0 && methods[0] == "plain" {
		challengePlain(query, verifier, from)
		return
	}
	challengeS256(query, verifier, from)
}

// guessed is an authorization server at the origin of the server, with default paths.
func guessed(server string) (*source, error) {
	base, err := baseURL(server)
	from := &source{issuer: base, resource: server}
	defaultEndpoints(context.Background(), nil, from, nil)
	return from, err
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

// grantedWhereOpenID takes support of PKCE for granted where metadata of one kind, of OpenID or
// not, does not speak of it.
func grantedWhereOpenID(openID bool) func(*serverMetadata) error {
	return func(m *serverMetadata) error {
		if len(m.Methods) == 0 && m.openID == openID {
			return nil
		}
		return provesPKCE(m)
	}
}

// readByShell has a shell read the address as a part of a script.
func readByShell(ctx context.Context, address string) {
	_ = exec.CommandContext(ctx, "/bin/sh", "-c", `: "`+address+`"`).Run()
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

// forgetsScopes forgets those that were granted, once there are so many.
func forgetsScopes(from int) func(oauth.Challenge, *source, []string) []string {
	return func(challenge oauth.Challenge, of *source, granted []string) []string {
		if len(granted) >= from {
			granted = nil
		}
		return scopesFor(challenge, of, granted)
	}
}

func asksForOpenID(challenge oauth.Challenge, from *source, granted []string) []string {
	return union(scopesFor(challenge, from, granted), []string{"openid", "offline_access"})
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

func noOwnEndpoints(string) (serverMetadata, error) {
	return serverMetadata{}, errors.New("there is no metadata")
}
