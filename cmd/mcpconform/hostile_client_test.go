//go:build linux

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// listing are checks of clients where any will do.
const listing = "--filter pagination.operations --revision 2025-11-25 --workers 2 "

// hostileClients crash, hang, flood and lie. Each costs at most its deadlines, and
// leaves nothing behind.
var hostileClients = []encounter{
	// They never come.
	{"client http missing", listing, ample, exitUnreachable, []string{"the client never connected", "exited with status 3", "cannot find module 'left-pad'"}, nil},
	{"client stdio missing", listing, ample, exitUnreachable, []string{"the client never connected", "cannot find module 'left-pad'"}, nil},
	{"client http never", listing, shortWait, exitUnreachable, []string{"the client never connected", "did not exit by itself"}, nil},

	// They end too early, or not.
	{"client http none", listing, ample, exitDoesNot, []string{"Nothing could be judged"}, nil},
	{"client stdio none", listing, ample, exitDoesNot, []string{"Nothing could be judged"}, nil},
	{"client http crashes", listing, ample, exitDoesNot, []string{"the client did not reach page 1 of tools/list; it exited with status 7", "panic: out of luck"}, nil},
	{"client stdio crashes", listing, ample, exitDoesNot, []string{"the client did not reach page 1 of tools/list; it exited with status 7", "panic: out of luck"}, nil},
	{"client http killed", listing, ample, exitDoesNot, []string{"was killed by SIGKILL"}, nil},
	{"client http hangs", listing, shortWait, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client stdio hangs", listing, shortWait, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client http deaf", listing, shortWait, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client stdio deaf", listing, shortWait, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client http forks", listing, ample, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client stdio forks", listing, ample, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client http half-body", listing, shortWait, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client http no-http", listing, shortWait, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},

	// They say too much, or something else.
	{"client http talks", listing, shortWait, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client http chats", listing, shortWait, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client http lies", listing, ample, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client http binary", listing, ample, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client stdio binary", listing, ample, exitDoesNot, []string{"the client did not reach page 1 of tools/list"}, nil},
	{"client http flood", listing, shortWait, exitDoesNot, nil, nil},
	{"client stdio flood", listing, shortWait, exitDoesNot, nil, nil},
	{"client http asks", listing, shortWait, exitDoesNot, nil, nil},
	{"client stdio asks", listing, shortWait, exitDoesNot, nil, nil},
	{"client http gigabyte", listing, shortWait, exitDoesNot, nil, nil},
	{"client stdio gigabyte", listing, shortWait, exitDoesNot, nil, nil},
	{"client http large", listing, ample, exitDoesNot, nil, nil},
	{"client stdio large", listing, ample, exitDoesNot, nil, nil},
	{"client http batch", listing, ample, exitDoesNot, nil, nil},
	{"client stdio batch", listing, ample, exitDoesNot, nil, nil},
	{"client http deep", listing, ample, exitDoesNot, nil, nil},
	{"client stdio endless-line", listing, shortWait, exitDoesNot, nil, nil},
	{"client stdio unread", listing, shortWait, exitDoesNot, nil, nil},
	{"client http sessions", listing, shortWait, exitDoesNot, nil, nil},
	{"client http streams", listing, shortWait, exitDoesNot, nil, nil},
	{"client stdio servers", listing, shortWait, exitDoesNot, nil, nil},
}

func TestHostileClientsAreBearable(t *testing.T) {
	t.Parallel()
	meetAll(t, hostileClients)
}

// Every defect of a client in fixtures/hostile is met.
func TestEveryHostileClientIsMet(t *testing.T) {
	t.Parallel()
	listed, err := exec.Command(hostile(t), "clients").Output()
	if err != nil {
		t.Fatal(err)
	}
	for defect := range strings.FieldsSeq(string(listed)) {
		if !slices.ContainsFunc(slices.Concat(hostileClients, lengthyClients), func(one encounter) bool { return strings.HasSuffix(one.target, " "+defect) }) {
			t.Errorf("no test meets %s", defect)
		}
	}
}
