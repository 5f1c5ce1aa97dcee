// Package schema says what the messages of each released revision of the Model Context Protocol look like:
// one JSON Schema 2020-12 document per revision, with the definition names of the specification's schema reference,
// and a table of the methods (who sends them, what answers them, which capability they need).
//
// It also judges schemas that a target sends (a tool's inputSchema, say) and makes example instances of them.
package schema

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

//go:embed *.json
var documents embed.FS

// Schema is the schema of one revision. It is safe for concurrent use.
type Schema struct {
	address     string // in the compiler
	revision    string
	document    map[string]any
	definitions map[string]any
	methods     []Method
	byName      map[string]Method
	errorCodes  []ErrorCode
	draft       bool // made of a Draft: a place of a definition may be gone
	whole       bool // an array may have to have items: no value is judged in pieces

	mutex    sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by definition, filled on first use
}

// load reads an embedded document on first use, once.
var load = func() map[string]func() *Schema {
	loaders := map[string]func() *Schema{}
	names, err := fs.Glob(documents, "*.json")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		revision := strings.TrimSuffix(path.Base(name), ".json")
		loaders[revision] = sync.OnceValue(func() *Schema { return open(revision) })
	}
	return loaders
}()

// Revisions lists the revisions that have a schema, oldest first.
func Revisions() []string { return slices.Sorted(maps.Keys(load)) }

// For returns the schema of a released revision. The error names the revisions that exist.
func For(revision string) (*Schema, error) {
	get, ok := load[revision]
	if !ok {
		return nil, fmt.Errorf(
			"no schema for revision %q: expected one of %s",
			revision,
			strings.Join(Revisions(), ", "),
		)
	}
	return get(), nil
}

// open panics where the embedded document is broken, which the tests exclude.
func open(revision string) *Schema {
	raw, err := documents.ReadFile(revision + ".json")
	if err != nil {
		panic(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		panic(fmt.Sprintf("%s.json: %v", revision, err))
	}
	s, err := newSchema(embedded+revision, revision, value.(map[string]any))
	if err != nil {
		panic(fmt.Sprintf("%s.json: %v", revision, err))
	}
	return s
}

// embedded is where the addresses of our own documents begin. The compiler holds every document against the
// metaschema of its draft, but for those of this host: ours are known to be schemas, by the tests, and it takes twice
// as long as compiling what a run needs of them. Nothing is ever fetched from there.
const embedded = "https://json-schema.org/mcpconform/"

// newSchema reads a document, whose definitions are compiled when they are asked for.
func newSchema(address, revision string, document map[string]any) (*Schema, error) {
	s := &Schema{
		address:     address,
		revision:    revision,
		document:    document,
		definitions: document["$defs"].(map[string]any),
		compiler:    newCompiler(),
		compiled:    map[string]*jsonschema.Schema{},
		byName:      map[string]Method{},
	}
	s.compiler.AssertFormat()
	if err := s.compiler.AddResource(address, document); err != nil {
		return nil, err
	}
	for _, m := range slices.Concat(methodTable, s.unlisted()) {
		if m.Kind, m.Senders = s.sending(m.Message); m.Senders == nil {
			continue // not in this revision
		}
		if s.definitions[m.TaskResult] == nil {
			m.TaskResult, m.TaskCapability = "", Capability{}
		}
		if s.definitions[m.InputResult] == nil {
			m.InputResult = ""
		}
		if brought, later := declaredWith[m.Name]; later && !protocol.Has(revision, brought) {
			m.Capability = Capability{}
		}
		m.Params = s.paramsOf(m.Message)
		s.methods = append(s.methods, m)
		s.byName[m.Name] = m
	}
	s.errorCodes = findErrorCodes(s.definitions)
	return s, nil
}

// Revision is the revision that this schema describes.
func (s *Schema) Revision() string { return s.revision }

// Definitions lists the names of all definitions, sorted.
func (s *Schema) Definitions() []string { return slices.Sorted(maps.Keys(s.definitions)) }

// Validate judges a value against a definition ("CallToolResult"), or a place inside one
// ("ReadResourceRequest/properties/params"). The value must be decoded JSON: nil, bool, string, json.Number (or a Go
// number), []any, map[string]any. No violations means that the value is valid. A definition that this revision does
// not have is a mistake of the caller: Validate panics.
func (s *Schema) Validate(definition string, value any) []Violation {
	return tidy(s.validate(definition, tameNumbers(value)))
}

// validate is Validate for one definition, without the last touch: the list may be long, and in no order.
func (s *Schema) validate(definition string, value any) []Violation {
	if s.draft && at(s.document, jsonrpc.Path("/$defs/"+definition)) == nil {
		return nil // gone, so that nothing is demanded
	}
	if parts := pieces(value); parts != nil && !s.whole {
		var all []Violation
		for _, part := range parts {
			for _, v := range s.validate(definition, part.value) {
				all = append(all, part.restore(v, value))
			}
			if all = ordered(all); len(all) > maxViolations {
				break
			}
		}
		return all
	}
	compiled, err := s.compile(definition)
	if err != nil {
		panic(fmt.Sprintf("schema of %s: definition %q: %v", s.revision, definition, err))
	}
	if err = compiled.Validate(value); err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return []Violation{{Expected: "a value that can be judged", Found: err.Error(), Definition: definition}}
	}
	name, _, _ := strings.Cut(definition, "/")
	return violations(failed, name, value, s.document)
}

