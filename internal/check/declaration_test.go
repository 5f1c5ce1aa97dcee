package check

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

func body(*T) {}

var broken = map[string]bool{"ping.answered": true, "ping.quick": true, "ping.periodic": true, "ping.asked": true}

func TestCollect(t *testing.T) {
	t.Parallel()
	browsed := &scenario.Scenario{Name: "browsed", Over: protocol.HTTP, Protected: func(*scripted.Guard) {}}
	declared := Collect(func() {
		Describe("Pages", Guarded(), func() {
			Describe("First", func() {
				It("turns", Verifies("a", "b"), NeedsCapability("tools"), NeedsProvocation("slow"), Opens(), body)
			})
			It("ends", Verifies("c"), In(browsed), Option(nil), body)
		})
		It("begins", AtRevisionsWith(protocol.Sessions), AtRevisionsWithout(protocol.Discovery), body)
	})

	var names []string
	for _, one := range declared {
		if one.mistakes != nil || one.Body == nil || one.Place.File != "internal/check/declaration_test.go" || one.Place.Line < 20 {
			t.Errorf("%s: %q at %s", one.Text, one.mistakes, one.Place)
		}
		names = append(names, one.Name())
	}
	if difference := cmp.Diff([]string{"Pages\nFirst\nturns", "Pages\nends", "begins"}, names); difference != "" {
		t.Error(difference)
	}
	first, second, third := declared[0], declared[1], declared[2]
	if !first.Guarded || !first.First || !cmp.Equal(first.Requirements, []string{"a", "b"}) || !cmp.Equal(first.Provocations, []string{"slow"}) {
		t.Errorf("declared %+v", first)
	}
	if !second.Guarded || !second.InTurn || !cmp.Equal(second.Transports, []string{protocol.HTTP}) || second.Scenario != browsed {
		t.Errorf("declared %+v", second)
	}
	if third.Guarded || !third.Has("2025-11-25") || third.Has("2026-07-28") {
		t.Errorf("declared %+v", third)
	}
}

func readCatalogue(t *testing.T) *catalogue.Catalogue {
	t.Helper()
	requirement := func(id, obliges, level string) string {
		return "- id: " + id + "\n  obliges: " + obliges + "\n  level: " + level +
			"\n  says: It does.\n  since: 2025-06-18\n  at: basic/utilities/ping#ping\n  covers: [3cc90f46]\n  observed: wire\n"
	}
	requirements, err := catalogue.Load(fstest.MapFS{"ping/requirements.yaml": {Data: []byte(requirement("ping.answered", "both", "MUST") + requirement("ping.quick", "both", "SHOULD") +
		requirement("ping.unbroken", "both", "MUST") + requirement("ping.periodic", "both", "MAY") + requirement("ping.asked", "client", "MUST"))}})
	if err != nil {
		t.Fatal(err)
	}
	return requirements
}

