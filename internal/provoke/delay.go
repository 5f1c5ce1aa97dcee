package provoke

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/lazy"
)

// Delayed is how long a tool is told to take by an argument that is a delay.
const Delayed = 2 * time.Second

// delayed is the same in seconds.
const delayed = float64(Delayed / time.Second)

// Words in the names of arguments that are delays, and of the units of those.
var (
	delays  = []string{"delay", "sleep", "duration", "wait", "pause"}
	seconds = []string{"s", "sec", "secs", "second", "seconds"}
	millis  = []string{"ms", "millis", "millisecond", "milliseconds"}
)

var (
	hump      = lazy.MustCompile(`([a-z0-9])([A-Z])`)
	inMillis  = lazy.MustCompile(`(?i)\b(ms|millis|milliseconds?)\b`)
	inSeconds = lazy.MustCompile(`(?i)\b(s|secs?|seconds?)\b`)
)

// Delay finds the argument of a tool that says how long it takes, by the name, and a value
// for it of two seconds. What names no unit is told by its description or default, and is
// taken for seconds otherwise: a call that is over too soon shows nothing, one that takes an
// hour is worse.
func Delay(inputSchema any) (argument string, value float64, found bool) {
	whole, _ := inputSchema.(map[string]any)
	properties, _ := whole["properties"].(map[string]any)
	for name, property := range properties {
		schema, _ := property.(map[string]any)
		if kind := schema["type"]; kind != "number" && kind != "integer" {
			continue
		}
		words := strings.FieldsFunc(strings.ToLower(hump.ReplaceAllString(name, "${1}_${2}")),
			func(letter rune) bool { return letter == '_' || letter == '-' })
		isUnit := len(words) == 1 && slices.Contains(slices.Concat(seconds[1:], millis), words[0])
		if slices.Contains(words, "retry") {
			continue // which comes after a failure alone
		}
		if !isUnit && !slices.ContainsFunc(delays, func(word string) bool { return slices.Contains(words, word) }) {
			continue
		}
		if !found || name < argument {
			argument, value, found = name, delayOf(words, schema), true
		}
	}
	return argument, value, found
}

// delayOf is the value of two seconds in the unit of an argument.
func delayOf(words []string, schema map[string]any) float64 {
	const perSecond, surelyMillis = 1000, 100
	has := func(unit []string) bool {
		return slices.ContainsFunc(unit, func(word string) bool { return slices.Contains(words, word) })
	}
	description, _ := schema["description"].(string)
	usual, _ := strconv.ParseFloat(fmt.Sprint(schema["default"]), 64) // 0 where there is none
	switch {
	case has(seconds):
		return delayed
	case has(millis),
		inMillis.MatchString(description) && !inSeconds.MatchString(description),
		usual >= surelyMillis && !inSeconds.MatchString(description):
		return delayed * perSecond
	}
	return delayed
}
