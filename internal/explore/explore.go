// Package explore draws legal inputs for a target, many of them, and looks for one that
// it does not take as it takes the plain form. What it finds it makes as short as it can.
//
// A draw is a conversation of forms (package forms) on connections, or in a scenario, of
// its own, made from a seed: the same seed draws the same. The library rapid draws and
// shrinks; the rules and the answers to the plain forms judge.
package explore

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Plan says which draws to make: the Part-th of Parts of those with the seeds from Seed
// on, Draws of them in all.
type Plan struct {
	Seed        uint64
	Draws       int
	Part, Parts int // Part from 0
}

// Finding is what one draw has shown, after it was made as short as it can be.
type Finding struct {
	Requirement string // that it breaks
	Text        string // what a good target does: "answers ping with the id -1"
	Mismatch    rules.Mismatch
	Judged      transcript.Place   // of what breaks it; zero where nothing does
	Seed        uint64             // of the draw
	Events      []transcript.Event // of the shortest input that shows it
	// Unsteady tells that the draw did not fail again, so that the cause is unknown.
	Unsteady bool
	// Gone says why the target cannot be reached any more; "" when it can.
	Gone string

	lost  bool     // nothing came, by which a target that is gone would be known
	kind  string   // by which findings are the same as long as they shrink; "" for the requirement
	parts []string // what the shortest input is made of
}

// sort is by what findings are the same as long as they shrink.
func (f *Finding) sort() string { return cmp.Or(f.kind, f.Requirement) }

// trial is what comes of one input: nil for what the plain form brings.
type trial func(patience time.Duration) *Finding

// subject is a target as one role explores it.
type subject interface {
	// draw makes an input, in words, by its parts, and what tries it.
	draw(t *rapid.T) (parts []string, try trial)
	// gone says why the target cannot be reached after a finding; "" when it can.
	gone(found *Finding) string
	// patience is how long an answer may take until a finding is confirmed.
	patience() (shortWait, whole time.Duration)
}

const (
	// maxTries bounds the search for a shorter input of one finding, which has tens of tries
	// in most cases; waitTime what it waits in vain, and shrinkTime the whole of it. Where
	// nothing is waited for, a busy machine finds the same.
	maxTries   = 400
	waitTime   = 10 * time.Second
	shrinkTime = 2 * time.Minute
	// maxFindings ends an exploration: who has so many has enough to do.
	maxFindings = 12
	// maxSuspects bounds the draws of one process that are looked at again.
	maxSuspects = 100
)

// Host is told what comes of draws.
type Host interface {
	// Suspect hands over what a draw has shown as it was drawn: Explain says what it is.
	Suspect(finding Finding)
	// Found hands over a finding.
	Found(finding Finding)
}

// Explore makes the draws of a plan on a cell, until the context ends or the target is
// gone, and returns how many it has made. To make them takes little time; what they show
// is found out by Explain.
func Explore(ctx context.Context, environment *session.Environment, plan Plan, host Host) (made int) {
	x, err := begin(ctx, environment)
	if err != nil {
		host.Found(Finding{Unsteady: true, Mismatch: rules.Mismatch{Found: err.Error()}})
		return 0
	}
	return x.explore(plan, host)
}

// Explain makes draws again that were suspect, as short as they can be, and hands over
// what they show.
func Explain(ctx context.Context, environment *session.Environment, suspects []Finding, host Host) {
	x, err := begin(ctx, environment)
	if err != nil {
		host.Found(Finding{Unsteady: true, Mismatch: rules.Mismatch{Found: err.Error()}})
		return
	}
	x.explain(suspects, host)
}

func begin(ctx context.Context, environment *session.Environment) (*explorer, error) {
	var on subject
	var err error
	if environment.Role == protocol.ClientRole {
		on, err = newClient(ctx, environment)
	} else {
		on, err = newServer(ctx, environment)
	}
	if err != nil {
		return nil, err
	}
	return &explorer{subject: on, over: func() bool { return ctx.Err() != nil }}, nil
}

// explorer looks for what is not known yet.
type explorer struct {
	subject
	over  func() bool
	found []Finding
}

func (x *explorer) explore(plan Plan, host Host) (made int) {
	shortWait, _ := x.patience()
	suspects := 0
	for at := plan.Part; at < plan.Draws && suspects < maxSuspects; at += max(1, plan.Parts) {
		seed := plan.Seed + uint64(at) //nolint:gosec // it is not negative
		var found *Finding
		property(seed, func(t *rapid.T) {
			parts, try := x.draw(t)
			if found = try(shortWait); found != nil {
				found.parts, found.Seed = parts, seed
			}
		})
		if x.over() {
			break
		}
		made++
		if found == nil {
			continue
		}
		suspects++
		host.Suspect(*found)
		if found.Gone = x.gone(found); found.Gone != "" {
			host.Found(*found)
			break
		}
	}
	return made
}

func (x *explorer) explain(suspects []Finding, host Host) {
	doubted := false // one draw that does not fail again says as much as many
	for _, suspect := range suspects {
		if x.over() || len(x.found) >= maxFindings {
			return
		}
		finding, known := x.shortest(suspect.Seed)
		if known || x.over() {
			continue
		}
		if finding == nil {
			finding = &suspect
			finding.Unsteady = true
		}
		if finding.Unsteady && doubted {
			continue
		}
		doubted = doubted || finding.Unsteady
		host.Found(*finding)
		if finding.Gone != "" {
			return
		}
		if !finding.Unsteady {
			x.found = append(x.found, *finding)
		}
	}
}

