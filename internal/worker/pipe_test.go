package worker

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// The parent shows the first breach of a cause on a cell, and counts the others: only that one
// comes with what went over the wire.
func TestEachBreachIsShownOnce(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	p := &pipe{writer: json.NewEncoder(&written), told: map[breach]bool{}}
	shown := []transcript.Event{{Sequence: 1, Kind: transcript.Message, Raw: []byte("{}")}}
	old, newer := check.Cell{Revision: "2025-06-18"}, check.Cell{Revision: "2025-11-25"}
	connections := []scope.Connection{
		{Cell: newer, Name: "1", Findings: []rules.Finding{{Rule: "a", Breaks: []rules.Breach{{Cause: "x", Count: 1, Exchange: shown}}}}},
		{Cell: newer, Name: "2", Findings: []rules.Finding{
			{Rule: "a", Breaks: []rules.Breach{{Cause: "x", Count: 2, Exchange: shown}, {Cause: "y", Count: 1, Exchange: shown}}},
			{Rule: "b", Breaks: []rules.Breach{{Cause: "x", Count: 1, Exchange: shown}}},
		}},
		{Cell: old, Name: "3", Findings: []rules.Finding{{Rule: "a", Breaks: []rules.Breach{{Cause: "x", Count: 1, Exchange: shown}}}}},
	}

	for _, one := range connections {
		p.closed(0, one)
	}

	var found []string
	lines := json.NewDecoder(&written)
	for lines.More() {
		var line Note
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		for _, finding := range line.Connection.Findings {
			for _, one := range finding.Breaks {
				if one.Count == 0 {
					t.Errorf("%+v is not counted", one)
				}
				if len(one.Exchange) > 0 {
					found = append(found, line.Connection.Name+finding.Rule+one.Cause)
				}
			}
		}
	}
	if want := []string{"1ax", "2ay", "2bx", "3ax"}; !slices.Equal(found, want) {
		t.Errorf("shown are %v, wanted %v", found, want)
	}
	if len(connections[1].Findings[0].Breaks[0].Exchange) == 0 {
		t.Error("a finding of a connection was changed")
	}
}

// What went over the wire is sent as far as a report shows it, and in any case of what fails or
// has ended the target.
func TestWhatNoReportShowsIsNotSent(t *testing.T) {
	t.Parallel()
	exchanges := [][]transcript.Event{{{Kind: transcript.Message, Raw: []byte("{}")}}}
	for name, one := range map[string]struct {
		state   types.SpecState
		outcome check.Outcome
		sent    []Shown
	}{
		"failed":           {types.SpecStateFailed, check.Outcome{Ending: check.Failed}, []Shown{OfFailures, OfUnproven, OfAll}},
		"inconclusive":     {types.SpecStateSkipped, check.Outcome{Ending: check.Inconclusion}, []Shown{OfUnproven, OfAll}},
		"passed on none":   {types.SpecStatePassed, check.Outcome{}, []Shown{OfUnproven, OfAll}},
		"passed":           {types.SpecStatePassed, check.Outcome{Observed: 1}, []Shown{OfAll}},
		"skipped":          {types.SpecStateSkipped, check.Outcome{Ending: check.Skipped}, nil},
		"ended the target": {types.SpecStateSkipped, check.Outcome{Ending: check.Skipped, Gone: "nothing came"}, []Shown{OfFailures, OfUnproven, OfAll}},
	} {
		for _, shown := range []Shown{OfFailures, OfUnproven, OfAll} {
			found := Checked{State: one.state, Outcome: one.outcome, Exchanges: exchanges, Evidence: true}
			found.Shorten(shown)
			if sent := len(found.Exchanges) > 0; sent != slices.Contains(one.sent, shown) {
				t.Errorf("%s, shown are %d: sent is %t", name, shown, sent)
			}
		}
	}
}

// granting is a host that lets everybody run everything, and notes what it is asked.
type granting struct {
	mu    sync.Mutex
	asked []Claim
}

func (g *granting) Claim(_, _ int, asked Claim) Permission {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, asked)
	return Permission{Run: true}
}
func (g *granting) Checked(int, Checked) {}

// The lanes of a process ask once for a check that one of them is given.
func TestLanesClaimACheckOnce(t *testing.T) {
	t.Parallel()
	environment := &session.Environment{Offer: offer.Offer{Scope: &scope.Scope{
		Cell: check.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.HTTP},
	}}}
	declared := &check.Declaration{Group: []string{"A page", "a part"}, Text: "does it"}
	host := &granting{}
	e := &executor{lanes: slices.Repeat([][]*session.Environment{{environment}}, 8), host: host}
	one := &item{declared: declared}
	var walking sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for lane := range e.lanes {
		walking.Go(func() {
			if e.claim(lane, one).Run {
				mu.Lock()
				granted++
				mu.Unlock()
			}
		})
	}
	walking.Wait()

	if granted != 1 || len(host.asked) != 1 {
		t.Fatalf("%d lanes were given it, and %d asked", granted, len(host.asked))
	}
	if asked := host.asked[0]; asked.Text() != declared.Text || asked.Check() != plan.CheckName(declared.Group, declared.Text) {
		t.Errorf("%q: %q, %q", asked.Key, asked.Check(), asked.Text())
	}
}
