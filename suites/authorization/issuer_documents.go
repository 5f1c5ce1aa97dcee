package authorization

import (
	"context"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
)

func good(Object) []byte { return nil }

// demandNoCode judges that a client with a wrong document gets no code. It is false when a
// page shows neither: that of a login, or an error.
func demandNoCode(landing *Landing, what string) bool {
	Judge(unwanted(landing.Code() != "", "an error for "+what, landing)...)
	return Observed(showsError(landing) || landing.Parameter("error") != "")
}

func unwanted(came bool, wanted string, landing *Landing) []Mismatch {
	if !came {
		return nil
	}
	Observe()
	return []Mismatch{{Wanted: wanted, Found: landing.Describe()}}
}

func issuerDocuments() {
	It("fetches the metadata document that a client_id names", Verifies("authorization.document.fetched"),
		func(ctx SpecContext) {
			issuer := NeedIssuer(ctx)
			document := issuer.Document(good)

			landing := issuer.Visit(ctx, issuer.Request(document.Client))
			Demand(document.Fetched() > 0, "a GET for "+document.Client.ID, "none, and "+landing.Describe())
		})

	It("caches a metadata document as its headers allow", Verifies("authorization.document.cached"),
		func(ctx SpecContext) {
			issuer := NeedIssuer(ctx)
			document := issuer.Document(good)
			goodRequest(ctx, issuer, document.Client)
			if document.Fetched() == 0 {
				Inconclusive("the authorization server did not fetch the document", "see the result of authorization.document.fetched")
			}
			before := document.Fetched()

			issuer.Visit(ctx, issuer.Request(document.Client))
			Demand(
				document.Fetched() == before,
				"no other GET for a document with Cache-Control: "+DocumentFresh,
				"another GET",
			)
		})

	It("refuses a metadata document with another client_id", Verifies("authorization.document.compared"),
		func(ctx SpecContext) {
			issuer := NeedIssuer(ctx)
			goodRequest(ctx, issuer, issuer.Document(good).Client)

			wrongDocument(ctx, issuer, "a document with another client_id", func(document Object) []byte {
				document["client_id"] = "https://another.example/client.json"
				return nil
			})
		})

	It("redirects to no URI that the metadata document lacks", Verifies("authorization.document.redirect-uris"),
		func(ctx SpecContext) {
			issuer := NeedIssuer(ctx)
			document := issuer.Document(good)
			request := goodRequest(ctx, issuer, document.Client)

			const uri = "https://attacker.example/callback"
			landing := issuer.Visit(
				ctx,
				request().With("redirect_uri", uri).Deliberately("has a redirect URI that the document lacks"),
			)
			if !demandNoRedirect(landing, uri, "a redirect URI that the document lacks") {
				Inconclusive("the redirect URI is answered with a page that is not clearly an error", hintPage)
			}
		})

	It("refuses a metadata document that is not JSON or lacks a member",
		Verifies("authorization.document.structure"),
		func(ctx SpecContext) {
			issuer := NeedIssuer(ctx)
			goodRequest(ctx, issuer, issuer.Document(good).Client)

			wrongDocument(
				ctx,
				issuer,
				"a document that is not JSON",
				func(Object) []byte { return []byte("<html></html>") },
			)
			for _, member := range []string{"client_id", "client_name", "redirect_uris"} {
				wrongDocument(ctx, issuer, "a document without "+member, func(document Object) []byte {
					delete(document, member)
					return nil
				})
			}
		})

	It("fetches no metadata document from addresses that are not public",
		Verifies("authorization.document.ssrf"),
		func(ctx SpecContext) {
			issuer := NeedIssuer(ctx)
			client, contacted := issuer.DocumentDecoy(ctx)

			landing := issuer.Visit(ctx, issuer.Request(client).Deliberately("names a document on this machine"))
			came := contacted()
			if !showsError(landing) && !came {
				Inconclusive("the client_id "+client.ID+" is answered with a page that is not clearly an error", hintPage)
			}
			Demand(!came, "no connection to "+client.ID, "a connection")
		})
}

// wrongDocument judges that a client with a document that was edited gets no code.
func wrongDocument(ctx context.Context, issuer *Issuer, what string, edit func(Object) []byte) {
	landing := issuer.Visit(ctx, issuer.Request(issuer.Document(edit).Client).Deliberately("names "+what))
	if !demandNoCode(landing, what) {
		Inconclusive(what+" is answered with a page that is not clearly an error", hintPage)
	}
}
