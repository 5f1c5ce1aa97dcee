package authorization

import (
	. "github.com/onsi/ginkgo/v2"

	. "github.com/mcpconform/mcpconform/internal/conform"
)

func takingTokens() {
	It("does not use a token of a type that it does not know", Verifies("authorization.token.type"), In(unknownType),
		func(ctx SpecContext) {
			client := refusing(ctx)
			client.Need(issuedBy(client, 1), "got a token")

			Observe()
			for _, one := range client.EnteredWith(1, 0) {
				client.BlameEvent(one, Mismatch{
					Wanted: "no request with a token whose token_type is N_A", Found: authorizationOf(one),
				})
			}
		})

	It("accepts a token response with nothing but a token of the type bearer", Verifies("authorization.token.response"),
		In(tersely), func(ctx SpecContext) {
			client := refusing(ctx)
			issued := client.Need(issuedBy(client, 1), "got a token")

			if !Observed(len(client.EnteredWith(1, 0)) > 0) {
				client.MissingAfter(
					first(issued).Event,
					Mismatch{Wanted: "a request with the access token", Found: "none"},
				)
			}
		})

	It("replaces its refresh token when it gets a new one", Verifies("authorization.refresh.replaced"), In(expiring),
		func(ctx SpecContext) {
			client := play(ctx)
			requests := client.Need(client.Tokens(grantRefresh), "used a refresh token")

			replaced := map[string]bool{}
			for _, one := range requests {
				given := one.Form.Get("refresh_token")
				if len(replaced) > 0 {
					client.Says(one, !replaced[given], "the refresh token that came last", "one that was replaced")
				}
				if next, _ := one.Reply["refresh_token"].(string); next != "" && next != given {
					replaced[given] = true
				}
			}
			if len(replaced) == 0 || len(requests) == 1 {
				Inconclusive("the client refreshed its token once",
					"let the client refresh its token whenever the server refuses it as expired")
			}
		})
}
