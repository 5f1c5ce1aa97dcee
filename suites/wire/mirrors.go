package wire

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"reflect"
	"strings"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// mirrorRules are about the headers in which a client of the stateless era repeats
// what the body says (2026-07-28, basic/transports/streamable-http#request-metadata).
func mirrorRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends MCP-Protocol-Version with every POST",
			Requirements: []string{"transports.http.version.each"},
			Judge: everyStatelessPost(func(one *exchange) (wanted string) {
				if len(one.request.HTTP.Header.Values(transport.VersionHeader)) == 0 {
					return "the protocol version in every POST"
				}
				return ""
			}),
		},
		{
			Text:         "sends the same protocol version in MCP-Protocol-Version and in _meta",
			Requirements: []string{"transports.http.version.same"},
			Judge: everyStatelessPost(func(one *exchange) (wanted string) {
				revision, named := revisionOf(one.sent)
				given := one.request.HTTP.Header.Values(transport.VersionHeader)
				if named && len(given) > 0 && !isOnly(given, revision) {
					return revision + ", as in the body"
				}
				return ""
			}),
		},
		{
			Text:         "sends Mcp-Method with each request, and Mcp-Name where the request names a tool, prompt or resource",
			Requirements: []string{"transports.http.headers.sent"},
			Judge:        everyMirror(standardMirror, missingMirror, otherMirror),
		},
		{
			Text:         "sends arguments in the Mcp-Param-{Name} headers that x-mcp-header designates",
			Requirements: []string{"transports.http.params.sent"},
			Judge:        everyMirror(parameterMirror, missingMirror, otherMirror),
		},
		{
			Text:         "sends no Mcp-Param-{Name} header for an argument that is null or absent",
			Requirements: []string{"transports.http.params.omitted"},
			Judge:        ofClient(needlessHeaders),
		},
		{
			Text:         "sends only integers from -(2^53-1) to 2^53-1 in Mcp-Param-{Name} headers",
			Requirements: []string{"transports.http.params.safe-integers", "tools.header.safe-integer"},
			Judge:        ofClient(unsafeIntegers),
		},
		{
			Text:         "encodes values that are not valid as a plain header value with =?base64?…?=",
			Requirements: []string{"transports.http.encoding.values"},
			Judge:        everyMirror(anyMirror, unencodedMirror),
		},
		{
			Text:         "encodes header values that look like =?base64?…?= themselves",
			Requirements: []string{"transports.http.encoding.ambiguous"},
			Judge:        everyMirror(anyMirror, ambiguousMirror),
		},
		{
			Text:         "writes =?base64?…?= around encoded header values in lower case",
			Requirements: []string{"transports.http.encoding.markers-by-clients"},
			Judge:        everyMirror(anyMirror, markedMirror),
		},
	}
}

// everyStatelessPost judges the POSTs of the stateless era that carry a request or a
// notification.
func everyStatelessPost(wrong func(*exchange) (wanted string)) judge {
	return ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range statelessPosts(conversation) {
			reporter.Observe()
			if wanted := wrong(one); wanted != "" {
				reporter.ViolationAt(one.request, rules.Mismatch{
					Wanted: wanted, Found: headerShown(one.request.HTTP.Header.Values(transport.VersionHeader)) + " in " + one.name(),
					Where: "header " + transport.VersionHeader,
				})
			}
		}
	})
}

func statelessPosts(conversation *rules.Conversation) []*exchange {
	spoken := negotiations(conversation)
	var kept []*exchange
	for _, one := range exchanges(conversation) {
		if one.method == http.MethodPost && one.sent != nil && isCall(one.sent) && one.sent.Method != "initialize" &&
			protocol.Has(spoken[one.sent.Index], protocol.MirroredHeaders) {
			kept = append(kept, one)
		}
	}
	return kept
}

// A mirror is a value in the body of a request and the header that repeats it.
type mirror struct {
	kind   mirrorKind
	in     *exchange
	header string
	value  any // a string, a number or a boolean; nil when there is none to repeat
	text   string
}

type mirrorKind string

