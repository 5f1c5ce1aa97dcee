package authorization

import (
	"net/http"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// findingOwn checks clients towards servers that are their own authorization servers
// (2025-03-26, basic/authorization).
func findingOwn() {
	It("asks for the metadata at the root of the server's host", Verifies("authorization.discovery.base-url"), In(ownMetadata), func(t *T) {
		asksSometime(t, play(t), oauth.ServerPath)
	})

	It("uses the endpoints in the metadata of the server", Verifies("authorization.discovery.rfc8414"), In(ownMetadata), func(t *T) {
		client := play(t)
		asked := asksForMetadata(client, 1)

		if authorizing := used(client, 1); !t.Observed(len(authorizing) > 0) {
			client.MissingAfter(first(asked).Event, Mismatch{Wanted: "a request to an endpoint that the metadata names", Found: "none"})
		}
		for one := range ObserveEach(t, used(client, 1)) {
			if !strings.HasPrefix(one.URL.Path, scripted.Endpoints+"/") {
				client.FailVisit(one, "an endpoint that the metadata names", ShowVisit(one))
			}
		}
	})

	It("sends MCP-Protocol-Version when it requests metadata", Verifies("authorization.discovery.version-header"), In(ownMetadata), func(t *T) {
		client := play(t)

		for one := range ObserveEach(t, asksForMetadata(client, 1)) {
			if version := one.Header.Get(transport.VersionHeader); !slices.Contains(protocol.Released(), version) {
				client.FailVisit(one, "a protocol version in MCP-Protocol-Version", Given(transport.VersionHeader, one.Header.Values(transport.VersionHeader)))
			}
		}
	})

	It("asks for metadata before it uses the default endpoints", Verifies("authorization.discovery.metadata-first"), In(ownDefaults), func(t *T) {
		client := play(t)
		authorizing := client.Need(used(client, 1), "used an authorization server")

		t.Observe()
		if len(Before(client.At(scripted.AtServerMetadata), first(authorizing).Event)) == 0 {
			client.FailVisit(first(authorizing), "a request for metadata before", ShowVisit(first(authorizing)))
		}
	})

	It("uses /authorize, /token and /register at the root if there is no metadata",
		Verifies("authorization.discovery.default-paths-used"), In(ownDefaults), func(t *T) {
			client := play(t)
			asked := asksForMetadata(client, 1)

			after := first(asked).Event
			for _, one := range []struct {
				method, path string
				at           scripted.Place
			}{{http.MethodGet, "/authorize", scripted.AtAuthorize}, {http.MethodPost, "/token", scripted.AtToken}} {
				visits := client.At(one.at)
				found := slices.ContainsFunc(visits, at(one.path))
				if !t.Observed(found) && len(visits) > 0 {
					client.FailVisit(first(visits), one.method+" "+one.path, ShowVisit(first(visits)))
				} else if !found {
					client.MissingAfter(after, Mismatch{Wanted: one.method + " " + one.path, Found: "no such request"})
				}
				after = first(slices.DeleteFunc(slices.Clone(visits), func(v *Visit) bool { return v.URL.Path != one.path })).Event
			}
			for one := range ObserveEach(t, client.At(scripted.AtRegister)) {
				client.DemandOf(one, one.URL.Path == "/register", "POST /register", ShowVisit(one))
			}
		})
}
