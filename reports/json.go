package reports

import (
	"bytes"
	"cmp"
	_ "embed" // the schema
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/mcpconform/mcpconform/internal/excerpt"
)

// maxDocument bounds the JSON document that Read takes: ten times the largest
// run that is to be expected (every revision over every transport, everything
// failed), and small enough to be parsed within the harness's memory.
const maxDocument = 64 << 20

//go:embed run.schema.json
var schemaDocument []byte

// Schema returns the JSON Schema (2020-12) of the document that Write writes.
func Schema() []byte { return slices.Clone(schemaDocument) }

// schemaPlace is where the schemas are, by their $id.
const schemaPlace = "https://github.com/mcpconform/mcpconform/reports/"

// The schemas of both documents; that of a selftest refers to that of a run.
var (
	compiled         = compile("run.schema.json")
	compiledSelftest = compile("selftest.schema.json")
)

func compile(name string) func() (*jsonschema.Schema, error) {
	return sync.OnceValues(func() (*jsonschema.Schema, error) {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		for url, text := range map[string][]byte{"run.schema.json": schemaDocument, "selftest.schema.json": selftestSchema} {
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err == nil {
				err = c.AddResource(schemaPlace+url, document)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", url, err)
			}
		}
		return c.Compile(schemaPlace + name)
	})
}

// Write writes the run as an indented JSON document, with Format set. Bytes that
// are not UTF-8 are written as they are in [Visible], raw JSON that is not valid
// JSON as a string, and characters that show nothing as escapes of JSON: the
// document can be printed.
func (r *Run) Write(w io.Writer) error {
	document := *r
	document.Format = Format
	return writeDocument(w, &document, "run")
}

func writeDocument(w io.Writer, document any, name string) error {
	text := json.MarshalToFunc(writeString)
	raw := json.MarshalToFunc(func(enc *jsontext.Encoder, m stdjson.RawMessage) error {
		switch value := jsontext.Value(m); {
		case len(m) == 0:
			return enc.WriteToken(jsontext.Null)
		case value.IsValid():
			return enc.WriteValue(jsontext.Value(escapeHidden(string(value))))
		}
		return writeString(enc, string(m))
	})
	if err := json.MarshalWrite(w, document, json.WithMarshalers(json.JoinMarshalers(text, raw)),
		jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true)); err != nil {
		return fmt.Errorf("write the %s as JSON: %w", name, err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write the %s as JSON: %w", name, err)
	}
	return nil
}

func writeString(enc *jsontext.Encoder, s string) error {
	quoted, err := jsontext.AppendQuote(nil, valid(s))
	if err != nil {
		return err
	}
	return enc.WriteValue(jsontext.Value(escapeHidden(string(quoted))))
}

