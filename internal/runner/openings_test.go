package runner

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/reference/server"
	"github.com/mcpconform/mcpconform/suites"
)

// oneOpeningOf is how many faults and variations plain tests choose one of.
const oneOpeningOf = 10

// later are faults that first contact meets and cannot see: what they break shows only
// in what follows.
var later = map[string]string{
	"capability-of-its-own-undeclared":        "what is declared counts when it is used",
	"capability-of-sampling-not-looked-at":    "the client's capabilities count when they are used",
	"capability-of-elicitation-not-looked-at": "the client's capabilities count when they are used",
	"tools-changed-undeclared":                "what is declared counts when it is used",
	"prompts-changed-undeclared":              "what is declared counts when it is used",
	"resources-changed-undeclared":            "what is declared counts when it is used",
	"resource-updated-undeclared":             "what is declared counts when it is used",
	"tasks-declared-as-experimental":          "what is declared counts when it is used",
	"tasks-undeclared":                        "what is declared counts when it is used",
	"tasks-undeclared-refused":                "what is declared counts when it is used",
	"tasks-list-for-anybody":                  "what is declared counts when it is used",
	"tasks-support-boolean":                   "the lists are read at the newest revision alone",
	"initialize-accepted-at-2026-07-28":       "the revision that has no handshake warns of it",
}

// laidOver serves the reference with a fault over HTTP, until end; matched tells whether
// it has matched.
func laidOver(t *testing.T, one *fault.Fault) (url string, matched *atomic.Bool, end func()) {
	t.Helper()
	matched = &atomic.Bool{}
	ctx, stop := context.WithCancel(context.Background())
	reference, err := server.New(server.Options{Defect: one.Switch})
	var listener net.Listener
	if err == nil {
		listener, err = reference.Listen(ctx, "127.0.0.1:0")
	}
	if err != nil {
		t.Error(err)
		return "", matched, stop
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	injection := fault.Injection{Faults: []*fault.Fault{one}, Matched: func(*fault.Fault) { matched.Store(true) }}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = record.ServeHTTP(ctx, listener, reference.Serve, injection.Changes()) // that it ends is all that matters
	}()
	return "http://127.0.0.1:" + port + "/mcp", matched, func() {
		stop()
		<-served
	}
}

// A fault that first contact meets, and that breaks what a server must do, leads to a cell
// at a revision at which that stands, though the server speaks a newer one as well.
func TestBrokenOpeningsAreCells(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	faults, err := fault.Load(fixtures.Wire)
	if err != nil {
		t.Fatal(err)
	}
	requirements, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	r := &run{process: scope.NewProcess(""), budget: transcript.NewMemoryBudget(1 << 30), load: func() (*catalogue.Catalogue, error) { return requirements, nil }}
	r.options.Revisions = contact.Revise{Auto: true}
	var handshakes atomic.Int64
	ofServers(faults, func(one *fault.Fault) {
		standing := failingAt(requirements, one)
		if len(standing) == 0 {
			return
		}
		chosen, met := firstContact(t, r, one, 5*time.Second)
		reported := slices.ContainsFunc(chosen, func(revision string) bool { return slices.Contains(standing, revision) })
		switch {
		case !met:
		case !reported && later[one.ID] == "":
			t.Errorf("%s: %q stands at %s, and checked are %s", one.ID, one.Breaks, standing, chosen)
		case reported && later[one.ID] != "":
			t.Errorf("%s is told: take it out of later", one.ID)
		case reported && protocol.Has(standing[len(standing)-1], protocol.Handshake):
			handshakes.Add(1)
		}
	})
	if least := int64(8); slowtest.All() && handshakes.Load() < least {
		t.Errorf("first contact met %d faults of the handshake", handshakes.Load())
	}
}

// What is legal makes no opening a broken one.
func TestLegalOpeningsAreNoCells(t *testing.T) {
	t.Parallel()
	layers, err := fault.Load(fixtures.Wire)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{process: scope.NewProcess(""), budget: transcript.NewMemoryBudget(1 << 30), load: suites.Catalogue}
	r.options.Revisions = contact.Revise{Auto: true}
	var met atomic.Int64
	ofServers(layers, func(one *fault.Fault) {
		if len(one.Breaks) > 0 || one.Passes != nil || one.Revision != "" {
			return
		}
		chosen, matched := firstContact(t, r, one, time.Minute) // everything is answered
		if matched {
			met.Add(1)
		}
		if newest := protocol.Released()[len(protocol.Released())-1:]; !slices.Equal(chosen, newest) {
			t.Errorf("%s: checked are %s", one.ID, chosen)
		}
	})
	if least := int64(20); slowtest.All() && met.Load() < least {
		t.Errorf("first contact met %d variations", met.Load())
	}
}

// ofServers does something with the faults, or variations, of a server over HTTP, with
// some at once: most of the time is waited. Plain tests choose some of them.
func ofServers(all []*fault.Fault, do func(*fault.Fault)) {
	const atOnce = 8
	slots := make(chan struct{}, atOnce)
	var working sync.WaitGroup
	for i, one := range all {
		if one.Role != "" || one.Protected || slices.Equal(one.Transport, fault.Words{protocol.Stdio}) || !slowtest.All() && i%oneOpeningOf != 0 {
			continue
		}
		slots <- struct{}{}
		working.Go(func() {
			defer func() { <-slots }()
			do(one)
		})
	}
	working.Wait()
}

// failingAt are the revisions at which all that a fault breaks stands over HTTP, and
// fails a run.
func failingAt(requirements *catalogue.Catalogue, one *fault.Fault) []string {
	if len(one.Breaks) == 0 {
		return nil
	}
	return slices.DeleteFunc(protocol.Released(), func(revision string) bool {
		return slices.ContainsFunc(one.Breaks, func(id string) bool {
			requirement, known := requirements.Get(id)
			return !known || !requirement.Applies(revision, protocol.HTTP, protocol.ServerRole) || !requirement.Level(revision).Failing()
		})
	})
}

// firstContact makes first contact with the reference that has a fault, and returns what
// would be checked, and whether it has met the fault.
func firstContact(t *testing.T, r *run, one *fault.Fault, reply time.Duration) (chosen []string, met bool) {
	t.Helper()
	url, matched, end := laidOver(t, one)
	defer end()
	to := scripted.Target{Transport: protocol.HTTP, URL: url, Reply: reply, Limits: transport.Limits{Message: 1 << 20}}
	found, err := contact.Server(t.Context(), to, r.contact(to.Transport))
	if met = matched.Load(); err != nil {
		t.Logf("%s: %s", one.ID, err)
		return nil, met
	}
	defer found.Close(context.Background())
	for _, opened := range found.Openings {
		defer opened.Close(context.Background())
		chosen = append(chosen, opened.Revision)
	}
	return chosen, met
}
