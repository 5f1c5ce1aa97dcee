package streamablehttp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/schema"
)

// parameters checks the heading Custom Headers from Tool Parameters of the stateless
// era. The server chooses which arguments a header repeats; one that chooses none has
// nothing to keep.
func parameters() {
	rejectingParameters()
	rejectingValues()
	refusingParameters()
	decodingParameters()
	readingParameters()
	requiringNoParameter()
}

// rejectingParameters registers the checks that a call is rejected whose header and argument
// are at odds.
func rejectingParameters() {
	const missing, mismatch = "transports.http.params.missing", "transports.http.params.mismatch"
	rejects := func(text, requirement string, of choice, says string, edit func(mirrored) HeaderEdit) {
		It(text, Row(), Verifies(requirement), func(t *T) {
			server := Session(t)
			one := mustMirror(t, server, of)

			t.Expect(post(t, server, one.call(server), says, edit(one))).To(beTurnedDown())
		})
	}
	encoded := func(one mirrored) HeaderEdit {
		return WithHeader(one.header, transport.EncodedHeaderValue(one.text+"-other"))
	}
	marked := func(one mirrored) HeaderEdit {
		return WithHeader(one.header, strings.Replace(transport.EncodedHeaderValue(one.text), "base64", "BASE64", 1))
	}

	rejects("rejects a call without the Mcp-Param-{Name} header of an argument", missing, parameter, noArgument, lacking)
	rejects("rejects a call whose Mcp-Param-{Name} header differs from the argument", mismatch, parameter, otherArgument, differing)
	rejects("rejects a call whose Mcp-Param-{Name} header differs from the nested argument", mismatch, innerParameter, otherArgument, differing)
	rejects("rejects a call whose decoded Mcp-Param-{Name} header differs from the argument", mismatch, textParameter, otherArgument, encoded)
	rejects("rejects a Mcp-Param-{Name} header with =?BASE64?…?= in upper case",
		"transports.http.encoding.markers", textParameter, "has other markers around the header of an argument", marked)
}

// rejectingValues registers those of single values, which not each argument can have.
func rejectingValues() {
	It("rejects a call without the Mcp-Param-{Name} header of an integer beyond 2^53-1", Verifies("transports.http.params.missing"), func(t *T) {
		server := Session(t)
		one := mustMirror(t, server, largeParameter).with(unsafeInteger)

		given := post(t, server, one.call(server), "has an integer beyond 2^53-1", WithoutHeader(one.header))

		t.Expect(given).To(beTurnedDown())
	})

	It("rejects a call whose Mcp-Param-{Name} header differs from the argument only in case",
		Verifies("transports.http.params.mismatch"), func(t *T) {
			server := Session(t)
			one := mustMirror(t, server, textParameter)
			if strings.ToUpper(one.text) == one.text {
				t.NotApplicable("the argument of the tool has no lower-case letters")
			}

			given := post(t, server, one.call(server), otherArgument, WithHeader(one.header, transport.HeaderValue(strings.ToUpper(one.text))))

			t.Expect(given).To(beTurnedDown())
		})

	It("rejects a call whose Mcp-Param-{Name} header has unencoded non-ASCII characters", Verifies("transports.http.params.characters"), func(t *T) {
		server := Session(t)
		one := mustMirror(t, server, textParameter).with(foreign)
		mustTake(t, server, one)

		given := post(t, server, one.call(server), "has a header with characters beyond ASCII", WithHeader(one.header, foreign))

		t.Expect(given).To(beTurnedDown())
	})
}

// refusingParameters registers the checks how such a call is rejected.
func refusingParameters() {
	refuses := func(text, requirement, says string, edit func(mirrored) HeaderEdit) {
		It(text, Row(), Verifies("transports.http.headers.error"), func(t *T) {
			server := Session(t)
			one := mustMirror(t, server, parameter)

			judgeRefusal(t, post(t, server, one.call(server), says, edit(one)), requirement)
		})
	}

	refuses("returns HTTP 400 and -32020 if a Mcp-Param-{Name} header differs from its argument",
		"transports.http.params.mismatch", otherArgument, differing)
	refuses("returns HTTP 400 and -32020 if the Mcp-Param-{Name} header of an argument is missing",
		"transports.http.params.missing", noArgument, lacking)

	It("returns HTTP 400 and -32020 if it rejects a Mcp-Param-{Name} header with broken Base64",
		Verifies("transports.http.headers.error"), func(t *T) {
			server := Session(t)
			one := mustMirror(t, server, textParameter).with("Hello")
			mustTakeEncoded(t, server, one, "Hello")

			refused := false
			for _, broken := range brokenBase64 {
				given := withBrokenBase64(t, server, one, broken)
				if !given.refused() {
					continue // a decoder may be lenient; the check above tells of it
				}
				refused = true
				t.Expect(given).To(beTheError(http.StatusBadRequest, jsonrpc.HeaderMismatch))
			}
			if !refused {
				t.NotApplicable("the server decodes broken Base64")
			}
		})
}

