package reports

import (
	"fmt"
	"html"
	"io"
)

// Colours of a badge, dark enough for white letters.
const (
	badgeGood    = "#17663a"
	badgeBad     = "#a51d1d"
	badgePartly  = "#7a5200"
	badgeUnknown = "#596067"
)

// Badge writes the conclusion as a picture (SVG) for a README: the revisions, and whether
// the target conforms to all of them.
func (r *Run) Badge(w io.Writer) error {
	run := presentable(r)
	subject := "MCP"
	if revisions := run.judged(func(cell *Cell) bool { return cell.Spoken }); len(revisions) > 0 {
		subject += " " + run.named(revisions)
	}
	message, colour := run.badge()
	subject, message = clip(oneLine(subject), 60), clip(message, 40)
	const height, pad = 20, 6 // pixels
	left, right := 2*pad+badgeWidth(subject), 2*pad+badgeWidth(message)
	label := html.EscapeString(subject + ": " + message)
	_, err := fmt.Fprintf(
		w,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s">
<title>%[3]s</title>
<clipPath id="r"><rect width="%[1]d" height="%[2]d" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="%[4]d" height="%[2]d" fill="#3a4046"/><rect x="%[4]d" width="%[5]d" height="%[2]d" fill="%[6]s"/></g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="%[7]d" y="14" textLength="%[8]d">%[9]s</text>
<text x="%[10]d" y="14" textLength="%[11]d">%[12]s</text>
</g>
</svg>
`,
		left+right,
		height,
		label,
		left,
		right,
		colour,
		pad,
		left-2*pad,
		html.EscapeString(subject),
		left+pad,
		right-2*pad,
		html.EscapeString(message),
	)
	if err != nil {
		return fmt.Errorf("write the badge: %w", err)
	}
	return nil
}

// badgeWidth is about how many pixels a text takes in the font of a badge.
func badgeWidth(text string) int { return columns.StringWidth(text) * 13 / 2 }

// badge says in a few words what a run found.
func (r *Run) badge() (message, colour string) {
	c := r.Counts()
	partly := len(r.judged(r.partly)) > 0
	switch fails := c.Fails(r.Strict); {
	case fails > 0:
		return fmt.Sprintf("%d failed", fails), badgeBad
	case len(r.Baseline.outdated()) > 0:
		return "baseline outdated", badgeBad
	case !r.Conforms(r.Strict), len(r.judged(r.found)) == 0:
		return "not judged", badgeUnknown
	case partly:
		return fmt.Sprintf("%d passed, in part", c.Passed), badgePartly
	case c.Known > 0:
		return fmt.Sprintf("conforms except for %d", c.Known), badgePartly
	}
	return "conforms", badgeGood
}
