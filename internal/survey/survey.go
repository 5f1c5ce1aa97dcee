// Package survey learns what a target server declares and offers, before any
// check runs, so that checks know what applies to it.
package survey

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Survey is what a server said of itself at one revision, over one transport.
// Of long lists it has the beginning.
type Survey struct {
	Revision     string           `json:"revision"`
	ServerInfo   map[string]any   `json:"serverInfo,omitempty"`
	Capabilities map[string]any   `json:"capabilities,omitempty"`
	Session      bool             `json:"session,omitempty"` // it assigns session ids
	Tools        []map[string]any `json:"tools,omitempty"`
	Resources    []map[string]any `json:"resources,omitempty"`
	Templates    []map[string]any `json:"templates,omitempty"`
	Prompts      []map[string]any `json:"prompts,omitempty"`
	// NoBarrier says why the request that every server must answer (ping; in the
	// stateless era server/discover) brings no result, where no list takes its place.
	NoBarrier string `json:"noBarrier,omitempty"`
	// Barrier is a list that takes the place of that request where it brings no result;
	// "" where it does.
	Barrier string `json:"barrier,omitempty"`
	// Inferred says that the server has not declared the capabilities: its lists show them.
	Inferred bool `json:"inferred,omitempty"`
	// Failed says, by list method, that a list could not be had, or not to its end, and why.
	Failed map[string]string `json:"failed,omitempty"`
	// Unauthorized is the first list method that was refused by HTTP 401; "" for none.
	Unauthorized string `json:"-"`
	// Cut are the list methods of which only the beginning is kept.
	Cut []string `json:"cut,omitempty"`
	// Guarded is the method of a request that the server refuses without an access token,
	// by HTTP 401; "" when it asks for none.
	Guarded string `json:"guarded,omitempty"`
	// Locked says why nothing but authorization can be checked: there is no access token;
	// "" when there is one, or none is needed.
	Locked string `json:"locked,omitempty"`
	// Closed says why nothing could be asked at all; "" when it could.
	Closed string `json:"closed,omitempty"`
	// Handshakes are the revisions that the server agrees to when it is asked by
	// initialize, oldest first, even if it does not list them. Filled in for the stateless
	// era, where servers of both eras may do what those say.
	Handshakes []string `json:"handshakes,omitempty"`
	// Tried are the revisions that it was asked for so.
	Tried []string `json:"tried,omitempty"`
	// Completes says that it completes arguments, at the revision that has no capability
	// for it to declare.
	Completes bool `json:"completes,omitempty"`
}

// Lists are the methods of all lists, in the order in which they are read.
var Lists = []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"}

// Listing is one of the lists, and where the survey has it.
type Listing struct {
	Capability, Method, Member string
	Into                       *[]map[string]any
}

// Listed are all lists, in the order of Lists.
func (s *Survey) Listed() []Listing {
	return []Listing{
		{"tools", Lists[0], "tools", &s.Tools},
		{"resources", Lists[1], "resources", &s.Resources},
		{"resources", Lists[2], "resourceTemplates", &s.Templates},
		{"prompts", Lists[3], "prompts", &s.Prompts},
	}
}

// Take reads the lists of a server at a revision, on a connection whose handshake is
// done, or, in the stateless era, that was asked what it is. What cannot be had within
// the context is Failed.
func Take(ctx context.Context, connection *scripted.Connection, revision string, handshake scripted.Handshake) *Survey {
	found := introduced(revision, handshake)
	found.Session = connection.Session() != ""
	if connection.Transport().Exchanges() && protocol.Has(found.Revision, protocol.GETStream) {
		connection.StartListening(ctx) // where there is such a stream, changes are told on it
	}
	for range maxRounds {
		mark := connection.Mark()
		for _, list := range found.Listed() {
			if !found.Declares(list.Capability) {
				continue
			}
			delete(found.Failed, list.Method)
			items, err := List(ctx, connection.Client, list.Method, list.Member)
			*list.Into = few(items)
			found.Cut = slices.DeleteFunc(found.Cut, func(method string) bool { return method == list.Method })
			if len(*list.Into) < len(items) {
				found.Cut = append(found.Cut, list.Method)
			}
			if err != nil {
				found.Failed[list.Method] = excerpt.Text(err.Error())
				if status, is := errors.AsType[*scripted.StatusError](
					err,
				); is &&
					status.Status == http.StatusUnauthorized {
					found.Unauthorized = cmp.Or(found.Unauthorized, list.Method)
				}
			}
		}
		if len(found.Failed) > 0 || protocol.Has(found.Revision, protocol.Subscriptions) ||
			!changed(ctx, connection, mark) {
			break
		}
	}
	if !protocol.Has(found.Revision, protocol.Completions) {
		found.Completes = found.completes(ctx, connection)
	}
	return found
}