// decodingParameters registers the checks that headers in Base64 are decoded.
func decodingParameters() {
	decodes := func(text string, of choice, texts ...string) {
		It(text, Row(), Verifies("transports.http.encoding.decoded"), func(t *T) {
			server := Session(t)

			decodesEach(t, server, mustMirror(t, server, of), texts...)
		})
	}

	decodes("decodes a Base64-encoded Mcp-Param-{Name} header with non-ASCII characters", textParameter, foreign, "🙂 𝒳")
	decodes("decodes a Base64-encoded Mcp-Param-{Name} header with spaces at its ends, line feeds or =?base64?…?= inside", textParameter, opaque...)
	decodes("decodes a Base64-encoded Mcp-Param-{Name} header of a nested argument", innerTextParameter, slices.Concat(opaque, []string{foreign})...)

	It("decodes a Base64-encoded Mcp-Param-{Name} header", Verifies("transports.http.encoding.decoded"), func(t *T) {
		server := Session(t)
		one := mustMirror(t, server, textParameter)

		given := post(t, server, one.call(server), "", WithHeader(one.header, transport.EncodedHeaderValue(one.text)))

		t.DemandOf(given, !given.refused(), "the same answer as with the plain value")
	})
}

// readingParameters registers the checks how headers are read that are no proper Base64, or numbers.
func readingParameters() {
	It("reads a Mcp-Param-{Name} header with only one of the markers, or Base64 without them, as it is",
		Verifies("transports.http.encoding.markers"), func(t *T) {
			server := Session(t)

			for _, text := range []string{"=?base64?SGVsbG8=", "SGVsbG8="} {
				one := mustMirror(t, server, textParameter).with(text)
				mustTakeEncoded(t, server, one, text)

				given := post(t, server, one.call(server), "", WithHeader(one.header, text))

				t.DemandOf(given, given.code() != jsonrpc.HeaderMismatch, "no error about headers, as "+text+" is not encoded")
			}
		})

	It("rejects a Mcp-Param-{Name} header whose Base64 lacks its padding or has other characters",
		Verifies("transports.http.encoding.strict"), func(t *T) {
			server := Session(t)
			one := mustMirror(t, server, textParameter).with("Hello")
			mustTakeEncoded(t, server, one, "Hello")

			for _, broken := range brokenBase64 {
				given := withBrokenBase64(t, server, one, broken)

				t.DemandOf(given, given.refused(), "a rejection of "+broken)
			}
		})

	It("compares integers in Mcp-Param-{Name} headers by value, as in 42.0 and 42", Verifies("transports.http.params.numbers"), func(t *T) {
		server := Session(t)
		one := mustMirror(t, server, integerParameter)

		below := one.with(-42)
		below.text = "-42"
		for _, one := range []mirrored{one, below} {
			if post(t, server, one.call(server), "").code() == jsonrpc.HeaderMismatch {
				continue // it is not taken in its plain form either
			}
			given := post(t, server, one.call(server), "", WithHeader(one.header, one.text+".0"))

			t.DemandOf(given, given.code() != jsonrpc.HeaderMismatch, "no error about headers, as "+one.text+" and "+one.text+".0 are equal")
		}
	})
}

// requiringNoParameter registers the checks that an argument without a value needs no header.
func requiringNoParameter() {
	requiresNone := func(text string, of choice, change func(mirrored) mirrored) {
		It(text, Row(), Verifies("transports.http.params.unexpected"), func(t *T) {
			server := Session(t)

			needsNoHeader(t, server, change(mustMirror(t, server, of)))
		})
	}
	null := func(one mirrored) mirrored { return one.with(nil) }

	requiresNone("requires no Mcp-Param-{Name} header for an argument that is absent", parameter, mirrored.without)
	requiresNone("requires no Mcp-Param-{Name} header for an argument that is null", parameter, null)
	requiresNone("requires no Mcp-Param-{Name} header for an argument inside an object that is null", innerParameter, null)

	It("requires no Mcp-Param-{Name} header if the object that contains the argument is null or absent",
		Verifies("transports.http.params.unexpected"), func(t *T) {
			server := Session(t)
			outer := mustMirror(t, server, innerParameter)
			outer.path = outer.path[:len(outer.path)-1]

			needsNoHeader(t, server, outer.with(nil))
			needsNoHeader(t, server, outer.without())
		})

	It("requires no Mcp-Param-{Name} header for a call without arguments", Verifies("transports.http.params.unexpected"), func(t *T) {
		server := Session(t)
		one := mustMirror(t, server, parameter)

		given := post(t, server, server.Body("tools/call", Object{"name": one.tool}), "")

		t.DemandOf(given, given.code() != jsonrpc.HeaderMismatch, "no error about headers")
	})
}

