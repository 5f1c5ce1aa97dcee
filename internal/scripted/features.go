package scripted

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// ServerInfo is what a scripted server says of itself.
var ServerInfo = Object{"name": "mcpconform-scripted-server", "version": "1.0.0"}

// Features are what a scripted server offers, and how it answers what is asked for it.
// It may be changed before the client comes, and by handlers as they go.
type Features struct {
	Capabilities Object // declared
	Instructions string
	Tools        []Tool
	Resources    []Object
	Templates    []Object
	Prompts      []Object
	PageSize     int    // of lists; 0: all on one page
	Sessions     bool   // over HTTP in the handshake era: it assigns session ids
	Stream       bool   // over HTTP in the handshake era: it offers a stream by GET
	Fresh        int    // ttlMs of lists in the stateless era
	Scope        string // cacheScope of lists in the stateless era

	revision string
}

// Tool is a tool of a scripted server.
type Tool struct {
	Definition Object
	Run        func(*Call) // answers the call
}

// AddNumbers is a tool that adds the arguments a and b.
const AddNumbers = "add_numbers"

// Things that a scripted server has.
const (
	ResourceURI = "test://static-text"
	TemplateURI = "test://template/{id}/data"
	PromptName  = "greeting"
)

// NewFeatures are those of a good server of a revision.
func NewFeatures(revision string) *Features {
	o := &Features{
		revision: revision, Sessions: true, Stream: true, Scope: "private",
		Capabilities: Object{
			"tools": Object{"listChanged": true}, "prompts": Object{"listChanged": true},
			"resources":   Object{"listChanged": true, "subscribe": true},
			"completions": Object{}, "logging": Object{},
		},
		Resources: []Object{{"uri": ResourceURI, "name": "static-text", "mimeType": "text/plain"}},
		Templates: []Object{{"uriTemplate": TemplateURI, "name": "data"}},
		Prompts: []Object{{"name": PromptName, "arguments": []any{
			Object{"name": "name", "description": "whom to greet", "required": true}}}},
	}
	number := Object{"type": "number"}
	o.AddTool(AddNumbers, Object{
		"type": "object", "properties": Object{"a": number, "b": number}, "required": []any{"a", "b"},
	}, func(c *Call) {
		c.Answer(Text(sum(c.Arguments())))
	})
	return o
}

func sum(arguments Object) string {
	total := 0.0
	for _, name := range []string{"a", "b"} {
		if number, isNumber := arguments[name].(interface{ Float64() (float64, error) }); isNumber {
			value, _ := number.Float64()
			total += value
		}
	}
	return strconv.FormatFloat(total, 'g', -1, 64)
}

// AddTool adds a tool by its name and the schema of its arguments; nil for a tool
// without. The definition is returned, for more to be said in it.
func (o *Features) AddTool(name string, schema Object, run func(*Call)) Object {
	if schema == nil {
		schema = Object{"type": "object", "properties": Object{}}
	}
	definition := Object{"name": name, "description": "A tool of the scripted server", "inputSchema": schema}
	o.Tools = append(o.Tools, Tool{Definition: definition, Run: run})
	return definition
}

// Arguments of a call of a tool or a prompt; nil when there are none.
func (c *Call) Arguments() Object {
	arguments, _ := c.Params()["arguments"].(Object)
	return arguments
}

// Good does with a call what a good server does, even if its method has a handler: for
// handlers that add to it.
func (c *Call) Good() { c.Session.Server.Features.handle(c) }

