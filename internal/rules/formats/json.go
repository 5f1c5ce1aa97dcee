package formats

import (
	"encoding/json"
	"math/big"
)

// SameJSON tells whether two decoded values are the same JSON value: members
// in any order, numbers by what they are worth.
func SameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, isObject := b.(map[string]any)
		if !isObject || len(a) != len(b) {
			return false
		}
		for name, member := range a {
			other, there := b[name]
			if !there || !SameJSON(member, other) {
				return false
			}
		}
		return true
	case []any:
		b, isArray := b.([]any)
		if !isArray || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !SameJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, isNumber := b.(json.Number)
		return isNumber && SameNumber(a, b)
	}
	return a == b
}

// longestNumber bounds the digits and the exponent of a number that is
// compared exactly; those of doubles fit well.
const longestNumber = 400

// SameNumber tells whether two numbers are equal, however they are written.
func SameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if len(a) > longestNumber || len(b) > longestNumber {
		return false
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	if errX != nil || errY != nil || x != y {
		return false
	}
	// Integers beyond 2^53 look the same as doubles.
	exactX, okX := new(big.Rat).SetString(a.String())
	exactY, okY := new(big.Rat).SetString(b.String())
	return okX && okY && exactX.Cmp(exactY) == 0
}
