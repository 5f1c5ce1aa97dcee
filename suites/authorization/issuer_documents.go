package authorization

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/issuer"
)

func good(Object) []byte { return nil }

// demandNoCode judges that a client with a wrong document gets no code. It is false when a
// page shows neither: that of a login, or an error.
func demandNoCode(t *T, landing *Landing, what string) bool {
	t.Judge(unwanted(t, landing.Code() != "", "an error for "+what, landing)...)
	return t.Observed(showsError(landing) || landing.Parameter("error") != "")
}

func unwanted(t *T, came bool, wanted string, landing *Landing) []Mismatch {
	if !came {
		return nil
	}
	t.Observe()
	return []Mismatch{{Wanted: wanted, Found: landing.Describe()}}
}

func issuerDocuments() {
	It("fetches the metadata document that a client_id names", Verifies("authorization.document.fetched"), func(t *T) {
		issuer := NeedIssuer(t)
		document := issuer.Document(good)

		landing := issuer.Visit(issuer.Request(document.Client))
		t.Demand(document.Fetched() > 0, "a GET for "+document.Client.ID, "none, and "+landing.Describe())
	})

	It("caches a metadata document as its headers allow", Verifies("authorization.document.cached"), func(t *T) {
		issuer := NeedIssuer(t)
		document := issuer.Document(good)
		goodRequest(t, issuer, document.Client)
		if document.Fetched() == 0 {
			t.Inconclusive("the authorization server did not fetch the document", "see the result of authorization.document.fetched")
		}
		before := document.Fetched()

		issuer.Visit(issuer.Request(document.Client))
		t.Demand(document.Fetched() == before, "no other GET for a document with Cache-Control: "+DocumentFresh, "another GET")
	})

	It("rejects a metadata document with another client_id", Verifies("authorization.document.compared"), func(t *T) {
		issuer := NeedIssuer(t)
		goodRequest(t, issuer, issuer.Document(good).Client)

		wrongDocument(t, issuer, "a document with another client_id", func(document Object) []byte {
			document["client_id"] = "https://another.example/client.json"
			return nil
		})
	})

	It("redirects only to a redirect URI of the metadata document", Verifies("authorization.document.redirect-uris"), func(t *T) {
		issuer := NeedIssuer(t)
		document := issuer.Document(good)
		request := goodRequest(t, issuer, document.Client)

		const uri = "https://attacker.example/callback"
		landing := issuer.Visit(request().With("redirect_uri", uri).Deliberately("has a redirect URI that the document lacks"))
		if !demandNoRedirect(t, landing, uri, "a redirect URI that the document lacks") {
			t.Inconclusive("the redirect URI is answered with a page that is not clearly an error", hintPage)
		}
	})

	refusingDocuments()
}

func refusingDocuments() {
	It("rejects a metadata document that is not JSON or lacks a member", Verifies("authorization.document.structure"), func(t *T) {
		issuer := NeedIssuer(t)
		goodRequest(t, issuer, issuer.Document(good).Client)

		wrongDocument(t, issuer, "a document that is not JSON", func(Object) []byte { return []byte("<html></html>") })
		for _, member := range []string{"client_id", "client_name", "redirect_uris"} {
			wrongDocument(t, issuer, "a document without "+member, func(document Object) []byte {
				delete(document, member)
				return nil
			})
		}
	})

	It("fetches no metadata document from a non-public address", Verifies("authorization.document.ssrf"), func(t *T) {
		issuer := NeedIssuer(t)
		client, contacted := issuer.DocumentDecoy(t)

		landing := issuer.Visit(issuer.Request(client).Deliberately("names a document on this machine"))
		came := contacted()
		if !showsError(landing) && !came {
			t.Inconclusive("the client_id "+client.ID+" is answered with a page that is not clearly an error", hintPage)
		}
		t.Demand(!came, "no connection to "+client.ID, "a connection")
	})
}

// wrongDocument judges that a client with a document that was edited gets no code.
func wrongDocument(t *T, issuer *Issuer, what string, edit func(Object) []byte) {
	landing := issuer.Visit(issuer.Request(issuer.Document(edit).Client).Deliberately("names " + what))
	if !demandNoCode(t, landing, what) {
		t.Inconclusive(what+" is answered with a page that is not clearly an error", hintPage)
	}
}
