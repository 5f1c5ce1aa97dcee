package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Bounds on a schema that a target sent. What is beyond them cannot be judged, which is no fault of the target.
const (
	// maxSchemaNodes bounds the values in a schema: the largest tool schemas generated from whole APIs have some
	// thousands, and compiling takes quadratic time.
	maxSchemaNodes = 10_000
	// maxSchemaDepth bounds how deep they are nested.
	maxSchemaDepth = 256
	// maxSchemaText bounds the bytes in all strings and member names together, descriptions included.
	maxSchemaText = 4 << 20
	// maxPatterns bounds the bytes of all different regular expressions together, and maxStates their states: a dozen
	// bytes can ask for a thousand ("\p{L}{0,900}"), which takes some milliseconds to compile.
	maxPatterns = 32 << 10
	maxStates   = 100_000
	// maxSteps bounds the work of one validation: a few hundred bytes of schema can ask for 2^50 steps.
	maxSteps = 1 << 18
	// matchedPerStep is how many bytes times states of a regular expression are matched in one step: a megabyte can be
	// matched by some hundred states.
	matchedPerStep = 400
	// maxRecursion bounds how deep a validation can nest: the depth of the instance times the schemas that can follow
	// one another at one place of it ($ref to $ref to $ref). Each level takes some 2 KiB of stack.
	maxRecursion = 1 << 16
)

var (
	// ErrUnknownDialect says that a schema's $schema names no dialect that is known here.
	ErrUnknownDialect = errors.New("unknown JSON Schema dialect")
	// ErrExternalReference says that a schema refers to something outside of itself, which is never loaded.
	ErrExternalReference = errors.New("the schema refers to a document outside of itself")
	// ErrCannotJudge says that a schema or a value may be right, and that this library cannot tell.
	ErrCannotJudge = errors.New("cannot judge")
)

// InvalidError says that a schema is not valid in its dialect.
type InvalidError struct {
	Dialect    string      // the URI of the meta-schema
	Violations []Violation // places in the schema
}

// Error lists the violations.
func (e *InvalidError) Error() string {
	lines := []string{"not a valid schema of " + e.Dialect}
	for _, v := range e.Violations {
		lines = append(lines, v.String())
	}
	return strings.Join(lines, "\n\t")
}

// dialects are those that Compile knows; the first is that of a schema that names none, as the specification says
// (2025-11-25, basic#json-schema-usage).
var dialects = []*jsonschema.Draft{
	jsonschema.Draft2020, jsonschema.Draft2019, jsonschema.Draft7, jsonschema.Draft6, jsonschema.Draft4,
}

// Compiled is a schema that a target sent, ready to judge instances. It is safe for concurrent use.
type Compiled struct {
	Dialect string // the URI of the meta-schema

	document any
	chain    int        // how many schemas can follow one another at one place of an instance, at most
	mutex    sync.Mutex // one validation at a time: they share the meter
	meter    meter
	schema   *jsonschema.Schema
}

// Compile checks and compiles a schema that a target sent, decoded as for Schema.Validate. Its dialect is what $schema
// says, 2020-12 without it. Nothing outside of the document is loaded. As most dialects have it, "format" is a remark,
// not a demand.
//
// The error is an *InvalidError if the document is no valid schema, or wraps ErrUnknownDialect, ErrExternalReference
// or ErrCannotJudge (a regular expression that cannot be compiled here, or a schema beyond the bounds).
func Compile(document any) (*Compiled, error) { return compile(document, false) }