const (
	standardMirror  mirrorKind = "standard"
	taskMirror      mirrorKind = "task"
	parameterMirror mirrorKind = "parameter"
	anyMirror       mirrorKind = ""
)

// namedInHeader are the members of params that the header Mcp-Name repeats.
var namedInHeader = map[string]struct {
	member string
	kind   mirrorKind
}{
	"tools/call": {"name", standardMirror}, "prompts/get": {"name", standardMirror}, "resources/read": {"uri", standardMirror},
	"tasks/get": {"taskId", taskMirror}, "tasks/update": {"taskId", taskMirror}, "tasks/cancel": {"taskId", taskMirror},
}

// mirrors returns what the requests of the stateless era have to repeat in headers.
func mirrors(conversation *rules.Conversation) []mirror {
	return rules.Shared(conversation, "mirrors", readMirrors)
}

func readMirrors(conversation *rules.Conversation) []mirror {
	tools := designations(conversation)
	var all []mirror
	for _, one := range statelessPosts(conversation) {
		if !isRequest(one.sent) || one.sent.Method == "" { // no header repeats a method that is no text
			continue
		}
		all = append(all, mirror{standardMirror, one, transport.MethodHeader, one.sent.Method, one.sent.Method})
		params := one.sent.ParamsObject()
		named := namedInHeader[one.sent.Method]
		if name, isText := params[named.member].(string); isText {
			all = append(all, mirror{named.kind, one, transport.NameHeader, name, name})
		}
		for _, designated := range tools[one.sent] {
			value := valueAt(params["arguments"], designated.Path)
			text, carried := designated.ValueIn(params["arguments"])
			if carried || value == nil {
				all = append(all, mirror{parameterMirror, one, mcp.ParameterHeader + designated.Header, value, text})
			}
		}
	}
	return all
}

func valueAt(value any, path []string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// designations returns, for calls of tools, the headers that the tool designates. The
// client must know the tool, in one way only, and keep it.
func designations(conversation *rules.Conversation) map[*rules.Message][]mcp.Mirror {
	known := map[string][]place{}
	all := map[*rules.Message][]mcp.Mirror{}
	for _, said := range conversation.Messages {
		switch {
		case !said.FromTarget(conversation.Leg):
			if isResponse(said) && said.Request != nil && said.Request.Method == "tools/list" {
				for _, tool := range resultOf(said).items("tools") {
					name, _ := tool.member("name")
					known[name.text()] = append(known[name.text()], tool)
				}
			}
		case isRequest(said) && said.Method == "tools/call":
			name, _ := said.ParamsObject()["name"].(string)
			if tools := known[name]; len(tools) > 0 && oneDesignation(tools) {
				all[said] = mcp.Mirrors(tools[0].object()["inputSchema"])
			}
		}
	}
	return all
}

// oneDesignation tells whether all that was said of a tool designates the same
// headers, by the rules.
func oneDesignation(tools []place) bool {
	headers := func(tool place) map[string]string {
		all := map[string]string{}
		for _, one := range annotationsOf(tool) {
			all[one.pointer[len(tool.pointer):]] = one.text()
		}
		return all
	}
	for _, tool := range tools {
		if !annotatesWell(tool) || !reflect.DeepEqual(headers(tool), headers(tools[0])) {
			return false
		}
	}
	return true
}

// annotatesWell tells whether the annotations of a tool keep all rules.
func annotatesWell(tool place) bool {
	taken := map[string]bool{}
	for _, one := range annotationsOf(tool) {
		name := strings.ToLower(one.text())
		if !isToken(one.text()) || taken[name] || !mayBeHeader(one.schema["type"]) || !one.reachable() || one.barred() != "" {
			return false
		}
		taken[name] = true
	}
	return true
}

// given are the values of the header.
func (m mirror) given() []string { return m.in.request.HTTP.Header.Values(m.header) }

// A mirrorFlaw is a way in which a header does not repeat a value.
type mirrorFlaw string

const (
	missingMirror   mirrorFlaw = "missing"
	otherMirror     mirrorFlaw = "other"
	unencodedMirror mirrorFlaw = "unencoded"
	ambiguousMirror mirrorFlaw = "ambiguous"
	markedMirror    mirrorFlaw = "marked"
)

// flaw says in which way the header does not repeat the value; "" when it does.
func (m mirror) flaw() mirrorFlaw {
	given := m.given()
	if len(given) == 0 {
		return missingMirror
	}
	header := strings.Join(given, ", ")
	carried := transport.HeaderValue(m.text) == m.text
	if text, encoded := transport.DecodedHeaderValue(header); encoded && m.is(text) {
		return ""
	}
	_, marked := transport.DecodedHeaderValue(inLowerCase(header))
	switch {
	case carried && m.is(header):
		return ""
	case marked && header != m.text && inLowerCase(header) != header:
		return markedMirror
	case carried:
		return otherMirror
	case header == m.text && looksEncoded(header):
		return ambiguousMirror
	}
	return unencodedMirror
}

// is tells whether a text says the value; numbers count, however they are written.
func (m mirror) is(text string) bool {
	if number, isNumber := m.value.(json.Number); isNumber {
		return sameNumber(number, json.Number(text))
	}
	return text == m.text
}

// looksEncoded tells whether a text has the markers of an encoded value.
func looksEncoded(text string) bool {
	return strings.HasPrefix(text, transport.EncodedPrefix) && strings.HasSuffix(text, transport.EncodedSuffix)
}

// inLowerCase writes the marker that begins an encoded value in lower case.
func inLowerCase(header string) string {
	begin := min(len(header), len(transport.EncodedPrefix))
	return strings.ToLower(header[:begin]) + header[begin:]
}

// everyMirror judges the values of a kind that headers repeat, by some of the flaws
// that they can have.
func everyMirror(kind mirrorKind, flaws ...mirrorFlaw) judge {
	return ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range mirrors(conversation) {
			if kind != anyMirror && one.kind != kind || one.value == nil || one.unsafe() || !one.concerns(flaws[0]) {
				continue
			}
			reporter.Observe()
			for _, flaw := range flaws {
				if one.flaw() == flaw {
					reporter.ViolationAt(one.in.request, rules.Mismatch{
						Wanted: transport.HeaderValue(one.text) + ", as the body has " + rules.Show(one.value),
						Found:  headerShown(one.given()) + " in " + one.in.name(), Where: "header " + one.header,
					})
				}
			}
		}
	})
}

