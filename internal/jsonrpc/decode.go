package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpconform/mcpconform/internal/excerpt"
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
	TooComplex    FlawKind = "too-complex"    // deeper or heavier than this harness reads
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
func Decode(raw []byte) (any, []Flaw) {
	value, _, flaws := decode(raw, budget(raw))
	return value, flaws
}

// decode also tells what the value weighs, which is at most limit.
func decode(raw []byte, limit int) (any, int, []Flaw) {
	var d decoder
	if bytes.HasPrefix(raw, byteOrderMark) {
		d.flaw(ByteOrderMark, "", "begins with a byte order mark")
		raw = raw[len(byteOrderMark):]
	}
	expands := 1 // how much longer a text may become
	if !utf8.Valid(raw) {
		d.flaw(NotUTF8, "", "contains bytes that are not UTF-8")
		expands = len(string(utf8.RuneError)) // takes the place of a byte
	} else if at, found := loneSurrogate(raw); found {
		d.flaw(LoneSurrogate, "", fmt.Sprintf("contains a lone surrogate escape at byte %d", at))
	}
	d.begin(raw)
	d.sizes, d.open = make([]int, 0, len(raw)/bytesPerContainer+1), make([]int, 0, usualDepth)
	if err := d.measure.take(&d.text, expands, limit); err != nil {
		d.broken(err, limit)
		return nil, 0, d.flaws
	}
	d.begin(raw)
	value, err := d.value()
	if err != nil {
		d.broken(err, limit)
		return nil, 0, d.flaws
	}
	rest := raw[d.text.InputOffset():]
	if more := bytes.TrimLeft(rest, " \t\r\n"); len(more) > 0 {
		d.flaw(Trailing, "", fmt.Sprintf("something follows the JSON value at byte %d", len(raw)-len(more)))
	}
	return value, d.weight, d.flaws
}

// readBatch reads an array element by element, and keeps none of them: no more
// memory is taken than the heaviest takes. It reports false when the text is no such
// array, or has an end that only reading it as a whole explains.
func readBatch(raw []byte, limit int) (heaviest int, flaws []Flaw, whole bool) {
	beginning := bytes.TrimLeft(raw, " \t\r\n")
	if len(beginning) == 0 || beginning[0] != '[' || !utf8.Valid(raw) {
		return 0, nil, false
	}
	if jsontext.Value(raw).IsValid() { // which is strict: it has no flaws, or another reading finds them
		return 0, nil, true
	}
	var text jsontext.Decoder
	text.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if opening, err := text.ReadToken(); err != nil || opening.Kind() != '[' {
		return 0, nil, false
	}
	for number := 0; text.PeekKind() != ']'; number++ {
		element, err := text.ReadValue()
		if err != nil {
			return 0, nil, false
		}
		_, weight, found := decode(element, limit)
		heaviest = max(heaviest, weight)
		for _, flaw := range found {
			if len(flaws) < maxDuplicates {
				flaw.Pointer = fmt.Sprintf("/%d%s", number, flaw.Pointer)
				flaws = append(flaws, flaw)
			}
		}
	}
	if _, err := text.ReadToken(); err != nil || len(bytes.TrimLeft(raw[text.InputOffset():], " \t\r\n")) > 0 {
		return 0, nil, false
	}
	return heaviest, flaws, true
}

var errTooHeavy = errors.New("too heavy")

type decoder struct {
	measure
	text       jsontext.Decoder
	duplicates int
	flaws      []Flaw
}

// begin reads from the beginning.
func (d *decoder) begin(raw []byte) {
	d.text.Reset(bytes.NewBuffer(raw), // a buffer is read in place
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func (d *decoder) flaw(kind FlawKind, pointer, detail string) {
	d.flaws = append(d.flaws, Flaw{Kind: kind, Pointer: excerpt.Within(pointer, maxShown), Detail: detail})
}

func (d *decoder) duplicate(member string) {
	if d.duplicates++; d.duplicates <= maxDuplicates {
		named := excerpt.Within(member, maxShown)
		d.flaw(Duplicate, string(d.text.StackPointer()), fmt.Sprintf("names the member %q twice", named))
	}
}

func (d *decoder) broken(err error, limit int) {
	switch {
	case errors.Is(err, errTooHeavy):
		d.flaw(TooComplex, "", fmt.Sprintf("is too much: reading it takes more than %d MiB of memory", limit>>20))
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
	switch token.Kind() {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

// smallNumbers are those of one digit: lists of millions are made of them.
var smallNumbers = func() (numbers [10]any) {
	for digit := range numbers {
		numbers[digit] = json.Number(strconv.Itoa(digit))
	}
	return numbers
}()

func number(text string) any {
	if len(text) == 1 {
		return smallNumbers[text[0]-'0']
	}
	return json.Number(text)
}

func (d *decoder) object() (any, error) {
	if d.text.StackDepth() > maxDepth {
		return nil, errTooDeep
	}
	object := make(map[string]any, d.size()/2) // names and values count
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
	array := make([]any, 0, d.size())
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

// size is that of the array or object that begins.
func (d *decoder) size() int {
	size := d.sizes[0]
	d.sizes = d.sizes[1:]
	return size
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
