package schema

// The types of results that the specification itself has, from 2026-07-28 on:
// https://modelcontextprotocol.io/specification/2026-07-28/basic#resulttype
const (
	typeComplete      = "complete"
	typeInputRequired = "input_required"
)

// ValidateResult judges the value of a response's result by the method of its request. The result of a request that
// was taken as a task is judged by Method.TaskResult instead, and a task's payload (tasks/result) also by the method
// that made the task. A method that the revision does not know may answer any object.
//
// From 2026-07-28 on a result says by its type what it is: one that needs input first is judged by
// Method.InputResult, and one of a type that is not the specification's own only by what all results have.
func (s *Schema) ValidateResult(method string, result any) []Violation {
	m, known := s.byName[method]
	if !known || m.Result == "" {
		return s.Validate("Result", result)
	}
	object, _ := result.(map[string]any)
	text, typed := object["resultType"].(string)
	switch {
	case !typed || text == typeComplete || m.Kind != Request || s.definitions["ResultType"] == nil:
		return s.Validate(m.Result, result)
	case text != typeInputRequired:
		return s.Validate("Result", result)
	case m.InputResult != "":
		return s.Validate(m.InputResult, result)
	default:
		return tidy(append(s.Validate("Result", result), Violation{
			Pointer:    "/resultType",
			Expected:   quote(typeComplete),
			Found:      quote(typeInputRequired) + ", which no answer to " + method + " may be",
			Definition: m.Result,
		}))
	}
}
