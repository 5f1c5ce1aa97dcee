package reports

import (
	"slices"
	"strings"
)

// valueIndex finds values wherever they stand in a text, all of them in one pass.
type valueIndex struct {
	begins  windows // the values by their first bytes
	ends    windows // those of which a part is searched for, by the first of their last bytes
	longest int     // value, in bytes
}

// window is how many bytes are looked at to tell whether a value may stand somewhere.
const window = shortest

// windows are values by such bytes in them.
type windows struct {
	may    [1 << windowBits / 64]uint64 // which bytes there are, by what is made of them; others are passed over at once
	values map[[window]byte][]string
}

// windowBits is the size of what is made of a window, in bits.
const windowBits = 14

func (w *windows) add(value string, at int) {
	if w.values == nil {
		w.values = map[[window]byte][]string{}
	}
	key := [window]byte([]byte(value[at:]))
	if !slices.Contains(w.values[key], value) {
		w.values[key] = append(w.values[key], value)
		hash := windowHash(value, at)
		w.may[hash/64] |= 1 << (hash % 64)
	}
}

// at returns the values that may stand at a place of a text.
func (w *windows) at(text string, at int, hash uint32) []string {
	if w.may[hash/64]&(1<<(hash%64)) == 0 {
		return nil
	}
	return w.values[[window]byte([]byte(text[at:at+window]))]
}

// windowHash makes a number of few bits of a window.
func windowHash(text string, at int) uint32 {
	word := uint32(text[at]) | uint32(text[at+1])<<8 | uint32(text[at+2])<<16 | uint32(text[at+3])<<24
	return word * 2654435761 >> (32 - windowBits) // which mixes all of it
}

// add takes values that are at least as long as a window.
func (x *valueIndex) add(values ...string) {
	for _, value := range values {
		x.begins.add(value, 0)
		if len(value) > shortestPart {
			x.ends.add(value, len(value)-shortestPart)
		}
		x.longest = max(x.longest, len(value))
	}
}

// find adds the places in a text where a value stands, or the beginning or end of one where
// the text was cut.
func (x *valueIndex) find(part readPart, found func(from, to int)) {
	from, to := 0, len(part.text)-window+1
	if !part.first {
		from = x.longest
	}
	if !part.last {
		to = len(part.text) - x.longest - longestEscape
	}
	for at := from; at < to; at++ {
		hash := windowHash(part.text, at)
		for _, value := range x.begins.at(part.text, at, hash) {
			if end := part.endOf(at, value); end > at {
				found(at, end)
			}
		}
		for _, value := range x.ends.at(part.text, at, hash) {
			if begin := part.beginOf(at, value); begin >= 0 {
				found(begin, at+shortestPart)
			}
		}
	}
}

// overlap is how much of a part has to be seen again in the next one.
func (x *valueIndex) overlap() int { return 2*x.longest + longestEscape }

// read finds the places by a spelling.
func (x *valueIndex) read(text string, as spelling) (found spans) {
	readParts(text, as, x.overlap(), func(part readPart) {
		x.find(part, func(from, to int) { found.add(int(part.from[from]), int(part.to[to-1])) })
	})
	return found
}

// endOf is where a value ends that begins at a place, or that much of it as is left before
// a cut; the place itself when it is neither.
func (p readPart) endOf(at int, value string) int {
	end := at
	for end < len(p.text) && end-at < len(value) && p.text[end] == value[end-at] {
		end++
	}
	switch {
	case end-at == len(value):
		return end
	case end-at < shortestPart:
		return at
	case p.isCut(end) || p.text[end:] != "" && p.text[end] == '"':
		return end
	case p.broken(end) > 0:
		return end + p.broken(end)
	case p.broken(end-1) > 0: // the last byte that was like that of the value begins an escape
		return end - 1 + p.broken(end-1)
	}
	return at
}

// isCut tells whether a text was cut before a place.
func (p readPart) isCut(at int) bool {
	return p.last && at == len(p.text) || strings.HasPrefix(p.text[at:], ellipsis)
}

// longestEscape is how many bytes one character may take: in JSON in JSON.
const longestEscape = 14

// broken is the length of the beginning of an escape that stands at a place, if the text was cut
// in the middle of it.
func (p readPart) broken(at int) int {
	if at >= len(p.text) || strings.IndexByte(`\%&`, p.text[at]) < 0 {
		return 0
	}
	end := at + 1
	for end < len(p.text) && end-at < longestEscape && inEscape(p.text[end]) {
		end++
	}
	if p.isCut(end) {
		return end - at
	}
	return 0
}

// inEscape tells whether a byte may stand in an escape.
func inEscape(char byte) bool {
	return isLetter(char) || isDigit(char) || strings.IndexByte(`\%&#;`, char) >= 0
}

// beginOf is where the end of a value begins behind a cut, which may be one in the middle of an
// escape; at is where the last bytes of the value may stand. It is -1 where it is none.
func (p readPart) beginOf(at int, value string) int {
	if !strings.HasPrefix(p.text[at:], value[len(value)-shortestPart:]) {
		return -1
	}
	begin, left := at, len(value)-shortestPart
	for begin > 0 && left > 0 && p.text[begin-1] == value[left-1] {
		begin--
		left--
	}
	if left == 0 {
		return -1 // all of it is there
	}
	// The last characters of the rest of an escape may be like those of the value by chance.
	for ; begin <= at && left < len(value); begin, left = begin+1, left+1 {
		escapes := !isLetter(value[left-1]) && !isDigit(value[left-1]) || p.from != nil && p.to[begin]-p.from[begin] > 1
		for cut := begin; cut >= 0 && begin-cut <= longestRest; cut-- {
			isCut := cut == 0 && p.first || strings.HasSuffix(p.text[:cut], ellipsis)
			if isCut && (cut == begin || isRest(p.text[cut:begin], escapes)) {
				return cut
			}
		}
	}
	return -1
}

// longestRest is that of the rest of an escape, in bytes.
const longestRest = 12

// isRest tells whether a text may be the rest of an escape, or of two: u002B, 2B or #43; without
// what is before it, or n of one for a line break.
func isRest(text string, escapes bool) bool {
	switch {
	case strings.Trim(text, `\nr`) == "":
		return true
	case !escapes:
		return false
	case strings.HasSuffix(text, ";"):
		return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#;") == ""
	}
	return strings.Trim(text, `\uUx0123456789abcdefABCDEF`) == ""
}

// ellipsis stands where a text was cut.
const ellipsis = "…"

// span is a part of a text.
type span struct{ from, to int }

// spans are parts of a text, in order; none overlaps another.
type spans []span

// add takes a part that ends behind the beginnings of all that are there, and joins those
// that overlap or touch it.
func (s *spans) add(from, to int) {
	last := len(*s) - 1
	for ; last >= 0 && (*s)[last].to >= from; last-- {
		from, to = min(from, (*s)[last].from), max(to, (*s)[last].to)
	}
	*s = append((*s)[:last+1], span{from, to})
}

// hide returns the text with [Redacted] in place of each part.
func (s *spans) hide(text string) string {
	if len(*s) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for _, one := range *s {
		b.WriteString(text[done:one.from])
		b.WriteString(Redacted)
		done = one.to
	}
	b.WriteString(text[done:])
	return b.String()
}
