// Package jsonschema checks values against JSON Schema 2020-12, as much of it as
// the reference implementation needs: all of its keywords but those that depend
// on what others have seen ("unevaluated"), and no formats. Nothing is ever
// fetched: a schema that refers to what it does not hold fits no value.
package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Dialect is the one dialect that is understood. A schema that names none is
// of it.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Bounds of one validation: a schema that a stranger wrote must not cost more.
const (
	maxDepth = 128
	maxSteps = 200_000
)

var errTooComplex = errors.New("the schema is too complex")

type object = map[string]any

// CheckDialect tells whether a schema is of another dialect.
func CheckDialect(schema json.RawMessage) error {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return fmt.Errorf("the schema is not JSON: %w", err)
	}
	return checkDialect(root)
}

func checkDialect(root any) error {
	members, _ := root.(object)
	named, given := members["$schema"]
	if text, _ := named.(string); given && strings.TrimSuffix(text, "#") != Dialect {
		return fmt.Errorf("the dialect %v is not supported, only %s", named, Dialect)
	}
	return nil
}

// Validate checks a JSON value against a schema. The error says what is wrong,
// and where, in words that a model can act on.
func Validate(schema, value json.RawMessage) error {
	var root, instance any
	if err := json.Unmarshal(schema, &root); err != nil {
		return fmt.Errorf("the schema is not JSON: %w", err)
	}
	if err := json.Unmarshal(value, &instance); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if err := checkDialect(root); err != nil {
		return err
	}
	return (&validator{root: root}).check(root, instance, "")
}

type validator struct {
	root         any
	depth, steps int
	tooComplex   bool // for good: no combination of schemas makes up for it
	unresolved   error
}

func (v *validator) check(schema, value any, path string) error {
	v.steps++
	v.depth++
	defer func() { v.depth-- }()
	if v.depth > maxDepth || v.steps > maxSteps {
		v.tooComplex = true
	}
	if err := v.broken(); err != nil {
		return err
	}
	s, ok := schema.(object)
	if !ok {
		if schema == false {
			return fmt.Errorf("%s is not allowed", place(path))
		}
		return nil
	}
	for _, keyword := range []string{"$ref", "$dynamicRef"} {
		if ref, ok := s[keyword].(string); ok {
			target, err := v.resolve(ref)
			if err != nil {
				v.unresolved = err
				return err
			}
			if err := v.check(target, value, path); err != nil {
				return err
			}
		}
	}
	if !isOneOf(s["type"], value) {
		return fmt.Errorf("%s must be of type %v", place(path), s["type"])
	}
	if constant, ok := s["const"]; ok && !reflect.DeepEqual(constant, value) {
		return fmt.Errorf("%s must be %v", place(path), constant)
	}
	if choices, ok := s["enum"].([]any); ok &&
		!slices.ContainsFunc(choices, func(c any) bool { return reflect.DeepEqual(c, value) }) {
		return fmt.Errorf("%s must be one of %v", place(path), choices)
	}
	var err error
	switch value := value.(type) {
	case object:
		err = v.checkObject(s, value, path)
	case []any:
		err = v.checkArray(s, value, path)
	case string:
		err = checkText(s, value, path)
	case float64:
		err = checkNumber(s, value, path)
	}
	if err != nil {
		return err
	}
	return v.checkCombined(s, value, path)
}

// broken is why no value can be checked against the schema.
func (v *validator) broken() error {
	if v.tooComplex {
		return errTooComplex
	}
	return v.unresolved
}

