//go:build unix

package login_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/login"
)

const redirectURI = "https://client.example/callback" // where nothing can listen

// A command prints where it was led, with the URL where it stands or behind the arguments.
func TestPrintedRedirects(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"placed":  {"sh", "-c", `echo noise; echo "` + redirectURI + `?code=1&from={url}"; sleep 100`},
		"at last": {"sh", "-c", `echo "` + redirectURI + `?code=1&from=$0"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came, err := login.Run(t.Context(), command, "https://issuer.example/authorize", redirectURI, nil)
			if err != nil || came.Query().Get("code") != "1" || came.Query().Get("from") != "https://issuer.example/authorize" {
				t.Errorf("came to %v, %v", came, err)
			}
		})
	}
}

// A browser comes to the callback; what came before a login is of another.
func TestRedirectsToTheCallback(t *testing.T) {
	t.Parallel()
	callback, err := login.Listen("127.0.0.1:0", "/callback")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(callback.Close)
	visit := func(path string) int {
		response, err := http.Get("http://" + callback.Address + path)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = response.Body.Close() // only the status counts
		return response.StatusCode
	}
	if status := visit("/favicon.ico"); status != http.StatusNotFound {
		t.Errorf("another path: %d", status)
	}
	visit("/callback?code=old")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := login.Run(ctx, []string{"sh", "-c", "sleep 100"}, "", redirectURI, callback); err == nil {
		t.Error("an old redirect was taken")
	}
	visit("/callback?code=old")
	const waits = "http://127.0.0.1:1/callback"
	came, err := login.Run(t.Context(), []string{"sh", "-c", `echo "` + waits + `?code=new"`}, "", waits, callback)
	if err != nil || came.Query().Get("code") != "new" {
		t.Errorf("came to %v, %v", came, err)
	}
}

func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		command []string
		says    string
		late    bool
	}{
		"no program": {[]string{"/nonexistent/login"}, "cannot be started: ", false},
		"a status":   {[]string{"sh", "-c", "echo wrong password >&2; exit 3"}, "exited with status 3: wrong password", false},
		"no end":     {[]string{"sh", "-c", "sleep 100"}, "led nobody to " + redirectURI + " in time", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if one.late {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
				defer cancel()
			}
			came, err := login.Run(ctx, one.command, "https://issuer.example", redirectURI, nil)
			if came != nil || err == nil || !strings.HasPrefix(err.Error(), one.says) {
				t.Errorf("came to %v, %v", came, err)
			}
			if _, late := errors.AsType[*login.TimeoutError](err); late != one.late {
				t.Errorf("late: %v", late)
			}
		})
	}
	if _, err := login.Run(t.Context(), []string{"true"}, "", "http://127.0.0.1:99999/callback", nil); err == nil {
		t.Error("listens at no port")
	}
}