// compile compiles a definition on its first use: a message needs a handful of them, a whole document costs more.
func (s *Schema) compile(definition string) (*jsonschema.Schema, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if compiled, ok := s.compiled[definition]; ok {
		return compiled, nil
	}
	compiled, err := s.compiler.Compile(s.address + "#/$defs/" + definition)
	if err == nil {
		s.compiled[definition] = compiled
	}
	return compiled, err
}

// ValidateRequest judges a whole request: the JSON-RPC envelope, and what the method demands. A method that the
// revision does not know is judged by its envelope alone.
func (s *Schema) ValidateRequest(method string, message any) []Violation {
	return s.validateCall(method, Request, "JSONRPCRequest", message)
}

// ValidateNotification judges a whole notification, as ValidateRequest does a request.
func (s *Schema) ValidateNotification(method string, message any) []Violation {
	return s.validateCall(method, Notification, "JSONRPCNotification", message)
}

func (s *Schema) validateCall(method string, kind Kind, envelope string, message any) []Violation {
	found := s.Validate(envelope, message)
	m, known := s.byName[method]
	switch {
	case !known:
		return found
	case m.Kind != kind:
		return tidy(append(found, Violation{
			Pointer:    "/method",
			Expected:   fmt.Sprintf("the method of a %s", kind),
			Found:      fmt.Sprintf("%q, the method of a %s", method, m.Kind),
			Definition: envelope,
		}))
	default:
		return tidy(append(s.Validate(m.Message, message), found...))
	}
}

// ValidateResponse judges the envelope of a response with a result; ValidateResult judges the result in it.
func (s *Schema) ValidateResponse(message any) []Violation {
	return s.Validate(s.either("JSONRPCResultResponse", "JSONRPCResponse"), message)
}

// either names the definition under the name that this revision gives it.
func (s *Schema) either(names ...string) string {
	for _, name := range names {
		if s.definitions[name] != nil {
			return name
		}
	}
	panic(fmt.Sprintf("schema of %s: none of %v is defined", s.revision, names))
}

// paramsOf finds where a message's params are defined: a definition of its own, or a place inside the message's.
func (s *Schema) paramsOf(definition string) string {
	object, _ := s.definitions[definition].(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	if params, ok := properties["params"].(map[string]any); ok {
		if name := referred(params); name != "" && len(params) == 1 {
			return name
		}
		return definition + "/properties/params"
	}
	if base := referred(object); base != "" {
		return s.paramsOf(base)
	}
	return ""
}

// referred is the definition that a schema object refers to, or "".
func referred(object map[string]any) string {
	reference, _ := object["$ref"].(string)
	return definitionName(reference)
}

// definitionName cuts the name of a definition out of a reference to it; "" for any other place.
func definitionName(url string) string {
	_, fragment, _ := strings.Cut(url, "#")
	for _, prefix := range []string{"/$defs/", "/definitions/"} {
		if name, ok := strings.CutPrefix(fragment, prefix); ok && !strings.Contains(name, "/") {
			return name
		}
	}
	return ""
}

// newCompiler makes a compiler that never loads anything and knows the formats of the specification.
func newCompiler() *jsonschema.Compiler {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(refuse{})
	for _, format := range formats {
		compiler.RegisterFormat(format)
	}
	return compiler
}

// refuse is a loader that loads nothing: a schema that came over the wire may not make the harness open files or
// connections.
type refuse struct{}

var errRefused = errors.New("not loaded: nothing is fetched from files or the network")

func (refuse) Load(string) (any, error) { return nil, errRefused }
