package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxExponent bounds the power of ten of a number that is judged exactly: beyond what readers of JSON keep
	// (a double ends at 308), and before exact arithmetic on a few bytes of input ("1e1000000") begins to cost.
	maxExponent = 400
	// maxDigits bounds the length of a number that is judged exactly, for the same reason.
	maxDigits = 1000
)

// tameNumbers returns the value with each number that costs too much to judge replaced by one of the same sign, of
// like size and as whole as the original. The value itself stays as it is; usually it is what is returned.
func tameNumbers(value any) any {
	tamed, _ := tame(value)
	return tamed
}

// tame also tells whether anything was replaced, so that only what holds a wild number is copied.
func tame(value any) (any, bool) {
	changed := false
	switch value := value.(type) {
	case json.Number:
		if tamed := tameNumber(string(value)); tamed != string(value) {
			return json.Number(tamed), true
		}
	case []any:
		items := value
		for i, item := range value {
			if tamed, wild := tame(item); wild {
				if !changed {
					items, changed = slices.Clone(value), true
				}
				items[i] = tamed
			}
		}
		return items, changed
	case map[string]any:
		members := value
		for name, item := range value {
			if tamed, wild := tame(item); wild {
				if !changed {
					members, changed = maps.Clone(value), true
				}
				members[name] = tamed
			}
		}
		return members, changed
	}
	return value, false
}

func tameNumber(number string) string {
	mantissa, power := number, 0
	if at := strings.IndexAny(number, "eE"); at >= 0 {
		mantissa = number[:at]
		exponent, err := strconv.Atoi(strings.TrimPrefix(number[at+1:], "+"))
		if err != nil { // more digits than an int holds
			exponent = maxExponent + 1
			if strings.HasPrefix(number[at+1:], "-") {
				exponent = -exponent
			}
		}
		power = exponent
	}
	if len(mantissa) <= maxDigits && -maxExponent <= power && power <= maxExponent {
		return number
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	fraction = strings.TrimRight(fraction, "0")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign = "-"
	}
	// The number is digits × 10^(power-len(fraction)); it is whole when no digit but zeros stays behind the point.
	trailing := len(digits) - len(strings.TrimRight(digits, "0"))
	wholeNumber := power-len(fraction)+trailing >= 0
	size := len(digits) + power - len(fraction) // digits before the point
	switch {
	case size > maxDigits:
		return sign + digits[:1] + "e" + strconv.Itoa(maxExponent)
	case wholeNumber:
		return sign + digits[:1] + "e" + strconv.Itoa(min(size-1, maxExponent))
	case size > 0:
		return sign + digits[:min(size, len(digits))] + ".5"
	default:
		return sign + "1e" + strconv.Itoa(max(size-1, -maxExponent))
	}
}
