package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FlawKind names what is wrong with the bytes of a message as JSON.
type FlawKind string

// The flaws that reading notices and does not repair.
const (
	Syntax        FlawKind = "syntax"         // not a JSON text (RFC 8259)
	Trailing      FlawKind = "trailing"       // something follows the JSON value
	Duplicate     FlawKind = "duplicate"      // an object names a member twice
	NotUTF8       FlawKind = "not-utf8"       // bytes that are not UTF-8
	LoneSurrogate FlawKind = "lone-surrogate" // an escape such as \ud800 without its half
	ByteOrderMark FlawKind = "bom"            // begins with U+FEFF
	TooComplex    FlawKind = "too-complex"    // deeper or longer than this harness reads
)

// Flaw is one defect of the bytes.
type Flaw struct {
	Kind    FlawKind
	Pointer string // JSON pointer of the place, where one is known
	Detail  string // in words
}

func (f Flaw) String() string {
	if f.Pointer == "" {
		return f.Detail
	}
	return f.Detail + " at " + f.Pointer
}

// maxTokens bounds the memory that a decoded message takes: an array of a
// million numbers passes, a hostile one of sixty million does not.
const maxTokens = 3 << 20

// Bounds of what is told: enough for a report. A hostile message could name
// millions of members twice, each with a name of megabytes.
const (
	maxDuplicates = 16
	maxShown      = 200 // bytes of a name or pointer
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// Decode reads one JSON value into the usual Go types, numbers as json.Number
// so that their spelling survives. Of duplicate members the last one wins, as
// with most parsers. The value is nil when there is none.
func Decode(raw []byte) (any, []Flaw) { return decode(raw, maxTokens) }

func decode(raw []byte, tokens int) (any, []Flaw) {
	d := decoder{limit: tokens}
	if bytes.HasPrefix(raw, byteOrderMark) {
		d.flaw(ByteOrderMark, "", "begins with a byte order mark")
		raw = raw[len(byteOrderMark):]
	}
	if !utf8.Valid(raw) {
		d.flaw(NotUTF8, "", "contains bytes that are not UTF-8")
	} else if at, found := loneSurrogate(raw); found {
		d.flaw(LoneSurrogate, "", fmt.Sprintf("contains a lone surrogate escape at byte %d", at))
	}
	d.text = jsontext.NewDecoder(bytes.NewBuffer(raw), // a buffer is read in place
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

	value, err := d.value()
	if err != nil {
		d.broken(err)
		return nil, d.flaws
	}
	rest := raw[d.text.InputOffset():]
	if more := bytes.TrimLeft(rest, " \t\r\n"); len(more) > 0 {
		d.flaw(Trailing, "", fmt.Sprintf("something follows the JSON value at byte %d", len(raw)-len(more)))
	}
	return value, d.flaws
}

var errTooManyTokens = errors.New("too many values")

type decoder struct {
	text       *jsontext.Decoder
	limit      int // of tokens
	tokens     int
	duplicates int
	flaws      []Flaw
}

func (d *decoder) flaw(kind FlawKind, pointer, detail string) {
	d.flaws = append(d.flaws, Flaw{Kind: kind, Pointer: shorten(pointer), Detail: detail})
}

func (d *decoder) duplicate(member string) {
	if d.duplicates++; d.duplicates <= maxDuplicates {
		d.flaw(Duplicate, string(d.text.StackPointer()), fmt.Sprintf("names the member %q twice", shorten(member)))
	}
}

// shorten cuts a text for people, between characters.
func shorten(text string) string {
	if len(text) <= maxShown {
		return text
	}
	end := maxShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

func (d *decoder) broken(err error) {
	switch {
	case errors.Is(err, errTooManyTokens):
		d.flaw(TooComplex, "", fmt.Sprintf("has more than %d JSON values", d.limit))
		return
	case errors.Is(err, errTooDeep):
		d.flaw(TooComplex, "", fmt.Sprintf("is nested more than %d deep", maxDepth))
		return
	}
	if errors.Is(err, io.EOF) {
		d.flaw(Syntax, "", "is empty")
		return
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		d.flaw(Syntax, string(syntactic.JSONPointer),
			fmt.Sprintf("is not JSON: %s at byte %d", syntactic.Err, syntactic.ByteOffset))
		return
	}
	d.flaw(Syntax, "", "is not JSON: "+err.Error())
}

// maxDepth keeps recursion shallow; no MCP message needs a hundredth of it.
const maxDepth = 5000

var errTooDeep = errors.New("nested too deep")

func (d *decoder) value() (any, error) {
	token, err := d.text.ReadToken()
	if err != nil {
		return nil, err
	}
	if d.tokens++; d.tokens > d.limit {
		return nil, errTooManyTokens
	}
	switch token.Kind() {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return token.String(), nil
	case '0':
		return json.Number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

func (d *decoder) object() (any, error) {
	if d.text.StackDepth() > maxDepth {
		return nil, errTooDeep
	}
	object := map[string]any{}
	for d.text.PeekKind() != '}' {
		name, err := d.text.ReadToken()
		if err != nil {
			return nil, err
		}
		member := name.String()
		if _, seen := object[member]; seen {
			d.duplicate(member)
		}
		if object[member], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.text.ReadToken()
	return object, err
}

func (d *decoder) array() (any, error) {
	if d.text.StackDepth() > maxDepth {
		return nil, errTooDeep
	}
	array := []any{}
	for d.text.PeekKind() != ']' {
		element, err := d.value()
		if err != nil {
			return nil, err
		}
		array = append(array, element)
	}
	_, err := d.text.ReadToken()
	return array, err
}

// loneSurrogate finds a \u escape of one half of a surrogate pair without the
// other, which decoding would replace silently.
func loneSurrogate(raw []byte) (int, bool) {
	for at := 0; at+1 < len(raw); at++ {
		if raw[at] != '\\' {
			continue
		}
		unit, ok := surrogate(raw[at:])
		switch {
		case !ok:
			at++ // skips the escaped character, a backslash among them
		case unit < 0xDC00:
			low, paired := surrogate(raw[at+6:])
			if !paired || low < 0xDC00 {
				return at, true
			}
			at += 11
		default:
			return at, true
		}
	}
	return 0, false
}

// surrogate reads the escape that text begins with, if it is one of U+D800 to U+DFFF.
func surrogate(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	var unit rune
	for _, digit := range text[2:6] {
		switch {
		case '0' <= digit && digit <= '9':
			unit = unit<<4 | rune(digit-'0')
		case 'a' <= digit|0x20 && digit|0x20 <= 'f':
			unit = unit<<4 | rune(digit|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return unit, 0xD800 <= unit && unit <= 0xDFFF
}
