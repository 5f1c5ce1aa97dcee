package reports

import (
	"html"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// deepest is how often one in another texts are read that write characters as escapes: JSON in a
// string of JSON, a URL in HTML.
const deepest = 2

// letter is a character of a text as it is read: its bytes, and how many of the text it takes.
type letter struct {
	bytes [utf8.UTFMax]byte
	count int
	size  int
}

func letterOf(char rune, size int) letter {
	one := letter{size: size}
	one.count = utf8.EncodeRune(one.bytes[:], char)
	return one
}

func byteLetter(char byte, size int) letter {
	return letter{bytes: [utf8.UTFMax]byte{char}, count: 1, size: size}
}

// is tells whether a letter is this byte.
func (l letter) is(char byte) bool { return l.count == 1 && l.bytes[0] == char }

// isBreak tells whether a letter ends a line.
func (l letter) isBreak() bool { return l.is('\n') || l.is('\r') }

// spelling is a way to read a text: the bytes that begin escapes, how often one in another, and
// whether line breaks are left out.
type spelling struct {
	begins string
	depth  int
	joined bool
}

// spellings are those by which a text is read in search of values, besides as it is: by one kind of
// escapes alone, as none of the others may be meant, by all, and by all twice.
var spellings = []spelling{
	{`\`, 1, false}, {"%", 1, false}, {"&", 1, false}, {`\%&`, 1, false}, {`\%&`, deepest, false},
	{"", 0, true}, {`\%&`, 1, true}, {`\%&`, deepest, true},
}

// letterAt reads the letter that begins at a place, which is before the end of the text. What the
// encoders of many languages make of a character is read as that character, once in another as
// often as depth says: \u002B, \x2b, \053, \/ and \n; %2B; &#43;, &#x2b; and &plus;. A byte that
// begins no escape is itself.
func letterAt(text string, at int, as spelling) letter {
	if as.depth == 0 {
		return byteLetter(text[at], 1)
	}
	as.depth--
	first := letterAt(text, at, as)
	if first.count != 1 || strings.IndexByte(as.begins, first.bytes[0]) < 0 {
		return first
	}
	in := escaped{text: text, at: at + first.size, as: as}
	var read letter
	var is bool
	switch first.bytes[0] {
	case '\\':
		read, is = in.backslash()
	case '%':
		read, is = in.number(16, 2, 2, asByte)
	case '&':
		read, is = in.entity()
	}
	if !is {
		return first
	}
	read.size = in.at - at
	return read
}

// escaped reads what stands behind the byte that begins one.
type escaped struct {
	text string
	at   int
	as   spelling
}

// next takes the next byte; 0 where there is none, or where what is there is no ASCII.
func (e *escaped) next() byte {
	if e.at >= len(e.text) {
		return 0
	}
	one := letterAt(e.text, e.at, e.as)
	if one.count != 1 || one.bytes[0] >= utf8.RuneSelf {
		return 0
	}
	e.at += one.size
	return one.bytes[0]
}

func asByte(number int) (letter, bool) {
	return byteLetter(byte(number&0xff), 0), number <= 0xff
}

func asRune(number int) (letter, bool) {
	char := rune(min(number, utf8.MaxRune+1)) //nolint:gosec // it is bounded
	return letterOf(char, 0), utf8.ValidRune(char)
}

// number takes digits, and returns what stands for their value.
func (e *escaped) number(base, least, most int, as func(int) (letter, bool)) (letter, bool) {
	value, count := 0, 0
	for ; count < most; count++ {
		before := e.at
		digit := strings.IndexByte("0123456789abcdef", lower(e.next()))
		if digit < 0 || digit >= base {
			e.at = before
			break
		}
		value = value*base + digit
	}
	if count < least {
		return letter{}, false
	}
	return as(value)
}

func lower(char byte) byte {
	if char >= 'A' && char <= 'Z' {
		return char | ' '
	}
	return char
}

// controls are the letters behind a backslash that stand for a control character.
const controls = "a\ab\be\x1bf\fn\nr\rt\tv\v"

// backslash reads an escape of JSON, JavaScript, Python, Go or a shell.
func (e *escaped) backslash() (letter, bool) {
	before := e.at
	char := e.next()
	switch {
	case char == 'x':
		return e.number(16, 2, 2, asByte)
	case char == 'U':
		return e.number(16, 8, 8, asRune)
	case char == 'u':
		return e.unit()
	case char >= '0' && char <= '3':
		e.at = before
		if read, is := e.number(8, 3, 3, asByte); is {
			return read, true
		}
		e.at = before
		char = e.next()
	}
	if at := strings.IndexByte(controls, char); char != 0 && at >= 0 && at%2 == 0 {
		return byteLetter(controls[at+1], 0), true
	}
	punctuation := char >= ' ' && char < 0x7f && !isLetter(char) && !isDigit(char)
	return byteLetter(char, 0), punctuation
}

// unit reads one unit of UTF-16, or the two of a character that has two.
func (e *escaped) unit() (letter, bool) {
	first := -1
	_, is := e.number(16, 4, 4, func(number int) (letter, bool) {
		first = number
		return letter{}, true
	})
	if !is || !utf16.IsSurrogate(rune(first)) {
		char, valid := asRune(max(first, 0))
		return char, is && valid
	}
	if e.next() != '\\' || e.next() != 'u' {
		return letter{}, false
	}
	return e.number(16, 4, 4, func(second int) (letter, bool) {
		char := utf16.DecodeRune(rune(first), rune(second)) //nolint:gosec // they have four digits
		return letterOf(char, 0), char != utf8.RuneError
	})
}

// longestEntity is the length of the longest name of a character in HTML, in bytes.
const longestEntity = 32

// entity reads a character of HTML.
func (e *escaped) entity() (letter, bool) {
	name := [longestEntity + 2]byte{'&'}
	length := 1
	for length <= longestEntity {
		char := e.next()
		if !isLetter(char) && !isDigit(char) && char != '#' && char != ';' {
			return letter{}, false
		}
		name[length] = char
		length++
		if char == ';' {
			break
		}
	}
	reference := string(name[:length])
	read := html.UnescapeString(reference)
	char, size := utf8.DecodeRuneInString(read)
	return letterOf(char, 0), read != reference && size == len(read) && strings.HasSuffix(reference, ";")
}

// indent is the length of the blanks that a text begins with.
func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

// readPart is a part of a text as it is read by a spelling.
type readPart struct {
	text        string
	from, to    []int32 // where in the whole text each byte of it begins and ends
	first, last bool    // of the whole text
}

// partLength is how many bytes of a text are read at a time at least, which bounds the memory.
const partLength = 64 << 10

// readParts reads a text in parts, each of which begins with so many of the last bytes of the one
// before. A text without anything that it would read in another way has none.
func readParts(text string, as spelling, overlap int, take func(part readPart)) {
	const breaks = "\r\n"
	switch {
	case as.joined && !strings.ContainsAny(text, breaks+as.begins), !as.joined && !strings.ContainsAny(text, as.begins):
		return
	}
	var special [256]bool
	for _, char := range []byte(as.begins + breaks) {
		special[char] = true
	}
	size := partLength + overlap
	read := make([]byte, 0, min(size, len(text))+utf8.UTFMax)
	part := readPart{from: make([]int32, 0, cap(read)), to: make([]int32, 0, cap(read)), first: true}
	for at := 0; ; part.first = false {
		for at < len(text) && len(read) < size {
			if !special[text[at]] {
				read = append(read, text[at])
				part.from, part.to = append(part.from, int32(at)), append(part.to, int32(at+1))
				at++
				continue
			}
			one := letterAt(text, at, as)
			end := at + one.size
			if as.joined && one.isBreak() {
				at = end + indent(text[end:])
				continue
			}
			for _, char := range one.bytes[:one.count] {
				read = append(read, char)
				part.from = append(part.from, int32(at))
				part.to = append(part.to, int32(end)) //nolint:gosec // texts are far smaller
			}
			at = end
		}
		part.text, part.last = string(read), at == len(text)
		take(part)
		if part.last {
			return
		}
		done := len(read) - overlap
		read = append(read[:0], read[done:]...)
		part.from, part.to = append(part.from[:0], part.from[done:]...), append(part.to[:0], part.to[done:]...)
	}
}
