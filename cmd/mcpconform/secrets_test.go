//go:build linux

package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// secretPart stands in every secret of these tests.
const secretPart = "hunter2"

// hasSecret tells whether a text holds a secret, or a part of one, in some way of
// writing it.
func hasSecret(text string) bool {
	encoded := base64.RawStdEncoding.EncodeToString([]byte(secretPart))
	for before := range 3 { // wherever it stands in what is encoded
		shifted := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secretPart))
		if strings.Contains(text, shifted[before*2:len(encoded)-2]) {
			return true
		}
	}
	return strings.Contains(text, secretPart) || strings.Contains(text, hex.EncodeToString([]byte(secretPart)))
}

// A secret that a target repeats, in first contact or later, is in no report, no transcript
// and no message.
func TestSecretsThatATargetEchoesAreHidden(t *testing.T) {
	t.Parallel()
	wholePrograms(t)
	secret := `tok/` + secretPart + `+ "x"&é`
	stdio := func(defect string) []string {
		return args("--env", "HOSTILE_SECRET="+secret, "--filter", "ping||tools", bad(t, defect))
	}
	http := func(words ...string) []string {
		address := badURL(t, append([]string{"http"}, words...)...)[1]
		address = strings.Replace(address, "http://", "http://user-"+secretPart+":word-"+secretPart+"@", 1)
		return args("--header", "X-Secret: "+url.QueryEscape(secret), "--filter", "ping||tools",
			"--url", address+"?v=1&token="+url.QueryEscape("q"+secretPart))
	}
	for name, arguments := range map[string][]string{
		"stdio": stdio("echoes"), "stdio errors": stdio("echoes-errors"),
		"http": http("echoes"), "http errors": http("echoes-errors"), "http login": http("login-echoes"),
		"http later":  http("echoes-errors", "later"),
		"unreachable": args("--url", "http://user-"+secretPart+"@127.0.0.1:1/?token="+secretPart+"-token"),
		"no URL":      args("--url", "http://user-"+secretPart+":x@127.0.0.1:no/?token="+secretPart+"-token"),
		"no flag":     args("http://user-" + secretPart + "@127.0.0.1:1/?token=" + secretPart + "-token"),
		"odd header":  args("--url", "http://127.0.0.1:1/", "--header", secretPart), "odd variable": args("--env", secretPart),
	} {
		for place, revision := range []string{"2025-11-25", "auto"} {
			if !chosen(place, 2) {
				continue
			}
			t.Run(name+" "+revision, func(t *testing.T) {
				t.Parallel()
				directory := t.TempDir()
				ended := mcpconformIn(t, directory, args("server", "--timeout", ample, "-v", "--revision", revision, "--json", "run.json",
					"--junit", "run.xml", "--html", "run.html", "--markdown", "run.md", "--code-quality", "run.quality.json", "--badge", "run.svg", "--transcripts", "wires", arguments)...)
				for name, text := range filesIn(t, directory, ended) {
					if hasSecret(text) {
						t.Errorf("%s shows a secret\n%.20000s", name, text)
					}
				}
			})
		}
	}
}

// filesIn are the texts of what a run has written.
func filesIn(t *testing.T, directory string, ended outcome) map[string]string {
	t.Helper()
	written := map[string]string{"output": ended.stdout, "standard error": ended.stderr}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		written[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fmt.Sprint(written), "***") && ended.status != exitUsage {
		t.Errorf("nothing was hidden\n%s", ended)
	}
	return written
}

// Values in the environment, the command and the URL of the target that look like secrets are
// hidden as those that flags give, also in the output of init, and however the target exits.
func TestSecretsThatNobodyGaveAreHidden(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const token = "t0k3n-" + secretPart + "-x9"
	const random = secretPart + "a1b2c3d4e5f6g7h8i9"
	echo := func(variable string) []string {
		return []string{"--", "sh", "-c", `HOSTILE_SECRET=$` + variable + ` exec "$0" stdio echoes`, hostile(t)}
	}
	dying := func(text string) []string {
		return []string{"--", "sh", "-c", `head -c 70000 /dev/zero | tr '\0' x >&2; printf %s "` + text + `" >&2; head -c 65523 /dev/zero | tr '\0' y >&2; exit 3`}
	}
	for name, arguments := range map[string][]string{
		"by its name":   args("server", "-v", echo("MY_API_TOKEN")),
		"by its looks":  args("server", "-v", echo("PLAIN")),
		"init":          args("init", echo("MY_API_TOKEN")),
		"init, exit 3":  args("init", "--", "sh", "-c", `echo "with $MY_API_TOKEN" >&2; exit 3`),
		"cut":           args("server", dying("$MY_API_TOKEN")),
		"an argument":   args("server", "-v", "--", hostile(t), "stdio", "none", "always", "handshake", "--token", token),
		"a segment":     args("server", "--url", "http://127.0.0.1:1/mcp/"+random+"/sse"),
		"start":         args("server", "--url", "http://127.0.0.1:1/", "--start", "cat /no/such/file --api-key="+token),
		"start, a tail": args("server", "--url", "http://127.0.0.1:1/", "--start", "cat /no/such/file "+random),
		"client":        args("client", "--filter", "pagination.operations", "--", "sh", "-c", `echo "with $MY_API_TOKEN" >&2; exit 3`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			if arguments[0] != "init" {
				arguments = slices.Insert(arguments, 1, "--json", "run.json", "--html", "run.html", "--transcripts", "wires")
			}
			if arguments[0] == "server" {
				arguments = slices.Insert(arguments, 1, "--filter", "ping||tools")
			}
			running := prepare(t, directory, []string{"MY_API_TOKEN=" + token, "PLAIN=" + random}, slices.Insert(arguments, 1, "--timeout", ample)...)
			running.start()
			for name, text := range filesIn(t, directory, running.wait()) {
				if hasSecret(text) {
					t.Errorf("%s shows a secret\n%.5000s", name, text)
				}
			}
		})
	}
}
