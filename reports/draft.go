package reports

import "fmt"

// Draft is what is to become the next revision. A target that is judged by one is judged as at
// the newest release, save by what the schema of the draft changes.
type Draft struct {
	As           string   `json:"as"`                     // the newest release: its checks and rules are those of the draft
	Schema       string   `json:"schema"`                 // the file of its schema
	Spec         string   `json:"spec"`                   // the folder of its pages
	Changed      []string `json:"changed,omitempty"`      // definitions that differ from those of the release, or are new
	Gone         []string `json:"gone,omitempty"`         // definitions of the release that it has not
	Uncatalogued []string `json:"uncatalogued,omitempty"` // its normative sentences that no requirement states, with their places
}

// String names what is compared; "" for no draft.
func (d *Draft) String() string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("%s after %s, changed: %q, gone: %q", d.Schema, d.As, d.Changed, d.Gone)
}

// mostOfDraft is how many definitions and sentences of a draft are named.
const mostOfDraft = 5

// says are the lines that tell a reader what was judged; none without a draft.
func (d *Draft) says() []string {
	if d == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("judged as %s with the schema of the draft, %s", d.As, d.Schema)}
	if len(d.Changed)+len(d.Gone) == 0 {
		lines[0] += ", which is the same"
	}
	for _, one := range []struct {
		word  string
		names []string
	}{{"changed or new", d.Changed}, {"gone", d.Gone}} {
		if len(one.names) > 0 {
			lines = append(lines, fmt.Sprintf("%s in the schema: %s", one.word, Series(few(one.names))))
		}
	}
	if missing := len(d.Uncatalogued); missing > 0 {
		lines = append(lines, plural(missing, "sentence")+" of the draft without a requirement, so without a check:")
		lines = append(lines, few(d.Uncatalogued)...)
		lines = append(lines, fmt.Sprintf("mcpconform trace --spec %s --since %s lists them", d.Spec, d.As))
	}
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	return lines
}

// few is the beginning of a list, with how many more there are.
func few(all []string) []string {
	if more := len(all) - mostOfDraft; more > 0 {
		return append(append([]string(nil), all[:mostOfDraft]...), fmt.Sprintf("%d more", more))
	}
	return all
}