// Each mistake in a declaration is told, all at once, with its place and what is meant.
// A row of a table stands in the line that calls the helper, not in that of its It.
func TestRow(t *testing.T) {
	rows := Collect(func() {
		row := func(text string) { It(text, Row(), func(*T) {}) }
		row("one")
		row("two")
	})

	if len(rows) != 2 || rows[0].Place.File != "internal/check/declaration_test.go" || rows[1].Place.Line != rows[0].Place.Line+1 {
		t.Errorf("rows at %v", rows)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	requirements := readCatalogue(t)
	known := Verifies("ping.answered")
	one, other := &scenario.Scenario{Name: "plain"}, &scenario.Scenario{Name: "plain"}
	twins := &scenario.Scenario{Name: "plain", Steps: scenario.Steps{scenario.ToConnect().ID("first"), scenario.ToList("tools").ID("first")}}
	spoken := &scenario.Scenario{Name: "plain", Steps: scenario.Steps{scenario.ToConnect().ID("First step")}}
	refusing := &scenario.Scenario{Name: "plain", Steps: scenario.Steps{scenario.ToConnect()}, Refused: []string{"conect"}}
	for want, declare := range map[string]func(){
		``: func() { It("pings", known, body) },
		`check "pings" verifies "ping.answred", which no requirements.yaml has, did you mean "ping.answered"?`:    func() { It("pings", Verifies("ping.answred"), body) },
		`check "pings" verifies "zzz", which no requirements.yaml has`:                                            func() { It("pings", Verifies("zzz"), body) },
		`check "pings" verifies ping.answered twice`:                                                              func() { It("pings", known, known, body) },
		`check "pings" verifies nothing`:                                                                          func() { It("pings", body) },
		`check "pings" verifies ping.answered and ping.quick, which differ in level at ` + protocol.Newest():      func() { It("pings", Verifies("ping.answered", "ping.quick"), body) },
		`check "pings" verifies ping.periodic, which is a MAY at ` + protocol.Newest() + `: nothing can break it`: func() { It("pings", Verifies("ping.periodic"), body) },
		`check "pings" verifies ping.asked, which oblige no server at any of its revisions`:                       func() { It("pings", Verifies("ping.asked"), body) },
		`check "pings" verifies ping.unbroken, which no fault breaks: add one to fixtures/faults`:                 func() { It("pings", Verifies("ping.unbroken"), body) },
		`check "pings" has no body`:                                                                                               func() { It("pings", known) },
		`check "pings" is declared wrong: it has two bodies`:                                                                      func() { It("pings", known, body, body) },
		`check "pings" needs the provocation "slowe", which is unknown, did you mean "slow"?`:                                     func() { It("pings", known, NeedsProvocation("slowe"), body) },
		`check "pings" needs the transport "htp", which is unknown, did you mean "http"?`:                                         func() { It("pings", known, NeedsTransport("htp"), body) },
		`check "pings" looks in the scenario "plain", which is for clients`:                                                       func() { It("pings", known, In(one), body) },
		`check "again" looks in a second scenario that is named "plain"`:                                                          func() { It("pings", known, In(one), body); It("again", known, In(other), body) },
		`check "pings" looks in the scenario "plain", two steps of which have the id "first"`:                                     func() { It("pings", known, In(twins), body) },
		`check "pings" looks in the scenario "plain", with the step id "First step", which is not in words with hyphens`:          func() { It("pings", known, In(spoken), body) },
		`check "pings" looks in the scenario "plain", which refuses the step "conect", which it has not, did you mean "connect"?`: func() { It("pings", known, In(refusing), body) },
		`check "pings" has the name of the one at internal/check/declaration_test.go:`:                                            func() { It("pings", known, body); It("pings", known, body) },
		`Focus was left behind; --filter runs single checks`:                                                                      func() { It("pings", known, ginkgo.Focus, body) },
		`check "pings" is declared wrong: an argument is a string, which is neither an option of package check nor a func(*T)`:    func() { It("pings", known, "ping.answered", body) },
		`check "Ping" is declared wrong: it declares nothing: a func() is missing`:                                                func() { Describe("Ping") },
	} {
		role := protocol.ServerRole
		if strings.Contains(want, "second scenario") || strings.Contains(want, "the scenario \"plain\", ") && !strings.Contains(want, "for clients") {
			role = protocol.ClientRole
		}
		var all []string
		for _, problem := range Problems(role, Collect(declare), requirements, broken) {
			all = append(all, problem.String())
		}
		text := strings.Join(all, "\n")
		if want == "" && text != "" || !strings.Contains(text, want) || text != "" && !strings.HasPrefix(text, "internal/check/declaration_test.go:") {
			t.Errorf("told %q, wanted %q", text, want)
		}
	}
	all := Problems(protocol.ServerRole, Collect(func() {
		It("pings", Verifies("a"), body)
		It("pongs", Verifies("b"), body)
	}), requirements, broken)
	if len(all) != 2 || all[0].Place.Line >= all[1].Place.Line {
		t.Errorf("told %v, wanted both, in order", all)
	}
}

// So are those of rules.
func TestProblemsOfRules(t *testing.T) {
	t.Parallel()
	judge := func(*rules.Conversation, *rules.Reporter) {}
	pings := rules.Rule{Text: "pings", Verifies: rules.Verifies("ping.answered"), Judge: judge}
	for want, all := range map[string][]rules.Rule{
		``: {pings, {Name: "ping.more", Text: "more", Verifies: rules.Verifies("ping.answered"), Judge: judge}},
		`rule "more" has the id ping.answered of the one at internal/check/declaration_test.go:`: {pings, {Text: "more", Verifies: rules.Verifies("ping.answered"), Judge: judge}},
		`rule "more" verifies nothing`: {{Name: "more", Text: "more", Verifies: rules.Verifies(), Judge: judge}},
		`rule "more" verifies "ping.answred", which no requirements.yaml has, did you mean "ping.answered"?`: {{Text: "more", Verifies: rules.Verifies("ping.answred"), Judge: judge}},
		`rule "more" verifies ping.answered and ping.quick, which differ in level at ` + protocol.Newest():   {{Text: "more", Verifies: rules.Verifies("ping.answered", "ping.quick"), Judge: judge}},
	} {
		found := ProblemsOfRules(all, readCatalogue(t), broken)
		if want == "" && len(found) == 0 {
			continue
		}
		if len(found) != 1 || !strings.Contains(found[0].String(), want) || found[0].Place.File != "internal/check/declaration_test.go" {
			t.Errorf("told %v, wanted %q", found, want)
		}
	}
}
