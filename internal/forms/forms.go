// Package forms knows other ways to say the same: what a message, its framing or the
// order of messages may look like beside the plain form in which checks send it. Each
// form is legal by the text at every revision at which it is used; what the text leaves
// in doubt is no form. Who receives it has to act as on the plain form.
package forms

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/spelling"
)

// Object is a JSON object.
type Object = map[string]any

// Form is one legal variation of what a client sends.
type Form struct {
	// Name completes "a request …": "with the id -1".
	Name string
	// Class is what the form varies: a message has one form of each class at most.
	Class Class
	// Alone keeps the form apart from forms of other classes, which would hide what is
	// empty or absent in it.
	Alone bool
	// Where tells at which revisions and over which transports the form is legal; nil
	// for everywhere.
	Where func(revision, transport string) bool
	// Change makes the plain form of a message this one.
	Change func(*Message)
}

// Class is what forms vary.
type Class string

// The classes of forms of any request.
const (
	ID       Class = "id"       // of a request
	Token    Class = "token"    // the progress token of a request
	Meta     Class = "_meta"    // other members of _meta
	Params   Class = "params"   // and whether there are any
	Spelling Class = "spelling" // of the JSON
	Head     Class = "head"     // of an HTTP request
	Framing  Class = "framing"  // how the bytes come
)

// The classes of forms of what a client says of itself.
const (
	Experimental Class = "experimental capabilities"
	Capability   Class = "capabilities"
	Extras       Class = "members of capabilities"
	Info         Class = "clientInfo"
	Title        Class = "title"
	Icons        Class = "icons"
	Version      Class = "version"
)

// At tells whether the form is legal on a cell.
func (f Form) At(revision, transport string) bool {
	return f.Where == nil || f.Where(revision, transport)
}

// Message is a request of a client before it is written.
type Message struct {
	ID     jsonrpc.ID
	Method string
	Params Object // nil for none

	spell  func([]byte) []byte // nil for the plain spelling
	before []byte              // over stdio: a line in the same write
	end    string              // over stdio: before the newline
	piece  int
	header func(http.Header)
}

// Write makes of a plain message one in some forms.
func Write(plain Message, forms []Form) Message {
	message := plain
	message.Params = clone(plain.Params)
	for _, form := range forms {
		form.Change(&message)
	}
	return message
}

// Start sends the request; it does not wait.
func (m Message) Start(ctx context.Context, client *scripted.Client) *scripted.Pending {
	raw := append(append(slices.Clip(m.before), m.Bytes(client)...), m.end...)
	return client.StartRaw(
		ctx,
		m.ID,
		m.Method,
		scripted.Outgoing{Raw: raw, Piece: m.piece, Header: m.header},
		m.params(),
	)
}

// Bytes is the message as a client writes it.
func (m Message) Bytes(client *scripted.Client) []byte {
	raw := jsonrpc.NewRequest(m.ID, m.Method, client.WithMeta(m.params()))
	if m.spell != nil {
		raw = m.spell(raw)
	}
	return raw
}

// Head changes the header with which the message is sent over HTTP.
func (m Message) Head(plain http.Header) http.Header {
	if m.header != nil {
		m.header(plain)
	}
	return plain
}

func (m Message) params() any {
	if m.Params == nil {
		return nil
	}
	return m.Params
}

// Names are those of some forms, as one text.
func Names(forms []Form) string {
	names := make([]string, len(forms))
	for i, form := range forms {
		names[i] = form.Name
	}
	return strings.Join(names, ", ")
}

// Of returns the forms of some classes that are legal on a cell.
func Of(revision, transport string, classes ...Class) []Form {
	return slices.DeleteFunc(slices.Clone(Requests), func(form Form) bool {
		return !slices.Contains(classes, form.Class) || !form.At(revision, transport)
	})
}

// HelloAt returns the forms of what a client says of itself that are legal on a cell.
func HelloAt(revision, transport string) []Form {
	return slices.DeleteFunc(slices.Clone(Hello), func(form Form) bool { return !form.At(revision, transport) })
}

// clone copies an object and the objects in it that forms change.
func clone(object Object) Object {
	if object == nil {
		return nil
	}
	copied := make(Object, len(object))
	for name, value := range object {
		if inner, isObject := value.(Object); isObject {
			value = clone(inner)
		}
		copied[name] = value
	}
	return copied
}

// member returns an object in another, which is made where there is none.
func member(of *Object, name string) Object {
	if *of == nil {
		*of = Object{}
	}
	inner, isObject := (*of)[name].(Object)
	if !isObject {
		inner = Object{}
		(*of)[name] = inner
	}
	return inner
}

func over(transports ...string) func(string, string) bool {
	return func(_, used string) bool { return slices.Contains(transports, used) }
}

func having(feature protocol.Feature) func(string, string) bool {
	return func(revision, _ string) bool { return protocol.Has(revision, feature) }
}

func spelled(name string) func(*Message) {
	return func(m *Message) { m.spell = func(raw []byte) []byte { return spelling.Rewrite(name, raw) } }
}

func headed(change func(http.Header)) func(*Message) {
	return func(m *Message) { m.header = change }
}

// replaced sets a header, whose names are those of http.Header.
func replaced(name string, values ...string) func(*Message) {
	return headed(func(header http.Header) { header[name] = values })
}

// Fan arranges forms in few messages, so that each stands in one of them: beside one of
// each other class, or alone. What a message in several forms brings to light, a message in each
// of them alone attributes.
func Fan(all []Form) [][]Form {
	var classes []Class
	byClass := map[Class][]Form{}
	var fan [][]Form
	for _, form := range all {
		if form.Alone {
			fan = append(fan, []Form{form})
			continue
		}
		if byClass[form.Class] == nil {
			classes = append(classes, form.Class)
		}
		byClass[form.Class] = append(byClass[form.Class], form)
	}
	for at := 0; ; at++ {
		var together []Form
		for _, class := range classes {
			if at < len(byClass[class]) {
				together = append(together, byClass[class][at])
			}
		}
		if together == nil {
			return fan
		}
		fan = append(fan, together)
	}
}