// completes tells whether the server completes an argument of what it lists.
func (s *Survey) completes(ctx context.Context, connection *scripted.Connection) bool {
	for _, prompt := range s.Prompts {
		for _, argument := range mcp.Objects(prompt, "arguments") {
			answer, err := connection.Call(ctx, "completion/complete", map[string]any{
				"ref":      map[string]any{"type": "ref/prompt", "name": prompt["name"]},
				"argument": map[string]any{"name": argument["name"], "value": ""},
			})
			result, _ := answer.Result()
			return err == nil && mcp.Object(result, "completion") != nil
		}
	}
	return false
}

// Unopened is the survey of a server whose opening failed, so that nothing can be asked
// of it; the reason is a line.
func Unopened(revision string, handshake scripted.Handshake, reason string) *Survey {
	found := introduced(revision, handshake)
	found.Closed = excerpt.Text(reason)
	return found
}

// NoToken is why most of a server that asks for authorization cannot be checked.
const NoToken = "the server asks for authorization (HTTP 401), and there is no access token"

// Guarding is the survey of a server that refuses requests without an access token; method
// is that of the request that it refused.
func Guarding(revision, method string) *Survey {
	return &Survey{Revision: revision, Guarded: method, Locked: NoToken, Failed: map[string]string{}}
}

// introduced is what a server says of itself.
func introduced(revision string, handshake scripted.Handshake) *Survey {
	return &Survey{
		Revision: revision, ServerInfo: Light(handshake.ServerInfo),
		Capabilities: Light(handshake.Capabilities), Failed: map[string]string{},
	}
}

// maxSaid bounds the memory in bytes of what a server says of itself: it is handed to every
// worker, and stands in every report.
const maxSaid = 256 << 10

// Light returns an object without the values that take the most, if it takes too much:
// objects are empty in their place, texts are cut, and others are left out.
func Light(object map[string]any) map[string]any {
	if jsonrpc.Weight(object) <= maxSaid {
		return object
	}
	left := maxSaid
	kept := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		if weight := len(name) + jsonrpc.Weight(value); weight > left || weight > maxSaid/len(object) {
			value = lightest(value)
		}
		if left -= len(name) + jsonrpc.Weight(value); left < 0 {
			break
		}
		if value != nil {
			kept[name] = value
		}
	}
	return kept
}

// lightest is what stands in place of a value that takes too much.
func lightest(value any) any {
	switch value := value.(type) {
	case string:
		return excerpt.Text(value)
	case map[string]any:
		return map[string]any{}
	}
	return nil
}

// Infer makes the survey one of a server that did not let itself be discovered: it has
// that of which it answered the lists, and a list is what it answers at any time.
func (s *Survey) Infer(barrier string) {
	s.Barrier, s.Inferred = barrier, true
	for capability, method := range map[string]string{"tools": "tools/list", "resources": "resources/list", "prompts": "prompts/list"} {
		if s.Failed[method] != "" {
			delete(s.Capabilities, capability)
		}
	}
	clear(s.Failed)
	s.Unauthorized = ""
}

// NoPing makes the survey one of a server of which a ping brings no result, and says why:
// a list that was read takes its place.
func (s *Survey) NoPing(reason string) {
	for _, method := range Lists {
		if capability, _, _ := strings.Cut(method, "/"); s.Declares(capability) && s.Failed[method] == "" {
			s.Barrier = method
			return
		}
	}
	s.NoBarrier = excerpt.Text(reason)
}

// Declared tells whether the capabilities are what the server itself has declared.
func (s *Survey) Declared() bool { return s != nil && !s.Inferred }

// Notices tell what a reader has to know of lists that could not be had, in a line each.
func (s *Survey) Notices() []string {
	var notices []string
	for _, method := range Lists {
		if s.Failed[method] != "" {
			notices = append(notices, s.Unlisted(method))
		}
	}
	return notices
}

