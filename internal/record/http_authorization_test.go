package record_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/record"
)

// TestURLsAndChallenges matches by the URL of a request, and changes the Bearer challenge of
// a response and nothing beside it.
func TestURLsAndChallenges(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("WWW-Authenticate", `Negotiate, Bearer error="a", scope="b"`)
		w.Header().Add("WWW-Authenticate", `Basic realm="c"`)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"resource":"` + r.URL.Path + `"}`))
	}))
	t.Cleanup(upstream.Close)
	scope, realm := "%s more", `quoted "r"`
	injection := fault.Injection{Faults: []*fault.Fault{{Changes: []fault.Change{
		{
			When: &fault.Match{HTTP: &fault.Exchange{Path: matching(t, "well-known")}},
			Do:   []fault.Action{{Challenge: map[string]*string{"error": nil, "scope": &scope, "realm": &realm}}},
		},
		{
			When: &fault.Match{HTTP: &fault.Exchange{Query: map[string]fault.Condition{"access_token": *matching(t, "^x$")}}},
			Do:   []fault.Action{{Status: http.StatusTeapot}},
		},
	}}}}
	front, stop, err := record.Front(upstream.URL, record.HTTPOptions{Changes: injection.Changes()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	for address, want := range map[string]struct {
		status int
		fields []string
	}{
		"/mcp":                   {http.StatusUnauthorized, []string{`Negotiate, Bearer error="a", scope="b"`, `Basic realm="c"`}},
		"/mcp?access_token=x":    {http.StatusTeapot, []string{`Negotiate, Bearer error="a", scope="b"`, `Basic realm="c"`}},
		"/mcp?access_token=y":    {http.StatusUnauthorized, []string{`Negotiate, Bearer error="a", scope="b"`, `Basic realm="c"`}},
		"/.well-known/something": {http.StatusUnauthorized, []string{"Negotiate", `Bearer realm="quoted \"r\"", scope="b more"`, `Basic realm="c"`}},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only the head counts
		if fields := response.Header.Values("WWW-Authenticate"); response.StatusCode != want.status || !slices.Equal(fields, want.fields) {
			t.Errorf("%s: %d, %q; want %d, %q", address, response.StatusCode, fields, want.status, want.fields)
		}
	}
}

// matching is a condition on text.
func matching(t *testing.T, expression string) *fault.Condition {
	t.Helper()
	var condition fault.Condition
	if err := yaml.Unmarshal([]byte("matches: "+`"`+expression+`"`), &condition); err != nil {
		t.Fatal(err)
	}
	return &condition
}