// compile can also make "format" a demand.
func compile(document any, assertFormat bool) (compiled *Compiled, err error) {
	defer recovered("the schema", &err)
	chain, err := withinBounds(document)
	if err != nil {
		return nil, err
	}
	key := compiledBefore.key(document, assertFormat)
	if known := compiledBefore.recall(key); known != nil {
		return known, nil
	}
	dialect, err := dialectOf(document)
	if err != nil {
		return nil, err
	}
	c := &Compiled{Dialect: dialect.String(), document: tameNumbers(document), chain: chain}

	// Twice: to meter the work a vocabulary of our own is added, and with that the library forgets those parts of the
	// meta-schemas that are not about validation ("title", say).
	expressions := &patterns{compiled: map[string]*expression{}, meter: &c.meter}
	if _, err := c.build(dialect, assertFormat, expressions, nil); err != nil {
		return nil, err
	}
	if expressions.unread != "" {
		return nil, fmt.Errorf("%w: %s", ErrCannotJudge, expressions.unread)
	}
	if c.schema, err = c.build(dialect, assertFormat, expressions, &c.meter); err != nil {
		return nil, err
	}
	if key != "" {
		compiledBefore.keep(key, c)
	}
	return c, nil
}

// Forbids tells whether a schema that a target sent rejects arguments, as the JSON that they are encoded to. A schema
// that cannot be compiled forbids nothing.
func Forbids(document any, arguments map[string]any) bool {
	compiled, err := Compile(document)
	if err != nil {
		return false
	}
	if arguments == nil {
		arguments = map[string]any{}
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return false
	}
	value, _ := jsonrpc.Decode(text)
	violations, err := compiled.Validate(value)
	return err == nil && len(violations) > 0
}

// targetURL is the name of a target's schema inside the compiler; nothing is ever fetched from there. It has a path, so
// that a relative reference leads elsewhere: to a URN it would be one to the schema itself.
const targetURL = "https://target.invalid/"

func (c *Compiled) build(
	dialect *jsonschema.Draft,
	assertFormat bool,
	expressions *patterns,
	m *meter,
) (*jsonschema.Schema, error) {
	compiler := newCompiler()
	compiler.DefaultDraft(dialect)
	compiler.UseRegexpEngine(expressions.compile)
	if assertFormat {
		compiler.AssertFormat()
	} else {
		for name := range remarks {
			compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
		}
	}
	if m != nil {
		compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: "urn:mcp:meter", Compile: m.attach})
		compiler.AssertVocabs()
	}
	document := c.document
	if slices.Contains(strictEnums, dialect) {
		document = withStrictEnums(document)
	}
	if err := compiler.AddResource(targetURL, document); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotJudge, err)
	}
	schema, err := compiler.Compile(targetURL)
	if err == nil {
		return schema, nil
	}
	if load, external := errors.AsType[*jsonschema.LoadURLError](err); external {
		return nil, fmt.Errorf("%w: %s", ErrExternalReference, quote(strings.TrimPrefix(load.URL, targetURL)))
	}
	return nil, &InvalidError{Dialect: c.Dialect, Violations: invalid(err, c.document, targetURL)}
}

// invalid tells, of a document that the library cannot compile, the places where it is no schema.
func invalid(err error, document any, url string) []Violation {
	var wrong *jsonschema.SchemaValidationError
	var failed *jsonschema.ValidationError
	if errors.As(err, &wrong) && errors.As(wrong.Err, &failed) {
		// What failed may be one place that a $ref leads to: its pointers begin there.
		base := strings.TrimPrefix(wrong.URL, url+"#")
		found := tidy(violations(failed, "", at(document, jsonrpc.Path(base)), nil))
		for i := range found {
			found[i].Pointer, found[i].Definition = base+found[i].Pointer, "" // definitions of the meta-schema say little
		}
		return found
	}
	return []Violation{{ // a reference that leads nowhere, an anchor defined twice, …
		Expected: "references and identifiers that can be resolved",
		Found:    excerpt.Counted(strings.ReplaceAll(err.Error(), url, ""), 4*maxShown),
	}}
}

// remarks are the formats that the library asserts in dialects before 2019-09.
var remarks = map[string]bool{
	"json-pointer": true, "relative-json-pointer": true, "uuid": true, "duration": true, "period": true, "ipv4": true,
	"ipv6": true, "hostname": true, "email": true, "date": true, "time": true, "date-time": true, "uri": true,
	"uri-reference": true, "uri-template": true, "semver": true, "iri": true, "iri-reference": true, "byte": true,
}

