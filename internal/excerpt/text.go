package excerpt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// LastLine is the last line of a text.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// Within cuts a text to so many bytes, between characters.
func Within(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// Characters cuts a text to so many of them.
func Characters(text string, most int) string {
	if end := after(text, most); end < len(text) {
		return text[:end] + ellipsis
	}
	return text
}

// Counted does so, and tells how many bytes there were.
func Counted(text string, most int) string {
	if end := after(text, most); end < len(text) {
		return fmt.Sprintf("%s%s (%d bytes)", text[:end], ellipsis, len(text))
	}
	return text
}

// Middle leaves out the middle of a text of more characters, and tells how many these are.
func Middle(text string, most int) string {
	characters := []rune(text)
	left := len(characters) - most
	if left <= 0 {
		return text
	}
	end := most / 4
	noun := "characters"
	if left == 1 {
		noun = "character"
	}
	return fmt.Sprintf("%s %s %d %s left out %s %s",
		string(characters[:most-end]), ellipsis, left, noun, ellipsis, string(characters[len(characters)-end:]))
}

// after is where so many characters of a text end.
func after(text string, count int) int {
	for at := range text {
		if count == 0 {
			return at
		}
		count--
	}
	return len(text)
}
