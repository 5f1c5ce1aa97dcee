// Page basic, "JSON Schema Usage": as much of JSON Schema 2020-12 as the
// schemas of this server use, to check arguments and what users enter.

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// validate checks a JSON value against a schema of this server. The error says
// what is wrong, and where, in words that a model can act on.
func validate(schema, value json.RawMessage) error {
	var root, instance any
	if err := json.Unmarshal(schema, &root); err != nil {
		return fmt.Errorf("the schema is not JSON: %w", err)
	}
	if err := json.Unmarshal(value, &instance); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return validator{root}.check(root, instance, "")
}

type validator struct{ root any }

func (v validator) check(schema, value any, path string) error {
	s, ok := schema.(object)
	if !ok {
		if schema == false {
			return fmt.Errorf("%s is not allowed", place(path))
		}
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		if err := v.check(v.resolve(ref), value, path); err != nil {
			return err
		}
	}
	if kind, ok := s["type"].(string); ok && !isType(kind, value) {
		return fmt.Errorf("%s must be of type %s", place(path), kind)
	}
	if constant, ok := s["const"]; ok && !reflect.DeepEqual(constant, value) {
		return fmt.Errorf("%s must be %v", place(path), constant)
	}
	if choices, ok := s["enum"].([]any); ok && !slices.ContainsFunc(choices, func(c any) bool { return reflect.DeepEqual(c, value) }) {
		return fmt.Errorf("%s must be one of %v", place(path), choices)
	}
	var err error
	switch value := value.(type) {
	case object:
		err = v.checkObject(s, value, path)
	case []any:
		err = v.checkArray(s, value, path)
	case string:
		err = inRange(float64(utf8.RuneCountInString(value)), s["minLength"], s["maxLength"], "the length of "+place(path))
	case float64:
		err = inRange(value, s["minimum"], s["maximum"], place(path))
	}
	if err != nil {
		return err
	}
	return v.checkCombined(s, value, path)
}

func (v validator) checkObject(s, value object, path string) error {
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, present := value[name.(string)]; !present {
			return fmt.Errorf("%s is missing", place(path+"/"+name.(string)))
		}
	}
	properties, _ := s["properties"].(object)
	for name, member := range value {
		schema, known := properties[name]
		if !known {
			schema = s["additionalProperties"]
		}
		if err := v.check(schema, member, path+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

func (v validator) checkArray(s object, value []any, path string) error {
	for i, item := range value {
		if err := v.check(s["items"], item, fmt.Sprintf("%s/%d", path, i)); err != nil {
			return err
		}
	}
	return inRange(float64(len(value)), s["minItems"], s["maxItems"], "the number of items of "+place(path))
}

// checkCombined applies the keywords that consist of other schemas.
func (v validator) checkCombined(s object, value any, path string) error {
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
	if condition, ok := s["if"]; ok {
		branch := s["then"]
		if v.check(condition, value, path) != nil {
			branch = s["else"]
		}
		return v.check(branch, value, path)
	}
	return nil
}

func (v validator) failures(schemas []any, value any, path string) []error {
	var errs []error
	for _, schema := range schemas {
		if err := v.check(schema, value, path); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// resolve follows a reference of the form #/a/b within the schema.
func (v validator) resolve(ref string) any {
	at := v.root
	for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		members, _ := at.(object)
		at = members[step]
	}
	return at
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
