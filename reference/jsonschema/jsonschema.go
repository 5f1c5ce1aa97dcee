// Package jsonschema checks values against schemas of JSON Schema 2020-12 that a peer wrote:
// nothing is ever fetched, and a schema that asks for too much work fits no value.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Dialect is the one dialect that is understood. A schema that names none is of it.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// maxSteps bounds one validation: a few hundred bytes of schema can ask for 2^50 steps.
const maxSteps = 200_000

// CheckDialect tells whether a schema is of another dialect.
func CheckDialect(schema json.RawMessage) error {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return fmt.Errorf("the schema is not JSON: %w", err)
	}
	members, _ := root.(map[string]any)
	named, given := members["$schema"]
	if text, _ := named.(string); given && strings.TrimSuffix(text, "#") != Dialect {
		return fmt.Errorf("the dialect %v is not supported, only %s", named, Dialect)
	}
	return nil
}

// Validate checks a JSON value against a schema. The error says what is wrong, and where.
func Validate(schema, value json.RawMessage) (err error) {
	if err := CheckDialect(schema); err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	var steps meter
	compiled, err := compile(schema, &steps)
	if err != nil {
		return fmt.Errorf("the schema cannot be used: %w", err)
	}
	defer func() {
		if reason := recover(); reason != nil { // of the meter: the library cannot be stopped otherwise
			err = fmt.Errorf("the schema is too complex: %v", reason)
		}
	}()
	var wrong *jsonschema.ValidationError
	if err := compiled.Validate(instance); errors.As(err, &wrong) {
		lines := strings.Split(wrong.Error(), "\n")[1:] // the first names the schema
		for i, line := range lines {
			lines[i] = strings.TrimPrefix(strings.TrimSpace(line), "- ")
		}
		return errors.New(strings.Join(lines, "; "))
	}
	return nil
}

func compile(schema json.RawMessage, steps *meter) (*jsonschema.Schema, error) {
	const name = "https://schema.invalid/" // which what it refers to is relative to
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothing{})
	compiler.UseRegexpEngine(pattern)
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: "urn:meter", Compile: steps.attach})
	compiler.AssertVocabs()
	if err := compiler.AddResource(name, document); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

// nothing is what is loaded for a schema from files or the network.
type nothing struct{}

func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, which is not fetched", url)
}

// pattern compiles a regular expression. One of ECMAScript that Go does not know matches any text.
func pattern(text string) (jsonschema.Regexp, error) {
	if compiled, err := regexp.Compile(text); err == nil {
		return compiled, nil
	}
	return regexp.MustCompile(""), nil
}

// meter counts how often a schema is applied to a value: the library calls the extensions of a
// vocabulary at each.
type meter int

func (m *meter) attach(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
	return m, nil
}

// Validate counts one step.
func (m *meter) Validate(*jsonschema.ValidatorContext, any) {
	if *m++; *m > maxSteps {
		panic(fmt.Sprintf("it takes more than %d steps", maxSteps))
	}
}
