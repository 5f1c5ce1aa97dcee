package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/authserver"
	"github.com/mcpconform/mcpconform/reference/client"
	"github.com/mcpconform/mcpconform/reference/server"
)

// protected is the way to a reference server that asks for the tokens of an authorization
// server. They are good for a time.
func protected(t *testing.T, life time.Duration) (options client.Options, issuer string) {
	t.Helper()
	mux := http.NewServeMux()
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	authorization, err := authserver.New(authserver.Options{
		Issuer: front.URL, Life: life,
		Scopes: []string{server.ReadScope, server.WriteScope, server.DeleteScope},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/", authorization.Handler())
	scoped := server.Scoped(front.URL)
	scoped.Client = front.Client()
	return overHTTP(t, server.Options{Authorization: scoped}), front.URL
}

const callsScoped = `[{"do":"connect"},{"do":"list","of":"tools"},{"do":"call","tool":"test_error_handling","arguments":{}},{"do":"close"}]`

// The client registers, authorizes, and asks for more scopes where one tool takes more, at
// each revision.
func TestAuthorizes(t *testing.T) {
	t.Parallel()
	for _, revision := range client.Revisions() {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			options, _ := protected(t, 0)
			options.Revision = revision

			outcomes := run(t, options, callsScoped)

			outcomes[1].says(t, "test_error_handling")
			outcomes[2].says(t, `"isError":true`)
		})
	}
}

// By a browser, the answer comes to where the client listens.
func TestAuthorizesByABrowser(t *testing.T) {
	t.Parallel()
	options, issuer := protected(t, 0)
	opened := make(chan string, 4)
	options.Authorization.Open = func(ctx context.Context, address string) error {
		opened <- address
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}

	run(t, options, callsScoped)[1].done(t)

	if address := <-opened; !strings.HasPrefix(address, issuer+"/authorize?") {
		t.Errorf("opened %s", address)
	}
}

// A client that is registered with another issuer says so, and sends nothing there.
func TestCredentialsOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	options, _ := protected(t, 0)
	options.Authorization.Credentials = client.Credentials{ID: "me", Secret: "s3cret", Issuer: "https://other.example"}

	_, err := tryRun(t, options, callsScoped)

	if err == nil || !strings.Contains(err.Error(), "https://other.example") {
		t.Errorf("connected, or failed with %v", err)
	}
}
