package wire

import (
	"encoding/json"
	"errors"
	"math/big"
	"mime"
	"regexp"
	"strings"
	"time"
)

// isMediaType tells whether a text is a media type, type and subtype, with or
// without parameters (RFC 2045, section 5.1). Parameters are not judged.
func isMediaType(text string) bool {
	name, _, err := mime.ParseMediaType(text)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return false
	}
	return strings.Count(name, "/") == 1
}

// The forms of ISO 8601 that say a date, or a date and a time; a comma is as
// good as a full stop before a fraction.
var (
	isoMoment = regexp.MustCompile(`^([0-9W-]+)(?:T([0-9:]+)(?:[.,][0-9]+)?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$`)
	isoWeek   = regexp.MustCompile(`^[0-9]{4}-?W(?:0[1-9]|[1-4][0-9]|5[0-3])(?:-?[1-7])?$`)
	isoDay    = regexp.MustCompile(`^[0-9]{4}-?(?:00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])$`)
	isoTime   = regexp.MustCompile(`^(?:(?:[01][0-9]|2[0-3])(?::?[0-5][0-9](?::?(?:[0-5][0-9]|60))?)?|24(?::?00(?::?00)?)?)$`)
)

// isISO8601 tells whether a text is a date, or a date and a time, of ISO 8601.
func isISO8601(text string) bool {
	parts := isoMoment.FindStringSubmatch(text)
	if parts == nil || parts[2] != "" && !isoTime.MatchString(parts[2]) {
		return false
	}
	date := parts[1]
	if isoWeek.MatchString(date) || isoDay.MatchString(date) {
		return true
	}
	for _, layout := range []string{"2006-01-02", "20060102", "2006-01", "2006"} {
		if _, err := time.Parse(layout, date); err == nil {
			return true
		}
	}
	return false
}

// sameJSON tells whether two decoded values are the same JSON value: members
// in any order, numbers by what they are worth.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, isObject := b.(map[string]any)
		if !isObject || len(a) != len(b) {
			return false
		}
		for name, member := range a {
			other, there := b[name]
			if !there || !sameJSON(member, other) {
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
			if !sameJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, isNumber := b.(json.Number)
		return isNumber && sameNumber(a, b)
	}
	return a == b
}

// longestNumber bounds the digits and the exponent of a number that is
// compared exactly; those of doubles fit well.
const longestNumber = 400

func sameNumber(a, b json.Number) bool {
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
