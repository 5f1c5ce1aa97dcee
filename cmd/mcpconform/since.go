package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// changesSince is what trace --since tells.
type changesSince struct {
	From    string         `json:"from"`
	To      string         `json:"to"`
	Changes []changeOfText `json:"changes"`
}

// changeOfText is what became of one sentence, and what of ours is about it.
type changeOfText struct {
	Kind         string           `json:"kind"` // new, changed, moved or gone
	Page         string           `json:"page"`
	Is           *sentenceOfText  `json:"is,omitempty"`
	Was          *sentenceOfText  `json:"was,omitempty"`
	Alike        float64          `json:"alike,omitempty"` // the share of words in common
	Requirements []aboutASentence `json:"requirements,omitempty"`
	Uncatalogued bool             `json:"uncatalogued,omitempty"` // as it is
	// Items are the sentences of a list whose lead-in has changed, which is then told in their place.
	Items []changeOfItem `json:"items,omitempty"`
}

type changeOfItem struct {
	Is           *sentenceOfText `json:"is"`
	Was          *sentenceOfText `json:"was"`
	Uncatalogued bool            `json:"uncatalogued,omitempty"`
}

type sentenceOfText struct {
	At          string   `json:"at"` // page and heading
	Line        int      `json:"line"`
	Levels      []string `json:"levels"`
	Text        string   `json:"text"`
	Fingerprint string   `json:"fingerprint,omitempty"` // a lead-in has none
}

// aboutASentence is a requirement that states a sentence, and what hangs on it.
type aboutASentence struct {
	ID         string   `json:"id"`
	Checks     []string `json:"checks,omitempty"`
	Faults     []string `json:"faults,omitempty"`
	Variations []string `json:"variations,omitempty"` // about the same members of messages as the faults
	Peers      []string `json:"peers,omitempty"`      // that are known to break it
}

// sinceIn compares two revisions of a checkout.
func sinceIn(specification *catalogue.Specification, from, to string) (*changesSince, error) {
	declared, requirements, err := declaredOf(protocol.Roles(), protocol.Released())
	if err != nil {
		return nil, err
	}
	changes, err := specification.Since(requirements, from, to)
	if err != nil {
		return nil, err
	}
	known, err := readFixtures()
	if err != nil {
		return nil, err
	}
	told := &changesSince{From: from, To: to, Changes: []changeOfText{}}
	for _, change := range changes {
		one := changeOfText{
			Kind: change.Kind, Page: change.Sentence().Page, Is: asText(change.After), Was: asText(change.Before),
			Alike: change.Alike, Uncatalogued: change.Uncatalogued(),
		}
		for _, requirement := range change.Requirements {
			about := known.about(requirement.ID)
			about.Checks = checksOf(requirement.ID, declared)
			one.Requirements = append(one.Requirements, about)
		}
		for _, item := range change.Items {
			one.Items = append(one.Items, changeOfItem{asText(item.After), asText(item.Before), item.Uncatalogued()})
		}
		told.Changes = append(told.Changes, one)
	}
	return told, nil
}

func asText(sentence *catalogue.Sentence) *sentenceOfText {
	if sentence == nil {
		return nil
	}
	at := sentence.Page
	if sentence.Anchor != "" {
		at += "#" + sentence.Anchor
	}
	text := &sentenceOfText{At: at, Line: sentence.Line, Text: sentence.Text, Fingerprint: sentence.Fingerprint}
	for _, level := range sentence.Levels() {
		text.Levels = append(text.Levels, string(level))
	}
	return text
}

// checksOf are the texts of the checks and rules that verify a requirement, each once.
func checksOf(id string, declared map[string]map[string][]plan.Declared) []string {
	var texts []string
	for _, role := range protocol.Roles() {
		for _, revision := range protocol.Released() {
			for _, one := range declared[role][revision] {
				if slices.Contains(one.Requirements, id) && !slices.Contains(texts, one.Text) {
					texts = append(texts, one.Text)
				}
			}
		}
	}
	return texts
}

// uncatalogued tells whether a sentence is new, or has changed, and no requirement states it.
func (c *changesSince) uncatalogued() bool {
	return slices.ContainsFunc(c.Changes, func(one changeOfText) bool { return one.Uncatalogued })
}

// sinceFormats are how changes are written.
var sinceFormats = map[string]func(*changesSince, io.Writer) error{
	"text":     (*changesSince).writeText,
	"markdown": (*changesSince).writeMarkdown,
	"json": func(c *changesSince, w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(c)
	},
}

