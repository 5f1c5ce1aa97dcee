package selftest

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
)

// real are the declarations of all checks.
func realDeclarations(t *testing.T) declarations {
	t.Helper()
	d, err := declarationsOf(protocol.Roles())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDeclarations is what is made sure of before anything is run. The tree of
// checks is built by one goroutine at a time: its parts are not parallel.
func TestDeclarations(t *testing.T) {
	d := realDeclarations(t)
	const change = "  when: {response-to: ping}\n  do: [{drop: true}]\n"
	for name, one := range map[string]struct{ folder, text, says string }{
		"unknown requirement":  {fixtures.Faults, "  breaks: [ping.answred]\n" + change, `fixtures/faults/f.yaml:1: a: breaks "ping.answred", which no requirements.yaml has, did you mean "ping.answered"?`},
		"unknown, also broken": {fixtures.Faults, "  breaks: [ping.answered]\n  also-breaks: {ping.flod: x}\n" + change, `has beside what it breaks "ping.flod"`},
		"unknown, by chance":   {fixtures.Faults, "  breaks: [ping.answered]\n  may-break: {ping.flod: x}\n" + change, `has beside what it breaks "ping.flod"`},
		"twice":                {fixtures.Faults, "  breaks: [ping.answered, ping.answered]\n" + change, "breaks ping.answered twice"},
		"nothing broken":       {fixtures.Faults, change, "a fault breaks something"},
		"a variation breaks":   {fixtures.Variations, "  breaks: [ping.answered]\n" + change, "a variation breaks nothing"},
		"a MAY":                {fixtures.Faults, "  breaks: [ping.reset]\n" + change, "ping.reset is a MAY at 2025-11-25: nothing can break it"},
		"nothing verifies it":  {fixtures.Faults, "  breaks: [ping.logged]\n" + change, "no check or rule of a server verifies ping.logged at 2025-11-25"},
		"not at the revision":  {fixtures.Faults, "  breaks: [" + since20251125(t, d) + "]\n  revision: \"2025-06-18\"\n" + change, "does not stand at 2025-06-18 over http"},
		"no such revision":     {fixtures.Faults, "  breaks: [ping.answered]\n  revision: \"2024-10-07\"\n" + change, `revision 2024-10-07 cannot be run, did you mean`},
		"not over stdio":       {fixtures.Faults, "  breaks: [transports.http.endpoint]\n  transport: stdio\n" + change, "does not stand at 2025-11-25 over stdio"},
		"no such switch":       {fixtures.Faults, "  breaks: [ping.answered]\n  switch: forget-sessions\n", `no switch "forget-sessions", did you mean "forgets-sessions"?`},
		"of a server":          {fixtures.Faults, "  role: client\n  breaks: [transports.http.endpoint]\n" + change, "breaks transports.http.endpoint, which does not oblige a client"},
		"of a client":          {fixtures.Faults, "  breaks: [lifecycle.initialized.sent]\n" + change, "breaks lifecycle.initialized.sent, which does not oblige a server"},
		"switch of a server":   {fixtures.Faults, "  role: client\n  breaks: [lifecycle.initialized.sent]\n  switch: forgets-sessions\n", `the reference client has no switch "forgets-sessions"`},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{one.folder + "/f.yaml": {Data: []byte("- id: a\n  says: x\n" + one.text)}}
			layers, err := readLayers(files)
			if err == nil {
				err = problems(d.declare(layers))
			}
			if err == nil || !strings.Contains(err.Error(), one.says) {
				t.Errorf("wanted %q\nfound  %v", one.says, err)
			}
		})
	}
	t.Run("all of the fixtures", func(t *testing.T) {
		layers, err := readLayers(fixtures.Wire)
		if err == nil {
			layers = d.declare(layers)
			err = problems(layers)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range layers {
			if one.cell.Transport == "" || !slices.Contains(d.revisions, one.cell.Revision) || !slices.Contains(one.labels, one.ID) {
				t.Errorf("%s: %s is injected into %q, labels %v", one.place(), one.ID, one.cell.Name(), one.labels)
			}
		}
	})
	t.Run("what is accepted exists", func(t *testing.T) {
		known := newJudgement(d.checks, false).verified
		for check, reason := range unprovable {
			there := slices.ContainsFunc(d.sides(), func(here side) bool { return known[here][check] != nil })
			if !there || strings.TrimSpace(reason) == "" {
				t.Errorf("%q is no check, or says no reason: %q", check, reason)
			}
		}
	})
	t.Run("proofs", func(t *testing.T) { proofs(t, d) })
	t.Run("where", func(t *testing.T) { where(t, d) })
}

