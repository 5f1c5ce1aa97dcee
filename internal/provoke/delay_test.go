package provoke

import (
	"encoding/json"
	"testing"
)

// A delay is known by its name, and its unit by that, by what is said of it, or by how much
// it usually is.
func TestDelay(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]struct {
		argument string
		value    float64
	}{
		`{"properties":{"seconds":{"type":"number"}}}`:                                                  {"seconds", 2},
		`{"properties":{"duration":{"type":"number","default":10},"steps":{"type":"number"}}}`:          {"duration", 2},
		`{"properties":{"delayMs":{"type":"integer"}}}`:                                                 {"delayMs", 2000},
		`{"properties":{"sleep_seconds":{"type":"integer"}}}`:                                           {"sleep_seconds", 2},
		`{"properties":{"delay":{"type":"number","description":"How long, in ms."}}}`:                   {"delay", 2000},
		`{"properties":{"retry-delay":{"type":"number"},"retryMaxDelay":{"type":"number"}}}`:            {"", 0},
		`{"properties":{"delay":{"type":"number","description":"Seconds, not milliseconds."}}}`:         {"delay", 2},
		`{"properties":{"wait":{"type":"number","default":500}}}`:                                       {"wait", 2000},
		`{"properties":{"timeout":{"type":"number"},"limit":{"type":"integer"},"s":{"type":"number"}}}`: {},
		`{"properties":{"duration":{"type":"string"}}}`:                                                 {},
		`{"properties":{"milliseconds":{"type":"integer"}}}`:                                            {"milliseconds", 2000},
		`true`: {},
	} {
		var document any
		if err := json.Unmarshal([]byte(schema), &document); err != nil {
			t.Fatal(err)
		}
		argument, value, found := Delay(document)
		if argument != want.argument || value != want.value || found != (want.argument != "") {
			t.Errorf("%s: %q, %v, %v", schema, argument, value, found)
		}
	}
}