const (
	otherArgument = "has a header that differs from the argument in the body"
	noArgument    = "lacks the header of an argument"
)

func lacking(one mirrored) HeaderEdit   { return WithoutHeader(one.header) }
func differing(one mirrored) HeaderEdit { return WithHeader(one.header, one.other()) }

// foreign is a text that no header can carry as it is.
const foreign = "Größe 日本"

// unsafeInteger is beyond what a header may have, and thus one of which none tells.
const unsafeInteger = 1 << 53

// opaque are texts of which each, in a header as it is, would be read as another.
var opaque = []string{" padded ", "line1\nline2", "=?base64?SGVsbG8=?="}

// decodesEach demands that a call is not refused for its headers whose argument is each of
// the texts, which the client encodes.
func decodesEach(t *T, server *Server, one mirrored, texts ...string) {
	judged := false
	for _, text := range texts {
		other := one.with(text)
		if !other.allowed() {
			continue
		}
		judged = true

		given := post(t, server, other.call(server), "")

		t.DemandOf(given, given.code() != jsonrpc.HeaderMismatch, fmt.Sprintf("no error about headers, as %s is %q encoded", one.header, text))
	}
	if !judged {
		t.NotApplicable("the tool does not accept arbitrary text for it")
	}
}

// A mirrored argument is one that a header repeats, with a call that has it.
type mirrored struct {
	tool      string
	schema    Object // the input schema of the tool
	arguments Object
	path      []string // of members, from the arguments to the value
	header    string
	kind      string // string, integer or boolean
	text      string // the value, as a header has it
}

// A choice of mirrored arguments, in words for people.
type choice struct {
	described string
	fits      func(mirrored) bool
}

var (
	parameter        = choice{"a parameter", func(mirrored) bool { return true }}
	textParameter    = choice{"a parameter of the type string", func(one mirrored) bool { return one.kind == "string" }}
	integerParameter = choice{"a parameter of the type integer", func(one mirrored) bool { return one.kind == "integer" }}
	largeParameter   = choice{
		"a parameter of the type integer that takes any",
		func(one mirrored) bool { return one.kind == "integer" && one.with(unsafeInteger).allowed() },
	}
	innerTextParameter = choice{
		"a parameter of the type string inside an object",
		func(one mirrored) bool { return one.kind == "string" && len(one.path) > 1 },
	}
	innerParameter = choice{"a parameter inside an object", func(one mirrored) bool { return len(one.path) > 1 }}
)

// mostTried bounds the calls that are made to find one which succeeds.
const mostTried = 8

// mustMirror returns an argument of a choice in a call that the server takes. A
// server whose tools have none has nothing to keep.
func mustMirror(t *T, server *Server, wanted choice) mirrored {
	calls, reason := CallableTools(t)
	callable := map[string]Object{}
	for _, call := range slices.Backward(calls) { // of two with one name the first stays
		callable[call.Tool] = call.Arguments
	}
	declared, tried := false, 0
	for _, tool := range ListedTools(t) {
		given, known := callable[mcp.Text(tool, "name")]
		for _, one := range mirroredBy(tool, given) {
			if !wanted.fits(one) {
				continue
			}
			declared = true
			if !known || tried == mostTried {
				continue
			}
			tried++
			if !post(t, server, one.call(server), "").refused() {
				return one
			}
		}
	}
	if !declared {
		NoneListed(t, "tools/list", "no tool has x-mcp-header on "+wanted.described)
	}
	if reason == "" {
		reason = "no callable tool with x-mcp-header succeeds"
	}
	t.Inconclusive(reason, "name one that may be called in mcpconform.yaml: provocations: {header: {tool: NAME, arguments: {…}}}")
	return mirrored{}
}

// mustTake ends a check for which the tool takes no value of the harness's choice.
func mustTake(t *T, server *Server, one mirrored) {
	if !one.allowed() {
		t.NotApplicable("the tool does not accept arbitrary text for it")
	}
	if given := post(t, server, one.call(server), ""); given.refused() {
		t.Inconclusive("the call is rejected even with the header encoded: "+given.Describe(),
			"fix the failures of transports.http.encoding.decoded first")
	}
}

