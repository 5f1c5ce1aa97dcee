package authorization

import (
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func openingBrowsers() {
	for _, one := range []struct {
		scheme   string
		scenario Option
	}{
		{"javascript", In(scriptAsLogin)},
		{"data", In(dataAsLogin)},
		{"file", In(fileAsLogin)},
		{"vbscript", In(otherScriptAsLogin)},
	} {
		It("opens no authorization URL with the scheme "+one.scheme,
			Verifies("security-best-practices.clients.url-schemes", "security-best-practices.clients.validated-urls"),
			one.scenario, func(t *T) {
				opensNothing(t, browsing(t), one.scheme+":", "no browser for a URL with the scheme "+one.scheme)
			})
	}

	It("opens no authorization URL without TLS, except on loopback",
		Verifies("security-best-practices.clients.http-on-loopback"), In(plainLogin), func(t *T) {
			opensNothing(t, browsing(t), "http://"+plainHost, "no browser for a URL without TLS")
		})

	It("passes no authorization URL through a shell", Verifies("security-best-practices.clients.no-shell"), In(shellLogin), func(t *T) {
		client := browsing(t)

		t.Observe()
		for _, event := range client.Authorization.Events {
			if event.Incident == transcript.ShellRan {
				client.FailEvent(event, Mismatch{Wanted: "no command of the URL is run", Found: event.Note})
			}
		}
	})
}

// opensNothing wants that the client lets no browser go to an address that begins so.
func opensNothing(t *T, client *Client, beginning, wanted string) {
	begins := func(argument string) bool {
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(argument)), beginning)
	}
	t.Observe()
	for _, v := range client.At(scripted.AtOpening) {
		if slices.ContainsFunc(v.Arguments(), begins) {
			client.FailVisit(v, wanted, strings.Join(v.Arguments(), " "))
		}
	}
}

// browsing runs a client that opens a browser, which shows in the plain scenario, up to
// where it has read the metadata.
func browsing(t *T) *Client {
	client := play(t)
	if plain := AlsoRun(t, protected); plain == nil || len(plain.At(scripted.AtOpening)) == 0 {
		t.Inconclusive("the client opens no browser: it follows the redirect itself", "let the client open a browser with $BROWSER or xdg-open")
	}
	client.NeedAt(scripted.AtServerMetadata)
	return client
}