// concerns tells whether a value could have a flaw at all.
func (m mirror) concerns(flaw mirrorFlaw) bool {
	carried := transport.HeaderValue(m.text) == m.text
	switch flaw {
	case unencodedMirror:
		return !carried && !looksEncoded(m.text)
	case ambiguousMirror:
		return looksEncoded(m.text)
	case markedMirror:
		return !carried
	}
	return true
}

// largestSafe is the largest integer that a double holds exactly, as all below it.
var largestSafe = big.NewInt(1<<53 - 1)

// unsafe tells whether the value is an integer that a double may not hold exactly.
func (m mirror) unsafe() bool {
	number, isNumber := m.value.(json.Number)
	if !isNumber {
		return false
	}
	whole, isWhole := new(big.Int).SetString(number.String(), 10)
	return isWhole && whole.CmpAbs(largestSafe) > 0
}

func unsafeIntegers(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range mirrors(conversation) {
		if _, isNumber := one.value.(json.Number); !isNumber || len(one.given()) == 0 {
			continue
		}
		reporter.Observe()
		if one.unsafe() {
			reporter.ViolationAt(one.in.request, rules.Mismatch{
				Wanted: fmt.Sprintf("an integer from -%s to %s", largestSafe, largestSafe),
				Found:  rules.Show(one.value) + " in " + one.in.name(), Where: "header " + one.header,
			})
		}
	}
}

func needlessHeaders(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range mirrors(conversation) {
		if one.kind != parameterMirror || one.value != nil {
			continue
		}
		reporter.Observe()
		if given := one.given(); len(given) > 0 {
			reporter.ViolationAt(one.in.request, rules.Mismatch{
				Wanted: "no header for an argument that is null or not given", Found: headerShown(given) + " in " + one.in.name(), Where: "header " + one.header,
			})
		}
	}
}
