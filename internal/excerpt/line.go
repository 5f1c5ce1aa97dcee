package excerpt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// longest is how many bytes of a message stand in a line of text.
const longest = 300

// Short shortens bytes for a line of text.
func Short(raw []byte) string {
	if len(raw) <= longest {
		return lineBreaks.Replace(strings.TrimRight(string(raw), "\r\n"))
	}
	return fmt.Sprintf("%s… (%d bytes)", Beginning(raw), len(raw))
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
