package pool

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/worker"
)

// late are outcomes that rest on a wait that was over.
func late(of check.Late) map[string]worker.Checked {
	about := worker.Checked{Text: "answers", Requirements: []string{"ping.answered"}, Evidence: true}
	noReply, failed := about, about
	noReply.Outcome = check.Outcome{
		Ending: check.Inconclusion, Doubtful: true, Awaited: of.For, Reason: "no reply", Late: &of,
		NoReply: &check.NoReply{To: of.For},
	}
	failed.Outcome = check.Outcome{
		Ending: check.Failed, Doubtful: true, Late: &of, Mismatches: []rules.Mismatch{{Wanted: "a", Found: "b"}},
	}
	return map[string]worker.Checked{"no reply": noReply, "failed": failed}
}

// What is late when it is repeated alone breaks something where the target is known to be far
// faster, and the timers of the harness were in time.
func TestLatenessThatShowsNothingIsNoFailure(t *testing.T) {
	t.Parallel()
	const waited = 15 * time.Second
	for name, test := range map[string]struct {
		slowest, behind time.Duration
		breaks          bool
	}{
		"a fast target":                      {10 * time.Millisecond, 0, true},
		"a target that took seconds":         {3 * time.Second, 0, false},
		"a target of which nothing is known": {0, 0, false},
		"a busy machine":                     {10 * time.Millisecond, waited, false},
	} {
		for kind, found := range late(check.Late{For: "ping", Waited: waited, Behind: test.behind}) {
			d, results := unhurried(t, scope.Pace{"ping": test.slowest})
			d.take("a", found, true)
			if broken := results.broken(); (broken == 1) != test.breaks || broken > 1 {
				t.Errorf("%s, %s: %d broken: %+v", name, kind, broken, results.checked)
			}
			if outcome := results.checked[0].Outcome; !test.breaks &&
				(outcome.Ending != check.Inconclusion || outcome.Hint != Relief) {
				t.Errorf("%s, %s: %+v", name, kind, outcome)
			}
		}
	}
}

// What waited for the same as a check that was late again is as little shown as that.
func TestLatenessIsSharedByWhatWaitsForTheSame(t *testing.T) {
	t.Parallel()
	found := late(check.Late{For: "ping", Waited: 5 * time.Second})["no reply"]
	d, results := unhurried(t, scope.Pace{"ping": time.Second})
	for _, key := range []string{"a", "b", "c"} {
		d.take(key, found, false)
	}
	if keys := d.toRepeat(); !slices.Equal(keys, []string{"a"}) {
		t.Fatalf("%q are repeated", keys)
	}
	d.take("a", found, true)
	if keys := d.toRepeat(); len(keys) > 0 {
		t.Errorf("%q are repeated, too", keys)
	}
	if results.broken() > 0 || len(results.checked) != 3 {
		t.Errorf("%+v", results.checked)
	}
}

// A slow target is given so much time alone that silence shows something, and one that has
// done the same far faster no more than a reply may take.
func TestATargetIsGivenTimeAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind    string
		slowest time.Duration
		wanted  time.Duration
	}{
		"fast":                      {"ping", time.Millisecond, 5 * time.Second},
		"slow":                      {"ping", 3 * time.Second, 30 * time.Second},
		"very slow":                 {"ping", time.Minute, time.Minute},
		"of another kind":           {"tools/list", time.Millisecond, 15 * time.Second},
		"of a kind that takes time": {"tasks/result", time.Millisecond, 15 * time.Second},
	} {
		d, _ := unhurried(t, scope.Pace{"ping": test.slowest, "tasks/result": test.slowest})
		d.take("a", late(check.Late{For: test.kind, Waited: time.Second})["failed"], false)
		d.toRepeat()
		alone := worker.Cell{Reply: 5 * time.Second, Start: 20 * time.Second}
		if d.giveTime(&alone, 0); alone.Reply != test.wanted || alone.Start != 20*time.Second {
			t.Errorf("%s: a reply may take %s, and a start %s", name, alone.Reply, alone.Start)
		}
	}
}

// What waits longest is repeated last, and not at all where another check has shown the same
// meanwhile.
func TestTheLongestWaitIsTheLast(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind  string // of what waits longest
		shown bool   // the other one fails again
		once  bool   // that is enough
	}{{"failed", true, true}, {"failed", false, false}, {"no reply", true, false}} {
		d, results := unhurried(t, scope.Pace{"ping": time.Millisecond, "tasks/result": 4 * time.Second})
		slow := late(check.Late{For: "tasks/result", Waited: time.Second})[test.kind]
		quick := late(check.Late{For: "ping", Waited: 5 * time.Second})["failed"]
		quick.Text = "answers ping"
		d.take("slow", slow, false)
		d.take("quick", quick, false)
		if keys := d.toRepeat(); !slices.Equal(keys, []string{"quick"}) {
			t.Fatalf("%q are repeated first", keys)
		}
		if !test.shown {
			quick.Outcome = check.Outcome{}
		}
		d.take("quick", quick, true)
		keys := d.toRepeat()
		if !test.once {
			if !slices.Equal(keys, []string{"slow"}) {
				t.Errorf("%s: %q are repeated then", test.kind, keys)
			}
			continue
		}
		if len(keys) > 0 || len(results.checked) != 2 || results.checked[1].Outcome.Ending != check.Skipped ||
			results.checked[1].Outcome.Reason != `"answers ping" reports the same` {
			t.Errorf("%q are repeated, though shown: %+v", keys, results.checked)
		}
	}
}

