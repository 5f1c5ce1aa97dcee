// Package excerpt shortens for people what a program would show whole. Of JSON the members
// that decide stay, and what stands around them gives way: what is left still reads as JSON,
// with … in the place of what is left out. Of other texts the beginning stays, or the end.
//
// It never hides anything: that what is shown holds no secret, others see to.
package excerpt

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ellipsis stands for values, members and elements that are left out, and behind
// a string that goes on.
const ellipsis = "…"

// gapEnd stands behind the number of elements of a list that are left out, so that
// the place of those that follow is known.
const gapEnd = " more"

// JSON shortens the first JSON value in text until fits holds, and leaves what stands before
// and behind it. What the pointers (RFC 6901) name stays, with all that leads there, and so
// do the members that say what a message is: its method, its id, the names in it. Entries of
// keep that are not pointers are ignored.
//
// The text may be an excerpt itself. JSON reports false, and returns the text as
// it is, where there is no JSON value in it, or none that is whole. Where nothing
// fits, it returns the shortest excerpt that it has.
func JSON(text string, fits func(string) bool, keep ...string) (string, bool) {
	return shorten(text, fits, false, keep)
}

// Bytes is JSON for a limit in bytes that leaves words whole: a text that is
// searched for secrets afterwards must not have the half of one.
func Bytes(text string, most int, keep ...string) (string, bool) {
	return shorten(text, func(short string) bool { return len(short) <= most }, true, keep)
}

// maxPrefix is how far into a text, in bytes, its JSON value may begin: behind
// the fields of an event, or a few words.
const maxPrefix = 200

func shorten(text string, fits func(string) bool, words bool, keep []string) (string, bool) {
	begin := strings.IndexAny(text[:min(len(text), maxPrefix)], "{[")
	if begin < 0 {
		return text, false
	}
	reader := &reader{text: text[begin:], left: maxNodes, keeps: maxKept}
	root := reader.value(paths(keep), 0)
	if reader.failed {
		return text, false
	}
	if fits(text) {
		return text, true
	}
	short := text
	for _, detail := range details {
		writer := &writer{detail: detail, words: words}
		_, _ = writer.WriteString(text[:begin]) // never fails
		writer.message(root)
		_, _ = writer.WriteString(text[begin+reader.at:])
		if short = writer.String(); fits(short) {
			break
		}
	}
	return short, true
}

// detail is how much is shown of what nothing asks to keep.
type detail struct {
	text  int // characters of a string
	items int // members of an object, elements of a list
	depth int // levels below the root
}

// details go from the most to the least.
var details = []detail{
	{400, 64, 8},
	{240, 32, 6},
	{120, 16, 5},
	{80, 10, 4},
	{60, 6, 3},
	{48, 4, 2},
	{32, 2, 1},
	{24, 0, 0},
}

// telling are the members that say what a message or a value in it is. They stay
// where they are no objects or lists.
var telling = []string{
	"method", "id", "name", "uri", "taskId", "code", "message", "type", "mode", "status", "level",
	"progressToken", "requestId", "protocolVersion", "cursor", "nextCursor", "isError", "resultType",
}

// envelope are the members of a message that hold the rest.
var envelope = []string{"params", "result", "error"}

// writer writes a value with one detail.
type writer struct {
	strings.Builder
	detail detail
	words  bool // cut none in two
}

func (w *writer) put(text string) { _, _ = w.WriteString(text) } // never fails

// message writes the value that all others are in.
func (w *writer) message(root *node) {
	for i := range root.children {
		if child := &root.children[i]; child.gap == 0 && slices.Contains(envelope, child.plain()) {
			child.kept = true
		}
	}
	root.kept = true
	w.value(root, w.detail.depth)
}

// value writes a value of which so many levels may be seen.
func (w *writer) value(node *node, levels int) {
	switch {
	case node.kind == scalar:
		w.put(w.cut(node.raw, node.kept))
		return
	case node.empty():
		w.put(string(node.kind.open()) + string(node.kind.close()))
		return
	}
	w.put(string(node.kind.open()))
	if levels > 0 || node.kept {
		w.children(node, levels)
	} else {
		w.put(ellipsis)
	}
	w.put(string(node.kind.close()))
}

// children writes those that are to be seen, and where others are left out.
func (w *writer) children(node *node, levels int) {
	separator, gap := "", 0
	leave := func() {
		if gap == 0 {
			return
		}
		w.put(separator + ellipsis)
		if node.kind == list {
			w.put(" " + strconv.Itoa(gap) + gapEnd)
		}
		separator, gap = ",", 0
	}
	budget := w.detail.items
	for _, child := range node.children {
		shown := child.gap == 0 && (child.kept || child.telling())
		closed := node.kind == list && child.kind != scalar && !child.empty() && levels <= 1 // shows nothing
		if !shown && child.gap == 0 && !closed && budget > 0 {
			shown = true
			budget--
		}
		if !shown {
			gap += max(1, child.gap)
			continue
		}
		leave()
		w.put(separator)
		separator = ","
		if node.kind == object {
			w.put(w.cut(child.name, child.kept) + ":")
		}
		w.value(child.node, levels-1)
	}
	gap += node.more
	leave()
}

// plain is the name of a member without its quotes.
func (c child) plain() string { return strings.Trim(c.name, `"`) }

// telling tells whether a member says what it belongs to.
func (c child) telling() bool { return c.kind == scalar && slices.Contains(telling, c.plain()) }

// keptText is how many characters of what is to be kept are always shown.
const keptText = 120

// cut shortens a scalar, or the name of a member, as it is written.
func (w *writer) cut(raw string, kept bool) string {
	most := w.detail.text
	if kept {
		most = max(most, keptText)
	}
	if utf8.RuneCountInString(raw) <= most+len(`""`) {
		return raw
	}
	if raw[0] != '"' {
		return raw[:min(len(raw), most)] + ellipsis // a number: ASCII, or what only looks like one
	}
	inner := strings.TrimSuffix(strings.TrimSuffix(raw[1:], ellipsis), `"`)
	end, word := 0, 0
	for count := 0; count < most && end < len(inner); count++ {
		size := character(inner[end:])
		if space(inner[end : end+size]) {
			word = end
		}
		end += size
	}
	if w.words && end < len(inner) {
		end = word
	}
	return `"` + inner[:end] + `"` + ellipsis
}

// space tells whether a character of a string parts words.
func space(character string) bool { return slices.Contains([]string{" ", `\n`, `\r`, `\t`}, character) }

// character is the length of the first character of what stands in a string: an
// escape is one.
func character(inner string) int {
	switch {
	case inner[0] == '\\' && len(inner) >= 6 && inner[1] == 'u':
		return 6
	case inner[0] == '\\' && len(inner) >= 2:
		return 2
	}
	_, size := utf8.DecodeRuneInString(inner)
	return size
}
