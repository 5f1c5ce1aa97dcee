package excerpt

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is how many bytes of a message stand in a line of text.
const longest = 300

// LongestText is how many bytes of a text of a report are kept: what a person reads of it. A
// text that a target can make longer is cut before it is kept, sent or read again.
const LongestText = 4 << 10

// Text shortens a text that is kept for a report.
func Text(text string) string {
	if len(text) <= LongestText {
		return text
	}
	end := LongestText
	for end > LongestText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.Clone(text[:end]), len(text)) // and lets go of the rest
}

// OneLine is a text that is kept for a report, without line breaks.
func OneLine(text string) string { return strings.Join(strings.Fields(Text(text)), " ") }

// Words shortens what is too long to be read in a text of several words, such as a path.
func Words(text string) string {
	var short strings.Builder
	for part := range strings.FieldsFuncSeq(text, unicode.IsSpace) {
		at := strings.Index(text, part)
		short.WriteString(text[:at])
		text = text[at+len(part):]
		if len(part) > longest+len("…") { // one that was cut before stays as it is
			part = fmt.Sprintf("%s… (%d bytes)", Beginning([]byte(part)), len(part))
		}
		short.WriteString(part)
	}
	return short.String() + text
}

// Short shortens bytes for a line of text.
func Short(raw []byte) string {
	if len(raw) <= longest {
		return lineBreaks.Replace(strings.TrimRight(string(raw), "\r\n"))
	}
	return fmt.Sprintf("%s… (%d bytes)", Beginning(raw), len(raw))
}

// End is the last of some bytes, behind an ellipsis where any are left out: what hides secrets
// later finds the rest of one there.
func End(raw []byte, most int) []byte {
	if len(raw) <= most {
		return raw
	}
	return append([]byte(ellipsis), raw[len(raw)-most:]...)
}

// Beginning cuts bytes for a line of text, between characters.
func Beginning(raw []byte) string {
	end := min(longest, len(raw))
	for end < len(raw) && end > longest-utf8.UTFMax && !utf8.RuneStart(raw[end]) {
		end--
	}
	return lineBreaks.Replace(string(raw[:end]))
}

var lineBreaks = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// MostLines is how many lines of the end of a longer text are shown.
const MostLines = 12

// LastLines are the last lines of a text, each as long as a person reads.
func LastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-MostLines):]
	for i, line := range lines {
		lines[i] = Short([]byte(line))
	}
	return strings.Join(lines, "\n")
}

// Stderr is the end of a failed target's standard error, which says what went wrong:
// without the frames of a stack trace, where they are what there is no room for.
func Stderr(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if len(lines) > MostLines {
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimLeft(line, " \t") != line })
	}
	return LastLines(strings.Join(lines, "\n"))
}
