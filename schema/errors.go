package schema

import (
	"fmt"
	"maps"
	"slices"
)

// ErrorCode is an error code to which a revision gives a meaning.
type ErrorCode struct {
	Code       string // as JSON: "-32042"
	Definition string // "URLElicitationRequiredError"

	whole bool // defines the whole response, not only the error in it
}

// ErrorCodes lists the error codes that the revision defines, by the names of their definitions.
func (s *Schema) ErrorCodes() []ErrorCode { return slices.Clone(s.errorCodes) }

// ValidateError judges a whole response with an error.
func (s *Schema) ValidateError(message any) []Violation {
	definition := s.either("JSONRPCErrorResponse", "JSONRPCError")
	object, _ := message.(map[string]any)
	fault, _ := object["error"].(map[string]any)
	for _, known := range s.errorCodes {
		if known.whole && fmt.Sprint(fault["code"]) == known.Code {
			definition = known.Definition
		}
	}
	return s.Validate(definition, message)
}

// findErrorCodes finds the definitions of errors that have one code.
func findErrorCodes(definitions map[string]any) []ErrorCode {
	var found []ErrorCode
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if code := at(definitions[name], []string{"properties", "code", "const"}); code != nil {
			found = append(found, ErrorCode{Code: fmt.Sprint(code), Definition: name})
		}
		if code := at(definitions[name], []string{"properties", "error", "properties", "code", "const"}); code != nil {
			found = append(found, ErrorCode{Code: fmt.Sprint(code), Definition: name, whole: true})
		}
	}
	return found
}
