package catalogue

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

const good = `# The page basic/utilities/ping.
- id: ping.answered
  obliges: both
  level: MUST
  says: >
    A ping is answered
    with an empty result.
  since: 2024-11-05
  until: 2025-11-25
  at: basic/utilities/ping#behavior-requirements
  covers: [2a241dfe, 77010042, 12345e67, "00000001"]
  observed: wire
- id: ping.interval-configurable
  obliges: client
  level: {2025-06-18: SHOULD, 2025-11-25: MUST}
  says: The interval can be set.
  since: 2025-06-18
  at:
    2025-06-18: basic/utilities/ping
    2026-07-28: basic/patterns/ping#interval
  covers:
    - 1e9cd789
  observed: unseen
  why: It is a setting.
  transports: [http, sse]
  needs: tools.listChanged
  follows: [ping.answered]
`

const stated = `- id: tools.schema
  obliges: server
  level: MUST
  says: Has the members of the schema.
  since: 2025-06-18
  at: schema#tool
  stated: It stands in the schema reference only.
  observed: wire
`

func load(t *testing.T, files map[string]string) (*Catalogue, error) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Load(fsys)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	catalogue, err := load(t, map[string]string{
		"utilities/ping/requirements.yaml": good,
		"requirements.yaml":                stated,
		"wire/requirements.yaml":           "# none yet\n",
		"utilities/ping/other.yaml":        "not: read",
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, requirement := range catalogue.All() {
		ids = append(ids, requirement.ID)
	}
	if diff := cmp.Diff([]string{"ping.answered", "ping.interval-configurable", "tools.schema"}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	answered, _ := catalogue.Get("ping.answered")
	want := Requirement{
		ID: "ping.answered", Says: "A ping is answered with an empty result.",
		Since: "2024-11-05", Until: "2025-11-25", Observed: Wire,
		Covers: []string{"2a241dfe", "77010042", "12345e67", "00000001"},
		File:   "utilities/ping/requirements.yaml", Line: 2,
		obliges: perRevision[string]{{"2024-11-05", Both}},
		levels:  perRevision[Level]{{"2024-11-05", Must}},
		places:  perRevision[place]{{"2024-11-05", place{"basic/utilities/ping", "behavior-requirements"}}},
	}
	if diff := cmp.Diff(want, *answered, cmp.AllowUnexported(Requirement{})); diff != "" {
		t.Errorf("ping.answered (-want +got):\n%s", diff)
	}
	interval, _ := catalogue.Get("ping.interval-configurable")
	if interval.Why != "It is a setting." || interval.Needs != "tools.listChanged" || interval.Visible() || !cmp.Equal(interval.Follows, []string{"ping.answered"}) {
		t.Errorf("ping.interval-configurable is %+v", interval)
	}
	if _, ok := catalogue.Get("ping"); ok {
		t.Error("there is a requirement \"ping\"")
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	loaded, err := load(t, map[string]string{"ping/requirements.yaml": good, "requirements.yaml": stated})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(loaded)
	if err != nil {
		t.Fatal(err)
	}
	read := &Catalogue{}
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	told := cmpopts.IgnoreFields(Requirement{}, "Says", "Covers", "Stated", "Why", "Follows", "File", "Line")
	if diff := cmp.Diff(loaded, read, cmp.AllowUnexported(Catalogue{}, Requirement{}), told); diff != "" {
		t.Errorf("(-loaded +read):\n%s", diff)
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	change := func(pairs ...string) string {
		before := good
		after := strings.NewReplacer(pairs...).Replace(before)
		if after == before {
			t.Fatalf("nothing replaced by %q", pairs)
		}
		return after
	}
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"unknown key": {
			change("  why: It", "  whi: It"),
			[]string{
				`23: observed is unseen: expected the key "why" with the reason that no peer can see it`,
				`24: unknown key "whi", did you mean "why"?`,
			},
		},
		"unknown key, like none": {change("needs:", "capability:"), []string{`26: unknown key "capability"`}},
		"wrong values": {
			change("obliges: both", "obliges: servers", "level: MUST\n", "level: must not\n", "since: 2024-11-05", "since: 2024-11-04", "observed: wire", "observed: [wire]", "[http, sse]", "[htp]"),
			[]string{
				`3: obliges: "servers" is none of server, client, authorization-server, both, did you mean "server"?`,
				`4: level: "must not" is none of MUST, MUST NOT, SHOULD, SHOULD NOT, MAY, did you mean "MUST NOT"?`,
				`8: since: "2024-11-04" is none of ` + strings.Join(protocol.Released(), ", ") + `, did you mean "2024-11-05"?`,
				`12: observed: a sequence is none of wire, process, unseen`,
				`25: transports: "htp" is none of stdio, http, sse, did you mean "http"?`,
			},
		},
		"missing keys": {
			"- id: ping.x\n  says: x\n",
			[]string{
				`1: ping.x: key "obliges" is missing`, `1: ping.x: key "level" is missing`, `1: ping.x: key "since" is missing`,
				`1: ping.x: key "at" is missing`, `1: ping.x: key "observed" is missing`,
				`1: ping.x: key "covers" is missing; where no sentence states the requirement, "stated" says why`,
			},
		},
		"empty values": {
			change("id: ping.answered", "id:", "says: The interval can be set.", "says: ''"),
			[]string{`2: id: expected text`, `16: says: expected text`},
		},
		"ids": {
			change("ping.answered", "Ping.answered", "ping.interval", "png.interval"),
			[]string{
				`2: id "Ping.answered": expected lower-case words with dots and hyphens, as in lifecycle.version.echoed`,
				`2: id "Ping.answered": expected it to begin with the name of its page, "ping."`,
				`13: id "png.interval-configurable": expected it to begin with the name of its page, "ping."`,
				`27: follows "Ping.answered": expected the id of a requirement, as in lifecycle.version.echoed`,
			},
		},
		"taken id": {
			change("ping.interval-configurable", "ping.answered"),
			[]string{`27: follows names the requirement itself`, `13: id "ping.answered" is taken: a/requirements.yaml:2 has it`},
		},
		"key given twice": {change("  obliges: both\n", "  obliges: both\n  obliges: client\n"), []string{`4: key "obliges" is given twice`}},
		"since after until": {
			change("until: 2025-11-25", "until: 2024-11-05", "since: 2024-11-05", "since: 2025-03-26"),
			[]string{`9: until 2024-11-05 is before since 2025-03-26`},
		},
		"says too long": {
			change("The interval can be set.", strings.Repeat("é", 241)),
			[]string{`16: says is 241 characters long: expected at most 240`},
		},
		"covers": {
			change("[2a241dfe, 77010042,", "[2A241DFE, 2a241df, {a: b}, 77010042, 77010042,", "\n    - 1e9cd789", " 1e9cd789"),
			[]string{
				`11: covers "2A241DFE": expected a fingerprint of 8 hex digits in lower case, as in 3f9a1c02`,
				`11: covers "2a241df": expected a fingerprint of 8 hex digits in lower case, as in 3f9a1c02`,
				`11: covers a mapping: expected a fingerprint of 8 hex digits in lower case, as in 3f9a1c02`,
				`11: covers names 77010042 twice`,
				`21: covers: expected a list`,
			},
		},
		"follows": {
			change("follows: [ping.answered]", "follows: [ping.answered, ping.interval-configurable, Ping, ping.answered]"),
			[]string{
				`27: follows names the requirement itself`,
				`27: follows "Ping": expected the id of a requirement, as in lifecycle.version.echoed`,
				`27: follows names ping.answered twice`,
			},
		},
		"follows nothing": {
			change("follows: [ping.answered]", "follows: [ping.answred]"),
			[]string{`13: ping.interval-configurable: follows: there is no requirement "ping.answred", did you mean "ping.answered"?`},
		},
		"follows in a circle": {
			change("  observed: wire\n", "  observed: wire\n  follows: [ping.interval-configurable]\n"),
			[]string{
				`2: ping.answered: follows: ping.interval-configurable follows from it in turn`,
				`14: ping.interval-configurable: follows: ping.answered follows from it in turn`,
			},
		},
		"follows what never stands beside it": {
			change("  until: 2025-11-25\n", "  until: 2025-03-26\n"),
			[]string{`13: ping.interval-configurable: follows: ping.answered never stands beside it, for one role at one revision`},
		},
		"no sentence": {
			change("\n    - 1e9cd789", " []"),
			[]string{`21: covers is empty: expected fingerprints, or the key "stated" with the reason that there is no sentence`},
		},
		"stated and covers": {
			change("  why: It", "  stated: Elsewhere.\n  why: It"),
			[]string{`24: stated is for a requirement without a sentence, but covers names some`},
		},
		"a level that the text does not have": {
			change("  why: It", "  rests-on: an example\n  why: It"),
			[]string{`24: rests-on is for a requirement that no sentence of the specification has: expected the level SHOULD or SHOULD NOT beside it`},
		},
		"levels and places": {
			change("{2025-06-18: SHOULD, 2025-11-25: MUST}", "{2025-11-25: MUST, 2025-11-26: MAY, 2024-11-05: MAY}", "    2025-06-18: basic/utilities/ping", "    2025-06-18: /basic ping"),
			[]string{
				`15: level: unknown revision "2025-11-26", did you mean "2025-11-25"?`,
				`15: level: the requirement does not stand at revision 2024-11-05 (see since, until)`,
				`15: level: expected an entry for 2025-06-18, where the requirement begins`,
				`19: at "/basic ping": expected a page and anchor, as in basic/lifecycle#version-negotiation`,
			},
		},
		"needs":         {change("tools.listChanged", "tools list"), []string{`26: needs "tools list": expected a capability, as in tools.listChanged`}},
		"no list":       {"id: ping.x\n", []string{`1: expected a list of requirements, each beginning with "- id:"`}},
		"no map":        {"- id\n-\n", []string{`1: a requirement: expected a map`, `2: a requirement: expected a map`}},
		"bad syntax":    {"- id: x\n- says: y: z\n", []string{`2: mapping values are not allowed in this context`}},
		"bad structure": {"- id: x\n - y: [\n", []string{`1: did not find expected '-' indicator`}},
		"bad UTF-8":     {"- id: \xff\n", []string{`1: not UTF-8`}},
		"alias":         {"- &a x\n- *a\n", []string{`1: a requirement: expected a map`, `2: a requirement: expected a map`}},
		"aliases as values": {
			change("covers: [2a241dfe, 77010042,", "covers: [&a 2a241dfe, *a,", "why: It is a setting.", "why: *a"),
			[]string{
				`11: covers an alias: expected a fingerprint of 8 hex digits in lower case, as in 3f9a1c02`,
				`24: why: expected text`,
			},
		},
		"tags": {change("since: 2024-11-05", "since: !!str 2024-11-05"), []string{
			`8: since: null or a tagged value is none of ` + strings.Join(protocol.Released(), ", "),
		}},
		"unknown anchor": {"- id: *a\n", []string{`1: unknown anchor 'a' referenced`}},
		"nested keys": {"- [a]: b\n", []string{
			`1: a requirement: expected a plain key`,
			`1: key "id" is missing`, `1: key "obliges" is missing`, `1: key "level" is missing`, `1: key "says" is missing`,
			`1: key "since" is missing`, `1: key "at" is missing`, `1: key "observed" is missing`,
			`1: key "covers" is missing; where no sentence states the requirement, "stated" says why`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, map[string]string{"a/requirements.yaml": test.text})
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			var got []string
			for _, line := range lines {
				rest, ok := strings.CutPrefix(line, "a/requirements.yaml:")
				if !ok {
					t.Errorf("error does not begin with file:line: %s", line)
				}
				got = append(got, rest)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadCollectsOverFiles(t *testing.T) {
	t.Parallel()
	_, err := load(t, map[string]string{
		"a/requirements.yaml": "- id: ping.answered\n",
		"b/requirements.yaml": good,
		"c/requirements.yaml": "x",
	})
	for _, want := range []string{
		`a/requirements.yaml:1: ping.answered: key "says" is missing`,
		`b/requirements.yaml:2: id "ping.answered" is taken: a/requirements.yaml:1 has it`,
		`c/requirements.yaml:1: expected a list`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

func TestLoadBounds(t *testing.T) {
	t.Parallel()
	_, err := load(t, map[string]string{"requirements.yaml": strings.Repeat("#\n", maxFile/2+1)})
	if err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("error is %v", err)
	}
}

// TestLoadTellsTheFirstProblems keeps an error to what a person reads.
func TestLoadTellsTheFirstProblems(t *testing.T) {
	t.Parallel()
	_, err := load(t, map[string]string{"requirements.yaml": strings.Repeat("- a\n", 1000)})
	if err == nil || strings.Count(err.Error(), "\n") != 100 || !strings.HasSuffix(err.Error(), "\nrequirements.yaml:101: and 900 more") {
		t.Errorf("error is %v", err)
	}
}

// TestLoadExpandsNoAliases feeds what would be 9^30 words if it were expanded.
func TestLoadExpandsNoAliases(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("- a0: &a0 [lol]\n")
	for i := range 30 {
		fmt.Fprintf(&text, "- a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
	}
	_, err := load(t, map[string]string{"requirements.yaml": text.String()})
	if err == nil || !strings.HasSuffix(err.Error(), "requirements.yaml:12: and 179 more") {
		t.Errorf("error is %v", err)
	}
}

// told is how every line of an error begins.
var told = regexp.MustCompile(`^a/requirements\.yaml:[0-9]+: \S`)

func FuzzLoad(f *testing.F) {
	f.Add(good)
	f.Add(stated)
	f.Add("- id: x\n  at: {2025-06-18: a#b}\n  covers: [0x1, .inf, ~, !!str a, &a b, *a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		catalogue, err := Load(fstest.MapFS{"a/requirements.yaml": {Data: []byte(text)}})
		if (catalogue == nil) == (err == nil) {
			t.Fatalf("both or none: %v, %v", catalogue, err)
		}
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !told.MatchString(line) {
					t.Errorf("error does not begin with file:line: %q", line)
				}
			}
			return
		}
		for _, r := range catalogue.All() {
			if got, ok := catalogue.Get(r.ID); !ok || got != r {
				t.Errorf("%q is not found", r.ID)
			}
			if !r.StandsAt(r.Since) || r.Level(r.Since) == "" || r.Page(r.Since) == "" || r.Says == "" {
				t.Errorf("incomplete: %+v", r)
			}
			if len(r.Covers) == 0 && r.Stated == "" || r.Observed == Unseen && r.Why == "" {
				t.Errorf("without a reason: %+v", r)
			}
		}
	})
}
