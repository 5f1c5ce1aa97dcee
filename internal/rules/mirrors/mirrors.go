// Package mirrors compares what requests of the stateless era say in their body with the
// headers that repeat it (basic/transports/streamable-http#request-metadata), and reads
// the annotations x-mcp-header by which tools designate such headers.
package mirrors

import (
	"encoding/json"
	"math/big"
	"net/http"
	"reflect"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// StatelessPosts returns the POSTs with a request or notification of the stateless era.
func StatelessPosts(conversation *rules.Conversation) []*exchanges.Exchange {
	spoken := facts.Negotiations(conversation)
	var kept []*exchanges.Exchange
	for _, one := range exchanges.Of(conversation) {
		if one.Method == http.MethodPost && one.Sent != nil && rules.IsCall(one.Sent) &&
			one.Sent.Method != "initialize" &&
			protocol.Has(spoken[one.Sent.Index], protocol.MirroredHeaders) {
			kept = append(kept, one)
		}
	}
	return kept
}

// A Mirror is a value in the body of a request and the header that repeats it.
type Mirror struct {
	Kind   Kind
	In     *exchanges.Exchange
	Header string
	Value  any // a string, a number or a boolean; nil when there is none to repeat
	text   string
}

// Kind tells what designates the header of a mirror.
type Kind string

// The kinds of mirrors: of every request or a feature of the core protocol, of the tasks
// extension, of x-mcp-header.
const (
	Standard  Kind = "standard"
	Task      Kind = "task"
	Parameter Kind = "parameter"
	Any       Kind = ""
)

// namedInHeader are the members of params that the header Mcp-Name repeats.
var namedInHeader = map[string]struct {
	member string
	kind   Kind
}{
	"tools/call": {"name", Standard}, "prompts/get": {"name", Standard}, "resources/read": {"uri", Standard},
	"tasks/get": {"taskId", Task}, "tasks/update": {"taskId", Task}, "tasks/cancel": {"taskId", Task},
}

// Of returns what the requests of the stateless era have to repeat in headers.
func Of(conversation *rules.Conversation) []Mirror {
	return rules.Shared(conversation, "mirrors", readMirrors)
}

func readMirrors(conversation *rules.Conversation) []Mirror {
	tools := designations(conversation)
	var all []Mirror
	for _, one := range StatelessPosts(conversation) {
		if !rules.IsRequest(one.Sent) || one.Sent.Method == "" { // no header repeats a method that is no text
			continue
		}
		all = append(all, Mirror{Standard, one, transport.MethodHeader, one.Sent.Method, one.Sent.Method})
		params := one.Sent.ParamsObject()
		named := namedInHeader[one.Sent.Method]
		if name, isText := params[named.member].(string); isText {
			all = append(all, Mirror{named.kind, one, transport.NameHeader, name, name})
		}
		for _, designated := range tools[one.Sent] {
			value := valueAt(params["arguments"], designated.Path)
			text, carried := designated.ValueIn(params["arguments"])
			if carried || value == nil {
				all = append(all, Mirror{Parameter, one, mcp.ParameterHeader + designated.Header, value, text})
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
	known := map[string][]places.Place{}
	all := map[*rules.Message][]mcp.Mirror{}
	for _, message := range conversation.Messages {
		switch {
		case !message.FromTarget(conversation.Cell):
			if rules.IsResponse(message) && message.Request != nil && message.Request.Method == "tools/list" {
				for _, tool := range places.ResultOf(message).Items("tools") {
					name, _ := tool.Member("name")
					known[name.Text()] = append(known[name.Text()], tool)
				}
			}
		case rules.IsRequest(message) && message.Method == "tools/call":
			name, _ := message.ParamsObject()["name"].(string)
			if tools := known[name]; len(tools) > 0 && oneDesignation(tools) {
				all[message] = mcp.Mirrors(tools[0].Object()["inputSchema"])
			}
		}
	}
	return all
}

// oneDesignation tells whether all that was said of a tool designates the same
// headers, by the rules.
func oneDesignation(tools []places.Place) bool {
	headers := func(tool places.Place) map[string]string {
		all := map[string]string{}
		for _, one := range AnnotationsOf(tool) {
			all[one.Pointer[len(tool.Pointer):]] = one.Text()
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
func annotatesWell(tool places.Place) bool {
	taken := map[string]bool{}
	for _, one := range AnnotationsOf(tool) {
		name := strings.ToLower(one.Text())
		if !IsToken(one.Text()) || taken[name] || !MayBeHeader(one.Schema["type"]) || !one.Reachable() ||
			one.Barred() != "" {
			return false
		}
		taken[name] = true
	}
	return true
}

// Given are the values of the header.
func (m Mirror) Given() []string { return m.In.Request.HTTP.Header.Values(m.Header) }

// A Flaw is a way in which a header does not repeat a value.
type Flaw string

// What is wrong with a header: it is not there, says something else, lacks an encoding that
// the value needs or that its text pretends to have, or has the marks of one in capitals.
const (
	Missing   Flaw = "missing"
	Other     Flaw = "other"
	Unencoded Flaw = "unencoded"
	Ambiguous Flaw = "ambiguous"
	Marked    Flaw = "marked"
)

// flaw says in which way the header does not repeat the value; "" when it does.
func (m Mirror) flaw() Flaw {
	given := m.Given()
	if len(given) == 0 {
		return Missing
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
		return Marked
	case carried:
		return Other
	case header == m.text && looksEncoded(header):
		return Ambiguous
	}
	return Unencoded
}

// is tells whether a text says the value; numbers count, however they are written.
func (m Mirror) is(text string) bool {
	if number, isNumber := m.Value.(json.Number); isNumber {
		return jsonrpc.Equal(number, json.Number(text))
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

// Every judges the values of a kind that headers repeat, by some of the flaws
// that they can have.
func Every(kind Kind, flaws ...Flaw) rules.Judge {
	return rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range Of(conversation) {
			if kind != Any && one.Kind != kind || one.Value == nil || one.Unsafe() || !one.concerns(flaws[0]) {
				continue
			}
			reporter.Observe()
			for _, flaw := range flaws {
				if one.flaw() == flaw {
					reporter.ViolationAt(one.In.Request, rules.Mismatch{
						Wanted: transport.HeaderValue(one.text) + ", as the body has " + rules.Show(one.Value),
						Found: exchanges.HeaderShown(
							one.Given(),
						) + " in " + one.In.Name(),
						Where: "header " + one.Header,
					})
				}
			}
		}
	})
}

// concerns tells whether a value could have a flaw at all.
func (m Mirror) concerns(flaw Flaw) bool {
	carried := transport.HeaderValue(m.text) == m.text
	switch flaw {
	case Unencoded:
		return !carried && !looksEncoded(m.text)
	case Ambiguous:
		return looksEncoded(m.text)
	case Marked:
		return !carried
	}
	return true
}

// LargestSafe is the largest integer that a double holds exactly, as all below it.
var LargestSafe = big.NewInt(1<<53 - 1)

// Unsafe tells whether the value is an integer that a double may not hold exactly.
func (m Mirror) Unsafe() bool {
	number, isNumber := m.Value.(json.Number)
	if !isNumber {
		return false
	}
	whole, isWhole := new(big.Int).SetString(number.String(), 10)
	return isWhole && whole.CmpAbs(LargestSafe) > 0
}
