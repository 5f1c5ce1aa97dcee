package config_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/mcpconform/mcpconform/internal/config"
)

// told is an error: one line that begins with the file, and mostly with the line.
var told = regexp.MustCompile(`^f:(?:[0-9]+:)? [^\n]+$`)

// FuzzParse shows that nothing makes Parse panic, that every error is one line
// with the place, and that what is read can be handed on as JSON.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{everything, "", "url: &a x\nrevision: *a", "<<: {url: a}", "? url\n: x", "timeout: -5s",
		"arguments: {a: {1: [.inf, 0x10, 2020-01-01, !!binary YQ==]}}", "- - -", "{", "a: |\n  b\n", "%YAML 1.2\n---\nurl: x",
		"header: {a: \"\\x00\"}\nenv: {A: ~}", "provocations: {slow: {tool: a, arguments: [1]}}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := config.Parse("f", text)
		if err != nil {
			if !told.MatchString(err.Error()) {
				t.Errorf("an error is no line with the place: %q", err)
			}
			return
		}
		if _, err := json.Marshal(read); err != nil {
			t.Errorf("read what is no JSON: %v", err)
		}
	})
}
