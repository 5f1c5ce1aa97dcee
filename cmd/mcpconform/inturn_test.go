package main

import (
	"os"
	"path/filepath"
	"testing"
)

// oncePortInUse is a client that fails where it is to log in for the first time, as one does that
// listens for the answer on a port which another client has. It takes a directory to make, and
// what to run.
const oncePortInUse = `if [ -n "$MCPCONFORM_BROWSER" ] && mkdir "$0" 2>/dev/null; then echo "address already in use" >&2; exit 1; fi; exec "$@"`

// A client that logs in runs beside others, which may be why it fails: that counts only when
// it has failed alone.
func TestALoginThatAnotherClientMayHaveDisturbedIsRepeatedAlone(t *testing.T) {
	t.Parallel()
	for workers, verdict := range map[string]string{"2": "2 passed, 0 failed", "1": "1 passed, 0 failed, 0 warned, 0 skipped, 1 inconclusive"} {
		t.Run(workers, func(t *testing.T) {
			t.Parallel()
			mcpconform(t, "client", "--revision", "2025-11-25", "--transport", "http", "--workers", workers,
				"--filter", "authorization.pkce.s256 && in:protected || ping.answered && in:pings",
				"--", "sh", "-c", oncePortInUse, filepath.Join(t.TempDir(), "once"), os.Args[0], "reference", "client",
			).demand(t, exitConforms, verdict)
		})
	}
}