// Where what is repeated alone is late time and again, the rest is not repeated.
func TestARunThatIsLateAgainAndAgainEnds(t *testing.T) {
	t.Parallel()
	d, results := unhurried(t, scope.Pace{"ping": time.Second})
	found := late(check.Late{For: "ping", Waited: 5 * time.Second})["failed"]
	for i := range mostUnshown + 1 {
		d.take(strconv.Itoa(i), found, false)
	}
	keys := d.toRepeat()
	for i, key := range keys {
		d.deferred[key] = true
		if granted := d.grant(0, worker.Claim{Key: key}, "worker9-", pass{again: true}); granted != (i < mostUnshown) {
			t.Fatalf("check %d is run: %v", i, granted)
		} else if granted {
			d.take(key, found, true)
		}
	}
	if err := d.confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(results.checked) != len(keys) || results.broken() > 0 {
		t.Errorf("%+v", results.checked)
	}
	if last := results.checked[len(keys)-1].Outcome; !strings.Contains(last.Reason, Overloaded) {
		t.Errorf("%+v", last)
	}
	if !slices.ContainsFunc(results.notices, func(one string) bool { return strings.Contains(one, Overloaded) }) {
		t.Errorf("the notices are %q", results.notices)
	}
}

// Processes that are not there in time have one worker go on, and end the cell when that helps
// nothing. What has failed before stays.
func TestAMachineThatStartsNothingInTimeEndsTheCell(t *testing.T) {
	t.Parallel()
	d, results := unhurried(t, scope.Pace{scope.Starting: 20 * time.Second})
	bad := worker.Checked{
		Text:         "bad",
		Requirements: []string{"ping.answered"},
		Outcome:      check.Outcome{Ending: check.Failed},
	}
	d.take("bad", bad, false)
	slow := late(check.Late{For: scope.Starting, Waited: time.Minute})["no reply"]
	d.take("a", slow, false)
	if !d.grant(0, worker.Claim{Key: "d"}, "worker2-", pass{}) || d.grant(0, worker.Claim{Key: "e"}, "worker1-", pass{}) {
		t.Error("not one worker alone goes on")
	}
	d.resign("worker2-")
	if !d.grant(0, worker.Claim{Key: "e"}, "worker1-", pass{}) {
		t.Error("nobody goes on")
	}
	for i := range d.beside + mostSlowStarts {
		if results.overloaded != "" {
			t.Fatalf("the cell ended after %d", i)
		}
		d.take(strconv.Itoa(i), slow, false)
	}
	if err := d.confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if results.overloaded != "no reply" {
		t.Errorf("the cell ended: %q", results.overloaded)
	}
	if results.broken() != 1 {
		t.Errorf("%+v", results.checked)
	}
}

// A target that is silent on a new connection, too, may only be late there as well.
func TestATargetThatIsLateEverywhereIsNotGone(t *testing.T) {
	t.Parallel()
	for slowest, breaks := range map[time.Duration]int{time.Millisecond: 1, 20 * time.Second: 0} {
		d, results := unhurried(t, scope.Pace{scope.Starting: slowest})
		found := late(check.Late{For: "ping", Waited: time.Second})["no reply"]
		found.Outcome.Gone, found.Outcome.GoneLate = "initialize was not answered", &check.Late{
			For:    scope.Starting,
			Waited: time.Minute,
		}
		d.take("a", found, false)
		if results.broken() != breaks || !results.gone {
			t.Errorf("slowest %s: %d broken, gone is %t", slowest, results.broken(), results.gone)
		}
	}
}

// What the one worker that a slow machine can carry is past already, and what a worker left that
// died with a scenario, is run by one that comes after all others: nothing is lost.
func TestWhatNobodyCameToIsRunAtTheEnd(t *testing.T) {
	t.Parallel()
	d, _ := unhurried(t, nil)
	scene := worker.Claim{Key: "a", Scenario: "one"}
	if !d.grant(0, scene, "worker1-", pass{}) {
		t.Fatal("a check is not granted")
	}
	scene.Key = "b"
	for name, test := range map[string]struct {
		worker  string
		pass    pass
		granted bool
	}{
		"by one that has not the scenario": {"worker2-", pass{}, false},
		"at the end":                       {"worker3-", pass{rest: true}, true},
		"in a scenario of its own":         {"worker1-", pass{}, true},
	} {
		delete(d.claimed, scene.Key)
		if granted := d.grant(0, scene, test.worker, test.pass); granted != test.granted {
			t.Errorf("%s: granted %t", name, granted)
		}
		if test.granted && d.grant(0, scene, test.worker, test.pass) {
			t.Errorf("%s: granted twice", name)
		}
	}
}
