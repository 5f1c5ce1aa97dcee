package browser_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpconform/mcpconform/internal/browser"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	var text, came string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /tell", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text = string(body)
	})
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.Redirect(w, r, "/callback?code=1", http.StatusFound)
	})
	mux.HandleFunc("GET /callback", func(_ http.ResponseWriter, r *http.Request) {
		cookie, _ := r.Cookie("a")
		came = r.URL.RawQuery + " " + cookie.Value
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	if err := browser.Open(t.Context(), server.URL+"/tell", []string{"--new", server.URL + "/login"}); err != nil {
		t.Fatal(err)
	}
	if text != `["--new","`+server.URL+`/login"]` || came != "code=1 b" {
		t.Errorf("told %s, came with %s", text, came)
	}

	for _, address := range []string{"javascript:alert(1)", "http://example.com/", "file:///etc/passwd"} {
		if err := browser.Open(t.Context(), server.URL+"/tell", []string{address}); err == nil {
			t.Errorf("%s is visited", address)
		}
	}
}
