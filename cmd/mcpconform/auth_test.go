//go:build linux

package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/transport/transporttest"
	"github.com/mcpconform/mcpconform/reports"
)

// aboutAuthorization chooses the checks of authorization.
const aboutAuthorization = "authorization || security-best-practices"

// Each rung shows more of the protected reference, and no token shows.
func TestRungsOfAuthorization(t *testing.T) {
	t.Parallel()
	wholePrograms(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		started bool // by --start, and told by its environment
		flags   []string
		more    string          // of the command that starts it
		verdict reports.Verdict // of so many checks, and the rest have another
		count   int
		rest    reports.Verdict
	}{
		"the URL alone": {true, nil, " --auth http://127.0.0.1:1", reports.Passed, 16, reports.Inconclusive},
		"a test server": {true, []string{"--auth-server"}, "", reports.Inconclusive, 7, reports.Passed},
		"a test server, seeded": {
			true, []string{"--auth-server=127.0.0.1:0", "--auth-seed", "seed"}, "",
			reports.Inconclusive, 7, reports.Passed, // no tool that needs more scopes is configured
		},
		"the embedded one": {false, []string{"--auth-server"}, "", reports.Inconclusive, 0, reports.Passed},
		"no protection":    {false, nil, "", reports.Inconclusive, 0, reports.Skipped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			arguments := args("server", "--timeout", ample, "-v", "--revision", "2026-07-28", "--filter", aboutAuthorization,
				"--json", "run.json", "--junit", "run.xml", "--transcripts", "wires", one.flags)
			if one.started {
				address := transporttest.Unused(t)
				arguments = append(arguments, "--url", "http://"+address+"/mcp",
					"--start", self+" reference server --listen "+address+one.more)
			} else if len(one.flags) == 0 {
				arguments = append(arguments, "--transport", "http")
			}

			ended := mcpconformIn(t, directory, arguments...)

			shown, all := map[reports.Verdict]int{}, 0
			for _, cell := range readRun(t, filepath.Join(directory, "run.json")).Cells {
				for _, result := range cell.Results {
					if result.Kind == "check" {
						shown[result.Verdict]++
						all++
					}
				}
			}
			if all == 0 || shown[one.verdict] != one.count || shown[one.rest] != all-one.count {
				t.Errorf("of %d checks: %v, want %d %s and the others %s\n%s", all, shown, one.count, one.verdict, one.rest, ended)
			}
			if ended.status != exitConforms {
				t.Errorf("%s", ended)
			}
			if name == "no protection" {
				return // nothing was hidden
			}
			for file, text := range filesIn(t, directory, ended) {
				if strings.Contains(text, "eyJhbGciOi") || strings.Contains(text, "PRIVATE KEY") {
					t.Errorf("%s shows a token\n%.4000s", file, text)
				}
			}
		})
	}
}

func TestAuthorizationUsage(t *testing.T) {
	t.Parallel()
	wholePrograms(t)
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for name, one := range map[string]struct {
		arguments []string
		status    int
		says      string
	}{
		"a start without a URL":   {args("server", "--start", "x"), exitUsage, "--start needs --url"},
		"a start that is there":   {args("server", "--url", "http://"+taken.Addr().String(), "--start", "x"), exitUsage, "listens at"},
		"a start that ends":       {args("server", "--url", "http://"+transporttest.Unused(t), "--start", "false"), exitUnreachable, "exited before it listened"},
		"a start of nothing":      {args("server", "--url", "http://"+transporttest.Unused(t), "--start", "/no/such"), exitUnreachable, "cannot be started"},
		"a test server for stdio": {args("server", "--auth-server", "--", "x"), exitUsage, "--auth-server is for servers over HTTP"},
		"a test server for all":   {args("server", "--auth-server=0.0.0.0:0"), exitUsage, "is reached from other machines"},
		"no resource":             {args("auth-server"), exitUsage, "needs --resource"},
		"no address":              {args("reference", "authorization-server"), exitUsage, "needs --listen"},
		"an unknown defect":       {args("reference", "authorization-server", "--listen", "127.0.0.1:0", "--defect", "x"), exitUsage, "has no defect"},
		"authorization on stdio":  {args("reference", "server", "--stdio", "--auth", "http://a"), exitUsage, "--auth is for a server over HTTP"},
		"an issuer that is none":  {args("reference", "server", "--listen", "127.0.0.1:0", "--auth", "a"), exitUsage, "is not an absolute URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := mcpconform(t, one.arguments...)
			if ended.status != one.status || !strings.Contains(ended.stderr, one.says) {
				t.Errorf("want status %d and %q\n%s", one.status, one.says, ended)
			}
		})
	}
}

// What a server is told is what the official suite and the SDKs read, and where its tokens
// come from.
func TestEnvironmentOfAServer(t *testing.T) {
	t.Parallel()
	authority, err := startAuthServer(t.Context(), anyAddress, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(authority.stop)
	environment := authority.environment("http://127.0.0.1:4711/mcp")
	for _, variable := range []string{
		"MCP_CONFORMANCE_AUTH_SERVER_URL=" + authority.Issuer(), "PORT=4711", "MCPCONFORM_AUTH_ISSUER=" + authority.Issuer(),
		"MCPCONFORM_AUTH_RESOURCE=http://127.0.0.1:4711/mcp",
	} {
		if !slices.Contains(environment, variable) {
			t.Errorf("%q lacks %s", environment, variable)
		}
	}
	text := &strings.Builder{}
	if err := authority.tell(text, "http://127.0.0.1:4711/mcp"); err != nil || !strings.Contains(text.String(), "# expired: a token that expired") {
		t.Errorf("%v\n%s", err, text)
	}
}