// mustTakeEncoded ends a check for which the tool takes no text of the harness's choice, or
// does not take it in a header that is encoded.
func mustTakeEncoded(t *T, server *Server, one mirrored, text string) {
	if !one.allowed() {
		t.NotApplicable("the tool does not accept arbitrary text for it")
	}
	given := post(t, server, one.call(server), "", WithHeader(one.header, transport.EncodedHeaderValue(text)))
	if given.refused() {
		t.Inconclusive("the call is rejected even with the header encoded: "+given.Describe(),
			"fix the failures of transports.http.encoding.decoded first")
	}
}

// mirroredBy finds the arguments of a tool that a header repeats and of which a value
// is given or can be made, in the order of their headers.
func mirroredBy(tool, given Object) []mirrored {
	input := mcp.Object(tool, "inputSchema")
	name := mcp.Text(tool, "name")
	made, err := schema.Example(input, everyProperty)
	arguments, isObject := spelled(made).(map[string]any)
	if err != nil || !isObject {
		arguments = Object{}
	}
	if own, isObject := spelled(given).(map[string]any); isObject {
		maps.Copy(arguments, own)
	}
	var all []mirrored
	for _, one := range mcp.Mirrors(input) {
		found := mirrored{tool: name, schema: input, arguments: arguments, path: one.Path, header: mcp.ParameterHeader + one.Header}
		text, there := one.ValueIn(arguments)
		if !there {
			continue
		}
		found.text = text
		switch found.value().(type) {
		case string:
			found.kind = "string"
		case bool:
			found.kind = "boolean"
		default:
			found.kind = "integer"
		}
		all = append(all, found)
	}
	slices.SortFunc(all, func(a, b mirrored) int { return strings.Compare(a.header, b.header) })
	return all
}

// everyProperty is the example of a schema that has all properties.
const everyProperty = 1

// call is the body of the call.
func (m mirrored) call(server *Server) []byte {
	return server.Body("tools/call", Object{"name": m.tool, "arguments": m.arguments})
}

func (m mirrored) value() any {
	value := any(m.arguments)
	for _, name := range m.path {
		value = mcp.Value(value, name)
	}
	return value
}

// with returns the same with another value.
func (m mirrored) with(value any) mirrored {
	m.arguments = replaced(m.arguments, m.path, func(in Object, name string) { in[name] = value })
	return m
}

// without returns the same without the argument.
func (m mirrored) without() mirrored {
	m.arguments = replaced(m.arguments, m.path, func(in Object, name string) { delete(in, name) })
	return m
}

// replaced returns a copy of an object with a change at the end of a path.
func replaced(object Object, path []string, change func(in Object, name string)) Object {
	object = maps.Clone(object)
	if len(path) == 1 {
		change(object, path[0])
		return object
	}
	object[path[0]] = replaced(mcp.Object(object, path[0]), path[1:], change)
	return object
}

// allowed tells whether the schema of the tool allows the arguments.
func (m mirrored) allowed() bool {
	compiled, err := schema.Compile(m.schema)
	if err != nil {
		return false
	}
	violations, err := compiled.Validate(spelled(m.arguments))
	return err == nil && len(violations) == 0
}

// spelled returns a value as it is read from the wire, its numbers as they are
// written.
func spelled(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	read, _ := jsonrpc.Decode(text)
	return read
}

// other is a value of the same type that the argument has not, as a header has it.
func (m mirrored) other() string {
	switch {
	case m.text == "true":
		return "false"
	case m.text == "false":
		return "true"
	case m.kind == "integer":
		return m.text + "1"
	}
	return transport.HeaderValue(m.text + "-other")
}

// needsNoHeader demands that a call without the header of an argument is not refused for its
// headers. Where the schema wants the argument, or one that is not null, it may fail for that.
func needsNoHeader(t *T, server *Server, one mirrored) {
	given := post(t, server, one.call(server), "", WithoutHeader(one.header))

	t.DemandOf(given, given.code() != jsonrpc.HeaderMismatch, "no error about headers")
}

// brokenBase64 are headers that look encoded: one lacks its padding, the other has
// characters that Base64 has not.
var brokenBase64 = []string{"=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?="}

func withBrokenBase64(ctx context.Context, server *Server, one mirrored, broken string) answer {
	return post(ctx, server, one.call(server), "has a header with broken Base64", WithHeader(one.header, broken))
}