// conclusion counts the changes by kind.
func (c *changesSince) conclusion() string {
	count := map[string]int{}
	missing := 0
	for _, one := range c.Changes {
		count[one.Kind] += max(1, len(one.Items))
		if one.Uncatalogued && len(one.Items) == 0 {
			missing++
		}
		for _, item := range one.Items {
			if item.Uncatalogued {
				missing++
			}
		}
	}
	return fmt.Sprintf(
		"Normative sentences from %s to %s: %d new, %d changed, %d moved, %d gone; %d not catalogued",
		c.From,
		c.To,
		count[catalogue.New],
		count[catalogue.Changed],
		count[catalogue.Moved],
		count[catalogue.Absent],
		missing,
	)
}

func (c *changesSince) writeText(w io.Writer) error {
	var text strings.Builder
	page := ""
	for _, one := range c.Changes {
		if one.Page != page {
			page = one.Page
			fmt.Fprintf(&text, "%s\n", page)
		}
		fmt.Fprintf(&text, "  %-8s %s\n", one.Kind, one.binds())
		for _, part := range one.parts() {
			fmt.Fprintf(&text, "    %-4s %s\n         %s, line %d\n", part.name, part.Text, part.At, part.Line)
		}
		for _, item := range one.Items {
			fmt.Fprintf(&text, "         - line %d:%s\n", item.Is.Line, strings.TrimPrefix(item.Is.Text, one.Is.Text))
		}
		for _, about := range one.Requirements {
			fmt.Fprintf(&text, "    %s (%s)\n", about.ID, about.hangs())
		}
		if one.Uncatalogued {
			text.WriteString("    not catalogued\n")
		}
	}
	if page != "" {
		text.WriteString("\n")
	}
	_, err := io.WriteString(w, text.String()+c.conclusion()+"\n")
	return err
}

func (c *changesSince) writeMarkdown(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# From %s to %s\n\n%s.\n", c.From, c.To, c.conclusion())
	page := ""
	for _, one := range c.Changes {
		if one.Page != page {
			page = one.Page
			fmt.Fprintf(&text, "\n## %s\n\n", page)
		}
		fmt.Fprintf(&text, "- **%s**, %s\n", one.Kind, one.binds())
		for _, part := range one.parts() {
			fmt.Fprintf(
				&text,
				"  - %s (%s, line %d): %s\n",
				part.name,
				part.At,
				part.Line,
				markdownText.Replace(part.Text),
			)
		}
		for _, item := range one.Items {
			fmt.Fprintf(
				&text,
				"    - line %d:%s\n",
				item.Is.Line,
				markdownText.Replace(strings.TrimPrefix(item.Is.Text, one.Is.Text)),
			)
		}
		for _, about := range one.Requirements {
			fmt.Fprintf(&text, "  - `%s`: %s\n", about.ID, about.hangs())
		}
		if one.Uncatalogued {
			text.WriteString("  - not catalogued\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// markdownText keeps what a sentence has of Markdown as it stands.
var markdownText = strings.NewReplacer(`\`, `\\`, "<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`, "`", "\\`", "|", `\|`)

// binds says how binding a sentence is, and was where that differs.
func (c changeOfText) binds() string {
	is, was := "", ""
	if c.Is != nil {
		is = strings.Join(c.Is.Levels, ", ")
	}
	if c.Was != nil {
		was = strings.Join(c.Was.Levels, ", ")
	}
	text := cmp.Or(is, was)
	if is != "" && was != "" && is != was {
		text = was + " before, now " + is
	}
	if len(c.Items) > 0 {
		return text + fmt.Sprintf(", for items of its list: %d", len(c.Items))
	}
	if c.Alike > 0 && c.Alike < 1 {
		text += fmt.Sprintf(", %.0f %% of the words the same", 100*c.Alike)
	}
	return text
}

// part is one state of a sentence, with its name.
type part struct {
	name string
	*sentenceOfText
}

// parts are the sentence as it was and as it is, as far as they differ.
func (c changeOfText) parts() []part {
	var parts []part
	if c.Was != nil {
		parts = append(parts, part{"was", c.Was})
	}
	if c.Is != nil {
		parts = append(parts, part{"is", c.Is})
	}
	return parts
}

// hangs says what verifies a requirement, and what proves that.
func (a aboutASentence) hangs() string {
	text := fmt.Sprintf("checks: %d, faults: %d", len(a.Checks), len(a.Faults))
	if len(a.Variations) > 0 {
		text += fmt.Sprintf(", variations: %d", len(a.Variations))
	}
	if len(a.Peers) > 0 {
		text += ", peers: " + strings.Join(a.Peers, " ")
	}
	return text
}
