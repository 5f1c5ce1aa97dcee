package catalogue

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// texts returns the sentences of a page; normative ones begin with "! ".
func texts(mdx string) []string {
	var out []string
	for _, sentence := range ParsePage("basic/test", []byte(mdx)).Sentences {
		mark := ""
		if sentence.Normative {
			mark = "! "
		}
		out = append(out, mark+sentence.Text)
	}
	return out
}

func TestParsePage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mdx  string
		want []string
	}{
		"paragraphs are joined and split into sentences": {
			"---\ntitle: MUST not be read\n---\n\nOne\nline. Two, e.g. this one.\nThree? Four!\n",
			[]string{"One line.", "Two, e.g. this one.", "Three?", "Four!"},
		},
		"markup is stripped": {
			"The **MUST** _and_ [the link](/a/2025-06-18#b) with `code.x. Y` &amp; \\_escapes\\_ ![image](x.png).",
			[]string{"! The MUST and the link with code.x. Y & _escapes_ ."},
		},
		"sentences do not end in the middle": {
			"Versions 1.2. 3 are i.e. old, see https://example.com/a. (Not here. Nor here.) Then vs. Now `a`. `b` begins. etc. goes on.",
			[]string{"Versions 1.2.", "3 are i.e. old, see https://example.com/a.", "(Not here. Nor here.)", "Then vs. Now a.", "b begins. etc. goes on."},
		},
		"a lead-in with a keyword belongs to its items": {
			"Servers **MUST**:\n\n- Validate *all*\n  inputs\n- Limit. Really.\n",
			[]string{"! Servers MUST: Validate all inputs", "! Servers MUST: Limit. Really."},
		},
		"the item with its own keyword stands alone": {
			"First. Servers MUST care:\n1. Be good. Clients MAY help. Fine.\n2. Clients SHOULD look.\n",
			[]string{"First.", "! Servers MUST care: Be good.", "! Clients MAY help.", "Fine.", "! Clients SHOULD look."},
		},
		"nested lists": {
			"Peers MUST:\n- Do:\n  - this\n  - that\n- Keep it\n  - always\n  - peers MAY not\n- Peers SHOULD:\n  - rest\n",
			[]string{
				"! Peers MUST: Do: this", "! Peers MUST: Do: that", "! Peers MUST: Keep it", "! Peers MUST: always",
				"! peers MAY not", "! Peers SHOULD: rest",
			},
		},
		"a lead-in stays when every item has a keyword": {
			"Peers MUST care:\n- A MUST x\n- B MAY y\n",
			[]string{"! Peers MUST care:", "! A MUST x", "! B MAY y"},
		},
		"a subject in the lead-in": {
			"Clients:\n- MUST x. MAY y.\n- see z\n- they MUST z\n",
			[]string{"Clients:", "! Clients: MUST x.", "! MAY y.", "see z", "! they MUST z"},
		},
		"a lead-in in front of anything else is a sentence": {
			"Servers MUST answer:\n\n```json\n{\"MUST\": 1}\n```\n\n- x\n",
			[]string{"! Servers MUST answer:", "x"},
		},
		"what comes later in an item stands alone": {
			"Peers MUST:\n\n- one\n\n  Two.\n\n  - three\n",
			[]string{"! Peers MUST: one", "Two.", "three"},
		},
		"tables": {
			"Rows MUST be:\n\n| A | B |\n| - | - |\n| `x\\|y` | MUST. Be |\n| c | [d](e) |\n",
			[]string{"! Rows MUST be:", "! x|y | MUST. Be", "c | d"},
		},
		"components": {
			"<Note>\n\n  You MUST\n  <br/>know.\n</Note>\n\n<Steps><Step title=\"a > b\">- item\n</Step>\n</Steps>\n" +
				"{/* You MUST\n\nhide */}\n<!-- MUST -->\n<Card\n  title=\"x\"\n  href={y}\n/>\n\n        Indented.\n",
			[]string{"! You MUST know.", "item", "Indented."},
		},
		"content of components is not indented": {
			"<Steps>\n    <Step title=\"MUST\">\n        Text MUST:\n\n        - a\n          - b\n    </Step>\n    <Step>\n" +
				"      More.\n    </Step>\n</Steps>\n\n- item\n\n  <Note>\n      deep MUST:\n      - c\n  </Note>\n",
			[]string{"! Text MUST: a", "! Text MUST: b", "More.", "item", "! deep MUST: c"},
		},
		"components on one line, and never closed": {
			"<A>\n    <B>b <br> c</B>\n    <C>\n    d\n    - e\n  </X>\n</A>\n\n<>\nf </>\n",
			[]string{"b c", "d", "e", "f"},
		},
		"tags in code stay": {
			"Send `a:\n<protocol-version>` and ``b`<c>`` or `open <br/> it.\n",
			[]string{"Send a: <protocol-version> and b`<c> or `open it."},
		},
		"quotations": {
			"> Peers MUST:\n> - quote\n",
			[]string{"! Peers MUST: quote"},
		},
		"windows line ends": {
			"Peers MUST:\r\n\r\n- a\r\n- b\r\n",
			[]string{"! Peers MUST: a", "! Peers MUST: b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, texts(test.mdx)); diff != "" {
				t.Errorf("sentences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeywords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"A MUST NOT, B SHALL NOT C":                          {"MUST NOT", "SHALL NOT"},
		"**SHOULD**\n**NOT** do":                             {"SHOULD NOT"},
		"It is NOT RECOMMENDED; RECOMMENDED; OPTIONAL":       {"NOT RECOMMENDED", "RECOMMENDED", "OPTIONAL"},
		"`MUST` and \"MUST\" and URL_REQUIRED and MUST-have": nil,
		"must, Must, REQUIREDS, MAYBE":                       nil,
		"It SHALL (MUST) be REQUIRED. MAY":                   {"SHALL", "MUST", "REQUIRED", "MAY"},
		"MUST, NOT":                                          {"MUST"},
	} {
		var got []string
		for _, sentence := range ParsePage("p", []byte(text)).Sentences {
			got = append(got, sentence.Keywords...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: keywords (-want +got):\n%s", text, diff)
		}
	}
}

func TestSentenceLevels(t *testing.T) {
	t.Parallel()
	page := ParsePage("p", []byte("Peers MUST:\n- rest\n- go, as it MAY be OPTIONAL\n- see that it is NOT RECOMMENDED\n"))
	var got [][]Level
	for _, sentence := range page.Sentences {
		got = append(got, sentence.Levels())
	}
	// An item below a lead-in has the level of that too.
	if diff := cmp.Diff([][]Level{{Must}, {May, Must}, {ShouldNot, Must}}, got); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	page := ParsePage("p", []byte("---\ntitle: x\n---\n\nTop.\n\n## `_meta` & more: the [Link](x)!\n\nA.\n\n<Note>\nB: c\n</Note>\n\n"+
		"## Same\n\n### Same\n\n- one\n  two. Three\n- four\n\n<div id=\"by-hand\" />\n"))
	type at struct {
		Text, Anchor string
		Line         int
	}
	var got []at
	for _, s := range page.Sentences {
		got = append(got, at{s.Text, s.Anchor, s.Line})
		if s.Page != "p" {
			t.Errorf("page of %q is %q", s.Text, s.Page)
		}
	}
	want := []at{
		{"Top.", "", 5}, {"A.", "meta--more-the-link", 9}, {"B: c", "meta--more-the-link", 12},
		{"one two.", "same-1", 19}, {"Three", "same-1", 20}, {"four", "same-1", 21},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	anchors := map[string]bool{"meta--more-the-link": true, "same": true, "same-1": true, "by-hand": true}
	if diff := cmp.Diff(anchors, page.Anchors); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	plain := Fingerprint(`It's "so" - or not...`)
	if set := Fingerprint("  It’s “so” —\n or\tnot… "); set != plain {
		t.Errorf("typography changes the fingerprint: %s, %s", plain, set)
	}
	if other := Fingerprint(`It's "so" - or Not...`); other == plain {
		t.Errorf("a change of case leaves the fingerprint %s", plain)
	}
	// Fixed: requirements files hold these.
	if got := Fingerprint("The receiver MUST respond promptly with an empty response:"); got != "2a241dfe" {
		t.Errorf("fingerprint is %s, expected 2a241dfe", got)
	}
}

func TestRealPages(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MCP_SPEC_DIR")
	if dir == "" {
		t.Skip("MCP_SPEC_DIR is not set: no specification to read")
	}
	spec, err := ReadSpecification(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	emphasis := regexp.MustCompile(`(?:^|[\s(])\*+[^\s,]`) // code such as _meta.io.modelcontextprotocol/* has stars, too
	read := map[string]bool{}
	for _, revision := range protocol.Released() {
		for _, name := range Pages {
			page := spec.Page(revision, name)
			source, err := os.ReadFile(filepath.Join(dir, revision, filepath.FromSlash(name)+".mdx"))
			if errors.Is(err, fs.ErrNotExist) {
				continue // revisions differ in their pages, and that of an extension stands elsewhere
			}
			if err != nil {
				t.Fatal(err)
			}
			read[name] = true
			// Every keyword in bold, outside code, is in some sentence.
			found := strings.Builder{}
			for _, sentence := range page.Sentences {
				found.WriteString(sentence.Text + "\n")
				if emphasis.MatchString(sentence.Text) || strings.Contains(sentence.Text, "](") {
					t.Errorf("%s %s:%d: markup left in %q", revision, name, sentence.Line, sentence.Text)
				}
			}
			for _, keyword := range []string{"MUST", "SHOULD", "MAY"} {
				bold, kept := strings.Count(string(source), "**"+keyword), strings.Count(found.String(), keyword)
				if kept < bold {
					t.Errorf("%s %s: %d of %d %s are in a sentence", revision, name, kept, bold, keyword)
				}
			}
		}
	}
	for _, name := range Pages {
		if _, extends := extensions[name]; !read[name] && !extends {
			t.Errorf("no revision has a page %s", name)
		}
	}
}

func FuzzParsePage(f *testing.F) {
	f.Add("---\ntitle: x\n---\n\n<Note>\nA **MUST**:\n- b `c`\n</Note>\n| a | b |\n|-|-|\n| MUST | d |\n")
	f.Add("# A\n```\nx\n<A b={c} d='e'>- f (g. H) i.e. j?\n{/* k */}<!--")
	f.Fuzz(func(t *testing.T, mdx string) {
		page := ParsePage("p", []byte(mdx))
		lines := strings.Count(mdx, "\n") + 1
		for _, sentence := range page.Sentences {
			if sentence.Line < 1 || sentence.Line > lines {
				t.Errorf("%q stands on line %d of %d", sentence.Text, sentence.Line, lines)
			}
			if sentence.Normative != (len(sentence.Keywords) > 0) || len(sentence.Fingerprint) != 8 {
				t.Errorf("inconsistent: %+v", sentence)
			}
			if utf8.ValidString(mdx) && !utf8.ValidString(sentence.Text) {
				t.Errorf("not UTF-8: %q", sentence.Text)
			}
			if sentence.Anchor != "" && !page.Anchors[sentence.Anchor] {
				t.Errorf("no anchor %q", sentence.Anchor)
			}
		}
		again := ParsePage("p", []byte(mdx))
		if !slices.EqualFunc(page.Sentences, again.Sentences, func(a, b Sentence) bool { return a.Fingerprint == b.Fingerprint }) {
			t.Error("two readings differ")
		}
	})
}