// Validate judges an instance, decoded as for Schema.Validate. The error wraps ErrCannotJudge if that takes more work
// than is allowed, or if the schema refers to itself without end.
func (c *Compiled) Validate(instance any) (found []Violation, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.meter.steps = 0
	defer recovered("the value", &err)
	if depth(instance, maxRecursion/c.chain) > maxRecursion/c.chain {
		return nil, fmt.Errorf("%w: the value is nested more than %d deep", ErrCannotJudge, maxRecursion/c.chain)
	}
	instance = tameNumbers(instance)
	var failed *jsonschema.ValidationError
	switch err := c.schema.Validate(instance); {
	case err == nil:
		return nil, nil
	case !errors.As(err, &failed):
		return nil, fmt.Errorf("%w: %w", ErrCannotJudge, err)
	case endless(failed):
		return nil, fmt.Errorf("%w: the schema refers to itself without end", ErrCannotJudge)
	}
	return tidy(violations(failed, "", instance, c.document)), nil
}

func endless(failed *jsonschema.ValidationError) bool {
	if _, ok := failed.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(failed.Causes, endless)
}

// recovered turns a panic of the library, or of the meter, into an error: hostile input must not end a run.
func recovered(what string, err *error) {
	if reason := recover(); reason != nil {
		*err = fmt.Errorf("%w: %s: %v", ErrCannotJudge, what, reason)
	}
}

// meter counts the steps of a validation. The library has no way to stop one, but it calls the extensions of a
// vocabulary at every object of a schema, and a panic ends it.
type meter struct{ steps int }

func (m *meter) attach(_ *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
	weight := 1
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := schema[keyword].([]any)
		weight += len(branches)
	}
	return &metered{m, weight}, nil
}

type metered struct {
	*meter
	weight int
}

// Validate counts one visit of a schema to a value.
func (m *metered) Validate(_ *jsonschema.ValidatorContext, value any) {
	m.steps += m.weight
	switch value := value.(type) {
	case map[string]any:
		m.steps += len(value)
	case []any:
		m.steps += len(value)
	case string:
		m.steps += len(value) >> 10
	}
	m.add(0)
}

func (m *meter) add(steps int) {
	if m.steps += steps; m.steps > maxSteps {
		panic(fmt.Sprintf("it takes more than %d steps to validate", maxSteps))
	}
}

func dialectOf(document any) (*jsonschema.Draft, error) {
	object, _ := document.(map[string]any)
	named, ok := object["$schema"].(string)
	if !ok {
		return dialects[0], nil
	}
	uri := strings.TrimSuffix(named, "#")
	for _, dialect := range dialects {
		if _, plain, _ := strings.Cut(dialect.String(), "://"); uri == "http://"+plain || uri == "https://"+plain {
			return dialect, nil
		}
	}
	var known []string
	for _, dialect := range dialects {
		known = append(known, dialect.String())
	}
	return nil, fmt.Errorf("%w %s: expected one of %s", ErrUnknownDialect, quote(named), strings.Join(known, ", "))
}

// depth is how deep a value is nested, or anything above most if it is deeper than that.
func depth(value any, most int) int {
	deepest := 0
	inside := func(item any) {
		if most > 0 {
			deepest = max(deepest, depth(item, most-1))
		}
	}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			inside(item)
		}
	case map[string]any:
		for _, item := range value {
			inside(item)
		}
	}
	return deepest + 1
}

// withinBounds refuses a document that is too large or too deep to compile. It counts, roughly and never too few, the
// schemas that can follow one another without stepping into the instance.
func withinBounds(document any) (chain int, err error) {
	m := measure{chain: 1}
	if err := m.add(document, 1); err != nil {
		return 0, fmt.Errorf("%w: the schema %w", ErrCannotJudge, err)
	}
	return m.chain, nil
}

type measure struct{ nodes, text, chain int }

