package proxy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hostile is all that a proxy has to bear with, and the tests that show that it does: the
// package, the test, and where that has several, a name that stands in the package.
var hostile = []struct {
	id, says string
	tests    []string
}{
	{"P01", "slow reader", []string{"internal/proxy TestHostilePeers P01 slow reader", "internal/proxy TestHostilePeersOverStdio P01 client", "internal/proxy TestHostilePeersOverStdio P01 server"}},
	{"P02", "slow writer, byte by byte", []string{"internal/proxy TestHostilePeers P02", "internal/proxy TestHostilePeersOverStdio P02"}},
	{"P03", "body of 1 GiB", []string{"internal/proxy TestHostilePeers P03", "internal/proxy TestHostilePeersOverStdio P03"}},
	{"P04", "head of 1 MiB", []string{"internal/proxy TestNoByteIsChanged P04", "internal/proxy TestHostilePeers P04 a head without end"}},
	{"P05", "10,000 heads", []string{"internal/proxy TestNoByteIsChanged P05"}},
	{"P06", "chunk extension, bad chunk size", []string{"internal/proxy TestNoByteIsChanged P06 P15", "internal/proxy TestNoByteIsChanged P06 a bad size"}},
	{"P07", "Content-Length and Transfer-Encoding both", []string{"internal/proxy TestNoByteIsChanged P07 both lengths", "internal/proxy TestNoByteIsChanged P07 two lengths"}},
	{"P08", "HTTP/1.0", []string{"internal/proxy TestNoByteIsChanged P08"}},
	{"P09", "pipelined requests", []string{"internal/proxy TestNoByteIsChanged P09", "internal/proxy TestHostilePeers P09"}},
	{"P10", "early answer before the body is read, then close", []string{"internal/proxy TestHostilePeers P10"}},
	{"P11", "100-continue withheld", []string{"internal/proxy TestHostilePeers P11"}},
	{"P12", "103 before 200", []string{"internal/proxy TestNoByteIsChanged P12"}},
	{"P13", "RST in the middle of a stream", []string{"internal/proxy TestHostilePeers P13", "internal/proxy TestEndsArePassedOn"}},
	{"P14", "half-closed POST", []string{"internal/proxy TestNoByteIsChanged P14"}},
	{"P15", "trailers", []string{"internal/proxy TestNoByteIsChanged P06 P15"}},
	{"P16", "gzip, br, unknown coding", []string{"internal/proxy TestHostilePeers P16 gzip", "internal/proxy TestHostilePeers P16 no gzip", "internal/proxy TestHostilePeers P16 gzip that", "internal/proxy TestNoByteIsChanged P16 an unknown coding"}},
	{"P17", "event of 100 MiB without end", []string{"internal/proxy TestHostilePeers P17"}},
	{"P18", "CR, CRLF split between reads", []string{"internal/proxy TestHostilePeers P18", "internal/proxy TestHostilePeersOverStdio P18", "internal/proxy TestServerHost"}},
	{"P19", "NUL, invalid UTF-8", []string{"internal/proxy TestHostilePeers P19", "internal/proxy TestHostilePeersOverStdio P19", "internal/proxy TestNoByteIsChanged P19"}},
	{"P20", "server that answers before it was asked", []string{"internal/proxy TestHostilePeersOverStdio P20", "internal/proxy TestNoByteIsChanged P20"}},
	{"P21", "output without newline at exit", []string{"internal/proxy TestHostilePeersOverStdio P21"}},
	{"P22", "child that forks and exits", []string{"internal/proxy TestWhoReadsNoMore"}},
	{"P23", "child that ignores TERM", []string{"internal/proxy TestHostilePeersOverStdio P23"}},
	{"P24", "client that is killed", []string{"internal/proxy TestHostilePeersOverStdio P24", "internal/proxy TestHostilePeers P13", "cmd/mcpconform TestProxyThatIsKilled"}},
	{"P25", "stderr flood", []string{"internal/proxy TestHostilePeersOverStdio P25"}},
	{"P26", "disk full", []string{"internal/proxy TestDiskThatFails"}},
	{"P27", "clock jump", []string{"internal/runner TestLiveWhenTheClockJumps", "internal/proxy TestRecordWhenTheClockJumps"}},
	{"P28", "5,000 sessions opened and left", []string{"internal/proxy TestSessionsThatAreLeft", "internal/proxy TestOpenFilesAreBounded"}},
	{"P29", "ids reused by two clients", []string{"internal/proxy TestSessionsAreKeptApart"}},
	{"P30", "header names in odd spelling, duplicates, empty values", []string{"internal/proxy TestNoByteIsChanged P30"}},
	{"P31", "absolute-form target, *, CONNECT", []string{"internal/proxy TestNoByteIsChanged P31 an absolute target", "internal/proxy TestNoByteIsChanged P31 the target *", "internal/proxy TestNoByteIsChanged P31 CONNECT"}},
	{"P32", "redirect to another host", []string{"internal/proxy TestNoByteIsChanged P32"}},
	{"P33", "401 with metadata of another resource", []string{"internal/proxy TestNoByteIsChanged P33"}},
	{"P34", "absolute endpoint event", []string{"internal/proxy TestEndpointOfTheServer"}},
	{"P35", "HTTP/2", []string{"internal/proxy TestNoByteIsChanged P35"}},
	{"P36", "judge panics", []string{"internal/runner TestLiveWithADefect", "internal/proxy TestGaps"}},
	{"P37", "importers: what is cut, deep, too large, or of the wrong type", []string{"internal/importer TestReadWhatIsNone", "internal/importer FuzzRead", "cmd/mcpconform TestCheckTakesAnything"}},
}

// Each of them has a test.
func TestHostilePeersAreAllTested(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`"(P\d\d)( P\d\d)*[ "]`)
	told := map[string]bool{}
	for position, one := range hostile {
		if want := fmt.Sprintf("P%02d", position+1); one.id != want || len(one.tests) == 0 {
			t.Errorf("%s %s stands in the place of %s, with %d tests", one.id, one.says, want, len(one.tests))
		}
		for _, test := range one.tests {
			words := strings.SplitN(test, " ", 3)
			text := testsOf(t, words[0])
			if !strings.Contains(text, "\nfunc "+words[1]+"(") {
				t.Errorf("%s: %s has no %s", one.id, words[0], words[1])
			}
			if len(words) > 2 {
				told[words[2]] = true
				if !strings.Contains(text, `"`+words[2]) {
					t.Errorf("%s: nothing in %s is named %q", one.id, words[0], words[2])
				}
			}
		}
	}
	if len(hostile) != 37 {
		t.Errorf("there are %d", len(hostile))
	}
	for _, name := range named.FindAllString(testsOf(t, "internal/proxy"), -1) {
		known := false
		for begins := range told {
			known = known || strings.HasPrefix(begins, strings.Trim(name, `" `))
		}
		if !known {
			t.Errorf("the list does not name the test of %s", name)
		}
	}
}

// testsOf are the tests of a package, but for this list.
func testsOf(t *testing.T, folder string) (text string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil || len(paths) == 0 {
		t.Fatal(folder, err)
	}
	var all strings.Builder
	for _, path := range paths {
		if filepath.Base(path) == "hostile_list_test.go" {
			continue
		}
		one, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(one)
	}
	return all.String()
}