// Unlisted says in a line why nothing, or not all, is known of what a list has; "" when
// it was read to its end.
func (s *Survey) Unlisted(method string) string {
	return cmp.Or(s.Closed, s.Failed[method])
}

// maxKept bounds the memory in bytes that each list takes: a survey is handed to
// every worker. Some hundred tools with long schemas pass.
const maxKept = 4 << 20

// few returns the first items, as many as a survey keeps.
func few(items []map[string]any) []map[string]any {
	left := maxKept
	for index, item := range items {
		if left -= jsonrpc.Weight(item); left < 0 {
			return slices.Clone(items[:index]) // and lets go of the others
		}
	}
	return items
}

// maxRounds bounds how often the lists are read anew. Some servers of the handshake
// era add tools when they have seen what the client offers, a moment after it.
const maxRounds = 3

// changed tells whether the server announced a change of a list since a mark.
func changed(ctx context.Context, connection *scripted.Connection, mark int) bool {
	if _, err := connection.Call(ctx, "ping", nil); err != nil {
		return false // what was announced before its answer is there
	}
	return slices.ContainsFunc(connection.Received(mark), func(received scripted.Received) bool {
		return strings.HasSuffix(received.Method, "/list_changed")
	})
}

// Bounds of a list that is followed to its end; a hostile server never ends.
const (
	MaxPages = 1000
	MaxItems = 200_000
)

// List follows a list through all its pages. What was read before an error is
// returned with it.
//
// A list that leads back to a page which it has given before ends there: its last cursor
// means the end. Rules tell that.
func List(ctx context.Context, client *scripted.Client, method, member string) ([]map[string]any, error) {
	var items []map[string]any
	var params map[string]any
	pages := map[[sha256.Size]byte]bool{} // those that some cursor led to, and the first
	for page := 1; ; page++ {
		answer, err := client.Call(ctx, method, orNil(params))
		if err != nil {
			return items, fmt.Errorf("%s failed: %w", method, err)
		}
		if refusal, refused := answer.Error(); refused {
			return items, &scripted.RefusedError{Method: method, Refusal: refusal}
		}
		found, next, more := Page(answer, member)
		if _, isList := listOf(answer, member); !isList {
			return items, fmt.Errorf(
				"%s was answered without a list of %s: %s",
				method,
				member,
				excerpt.Short(answer.Raw),
			)
		}
		if sum, named := fingerprint(found); named {
			if pages[sum] {
				return items, nil
			}
			pages[sum] = true
		}
		items = append(items, found...)
		switch {
		case !more:
			return items, nil
		case page == MaxPages || len(items) > MaxItems:
			return items, fmt.Errorf("%s did not end after %d pages with %d items", method, page, len(items))
		}
		params = map[string]any{"cursor": next}
	}
}

// fingerprint tells pages apart by what their items are called, if they have names.
func fingerprint(items []map[string]any) (sum [sha256.Size]byte, named bool) {
	hash := sha256.New()
	for _, item := range items {
		names := []any{item["name"], item["uri"], item["uriTemplate"], item["taskId"]}
		named = named || slices.ContainsFunc(names, func(name any) bool { return name != nil })
		_, _ = io.WriteString(hash, jsonrpc.IDOf(names).String()+"\n") // a hash does not fail
	}
	hash.Sum(sum[:0])
	return sum, named
}

// Page returns the items of one page and the cursor of the next, if there is one.
// It may be any text, an empty one as well.
func Page(answer scripted.Received, member string) (items []map[string]any, next string, more bool) {
	list, _ := listOf(answer, member)
	for _, element := range list {
		if item, isObject := element.(map[string]any); isObject {
			items = append(items, item)
		}
	}
	result, _ := answer.Result()
	object, _ := result.(map[string]any)
	next, more = object["nextCursor"].(string)
	return items, next, more
}

// listOf returns a member of a result, if it is an array.
func listOf(answer scripted.Received, member string) (list []any, isList bool) {
	result, _ := answer.Result()
	object, _ := result.(map[string]any)
	list, isList = object[member].([]any)
	return list, isList
}

func orNil(params map[string]any) any {
	if params == nil {
		return nil
	}
	return params
}

// Declares tells whether the server declared a capability, given as a path
// such as "resources.subscribe". A member that is false or null is not
// declared.
func (s *Survey) Declares(path string) bool {
	return mcp.Declares(s.Capabilities, path) || path == "completions" && s.Completes
}
