//go:build linux

package main

import "testing"

// Runs of more workers than processors, as on a larger machine: with several
// checks that get at the same time what is large, or with one.
const (
	several = "--workers 8 --filter tools&&MUST||ping "
	single  = "--workers 8 --filter tools.list.answered||ping "
)

// large are servers that send more than any real one, and yet nothing that the
// protocol forbids: what can be read is judged, what exceeds a bound of the harness is no failure.
var large = []encounter{
	{"stdio long-string tools/list", several + "--max-message 64MiB", ample, exitConforms, []string{"6 passed, 0 failed"}, nil},
	{"sse long-string tools/list", single + "--max-message 64MiB", ample, exitConforms, []string{"0 failed"}, nil},
	{"http+sse long-string tools/list", single + "--max-message 64MiB", ample, exitConforms, []string{"0 failed"}, nil},
	{"http+sse large tools/list", several, ample, exitConforms, []string{"0 failed"}, nil},
	{"stdio large tools/list", several, ample, exitConforms, []string{"0 failed"}, nil},
	{"stdio large", "--workers 8 --filter lifecycle.initialize.answered||tools.list.answered", ample, exitConforms, []string{"0 failed"}, nil},
	{"http large initialize", "--workers 8 --filter lifecycle&&MUST", ample, exitConforms, []string{"0 failed"}, nil},
	{"stdio million tools/list", several, ample, exitConforms, []string{"0 failed"}, nil},
	{"http million initialize", single, ample, exitConforms, []string{"0 failed"}, nil},
	{"stdio crowd tools/list", single, ample, exitConforms, []string{"0 failed"}, nil},
	{"http objects tools/list", several, ample, exitConforms, []string{"is too much: reading it takes more than"}, nil},
	{"stdio duplicate-mob tools/list", single, ample, exitConforms, []string{"0 failed"}, nil},
	{"stdio many-tools tools/list", single, ample, exitConforms, []string{"0 failed"}, nil},
	{"http many-pages tools/list", single, ample, exitConforms, []string{"0 failed"}, nil},
	{"stdio deep tools/list", several, ample, exitConforms, []string{"nested more than 5000 deep"}, nil},
	{"stdio notifications tools/list", several, ample, exitConforms, []string{"0 failed"}, nil},
	{"stdio flood tools/list", several, ample, exitConforms, []string{"sent more than the harness keeps"}, nil},
	{"stdio gigabyte tools/list", several, ample, exitConforms, []string{"a line is longer than the limit of 16 MiB"}, nil},
}

func TestLargeAnswersAreBearable(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("what is large is there for its memory, of which the race detector takes its own")
	}
	meetAll(t, large)
}