func (v *validator) checkObject(s, value object, path string) error {
	required, _ := s["required"].([]any)
	if err := present(required, value, path); err != nil {
		return err
	}
	if err := inRange(
		float64(len(value)),
		s["minProperties"],
		s["maxProperties"],
		"the number of members of "+place(path),
	); err != nil {
		return err
	}
	for name, member := range value {
		if err := v.checkMember(s, name, member, path+"/"+name); err != nil {
			return err
		}
	}
	dependent, _ := s["dependentRequired"].(object)
	for name, needed := range dependent {
		if _, given := value[name]; given {
			names, _ := needed.([]any)
			if err := present(names, value, path); err != nil {
				return err
			}
		}
	}
	dependent, _ = s["dependentSchemas"].(object)
	for name, schema := range dependent {
		if _, given := value[name]; given {
			if err := v.check(schema, value, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func present(names []any, value object, path string) error {
	for _, name := range names {
		if name, isText := name.(string); isText {
			if _, given := value[name]; !given {
				return fmt.Errorf("%s is missing", place(path+"/"+name))
			}
		}
	}
	return nil
}

// checkMember checks a member against all schemas that are for its name or, when
// there is none, against that for the others.
func (v *validator) checkMember(s object, name string, member any, path string) error {
	if schema, limited := s["propertyNames"]; limited {
		if err := v.check(schema, name, path); err != nil {
			return err
		}
	}
	properties, _ := s["properties"].(object)
	schema, known := properties[name]
	if known {
		if err := v.check(schema, member, path); err != nil {
			return err
		}
	}
	patterns, _ := s["patternProperties"].(object)
	for pattern, schema := range patterns {
		if matches(pattern, name) {
			known = true
			if err := v.check(schema, member, path); err != nil {
				return err
			}
		}
	}
	if known {
		return nil
	}
	return v.check(s["additionalProperties"], member, path)
}

func (v *validator) checkArray(s object, value []any, path string) error {
	first, _ := s["prefixItems"].([]any)
	contained := 0
	for i, item := range value {
		at := fmt.Sprintf("%s/%d", path, i)
		schema := s["items"]
		if i < len(first) {
			schema = first[i]
		}
		if err := v.check(schema, item, at); err != nil {
			return err
		}
		if wanted, ok := s["contains"]; ok && v.check(wanted, item, at) == nil {
			contained++
		}
	}
	if s["uniqueItems"] == true {
		for i, item := range value {
			if v.steps += i; slices.ContainsFunc(
				value[:i],
				func(other any) bool { return reflect.DeepEqual(item, other) },
			) {
				return fmt.Errorf("%s must have no item twice", place(path))
			}
		}
	}
	if _, ok := s["contains"]; ok {
		least := s["minContains"]
		if least == nil {
			least = 1.0
		}
		if err := inRange(
			float64(contained),
			least,
			s["maxContains"],
			"the number of items of "+place(path)+" that fit contains",
		); err != nil {
			return err
		}
	}
	return inRange(float64(len(value)), s["minItems"], s["maxItems"], "the number of items of "+place(path))
}

func checkText(s object, value, path string) error {
	if pattern, ok := s["pattern"].(string); ok && !matches(pattern, value) {
		return fmt.Errorf("%s must match %s", place(path), pattern)
	}
	return inRange(float64(utf8.RuneCountInString(value)), s["minLength"], s["maxLength"], "the length of "+place(path))
}

// matches tells whether a text matches a pattern. One that this language does
// not know holds nobody back.
func matches(pattern, text string) bool {
	compiled, err := regexp.Compile(pattern)
	return err != nil || compiled.MatchString(text)
}

func checkNumber(s object, value float64, path string) error {
	if low, ok := s["exclusiveMinimum"].(float64); ok && value <= low {
		return fmt.Errorf("%s must be greater than %v", place(path), low)
	}
	if high, ok := s["exclusiveMaximum"].(float64); ok && value >= high {
		return fmt.Errorf("%s must be less than %v", place(path), high)
	}
	if unit, ok := s["multipleOf"].(float64); ok && unit > 0 {
		if times := value / unit; math.Abs(times-math.Round(times)) > 1e-9 {
			return fmt.Errorf("%s must be a multiple of %v", place(path), unit)
		}
	}
	return inRange(value, s["minimum"], s["maximum"], place(path))
}

// checkCombined applies the keywords that consist of other schemas.
func (v *validator) checkCombined(s object, value any, path string) error {
	all, _ := s["allOf"].([]any)
	for _, schema := range all {
		if err := v.check(schema, value, path); err != nil {
			return err
		}
	}
	if some, ok := s["anyOf"].([]any); ok {
		if errs := v.failures(some, value, path); len(errs) == len(some) {
			return fmt.Errorf("%s fits none of the alternatives: %w", place(path), errors.Join(errs...))
		}
	}
	if one, ok := s["oneOf"].([]any); ok && len(v.failures(one, value, path)) != len(one)-1 {
		return fmt.Errorf("%s must fit exactly one of the alternatives", place(path))
	}
	if other, ok := s["not"]; ok && v.check(other, value, path) == nil {
		return fmt.Errorf("%s fits what it must not", place(path))
	}
	if condition, ok := s["if"]; ok {
		branch := s["then"]
		if v.check(condition, value, path) != nil {
			branch = s["else"]
		}
		if err := v.check(branch, value, path); err != nil {
			return err
		}
	}
	return v.broken() // which an alternative may have met
}

func (v *validator) failures(schemas []any, value any, path string) []error {
	var errs []error
	for _, schema := range schemas {
		if err := v.check(schema, value, path); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// resolve follows a reference within the schema: a JSON pointer, or an anchor.
func (v *validator) resolve(ref string) (any, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	unresolved := fmt.Errorf("the schema refers to %q, which it does not hold, and which is not fetched", ref)
	if !local {
		return nil, unresolved
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, unresolved
	}
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		if found, ok := v.anchored(v.root, fragment, 0); ok {
			return found, nil
		}
		return nil, unresolved
	}
	at := v.root
	for step := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
		if fragment == "" {
			break
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		found := false
		switch members := at.(type) {
		case object:
			at, found = members[step]
		case []any:
			number, err := strconv.Atoi(step)
			if found = err == nil && number >= 0 && number < len(members); found {
				at = members[number]
			}
		}
		if !found {
			return nil, unresolved
		}
	}
	return at, nil
}

// anchored finds the schema that has an anchor.
func (v *validator) anchored(at any, name string, depth int) (any, bool) {
	if v.steps++; depth > maxDepth || v.steps > maxSteps {
		return nil, false
	}
	switch at := at.(type) {
	case object:
		if at["$anchor"] == name || at["$dynamicAnchor"] == name {
			return at, true
		}
		for _, member := range at {
			if found, ok := v.anchored(member, name, depth+1); ok {
				return found, true
			}
		}
	case []any:
		for _, member := range at {
			if found, ok := v.anchored(member, name, depth+1); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// isOneOf tells whether a value is of a type, or of one of several. No type
// allows all.
func isOneOf(kinds, value any) bool {
	switch kinds := kinds.(type) {
	case string:
		return isType(kinds, value)
	case []any:
		return slices.ContainsFunc(kinds, func(kind any) bool {
			name, _ := kind.(string)
			return isType(name, value)
		})
	default:
		return true
	}
}

func isType(kind string, value any) bool {
	switch value := value.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case float64:
		return kind == "number" || kind == "integer" && value == math.Trunc(value)
	case []any:
		return kind == "array"
	default:
		return kind == "object"
	}
}

func inRange(n float64, low, high any, what string) error {
	if low, ok := low.(float64); ok && n < low {
		return fmt.Errorf("%s must be at least %v", what, low)
	}
	if high, ok := high.(float64); ok && n > high {
		return fmt.Errorf("%s must be at most %v", what, high)
	}
	return nil
}

func place(path string) string {
	if path == "" {
		return "the value"
	}
	return path
}
