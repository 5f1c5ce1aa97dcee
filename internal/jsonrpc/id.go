package jsonrpc

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// ID is the id of a message: comparable, so that it can be a map key. A string
// and a number never compare equal; numbers compare by value. The zero ID
// means that there is none.
type ID struct {
	key string // JSON text in one canonical spelling
}

// NoID is the ID of a message without an id member.
var NoID = ID{}

// NullID is the id null, which MCP forbids in requests.
var NullID = ID{key: "null"}

// IntID returns the ID of an integer.
func IntID(number int64) ID { return ID{key: strconv.FormatInt(number, 10)} }

// StringID returns the ID of a string.
func StringID(text string) ID { return IDOf(text) }

// IDOf returns the ID for a decoded id member of any type.
func IDOf(member any) ID {
	if number, ok := member.(json.Number); ok {
		return ID{key: canonicalNumber(number)}
	}
	return ID{key: string(encode(member))}
}

// maxID bounds the memory in bytes that an id takes: it stands in every answer,
// and in many places beside.
const maxID = 64 << 10

// canonicalNumber spells equal numbers equally: 1, 1.0 and 1e0 are "1".
func canonicalNumber(number json.Number) string {
	text := number.String()
	if isPlain(text) {
		return text
	}
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if len(text) > maxNumberLength || len(strings.TrimLeft(exponent, "+-0")) > maxExponentLength {
		return text
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	decimals, _ := value.FloatPrec() // exact: it was written in decimals
	return value.FloatString(decimals)
}

// isPlain tells whether a JSON number is spelled in that way already, as most ids are: digits.
func isPlain(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return text == "0" || strings.Trim(digits, "0123456789") == "" && !strings.HasPrefix(digits, "0")
}

// Hostile numbers (1e999999999) must not cost memory: what is longer than any
// real id is compared by its spelling.
const (
	maxNumberLength   = 400
	maxExponentLength = 3 // 1e999 at most
)

// IsString reports an id that is a string.
func (id ID) IsString() bool { return strings.HasPrefix(id.key, `"`) }

// IsInteger reports an id that is a number without a fraction.
func (id ID) IsInteger() bool {
	if id.key == "" {
		return false
	}
	_, ok := new(big.Int).SetString(id.key, 10)
	return ok
}

// String returns the id as JSON text, or "none".
func (id ID) String() string {
	if id == NoID {
		return "none"
	}
	return id.key
}

// MarshalJSON writes the id as it stands in a message.
func (id ID) MarshalJSON() ([]byte, error) {
	if id == NoID {
		return []byte("null"), nil
	}
	return []byte(id.key), nil
}