// escapeHidden writes the hidden characters of a valid JSON text, which can but
// stand in strings, as escapes. White space between values stays.
func escapeHidden(document string) string {
	var b strings.Builder
	for _, r := range document {
		switch {
		case r < 0x7f || !hidden(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

// Read reads a document that Write wrote. What is not one is an error that tells
// the line and the JSON pointer of the first fault. The document may be 64 MiB
// long.
func Read(in io.Reader) (*Run, error) {
	data, err := readDocument(in)
	if err != nil {
		return nil, err
	}
	return decode[Run](data, Format, compiled)
}

// ReadAny reads a run, or a selftest, whichever it is, as Read does; the other one is nil.
func ReadAny(in io.Reader) (*Run, *Selftest, error) {
	data, err := readDocument(in)
	if err != nil {
		return nil, nil, err
	}
	var members struct {
		Trials jsontext.Value `json:"trials"`
	}
	if err := json.Unmarshal(data, &members); err == nil && members.Trials != nil {
		found, err := decode[Selftest](data, SelftestFormat, compiledSelftest)
		return nil, found, err
	}
	found, err := decode[Run](data, Format, compiled)
	return found, nil, err
}

func readDocument(in io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read the run: %w", err)
	}
	if len(data) > maxDocument {
		return nil, fmt.Errorf("the document is larger than %d MiB, which no run is", maxDocument>>20)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the document is empty, expected a run as `mcpconform --json` writes it")
	}
	return data, nil
}

// decode reads a document of a format, by its schema.
func decode[Document any](data []byte, format int, schema func() (*jsonschema.Schema, error)) (*Document, error) {
	var value jsontext.Value
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, syntaxFault(data, err)
	}
	if err := checkFormat(value, format); err != nil {
		return nil, err
	}
	known, err := schema()
	if err != nil {
		return nil, err
	}
	if err := validate(data, known); err != nil {
		return nil, err
	}
	document := new(Document)
	if err := json.Unmarshal(data, document); err != nil {
		return nil, syntaxFault(data, err)
	}
	return document, nil
}

// checkFormat looks at the version before anything else: a document of another
// version has a hundred faults that all mean this one.
func checkFormat(document jsontext.Value, known int) error {
	var head struct {
		Format jsontext.Value `json:"format"`
	}
	if document.Kind() != '{' || json.Unmarshal(document, &head) != nil || head.Format == nil {
		return errors.New(`this is not a run: expected a JSON object with "format": 1, as mcpconform --json writes it`)
	}
	var format int
	if err := json.Unmarshal(head.Format, &format); err != nil || format < 1 {
		return fmt.Errorf(`/format: expected %d, found %s`, known, excerpt.Middle(oneLine(head.Format.String()), 40))
	}
	if format > known {
		return fmt.Errorf(
			"/format: the document has format %d and this mcpconform reads format %d: use a newer mcpconform",
			format,
			known,
		)
	}
	return nil
}

// validate checks the document against the schema and tells the first fault in
// the order of the document.
func validate(data []byte, schema *jsonschema.Schema) error {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("read the run: %w", err)
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(document); !errors.As(err, &invalid) {
		return err
	}
	type fault struct {
		pointer jsontext.Pointer
		says    string
	}
	printer := message.NewPrinter(language.English)
	var faults []fault
	lines := make(map[jsontext.Pointer]int)
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 {
			var pointer jsontext.Pointer
			for _, token := range e.InstanceLocation {
				pointer = pointer.AppendToken(token)
			}
			lines[pointer] = 1
			faults = append(faults, fault{pointer, e.ErrorKind.LocalizedString(printer)})
		}
	}
	walk(invalid)
	findLines(data, lines)
	first := slices.MinFunc(faults, func(a, b fault) int {
		return cmp.Or(lines[a.pointer]-lines[b.pointer], strings.Compare(string(a.pointer), string(b.pointer)))
	})
	more := ""
	if n := len(faults) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Errorf(
		"line %d, %s: %s%s",
		lines[first.pointer],
		place(first.pointer),
		excerpt.Middle(oneLine(first.says), 300),
		more,
	)
}

// findLines sets, for each pointer in lines, the line on which its value begins.
// The document is known to be valid JSON.
func findLines(data []byte, lines map[jsontext.Pointer]int) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	missing := maps.Clone(lines)
	line, seen := 1, 0
	for len(missing) > 0 {
		if _, err := dec.ReadToken(); err != nil {
			return
		}
		offset := int(dec.InputOffset())
		line += bytes.Count(data[seen:offset], []byte("\n"))
		seen = offset
		if pointer := dec.StackPointer(); missing[pointer] > 0 {
			lines[pointer] = line
			delete(missing, pointer)
		}
	}
}

// syntaxFault turns an error of the JSON library into one that tells the line.
func syntaxFault(data []byte, err error) error {
	var offset int64 = -1
	var pointer jsontext.Pointer
	cause := err
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		offset, pointer, cause = syntactic.ByteOffset, syntactic.JSONPointer, syntactic.Err
	case errors.As(err, &semantic):
		offset, pointer, cause = semantic.ByteOffset, semantic.JSONPointer, semantic.Err
	}
	if cause == nil {
		cause = err
	}
	what := excerpt.Middle(oneLine(cause.Error()), 300)
	if offset < 0 || offset > int64(len(data)) {
		return fmt.Errorf("%s: %s", place(pointer), what)
	}
	return fmt.Errorf("line %d, %s: %s", 1+bytes.Count(data[:offset], []byte("\n")), place(pointer), what)
}

// place names a JSON pointer for people.
func place(pointer jsontext.Pointer) string {
	if pointer == "" {
		return "the document itself"
	}
	return excerpt.Middle(oneLine(string(pointer)), 200)
}

// plural writes a number with its noun: "1 check", "2 checks".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
