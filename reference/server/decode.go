// Page basic: reading the members of params and results.

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// decode reads a JSON object into the struct that target points to. Unlike
// encoding/json it takes names exactly as written, insists on every member
// whose tag lacks omitempty or omitzero, and names the member that is wrong. Members that
// it does not know are ignored; null counts as absent.
func decode(raw json.RawMessage, target any, path string) error {
	return decodeValue(raw, reflect.ValueOf(target).Elem(), path)
}

func decodeValue(raw json.RawMessage, value reflect.Value, path string) error {
	if value.Kind() == reflect.Pointer && value.Type().Elem().Kind() == reflect.Struct {
		value.Set(reflect.New(value.Type().Elem()))
		value = value.Elem()
	}
	if value.Kind() == reflect.Struct {
		return decodeObject(raw, value, path)
	}
	if err := json.Unmarshal(raw, value.Addr().Interface()); err != nil {
		if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("%s must be %s, but is %s", path, jsonType(value.Type()), mismatch.Value)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// missingError says which member of a message is not there.
type missingError string

func (e missingError) Error() string { return string(e) + " is missing" }

func decodeObject(raw json.RawMessage, value reflect.Value, path string) error {
	var members map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &members) != nil {
		return fmt.Errorf("%s must be an object", path)
	}
	for i := range value.NumField() {
		if !value.Type().Field(i).IsExported() {
			continue
		}
		name, options, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		member, present := members[name]
		if !present || string(member) == "null" {
			if options != "omitempty" && options != "omitzero" {
				return missingError(path + "." + name)
			}
			continue
		}
		if err := decodeValue(member, value.Field(i), path+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// jsonType names the JSON type that fits a Go type.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Map:
		if t.Elem().Kind() == reflect.String {
			return "an object of strings"
		}
		return "an object"
	case reflect.Slice:
		return "an array"
	case reflect.Pointer:
		return jsonType(t.Elem())
	default:
		return "something else"
	}
}
