//go:build linux

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpconform/mcpconform/internal/browser"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/transport/transporttest"
	"github.com/mcpconform/mcpconform/reports"
)

// The reference passes at each revision, alone and behind a URL, with a login command and
// without.
func TestAuthorizationServer(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	told := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // by the browser
	t.Cleanup(told.Close)
	issuer, err := startAuthServer(t.Context(), anyAddress, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(issuer.stop)
	callback := "http://" + transporttest.Unused(t) + "/callback"
	issuer.Add("given", "secret-of-given", callback)
	for name, one := range map[string]struct {
		url   bool
		flags []string
	}{
		"embedded":             {},
		"by its URL":           {true, nil},
		"with a login command": {false, []string{"--login", self + " browser {url}"}},
		"a given client": {false, []string{
			"--url", issuer.Issuer(), "--client-id", "given", "--client-secret", "secret-of-given",
			"--redirect-uri", callback, "--login", self + " browser {url}",
		}},
		"with a URL at the end": {false, []string{"--login", self + " browser"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			arguments := args("authorization-server", "--timeout", ample, "--revision", "all", "-v",
				"--json", "run.json", "--junit", "run.xml", "--transcripts", "wires", one.flags)
			if one.url {
				address, documents := transporttest.Unused(t), transporttest.Unused(t)
				server := begin(t, directory, nil, "reference", "authorization-server", "--listen", address,
					"--"+runner.DocumentsFlag, documents)
				t.Cleanup(func() { _ = server.command.Process.Kill() })
				arguments = append(arguments, "--url", "http://"+address,
					"--documents", runner.ReferenceDocuments, "--documents-listen", documents)
				awaitListener(t, address)
			}

			ended := begin(t, directory, []string{browser.Variable + "=" + told.URL}, arguments...).wait()

			ended.demand(t, exitConforms, "Conforms to 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28")
			for _, cell := range readRun(t, filepath.Join(directory, "run.json")).Cells {
				for _, result := range cell.Results {
					unreachable := name == "a given client" && strings.HasPrefix(result.ID, "authorization.document.")
					if result.Verdict != reports.Passed && result.ID != "authorization.server.https" && !unreachable {
						t.Errorf("%s: %s is %s: %s", cell.Name(), result.ID, result.Verdict, result.Reason)
					}
				}
			}
			showsNoSecret(t, directory)
		})
	}
}

// showsNoSecret fails the test if a file has a code, a token or a client secret of the
// reference: all begin with a word and a hyphen, and are random.
func showsNoSecret(t *testing.T, directory string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "wires", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	seen := false
	for _, file := range files {
		text, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		seen = seen || strings.Contains(string(text), `"from":"`+string(protocol.AuthorizationServer)+`"`)
		for _, secret := range []string{"code=code-", `code-verifier=`, `\"access_token\":\"ey`, "refresh-", "secret-"} {
			if at := strings.Index(string(text), secret); at >= 0 {
				t.Errorf("%s shows %q", file, string(text)[at:min(len(text), at+60)])
			}
		}
	}
	if !seen {
		t.Error("nothing is told of an authorization server")
	}
}

// A bad one fails, with the requirement; a silent one is told in a line.
func TestAuthorizationServersThatAreNone(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	address := transporttest.Unused(t)
	mcpconform(t, "authorization-server", "--url", "http://"+address).
		demand(t, exitUnreachable, "cannot connect to http://"+address+": ")

	directory := t.TempDir()
	server := begin(t, directory, nil, "reference", "authorization-server", "--listen", address, "--defect", "redeems-codes-twice")
	t.Cleanup(func() { _ = server.command.Process.Kill() })
	awaitListener(t, address)
	mcpconform(t, "authorization-server", "--url", "http://"+address, "--timeout", ample).
		demand(t, exitDoesNot, "FAILED", "mcpconform authorization-server --revision 2026-07-28 --filter authorization.oauth.code-once")
	mcpconform(t, "authorization-server", "--url", "http://"+address, "--timeout", ample, "--client-id", "nobody", "--client-secret", "a-secret-of-nobody",
		"--login", "false", "-v").
		demand(t, exitConforms, "as far as could be tested", "the login command exited with status 1", "a valid authorization request is refused")
}

func awaitListener(t *testing.T, address string) {
	t.Helper()
	for !reached(t.Context(), address) {
		if t.Context().Err() != nil {
			t.Fatal("nothing listens at " + address)
		}
	}
}

// What a config says of a server is not for its authorization server: no token is sent there.
func TestConfigsOfAuthorizationServers(t *testing.T) {
	t.Parallel()
	var came atomic.Value
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			came.Store(r.Header.Get("Authorization"))
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(issuer.Close)
	directory := t.TempDir()
	writeFile(t, directory, "mcpconform.yaml", `
command: [my-server]
transport: stdio
header: {Authorization: Bearer token-of-the-server}
env: {KEY: value}
authorization-server: {url: "`+issuer.URL+`", client-id: me, client-secret: secret-of-mine, login: ["false"]}
`)

	mcpconformIn(t, directory, "authorization-server", "--timeout", ample).
		demand(t, exitDoesNot, issuer.URL, "authorization.server.metadata", "--client-id me --client-secret '***'")

	if sent := came.Load(); sent != nil {
		t.Errorf("%s was sent", sent)
	}
}