func (m *measure) add(value any, depth int) error {
	m.nodes++
	switch {
	case depth > maxSchemaDepth:
		return fmt.Errorf("is nested more than %d deep", maxSchemaDepth)
	case m.nodes > maxSchemaNodes:
		return fmt.Errorf("holds more than %d values", maxSchemaNodes)
	case m.text > maxSchemaText:
		return fmt.Errorf("holds more than %d bytes of text", maxSchemaText)
	}
	switch value := value.(type) {
	case string:
		m.text += len(value)
	case []any:
		for _, item := range value {
			if err := m.add(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, item := range value {
			m.text += len(name)
			switch name {
			case "$ref", "$dynamicRef", "$recursiveRef", "not", "if", "then", "else":
				m.chain++
			case "allOf", "anyOf", "oneOf":
				branches, _ := item.([]any)
				m.chain += len(branches)
			case "dependencies", "dependentSchemas":
				members, _ := item.(map[string]any)
				m.chain += len(members)
			}
			if err := m.add(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// patterns makes the regular expressions of a schema into Go's, each once. One that Go cannot read is noted, and no
// error: it may well be good ECMAScript (lookahead, backreference).
type patterns struct {
	compiled map[string]*expression
	meter    *meter
	bytes    int
	states   int
	unread   string // why the first one could not be read
}

// expression is a regular expression whose matching is metered: it takes as long as the text has bytes, times states.
type expression struct {
	*regexp.Regexp
	meter  *meter
	states int
}

// MatchString is what the library calls.
func (e *expression) MatchString(text string) bool {
	e.meter.add(1 + len(text)*e.states/matchedPerStep)
	return e.Regexp.MatchString(text)
}

func (p *patterns) compile(pattern string) (jsonschema.Regexp, error) {
	if known, ok := p.compiled[pattern]; ok {
		return known, nil
	}
	read, err := p.read(pattern)
	if err != nil {
		p.unread = cmp.Or(p.unread, err.Error())
		read = &expression{Regexp: never, meter: p.meter}
	}
	p.compiled[pattern] = read
	return read, nil
}

func (p *patterns) read(pattern string) (*expression, error) {
	if p.bytes += len(pattern); p.bytes > maxPatterns {
		return nil, fmt.Errorf("the regular expressions are longer than %d bytes", maxPatterns)
	}
	if p.unread != "" {
		return nil, errors.New(p.unread) // the schema is never used
	}
	spelled := fromECMAScript(pattern)
	parsed, err := syntax.Parse(spelled, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the regular expression %s: %w", quote(pattern), err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("the regular expression %s: %w", quote(pattern), err)
	}
	if p.states += len(program.Inst); p.states > maxStates {
		return nil, fmt.Errorf("the regular expressions have more than %d states", maxStates)
	}
	compiled, err := regexp.Compile(spelled)
	if err != nil {
		return nil, fmt.Errorf("the regular expression %s: %w", quote(pattern), err)
	}
	return &expression{Regexp: compiled, meter: p.meter, states: len(program.Inst)}, nil
}

// never stands in for a pattern that was not read; the schema that holds it is never used.
var never = regexp.MustCompile(`$^`)

// ecmaEscape finds every escape, so that an escaped backslash is not taken for the beginning of another, and "[^]".
var ecmaEscape = regexp.MustCompile(`\\(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\}|c([A-Za-z])|.)|\[\^\]`)

// fromECMAScript rewrites what Go spells otherwise: \uXXXX, \u{X}, \cX, and "[^]" for any character.
func fromECMAScript(pattern string) string {
	return ecmaEscape.ReplaceAllStringFunc(pattern, func(escape string) string {
		parts := ecmaEscape.FindStringSubmatch(escape)
		switch {
		case escape == "[^]":
			return `[\s\S]`
		case parts[1] != "":
			return `\x{` + parts[1] + `}`
		case parts[2] != "":
			return `\x{` + parts[2] + `}`
		case parts[3] != "":
			return fmt.Sprintf(`\x{%02x}`, parts[3][0]%32)
		default:
			return escape
		}
	})
}