// since20251125 returns a requirement that a check verifies and that does not
// stand before.
func since20251125(t *testing.T, d declarations) string {
	t.Helper()
	for _, check := range d.checks[side{protocol.ServerRole, "2025-11-25"}] {
		for _, id := range check.Requirements {
			if requirement, _ := d.requirements.Get(id); !requirement.Applies("2025-06-18", "", protocol.ServerRole) {
				return id
			}
		}
	}
	t.Fatal("there is none")
	return ""
}

// where makes sure of the cells that are chosen.
func where(t *testing.T, d declarations) {
	handshake, stateless := "server 2025-11-25 http", "server "+protocol.Newest()+" http"
	const ping, list = "  breaks: [ping.answered]\n  when: {response-to: ping}\n", "  breaks: [tools.list.answered]\n  when: {response-to: tools/list}\n"
	const drop = "  do: [{drop: true}]\n"
	for name, one := range map[string]struct {
		only, text string
		cells      []string
	}{
		"the newest of its era": {"", ping + drop, []string{handshake}},
		"one for each era":      {"", list + drop, []string{stateless, handshake}},
		"as it says":            {"", list + "  revision: \"2025-06-18\"\n  transport: stdio\n" + drop, []string{"server 2025-06-18 stdio"}},
		"stdio alone":           {"", "  breaks: [transports.stdio.stdout]\n  when: {process: start}\n  do: [{write: x}]\n", []string{"server " + protocol.Newest() + " stdio", "server 2025-11-25 stdio"}},
		"a peer over stdio":     {protocol.Stdio, ping + drop, []string{"server 2025-11-25 stdio"}},
		"a client":              {"", "  role: client\n  breaks: [lifecycle.initialized.sent]\n  switch: answers-input-again\n", []string{"client 2025-11-25 http"}},
		"a head, there too":     {protocol.Stdio, "  breaks: [ping.answered]\n  when: {http: {method: GET}}\n  do: [{status: 404}]\n", []string{handshake}},
	} {
		d.only = one.only
		layers, err := readLayers(fstest.MapFS{fixtures.Faults + "/f.yaml": {Data: []byte("- id: a\n  says: x\n" + one.text)}})
		if err == nil {
			layers = d.declare(layers)
			err = problems(layers)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var found []string
		for _, layer := range layers {
			found = append(found, layer.cell.Name())
		}
		if !slices.Equal(found, one.cells) || layers[0].shared != (len(one.cells) > 1) {
			t.Errorf("%s: injected into %q, wanted %q", name, found, one.cells)
		}
	}
}

// proofs makes sure of what counts as a proof.
func proofs(t *testing.T, d declarations) {
	const check = "Ping · answers ping with an empty result"
	effect := func(allowed string) []reports.Effect {
		return []reports.Effect{{Check: check, Verdict: reports.Failed, Allowed: allowed}}
	}
	matches := types.MustParseLabelFilter("ping.answered")
	for name, one := range map[string]struct {
		trial  reports.Trial
		proven bool
	}{
		"by what breaks it":   {reports.Trial{ID: "a", Role: protocol.ServerRole, Revision: "2025-11-25", Breaks: []string{"ping.answered"}, Effects: effect(reports.ByBreaks)}, true},
		"by also-breaks":      {reports.Trial{ID: "a", Role: protocol.ServerRole, Revision: "2025-11-25", Breaks: []string{"ping.stale"}, Effects: effect(reports.ByAlsoBreaks)}, false},
		"by what may not":     {reports.Trial{ID: "a", Role: protocol.ServerRole, Revision: "2025-11-25", Breaks: []string{"ping.stale"}, Effects: effect("")}, false},
		"by what breaks none": {reports.Trial{ID: "a", Role: protocol.ServerRole, Revision: "2025-11-25", Breaks: []string{"ping.answered"}}, false},
	} {
		found := d.proofs(matches, []reports.Trial{one.trial}, false)
		at := slices.IndexFunc(found, func(proof reports.Proof) bool { return proof.Check == check })
		if len(found) < 2 || at < 0 { // the check and a rule, and those of clients
			t.Fatalf("the filter matches %d: %+v", len(found), found)
		}
		proof := found[at]
		if proof.Page != "basic/utilities/ping" || !slices.Equal(proof.Revisions, []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
			t.Errorf("%s: %+v", name, proof)
		}
		if (proof.Problem == "") != one.proven || (len(proof.Faults) == 1) != one.proven || (len(proof.Unbroken) == 0) != one.proven {
			t.Errorf("%s: %+v", name, proof)
		}
		if peer := d.proofs(matches, []reports.Trial{one.trial}, true)[at]; peer.Problem != "" {
			t.Errorf("%s: a peer proves nothing, but %q", name, peer.Problem)
		}
	}
}

func TestAcceptedUntilProven(t *testing.T) {
	t.Parallel()
	reasons := map[string]string{"Ping · answers": "it cannot be seen"}
	open := &reports.Proof{Check: "Ping · answers", Requirements: []string{"ping.answered"}, Revisions: []string{"2025-11-25"}}
	if judgeProof(open, nil, reasons); open.Accepted != "it cannot be seen" || open.Problem != "" {
		t.Errorf("found %+v", open)
	}
	proven := &reports.Proof{Check: "Ping · answers", Faults: []string{"ping-unknown"}, Revisions: []string{"2025-11-25"}}
	if judgeProof(proven, []string{"2025-11-25"}, reasons); !strings.Contains(proven.Problem, "proven by ping-unknown") {
		t.Errorf("found %+v", proven)
	}
}

func TestProofsAreOfEachEra(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		proven []string
		says   string
	}{
		"both":      {[]string{"2025-06-18", "2026-07-28"}, ""},
		"handshake": {[]string{"2025-06-18"}, "makes it fail at 2026-07-28"},
		"stateless": {[]string{"2026-07-28"}, "makes it fail at 2025-11-25"},
		"neither":   {nil, "makes it fail at 2026-07-28 and 2025-11-25"},
	} {
		proof := &reports.Proof{Check: "Tools · lists", Requirements: []string{"tools.list.answered"}, Revisions: []string{"2025-06-18", "2025-11-25", "2026-07-28"}}
		if judgeProof(proof, one.proven, nil); !strings.HasSuffix(proof.Problem, one.says) || (proof.Problem == "") != (one.says == "") {
			t.Errorf("%s: %q", name, proof.Problem)
		}
	}
}

// What follows from something by the catalogue is shown to: some fault breaks both. A
// relation that nothing shows may hide a failure that has nothing to do with another.
func TestWhatFollowsIsShownByAFault(t *testing.T) {
	d := realDeclarations(t)
	layers, err := readLayers(fixtures.Wire)
	if err != nil {
		t.Fatal(err)
	}
	together := func(a, b string) bool {
		return slices.ContainsFunc(layers, func(one layer) bool {
			broken := append(slices.Clone(one.Breaks), alsoBrokenBy(one.Fault)...)
			return slices.Contains(broken, a) && slices.Contains(broken, b)
		})
	}
	relations := 0
	for _, requirement := range d.requirements.All() {
		for _, from := range requirement.Follows {
			relations++
			if !together(requirement.ID, from) {
				t.Errorf("%s:%d: %s follows from %s, but no fault breaks both", requirement.File, requirement.Line, requirement.ID, from)
			}
		}
	}
	if relations == 0 {
		t.Error("nothing follows from anything")
	}
}
