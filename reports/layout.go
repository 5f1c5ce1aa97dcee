package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// columns measures text in terminal columns. It does not follow the locale: a
// report looks the same everywhere.
var columns = &runewidth.Condition{StrictEmojiNeutral: true}

// style is a way to show a text, where colours were asked for.
type style string

const (
	plainStyle style = ""
	bold       style = "1"
	dim        style = "2"
	red        style = "31"
	green      style = "32"
	yellow     style = "33"
	cyan       style = "36"
	boldRed    style = "1;31"
	boldYellow style = "1;33"
	boldCyan   style = "1;36"
	boldGreen  style = "1;32"
)

const (
	// leastBlock is how many columns a text has at least, wherever it begins.
	leastBlock = 8
	// maxRuneBytes is how many bytes a rune has at most.
	maxRuneBytes = utf8.UTFMax
)

// sheet is text being laid out. Everything written to it is visible text
// already.
type sheet struct {
	strings.Builder
	width int
	color bool
}

func (s *sheet) paint(how style, text string) string {
	if !s.color || how == plainStyle || text == "" {
		return text
	}
	return "\x1b[" + string(how) + "m" + text + "\x1b[0m"
}

// line writes one line; what stands at its end is no white space.
func (s *sheet) line(parts ...string) {
	_, _ = s.WriteString(strings.TrimRight(strings.Join(parts, ""), " ") + "\n") // never fails
}

// gap writes an empty line, unless one stands there or nothing does.
func (s *sheet) gap() {
	if text := s.String(); text != "" && !strings.HasSuffix(text, "\n\n") {
		s.line()
	}
}

// block writes text behind a lead, wrapped to the width, at most limit lines;
// lines after the first are indented by the width of the lead.
func (s *sheet) block(lead string, leadStyle style, text string, how style, limit int) {
	indent := columns.StringWidth(lead)
	for i, line := range fit(text, s.width-indent, limit) {
		if i == 0 {
			s.line(s.paint(leadStyle, lead), s.paint(how, line))
			continue
		}
		s.line(strings.Repeat(" ", indent), s.paint(how, line))
	}
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns.StringWidth(text)))
}

// clip cuts a text to the width, with an ellipsis at its end.
func clip(text string, width int) string {
	if width < 1 {
		return ""
	}
	return columns.Truncate(text, width, "…")
}

// fit wraps text to the width and takes the middle out where it needs more than
// limit lines, saying how much.
func fit(text string, width, limit int) []string {
	width = max(width, leastBlock)
	all := utf8.RuneCountInString(text)
	// A text of megabytes is cut before it is measured: what is cut would be left
	// out below.
	if budget := maxRuneBytes * width * limit; len(text) > 2*budget {
		text = strings.ToValidUTF8(text[:budget], "") + strings.ToValidUTF8(text[len(text)-budget:], "")
	}
	lines := wrap(text, width)
	if len(lines) <= limit {
		return lines
	}
	tail := (limit - 1) / 3
	head := limit - 1 - tail
	out := slices.Clone(lines[:head])
	out = append(out, "")
	out = append(out, lines[len(lines)-tail:]...)
	left := all - utf8.RuneCountInString(strings.Join(out, ""))
	out[head] = fmt.Sprintf("… %s left out …", plural(left, "character"))
	return out
}

// wrap breaks text into lines of at most width columns: in their second half, at
// a space where there is one, else where JSON and addresses have a joint, else
// anywhere. Line feeds stay.
func wrap(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", "    "), "\n") {
		line = strings.TrimRight(line, " ")
		for {
			at := breakAt(line, width)
			if at == len(line) {
				break
			}
			lines = append(lines, strings.TrimRight(line[:at], " "))
			line = strings.TrimLeft(line[at:], " ")
		}
		lines = append(lines, line)
	}
	for len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// joints are the characters after which a line may be broken, the best first.
var joints = []string{" ", ",;&", "}])/?:"}

// breakAt returns the byte offset, at least one rune in, at which a line is
// broken: its length if it fits into the width.
func breakAt(line string, width int) int {
	last := make([]int, len(joints)) // the last good place of each kind
	used := 0
	for i, r := range line {
		w := columns.RuneWidth(r)
		if used+w > width {
			if r == ' ' {
				return i
			}
			if at := cmp.Or(last...); at > 0 {
				return at
			}
			return max(i, utf8.RuneLen(r))
		}
		used += w
		for kind, characters := range joints {
			if used > width/2 && strings.ContainsRune(characters, r) {
				last[kind] = i + 1
			}
		}
	}
	return len(line)
}
