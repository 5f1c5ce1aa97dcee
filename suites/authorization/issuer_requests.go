package authorization

import (
	"net/url"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/issuer"
	"github.com/mcpconform/mcpconform/internal/mcp"
)

// goodRequest makes valid authorization requests. It ends the check if one is refused without
// a login: an error would then not show what is wrong with another request.
func goodRequest(t *T, issuer *Issuer, client *RegisteredClient) func() *AuthorizationRequest {
	landing := issuer.Visit(issuer.Request(client))
	if showsError(landing) || landing.Parameter("error") != "" && landing.Parameter("error") != "login_required" {
		t.Inconclusive(
			"a valid authorization request is refused: "+landing.Describe(),
			"make sure that the client is registered with the redirect URI "+client.RedirectURI+", and --scope and --resource",
		)
	}
	return func() *AuthorizationRequest { return issuer.Request(client) }
}

// showsError tells whether a browser was shown an error.
func showsError(landing *Landing) bool {
	return landing.Response != nil && landing.Response.Status >= 400 && landing.Response.Status <= 499
}

// demandNoRedirect judges that a request leads to no address of its choice. It is false when
// a page shows neither: that of a login, or an error.
func demandNoRedirect(t *T, landing *Landing, uri, what string) bool {
	if landing.Redirect != nil {
		t.Demand(!sameBeginning(landing.Redirect, uri), "an error, and no redirect, for "+what,
			"a redirect to "+strings.SplitN(landing.Redirect.String(), "?", 2)[0])
		return true
	}
	if showsError(landing) {
		t.Observe()
		return true
	}
	return false
}

// sameBeginning tells whether an address is a URI, but for what is added to its query.
func sameBeginning(address *url.URL, uri string) bool {
	wanted, err := url.Parse(uri)
	return err == nil && address.Scheme == wanted.Scheme && address.Host == wanted.Host &&
		address.EscapedPath() == wanted.EscapedPath()
}

const hintPage = "check whether the page shows an error"

func issuerRequests() {
	It("redirects only to the registered redirect URI", Verifies("authorization.redirect.exact"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)
		request := goodRequest(t, issuer, client)

		shown := false
		for _, miss := range nearMisses(t, client.RedirectURI) {
			landing := issuer.Visit(request().With("redirect_uri", miss.uri).Deliberately("has a redirect URI with " + miss.says))
			shown = demandNoRedirect(t, landing, miss.uri, "a redirect URI with "+miss.says) || shown
		}
		if !shown {
			t.Inconclusive("each wrong redirect URI is answered with a page that is not clearly an error", hintPage)
		}
	})

	It("does not redirect for an unknown client_id", Verifies("authorization.redirect.untrusted"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)
		request := goodRequest(t, issuer, client)

		landing := issuer.Visit(request().With("client_id", "mcpconform-unknown-client").Deliberately("has an unknown client_id"))
		if !demandNoRedirect(t, landing, client.RedirectURI, "an unknown client_id") {
			t.Inconclusive("an unknown client_id is answered with a page that is not clearly an error", hintPage)
		}
	})

	It("does not redirect to a URI of another site", Verifies("authorization.redirect.untrusted"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)
		request := goodRequest(t, issuer, client)

		const uri = "https://attacker.example/callback"
		landing := issuer.Visit(request().With("redirect_uri", uri).Deliberately("has a redirect URI of another site"))
		if !demandNoRedirect(t, landing, uri, "a redirect URI of another site") {
			t.Inconclusive("a redirect URI of another site is answered with a page that is not clearly an error", hintPage)
		}
	})

	issuerResponses()
}

func issuerResponses() {
	It("returns the state of the request unchanged", Verifies("authorization.oauth.state"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)

		state := "&=%+ ü/?#" + strings.Repeat("s", 200)
		landing := issuer.Login(t, issuer.Request(client).With("state", state))
		if landing.Code() == "" {
			t.Inconclusive("no authorization code is issued: "+landing.Describe(), hintLogin)
		}
		t.Demand(landing.Parameter("state") == state, "the state "+Show(state), Show(landing.Parameter("state")))
	})

	It("ignores unknown request parameters", Verifies("authorization.oauth.unknown-parameters"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)
		request := goodRequest(t, issuer, client)

		landing := issuer.Visit(request().With("mcpconform_unknown", "1"))
		t.DemandOf(
			landing,
			!showsError(landing) &&
				(landing.Parameter("error") == "" || landing.Parameter("error") == "login_required"),
			"the answer to the same request without the parameter mcpconform_unknown",
		)
	})

	It("sends iss in authorization responses", Verifies("authorization.issuer.sent"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)

		for _, landing := range responses(t, issuer, client) {
			named := mcp.Text(issuer.Metadata, "issuer")
			t.Demand(landing.Parameter("iss") == named, "iss="+named+" in "+landing.Describe(), Show(landing.Parameter("iss")))
		}
	})

	It("advertises in its metadata that it sends iss", Verifies("authorization.issuer.advertised"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)

		sends := false
		for _, landing := range responses(t, issuer, client) {
			sends = sends || landing.Parameter("iss") != ""
		}
		if !sends {
			t.NotApplicable("the authorization server sends no iss")
		}
		const name = "authorization_response_iss_parameter_supported"
		t.Demand(issuer.Metadata[name] == true, name+": true in its metadata", Show(issuer.Metadata[name]))
	})
}

// responses are authorization responses: one with a code, and one with an error, as far as
// they come.
func responses(t *T, issuer *Issuer, client *RegisteredClient) []*Landing {
	landings := []*Landing{
		issuer.Visit(issuer.Request(client).With("response_type", "mcpconform-unknown").Deliberately("has an unknown response_type")),
		issuer.Login(t, issuer.Request(client)),
	}
	var came []*Landing
	for _, landing := range landings {
		if landing.Redirect != nil && sameBeginning(landing.Redirect, client.RedirectURI) {
			came = append(came, landing)
		}
	}
	if len(came) == 0 {
		t.Inconclusive("no authorization response: "+landings[1].Describe(), hintLogin)
	}
	return came
}

const hintLogin = "let a command log in and consent: --login 'COMMAND {url}'"

type nearMiss struct{ uri, says string }

// nearMisses of a redirect URI. Another port is none: on loopback addresses it is the
// client's to choose (RFC 8252, section 7.3).
func nearMisses(t *T, registered string) []nearMiss {
	parsed, err := url.Parse(registered)
	if err != nil || parsed.Host == "" {
		t.Inconclusive("the redirect URI "+registered+" has no host", "give one with --redirect-uri")
	}
	changed := func(change func(*url.URL)) string {
		one := *parsed
		change(&one)
		return one.String()
	}
	path := strings.TrimSuffix(parsed.Path, "/")
	return []nearMiss{
		{changed(func(u *url.URL) { u.Path = path + "/more" }), "a longer path"},
		{changed(func(u *url.URL) { u.Path = path + "-more" }), "another end of the path"},
		{changed(func(u *url.URL) { u.Path = path + "/../more" }), "dots in the path"},
		{changed(func(u *url.URL) { u.RawQuery = "more=1" }), "a query"},
		{changed(func(u *url.URL) { u.Host = parsed.Hostname() + ".attacker.example" }), "a longer host"},
		{changed(func(u *url.URL) { u.User = url.User("user") }), "a user name"},
		{changed(func(u *url.URL) { u.Scheme = "ftp" }), "another scheme"},
	}
}
