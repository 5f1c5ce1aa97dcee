package formats

import (
	"strings"
	"testing"
)

func TestIsMediaType(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"image/png": true, "text/plain; charset=utf-8": true, "inode/directory": true, "application/vnd.api+json": true,
		"TEXT/HTML": true, "text/html;profile=mcp-app": true, "text/plain; charset": true,
		"": false, "png": false, "image/": false, "/png": false, "image png": false, "a/b/c": false, "*": false,
	} {
		if IsMediaType(text) != good {
			t.Errorf("%q: wanted %t", text, good)
		}
	}
}

func TestIsISO8601(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"2025-01-12T15:00:58Z": true, "2025-01-12T15:00:58.123+01:00": true, "2025-01-12T15:00:58,5": true,
		"2025-01-12": true, "20250112T150058Z": true, "2025-01-12T15:00": true, "2025-W02-7": true, "2025-012": true,
		"2025-01": true, "2024-02-29": true, "2016-12-31T23:59:60Z": true, "2025-01-12T24:00:00Z": true,
		"": false, "yesterday": false, "2025-13-01": false, "2025-02-29": false, "2025-01-12 15:00:58": false,
		"12/01/2025": false, "1736694058": false, "2025-01-12T25:00:00Z": false, "2025-01-12T15:61:00Z": false,
		"Sun, 12 Jan 2025 15:00:58 GMT": false, "2025-01-12Z": false,
	} {
		if IsISO8601(text) != good {
			t.Errorf("%q: wanted %t", text, good)
		}
	}
}

func FuzzForms(f *testing.F) {
	for _, seed := range []string{"image/png", "2025-01-12T15:00:58Z", "", "text/plain; a=\"", "2025-W02-7"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if IsMediaType(text) && !strings.Contains(text, "/") {
			t.Errorf("%q is no media type", text)
		}
		if IsISO8601(text) && len(text) < len("2006") {
			t.Errorf("%q is no date", text)
		}
	})
}

func TestMetaKeys(t *testing.T) {
	t.Parallel()
	good := []string{"", "a", "a.b_c-d", "com.example/a", "com.example/", "c0m.ex-ample/9", "A/b"}
	for _, key := range good {
		if HasPrefix(key) && !PrefixIsSeries(key) || HasLabels(key) && !LabelsAreValid(key) || !NameIsEnclosed(key) || !NameIsPlain(key) {
			t.Errorf("%q is a valid key", key)
		}
	}
	bad := map[string]func(string) bool{
		"/a": PrefixIsSeries, "a//b": PrefixIsSeries, "a/b/c": PrefixIsSeries, ".a/b": PrefixIsSeries,
		"-a/b": LabelsAreValid, "a-/b": LabelsAreValid, "9a/b": LabelsAreValid, "a_b/c": LabelsAreValid, "ä/b": LabelsAreValid,
		"-a": NameIsEnclosed, "a.": NameIsEnclosed, "x/_a": NameIsEnclosed, "ä": NameIsEnclosed,
		"a$b": NameIsPlain, "a:b": NameIsPlain,
	}
	for key, holds := range bad {
		if holds(key) {
			t.Errorf("%q is not a valid key", key)
		}
	}
}