// handle answers a call as a good server.
func (o *Features) handle(c *Call) {
	if c.Message.Kind == jsonrpc.Notification {
		return // a good server has nothing to do
	}
	if c.Has(protocol.PerRequestMeta) && !o.current(c) {
		return
	}
	switch c.Message.Method {
	case "server/discover":
		o.discover(c)
	case "initialize":
		o.initialize(c)
	case "ping":
		o.ping(c)
	case "subscriptions/listen":
		o.subscribe(c)
	case "tools/list", "resources/list", "resources/templates/list", "prompts/list":
		o.list(c)
	case "tools/call":
		o.call(c)
	case "resources/read":
		o.read(c)
	case "resources/subscribe", "resources/unsubscribe":
		o.acknowledge(c, protocol.Subscriptions)
	case "logging/setLevel":
		o.acknowledge(c, protocol.LogLevelInMeta)
	case "prompts/get":
		o.prompt(c)
	case "completion/complete":
		c.Answer(Object{"completion": Object{"values": []any{"one", "two"}, "hasMore": false}})
	default:
		o.unknown(c)
	}
}

// current makes sure that a request of the stateless era is of the revision that
// the server speaks; another one it refuses.
func (o *Features) current(c *Call) bool {
	if c.Message.Method == "initialize" {
		return true // which is answered in its own way
	}
	requested, _ := c.Meta()[mcp.MetaVersion].(string)
	if requested == o.revision {
		return true
	}
	if requested == "" {
		c.RefuseWith(http.StatusBadRequest, jsonrpc.InvalidParams, "params._meta."+mcp.MetaVersion+" is missing", nil)
	} else {
		c.RefuseVersion(requested, o.revision)
	}
	return false
}

// RefuseVersion refuses a request of the stateless era for its version
// (basic/versioning).
func (c *Call) RefuseVersion(requested string, supported ...string) {
	c.RefuseWith(http.StatusBadRequest, jsonrpc.UnsupportedRevision, "Unsupported protocol version",
		Object{"supported": supported, "requested": requested})
}

func (o *Features) unknown(c *Call) {
	status := http.StatusOK
	if c.Has(protocol.UnknownMethodStatus) {
		status = http.StatusNotFound // basic/transports/streamable-http
	}
	c.RefuseWith(status, jsonrpc.MethodNotFound, "Method not found: "+c.Message.Method, nil)
}

func (o *Features) discover(c *Call) {
	if !c.Has(protocol.Discovery) {
		o.unknown(c)
		return
	}
	result := Object{
		"supportedVersions": []any{o.revision}, "capabilities": o.Capabilities,
		"_meta": Object{mcp.MetaServerInfo: ServerInfo},
	}
	if o.Instructions != "" {
		result["instructions"] = o.Instructions
	}
	c.Answer(o.cached(c, result))
}

func (o *Features) initialize(c *Call) {
	if !c.Has(protocol.Handshake) {
		o.unknown(c)
		return
	}
	c.AssignSession()
	c.Answer(o.Welcome(o.revision))
}

// Welcome is the result of initialize, which names a revision.
func (o *Features) Welcome(revision string) Object {
	result := Object{"protocolVersion": revision, "capabilities": o.Capabilities, "serverInfo": ServerInfo}
	if o.Instructions != "" {
		result["instructions"] = o.Instructions
	}
	return result
}

func (o *Features) ping(c *Call) {
	if !c.Has(protocol.Ping) {
		o.unknown(c)
		return
	}
	c.Answer(nil)
}

// acknowledge answers with nothing, at revisions in which no feature has replaced the
// request.
func (o *Features) acknowledge(c *Call, replaced protocol.Feature) {
	if c.Has(replaced) {
		o.unknown(c)
		return
	}
	c.Answer(nil)
}

// subscribe opens a stream of changes, which stays open.
func (o *Features) subscribe(c *Call) {
	if !c.Has(protocol.Subscriptions) {
		o.unknown(c)
		return
	}
	filter, _ := c.Params()["notifications"].(Object)
	c.Leave()
	c.Streaming()
	c.Session.mu.Lock() // nothing is published before this, and everything after it
	defer c.Session.mu.Unlock()
	c.Notify("notifications/subscriptions/acknowledged", about(c, Object{"notifications": nonNil(filter)}))
	c.Session.filters = append(c.Session.filters, subscribed{c, filter})
}

func nonNil(object Object) Object {
	if object == nil {
		return Object{}
	}
	return object
}

