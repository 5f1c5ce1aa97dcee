package explore

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// numbers is a target that is given lists of numbers, and fails on some.
type numbers struct {
	fails func(given []int) (requirement string)
	tries int
	dead  bool
}

func (n *numbers) draw(t *rapid.T) (parts []string, try trial) {
	given := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 6).Draw(t, "given")
	for _, number := range given {
		parts = append(parts, strconv.Itoa(number))
	}
	return parts, func(time.Duration) *Finding {
		n.tries++
		requirement := n.fails(given)
		if requirement == "" {
			return nil
		}
		return &Finding{Requirement: requirement, Text: strings.Join(parts, " "), Mismatch: rules.Mismatch{Found: "it fails"}}
	}
}

func (n *numbers) gone(*Finding) string {
	if n.dead {
		return "connection refused"
	}
	return ""
}

func (n *numbers) patience() (shortWait, whole time.Duration) { return time.Second, time.Second }

// told keeps what comes of draws.
type told struct {
	suspects []Finding
	found    []Finding
}

// seeds are those of the draws that are suspect.
func (l *told) seeds() (all []uint64) {
	for _, finding := range l.suspects {
		all = append(all, finding.Seed)
	}
	return all
}

func (l *told) Suspect(finding Finding) { l.suspects = append(l.suspects, finding) }
func (l *told) Found(finding Finding)   { l.found = append(l.found, finding) }

// run explores a target, and explains what was suspect.
func run(on *numbers, plan Plan) (*told, int) {
	heard := &told{}
	x := &explorer{subject: on, over: func() bool { return false }}
	made := x.explore(plan, heard)
	x.explain(heard.suspects, heard)
	return heard, made
}

// Drawing sets flags of the process: these tests are not parallel.

func TestShrinksToTheShortestInput(t *testing.T) {
	on := &numbers{fails: func(given []int) string {
		if slices.Contains(given, 7) && slices.Contains(given, 3) {
			return "a"
		}
		return ""
	}}
	heard, made := run(on, Plan{Seed: 1, Draws: 200})
	if made != 200 || len(heard.suspects) < 2 {
		t.Fatalf("%d draws made, %d suspect", made, len(heard.suspects))
	}
	if len(heard.found) != 1 || len(heard.found[0].parts) != 2 {
		t.Fatalf("wanted one finding of two parts, found %+v", heard.found)
	}
	if heard.found[0].Seed != heard.suspects[0].Seed {
		t.Errorf("found by seed %d, the first that is suspect is %d", heard.found[0].Seed, heard.suspects[0].Seed)
	}
	again, _ := run(on, Plan{Seed: heard.found[0].Seed, Draws: 1})
	if len(again.found) != 1 || again.found[0].Text != heard.found[0].Text {
		t.Errorf("the same seed finds %+v", again.found)
	}
}

func TestTellsDifferentFindingsApart(t *testing.T) {
	on := &numbers{fails: func(given []int) string {
		switch {
		case slices.Contains(given, 8):
			return "a"
		case slices.Contains(given, 9):
			return "b"
		case slices.Contains(given, 6):
			return "a"
		}
		return ""
	}}
	heard, _ := run(on, Plan{Seed: 5, Draws: 100})
	var texts []string
	for _, finding := range heard.found {
		texts = append(texts, finding.Requirement+finding.Text)
	}
	slices.Sort(texts)
	if strings.Join(texts, ",") != "a6,a8,b9" {
		t.Errorf("found %v", texts)
	}
}

func TestPartsOfAPlanMakeAllOfIt(t *testing.T) {
	on := &numbers{fails: func(given []int) string {
		if len(given) > 3 {
			return "a"
		}
		return ""
	}}
	whole, made := run(on, Plan{Seed: 3, Draws: 40})
	var parts []uint64
	count := 0
	for part := range 3 {
		heard, some := run(on, Plan{Seed: 3, Draws: 40, Part: part, Parts: 3})
		parts = append(parts, heard.seeds()...)
		count += some
	}
	slices.Sort(parts)
	if count != made || !slices.Equal(parts, whole.seeds()) {
		t.Errorf("%d draws and %v, in parts %d and %v", made, whole.seeds(), count, parts)
	}
}

func TestWhatDoesNotFailAgainIsUnsteady(t *testing.T) {
	for _, failing := range [][]int{{1}, {1, 2, 3}, {1, 3}, {1, 6, 7}} { // by the number of the try
		on := &numbers{}
		on.fails = func([]int) string {
			if slices.Contains(failing, on.tries) {
				return "a"
			}
			return ""
		}
		heard, _ := run(on, Plan{Seed: 1, Draws: 5})
		if len(heard.found) != 1 || !heard.found[0].Unsteady || heard.found[0].Text == "" {
			t.Errorf("failing in the tries %v: found %+v", failing, heard.found)
		}
	}
}

func TestATargetThatIsGoneEndsTheExploration(t *testing.T) {
	on := &numbers{dead: true, fails: func(given []int) string {
		if given[0] == 9 {
			return "a"
		}
		return ""
	}}
	heard := &told{}
	made := (&explorer{subject: on, over: func() bool { return false }}).explore(Plan{Seed: 1, Draws: 500}, heard)
	if made == 500 || len(heard.found) != 1 || heard.found[0].Gone == "" {
		t.Errorf("%d draws made, found %+v", made, heard.found)
	}
}

func TestADeadlineEndsTheExploration(t *testing.T) {
	on := &numbers{fails: func([]int) string { return "" }}
	x := &explorer{subject: on, over: func() bool { return on.tries >= 10 }}
	if made := x.explore(Plan{Seed: 1, Draws: 1000}, &told{}); made != 9 {
		t.Errorf("%d draws made", made) // the tenth was cut off
	}
}

// What stands last in a list is drawn as what stands first.
func TestDrawsEvenly(t *testing.T) {
	t.Parallel()
	const n, draws = 23, 23 * 200
	drawn := evenly(n)
	seen := make([]int, n)
	for seed := range draws {
		seen[drawn.Example(seed)]++
	}
	for at, times := range seen {
		if times < 100 || times > 300 {
			t.Errorf("%d was drawn %d times of %d", at, times, draws)
		}
	}
}

// The classes of a draw differ, stand in their order, and each form of one is drawn, however
// many the others have.
func TestDrawsOfClasses(t *testing.T) {
	t.Parallel()
	forms := []string{"a1", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "c1", "c2"}
	drawn := rapid.Custom(func(t *rapid.T) []string {
		return drawOfClasses(t, forms, func(form string) byte { return form[0] }, 1, 2, "forms")
	})
	seen := map[string]int{}
	for seed := range 2000 {
		one := drawn.Example(seed)
		if len(one) == 0 || len(one) > 2 || len(one) == 2 && one[0][0] >= one[1][0] {
			t.Fatalf("drew %v", one)
		}
		for _, form := range one {
			seen[form]++
		}
	}
	for _, form := range forms {
		if seen[form] < 50 {
			t.Errorf("%s was drawn %d times", form, seen[form])
		}
	}
	if seen["a1"] < 4*seen["b1"] {
		t.Errorf("the one form of a class was drawn %d times, one of eight %d times", seen["a1"], seen["b1"])
	}
}
