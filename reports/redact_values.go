package reports

import (
	"slices"
	"strings"
)

// valueIndex finds values wherever they stand in a text, all of them in one pass.
type valueIndex struct {
	begins windows // the values by their first bytes
	ends   windows // those of which a part is searched for, by the first of their last bytes
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
	}
}

// hide replaces all places where a value stands, or the beginning or end of one where
// the text was cut. Places that overlap are hidden as one, so that no end of a secret
// remains beside the beginning of another.
func (x *valueIndex) hide(text string) string {
	if len(x.begins.values) == 0 {
		return text
	}
	var hidden spans
	for at := 0; at+window <= len(text); at++ {
		hash := windowHash(text, at)
		for _, value := range x.begins.at(text, at, hash) {
			if end := endOf(text, at, value); end > at {
				hidden.add(at, end)
			}
		}
		for _, value := range x.ends.at(text, at, hash) {
			if begin := beginOf(text, at, value); begin >= 0 {
				hidden.add(begin, at+shortestPart)
			}
		}
	}
	return hidden.hide(text)
}

// endOf is where a value ends that begins at a place, or that much of it as is left before
// a cut; the place itself when it is neither.
func endOf(text string, at int, value string) int {
	end := at
	for end < len(text) && end-at < len(value) && text[end] == value[end-at] {
		end++
	}
	rest := text[end:]
	switch {
	case end-at == len(value):
		return end
	case end-at >= shortestPart && (rest == "" || strings.HasPrefix(rest, ellipsis) || rest[0] == '"'):
		return end
	}
	return at
}

// beginOf is where the end of a value begins behind a cut; at is where the last bytes of
// the value may stand. It is -1 where it is none.
func beginOf(text string, at int, value string) int {
	if !strings.HasPrefix(text[at:], value[len(value)-shortestPart:]) {
		return -1
	}
	begin, left := at, len(value)-shortestPart
	for begin > 0 && left > 0 && text[begin-1] == value[left-1] {
		begin--
		left--
	}
	if before := text[:begin]; left > 0 && (before == "" || strings.HasSuffix(before, ellipsis)) {
		return begin
	}
	return -1
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
