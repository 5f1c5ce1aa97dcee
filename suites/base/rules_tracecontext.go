package base

import (
	"strings"

	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// traceRules are about the context of distributed traces in _meta.
func traceRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends traceparent, tracestate and baggage in _meta in their W3C formats",
			Verifies: rules.Verifies("base.meta.trace-context"),
			Judge:    traceContexts,
		},
	}
}

// traceFormats are the keys of trace context, with what their values are.
var traceFormats = []struct {
	key, wanted string
	holds       func(string) bool
}{
	{"traceparent", "version, trace id, parent id and flags in lower-case hexadecimal digits, by W3C Trace Context", isTraceParent},
	{"tracestate", "a list of key=value, by W3C Trace Context", isTraceState},
	{"baggage", "a list of key=value, by W3C Baggage", isBaggage},
}

func traceContexts(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.ByTarget() {
		for _, meta := range places.Named(message, "_meta") {
			for _, format := range traceFormats {
				value, there := meta.Member(format.key)
				if !there {
					continue
				}
				reporter.Observe()
				if text, isText := value.Value.(string); !isText || !format.holds(text) {
					reporter.Violation(message, rules.Mismatch{Wanted: format.wanted, Found: rules.Show(value.Value), Where: value.Pointer})
				}
			}
		}
	}
}

var traceParent = lazy.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// isTraceParent reads the header of W3C Trace Context, section 3.2: version 00 ends
// with the flags, later ones may go on.
func isTraceParent(text string) bool {
	parts := traceParent.FindStringSubmatch(text)
	return parts != nil && parts[1] != "ff" && (parts[1] != "00" || parts[4] == "") &&
		strings.Trim(parts[2], "0") != "" && strings.Trim(parts[3], "0") != ""
}

// maxTraceStates is how many members a tracestate has at most.
const maxTraceStates = 32

var traceState = lazy.MustCompile(`^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$`)

// isTraceState reads the header of W3C Trace Context, section 3.3. Empty members
// are allowed, and a key stands once.
func isTraceState(text string) bool {
	keys := map[string]bool{}
	for member := range strings.SplitSeq(text, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue
		}
		key, _, _ := strings.Cut(member, "=")
		if !traceState.MatchString(member) || keys[key] {
			return false
		}
		keys[key] = true
	}
	return len(keys) <= maxTraceStates
}

const (
	headerWord  = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
	baggageText = `[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*`
	blank       = `[ \t]*`
)

var baggageMember = lazy.MustCompile(
	`^` + headerWord + blank + `=` + blank + baggageText + `(?:` + blank + `;` + blank + headerWord + `(?:` + blank + `=` + blank + baggageText + `)?)*$`,
)

// isBaggage reads the header of W3C Baggage, section 3.2.
func isBaggage(text string) bool {
	for member := range strings.SplitSeq(text, ",") {
		if !baggageMember.MatchString(strings.Trim(member, " \t")) {
			return false
		}
	}
	return true
}