// cached adds to a result how long it stays fresh (server/utilities/caching).
func (o *Features) cached(c *Call, result Object) Object {
	if c.Has(protocol.Caching) {
		result["ttlMs"], result["cacheScope"] = o.Fresh, o.Scope
	}
	return result
}

// AnswerFresh gives the call a result that stays fresh for so many milliseconds,
// which servers of the stateless era say.
func (c *Call) AnswerFresh(result Object, ttl int) { c.Answer(c.Fresh(result, ttl)) }

// Fresh says so in a result.
func (c *Call) Fresh(result Object, ttl int) Object {
	if c.Has(protocol.Caching) {
		result["ttlMs"], result["cacheScope"] = ttl, c.Session.Server.Scope
	}
	return result
}

// list answers with a page of a list. A cursor is where the next one begins.
func (o *Features) list(c *Call) {
	member, items := o.items(c.Message.Method)
	page, next, known := Page(items, c.Text("cursor"), o.PageSize)
	if !known {
		c.Refuse(jsonrpc.InvalidParams, "Invalid cursor", nil)
		return
	}
	result := Object{member: page}
	if next != "" {
		result["nextCursor"] = next
	}
	c.Answer(o.cached(c, result))
}

func (o *Features) items(method string) (member string, items []any) {
	add := func(all []Object) {
		for _, one := range all {
			items = append(items, one)
		}
	}
	switch method {
	case "tools/list":
		member = "tools"
		for _, tool := range o.Tools {
			items = append(items, tool.Definition)
		}
	case "resources/list":
		member = "resources"
		add(o.Resources)
	case "resources/templates/list":
		member = "resourceTemplates"
		add(o.Templates)
	default:
		member = "prompts"
		add(o.Prompts)
	}
	return member, items
}

// Page returns the items of a list from a cursor on, and the cursor of the next
// page; "" at the end. It reports false when there is no such cursor.
func Page(items []any, cursor string, size int) (page []any, next string, known bool) {
	from := 0
	if cursor != "" {
		text, err := base64.StdEncoding.DecodeString(cursor)
		from, _ = strconv.Atoi(string(text))
		if err != nil || from <= 0 || from >= len(items) {
			return nil, "", false
		}
	}
	to := len(items)
	if size > 0 {
		to = min(to, from+size)
	}
	if to < len(items) {
		next = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(to)))
	}
	page = slices.Clone(items[from:to])
	if page == nil {
		page = []any{}
	}
	return page, next, true
}

func (o *Features) call(c *Call) {
	at := slices.IndexFunc(o.Tools, func(tool Tool) bool { return tool.Definition["name"] == c.Text("name") })
	if at < 0 {
		c.Refuse(jsonrpc.InvalidParams, "Unknown tool: "+c.Text("name"), nil)
		return
	}
	o.Tools[at].Run(c)
}

func (o *Features) read(c *Call) {
	uri := c.Text("uri")
	known := slices.ContainsFunc(o.Resources, func(one Object) bool { return one["uri"] == uri })
	if !known {
		code := int64(jsonrpc.ResourceNotFound)
		if !c.Has(protocol.ResourceNotFoundCode) {
			code = jsonrpc.InvalidParams
		}
		c.Refuse(code, "Resource not found", Object{"uri": uri})
		return
	}
	c.Answer(
		o.cached(
			c,
			Object{
				"contents": []any{
					Object{"uri": uri, "mimeType": "text/plain", "text": "A resource of the scripted server."},
				},
			},
		),
	)
}

func (o *Features) prompt(c *Call) {
	known := slices.ContainsFunc(o.Prompts, func(one Object) bool { return one["name"] == c.Text("name") })
	if !known {
		c.Refuse(jsonrpc.InvalidParams, "Unknown prompt: "+c.Text("name"), nil)
		return
	}
	c.Answer(
		Object{"messages": []any{Object{"role": "user", "content": Object{"type": "text", "text": "Greet somebody."}}}},
	)
}

// Declare adds to the capabilities of the server.
func (o *Features) Declare(capabilities Object) { maps.Copy(o.Capabilities, capabilities) }