// shortest returns what a draw shows by the shortest input that was found; nil when it
// brings what the plain form brings, or what is known.
func (x *explorer) shortest(seed uint64) (finding *Finding, known bool) {
	var first, last *Finding // of the inputs that were tried
	var again trial
	shortWait, whole := x.patience()
	tried := map[string]*Finding{} // rapid comes back to the same input by other bits
	var waited time.Duration
	property(seed, func(t *rapid.T) {
		parts, try := x.draw(t)
		if x.over() || first != nil && first.Gone != "" {
			return
		}
		again = try
		key := strings.Join(parts, "\n")
		if _, same := tried[key]; !same {
			if len(tried) >= maxTries || waited > waitTime {
				last = nil
				return
			}
			began := time.Now()
			if tried[key] = try(shortWait); tried[key] != nil && tried[key].lost {
				waited += time.Since(began)
			}
		}
		last = tried[key]
		if last == nil {
			return
		}
		last.parts, last.Seed = parts, seed
		if x.known(last) {
			last, known = nil, true
			return
		}
		if first == nil {
			first = last
			first.Gone = x.gone(first)
		}
		t.Fatalf("%s", last.sort()) // what shrinks is the same finding
	})
	switch {
	case first == nil:
		return nil, known
	case first.Gone != "":
		return first, false
	case last != nil:
		parts := last.parts
		if last = again(whole); last != nil {
			last.parts, last.Seed = parts, seed
			return last, false
		}
	}
	first.Unsteady = true
	return first, false
}

// known tells whether a finding is one that was told before: it breaks the same, and its
// input has all the parts of that which showed it.
func (x *explorer) known(finding *Finding) bool {
	return slices.ContainsFunc(x.found, func(before Finding) bool {
		return before.sort() == finding.sort() &&
			!slices.ContainsFunc(before.parts, func(part string) bool { return !slices.Contains(finding.parts, part) })
	})
}

// using is held while rapid is set up and works: its settings are flags of the process.
var using sync.Mutex

// property lets rapid make the one draw of a seed, and shrink it when it fails.
func property(seed uint64, prop func(*rapid.T)) {
	using.Lock()
	defer using.Unlock()
	if !flag.Parsed() {
		testing.Init() // rapid asks whether tests are to be short
		_ = flag.CommandLine.Parse(nil)
	}
	draws := "1"
	if testing.Short() { // in which rapid makes a fifth of them
		draws = "5"
	}
	for name, value := range map[string]string{
		"rapid.checks": draws, "rapid.nofailfile": "true", "rapid.shrinktime": shrinkTime.String(),
		"rapid.seed": strconv.FormatUint(max(1, seed), 10), // 0 would be any
	} {
		if err := flag.Set(name, value); err != nil {
			panic("explore: " + err.Error()) // rapid has another flag now
		}
	}
	rapid.Check(&verdict{}, prop)
}

// verdict is what rapid takes for a test.
type verdict struct{ failed bool }

func (*verdict) Helper()                 {}
func (*verdict) Name() string            { return "mcpconform-explore" }
func (*verdict) Logf(string, ...any)     {}
func (*verdict) Log(...any)              {}
func (*verdict) Skipf(string, ...any)    {}
func (*verdict) Skip(...any)             {}
func (*verdict) SkipNow()                {}
func (v *verdict) Errorf(string, ...any) { v.failed = true }
func (v *verdict) Error(...any)          { v.failed = true }
func (v *verdict) Fatalf(string, ...any) { v.failed = true }
func (v *verdict) Fatal(...any)          { v.failed = true }
func (v *verdict) FailNow()              { v.failed = true }
func (v *verdict) Fail()                 { v.failed = true }
func (v *verdict) Failed() bool          { return v.failed }

// newBreach returns the first breach that is none of those which the plain forms show,
// too.
func newBreach(findings []rules.Finding, plain map[string]bool) (rule string, breach rules.Breach, there bool) {
	for _, finding := range findings {
		for _, breach := range finding.Breaks {
			if !plain[finding.Rule+"\n"+breach.Cause] {
				return finding.Rule, breach, true
			}
		}
	}
	return "", rules.Breach{}, false
}

// noteBreaches keeps the causes that findings name.
func noteBreaches(findings []rules.Finding, in map[string]bool) {
	for _, finding := range findings {
		for _, breach := range finding.Breaks {
			in[finding.Rule+"\n"+breach.Cause] = true
		}
	}
}

var errUnready = errors.New("the plain forms are not answered")

// evenly draws a number below n, each as often as any other: the ranges of the library
// prefer small ones, by which what stands late in a list is hardly ever drawn.
func evenly(n int) *rapid.Generator[int] {
	const bits = 16 // so many more than any list needs that what is left over of n is little
	return rapid.Custom(func(t *rapid.T) int {
		drawn := 0
		for range bits {
			drawn <<= 1
			if rapid.Bool().Draw(t, "bit") {
				drawn |= 1
			}
		}
		return drawn % n
	})
}

// drawOfClasses draws some forms of as many classes, in the order that they stand in: each
// class as often as any other, and so each form of one.
func drawOfClasses[F any, C comparable](t *rapid.T, from []F, class func(F) C, least, most int, label string) []F {
	var classes []C
	members := map[C][]F{}
	for _, one := range from {
		if members[class(one)] == nil {
			classes = append(classes, class(one))
		}
		members[class(one)] = append(members[class(one)], one)
	}
	chosen := rapid.SliceOfNDistinct(evenly(len(classes)), least, min(most, len(classes)), rapid.ID[int]).Draw(t, label)
	slices.Sort(chosen)
	drawn := make([]F, len(chosen))
	for i, at := range chosen {
		of := members[classes[at]]
		drawn[i] = of[evenly(len(of)).Draw(t, label)]
	}
	return drawn
}
