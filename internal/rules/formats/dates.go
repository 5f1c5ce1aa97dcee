// Package formats tells whether texts and values have the form that the specification
// gives them: media types, times, keys of _meta, equal JSON. It knows no conversation.
package formats

import (
	"time"

	"github.com/mcpconform/mcpconform/internal/lazy"
)

// The forms of ISO 8601 that say a date, or a date and a time; a comma is as
// good as a full stop before a fraction.
var (
	isoMoment = lazy.MustCompile(`^([0-9W-]+)(?:T([0-9:]+)(?:[.,][0-9]+)?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$`)
	isoWeek   = lazy.MustCompile(`^[0-9]{4}-?W(?:0[1-9]|[1-4][0-9]|5[0-3])(?:-?[1-7])?$`)
	isoDay    = lazy.MustCompile(`^[0-9]{4}-?(?:00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])$`)
	isoTime   = lazy.MustCompile(
		`^(?:(?:[01][0-9]|2[0-3])(?::?[0-5][0-9](?::?(?:[0-5][0-9]|60))?)?|24(?::?00(?::?00)?)?)$`,
	)
)

// IsISO8601 tells whether a text is a date, or a date and a time, of ISO 8601.
func IsISO8601(text string) bool {
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
