// Deliberate mistakes, for those who want to see that they are noticed. Most are made on the
// wire, or in the recording of a good client; these are in what a client makes of what it
// reads, and in what it does when a server reacts.

package client

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
)

// namedDefects stand where they make a difference, as c.has(NAME).
var namedDefects = []string{
	"always-declares",              // declares capabilities for which the steps have no answers
	"answers-after-cancellation",   // answers a request that the server has cancelled
	"answers-input-again",          // answers each question of a task each time that it sees it
	"asks-inline",                  // takes the server to speak the newest revision and to have tools
	"assumes-page-size",            // takes a page that is shorter than another for the last one
	"broken-by-refusals",           // gives up the connection when one request is refused
	"caches-all-alike",             // finds all results of a method alike
	"caches-by-parameters",         // leaves the method out of the key of a cached result
	"caches-changed-meanwhile",     // keeps a list that has changed while another was fetched
	"caches-past-changes",          // keeps lists that have changed
	"caches-past-updates",          // keeps what it read when the server says that it has changed
	"caches-retries",               // keeps results that took input
	"cancels-calls-alone",          // cancels no request but tools/call
	"cancels-namesakes",            // takes the id of a request of the server for that of its own
	"expands-as-text",              // puts values into a URI template as they are
	"falls-back-for-bodies",        // knows servers of the handshake era by a body
	"falls-back-for-one-status",    // knows servers of the handshake era by the status 400
	"falls-back-for-words",         // knows servers of the handshake era by what they say of it
	"fetches-network-refs",         // loads the schemas on the network that a schema refers to
	"fetches-urls",                 // has a look at what the user is asked to visit
	"finds-http-sse",               // takes no notice of being told that the transport is HTTP+SSE
	"forgets-eras",                 // asks of which era a server is whose session is over
	"forgets-subscriptions",        // does not subscribe again at a server that was started again
	"goes-on-over-new-streams",     // goes on where a session would have to begin
	"hangs-at-null-errors",         // waits for an error that is about the request it was sent for
	"hangs-at-refusals",            // waits for an answer to a request that was refused
	"hangs-up-at-accepted-media",   // breaks off at a media type where nothing is to be read
	"hangs-up-at-bare-acceptance",  // ends the connection at a 202 that does not say what it has
	"hangs-up-at-cancellations",    // ends the connection at the cancellation of no request
	"hangs-up-at-completions",      // ends the connection at the completion of no elicitation
	"hangs-up-at-late-answers",     // ends the connection at the answer to no request
	"hangs-up-at-refused-stream",   // ends the connection where the server offers no stream
	"has-tools-alone",              // can do no more than list and call tools, which is not wrong
	"http-sse-wants-200",           // takes a message for refused that HTTP+SSE accepts with another status than 200
	"http-sse-wants-202",           // does so with another status than 202
	"insists-on-deletion",          // fails when its session cannot be ended, but by 404
	"insists-on-sessions",          // fails when its session cannot be ended, but by 405
	"keeps-cursors",                // goes on with the cursors of a session that is over
	"keeps-http-sse-open",          // leaves the stream of HTTP+SSE open at the end
	"keeps-invalid-headers",        // uses tools whose headers break the rules, as far as it can
	"keeps-null-headers",           // takes a header that is null for none
	"keeps-old-session",            // begins no new session in place of one that is over
	"keeps-old-session-for-calls",  // begins none for tools/call
	"keeps-old-session-for-reads",  // begins none for resources/read
	"keeps-templates",              // has no API for the list of templates, which is not wrong
	"kills-at-once",                // gives the server no time to exit
	"knows-its-own-ids",            // takes an error with another id for no answer of a server of the handshake era
	"leaves-server-running",        // does not end the server
	"lists-all-together",           // lists all that the server has beside what is wanted, which is not wrong
	"looks-first",                  // asks what a server speaks on a connection of its own, which is not wrong
	"media-types-as-text",          // compares Content-Type as a text
	"media-types-by-beginning",     // knows a media type by the letters that a Content-Type begins with
	"never-cancels",                // cancels no request
	"never-kills",                  // asks the server to exit, and leaves alone one that does not
	"never-restarts",               // does not start again a server that has exited
	"never-waits",                  // reconnects at once and ignores the retry time of the server
	"opens-streams-per-request",    // goes on over a stream of its own with each request
	"polls-when-stale",             // fetches what lives for a short time each time that it is over
	"polls-without-pause",          // looks at a task again and again without a pause
	"posts-as-a-path",              // does so even with a whole URL
	"posts-below-the-origin",       // takes what is relative to the stream for a path of the origin
	"posts-below-the-stream",       // appends the endpoint that an old server names to the URL of the stream
	"posts-to-the-stream",          // takes no notice of that endpoint
	"posts-to-two-addresses",       // has an address of its own for all messages but the first
	"posts-with-a-slash",           // ends its path with a slash
	"posts-without-query",          // drops its query
	"reads-bare-lines",             // breaks off at a line that ends with more than a newline
	"reads-chunks-for-messages",    // takes what one read gives for one message
	"reads-first-line-of-body",     // reads the first line of a body
	"reads-no-streams",             // does not know event streams, unless they open a connection
	"reads-short-bodies",           // reads no more than 64 KiB of a body
	"reads-short-lines",            // takes the rest of long lines for other lines
	"recalls-old-session",          // goes on under the id of its first session in each later one
	"refuses-nested-headers",       // knows headers of the parameters of a tool, and of nothing in them
	"refuses-no-request",           // answers requests that it must reject, too
	"renews-at-oldest-revision",    // begins a new session at the oldest revision that it speaks
	"renews-once",                  // begins one new session, and no third
	"renews-subscriptions-in-part", // leaves the resources out of what it subscribes to again
	"resumes-by-post",              // takes streams up again with POST
	"retries-with-same-id",         // gives a retry the id of the request before it
	"retries-without-input",        // sends a request again when it cannot answer what is asked
	"session-ids-of-few-letters",   // knows session ids by the letters that those of most servers have
	"splits-lines-at-separators",   // takes what Unicode calls a separator for the end of a line, over stdio
	"sse-counts-crlf-twice",        // takes CR LF for two ends of lines
	"sse-data-lines-apart",         // takes each data line for an event
	"sse-decodes-chunks-alone",     // takes each chunk for a text of its own
	"sse-dispatches-without-data",  // dispatches an event at each empty line, even without data
	"sse-drops-carriage-returns",   // takes no notice of CR
	"sse-fails-at-comments",        // breaks off at comments
	"sse-fails-at-empty-data",      // reads the data of each event as JSON
	"sse-fails-at-fields",          // breaks off at fields that it does not know
	"sse-fails-at-names",           // breaks off at an event with a name that it does not know
	"sse-fails-at-retry",           // breaks off at the field retry
	"sse-first-data-line",          // reads the first data line of an event
	"sse-forgets-last-event",       // forgets the id of the last event when it takes up a stream
	"sse-keeps-mark",               // reads the byte order mark as text
	"sse-keeps-name",               // takes the name of an event without data for that of the next one, too
	"sse-last-data-line",           // reads the last data line of an event
	"sse-line-feeds-only",          // does not know the end of a line by CR, in event streams
	"sse-short-lines",              // reads no line of an event stream that is longer than most
	"sse-splits-at-separators",     // takes what Unicode calls a separator for the end of a line
	"sse-waits-behind-cr",          // reads a CR when it knows what follows
	"sse-waits-for-the-end",        // reads a stream to its end before it looks at what was on it
	"sse-wants-name",               // takes only events that say that they are messages, or endpoints
	"sse-wants-space",              // knows a field by the space after its colon
	"stops-at-known-cursor",        // takes a cursor that leads to itself for the end of the list
	"takes-answers-in-order",       // takes each answer for that to the request which waits for the longest time
	"takes-requests-for-answers",   // goes by the id of what comes alone
	"takes-session-of-refusals",    // takes the session id of a refusal for that of the session to come
	"throws-errors-of-tools",       // tells of an error of a tool as of any other, which is not wrong
	"waits-in-old-session",         // leaves a request unanswered to whose session the server answers 404
	// In authorization:
	"assertion-for-the-server",         // addresses its assertion to the server
	"assertion-withheld",               // sends no assertion
	"code-flow-always",                 // has a user grant access where there is none
	"guesses-the-server",               // takes default endpoints at the origin of the server, and reads no metadata
	"identity-token-as-grant",          // takes what the identity provider said of the user for a grant
	"insists-on-refused-refresh-token", // keeps a refresh token that was refused
	"issuer-is-the-server",             // wants the server to be the issuer
	"keeps-old-refresh-token",          // takes no notice of a new refresh token
	"needs-expiry",                     // takes no token that does not say when it expires
	"needs-refresh-token",              // takes no token without a refresh token
	"opens-by-shell",                   // has a shell read the authorization URL
	"own-metadata-below",               // looks for metadata below the path of the server
	"own-without-revision",             // asks for metadata without the header MCP-Protocol-Version
	"refreshes-anywhere",               // sends the refresh token of one issuer to another
	"resource-is-the-origin",           // asks for tokens for the origin of the server
	"secret-always-in-header",          // sends its secret in the header, however it was registered
	"secret-needs-a-method",            // drops a secret that came without token_endpoint_auth_method
	"secret-withheld",                  // sends no secret
	"shows-wrong-errors",               // reads the error of an answer before it compares iss
	"state-unchecked",                  // takes any state
	"steps-up-by-refresh",              // asks for more scopes by its refresh token
	"steps-up-for-ever",                // asks for more scopes without end
	"token-to-anybody",                 // follows a redirect wherever it leads, with its token
	// Which is legal there, and another habit than that of the client:
	"another-loopback",              // is redirected to another address of its host
	"assertion-as-grant",            // sends its assertion as a grant
	"looks-at-metadata-first",       // reads protected resource metadata before it connects
	"machine-secret-posted",         // sends the secret of a client without a user in the form
	"needs-no-document",             // has a client id metadata document at a URL that nothing serves
	"never-refreshes",               // keeps no refresh token
	"reads-redirects",               // opens no browser, and reads where it is redirected
	"redirected-without-token",      // follows a redirect wherever it leads, without its token
	"refreshes-twice",               // refreshes twice, as two requests do that are refused at once
	"reports-refused-refresh-token", // tells of a refresh token that was refused, and goes no further
}

// Defects lists what Options.Defect may be.
func Defects() []string {
	all := slices.AppendSeq(slices.Clone(namedDefects), maps.Keys(authDefects))
	slices.Sort(all)
	return all
}

// has tells whether this is the client with a defect.
func (c *client) has(defect string) bool { return c.options.Defect == defect }

// spoil makes the client bad in one way.
func (c *client) spoil(defect string) error {
	if defect != "" && !slices.Contains(Defects(), defect) {
		return fmt.Errorf("the reference client has no defect %q, only %s", defect, strings.Join(Defects(), ", "))
	}
	c.mistaken.ids = map[string]jsonrpc.ID{}
	authorization := &c.options.Authorization
	switch defect {
	case "issuer-is-the-server":
		c.auth.fitsIssuer = func(text, _ string) bool { return text == c.options.URL }
	case "assertion-for-the-server":
		c.auth.asserts = func(a *assertion) { a.claims["aud"] = c.options.URL }
	case "reads-redirects":
		authorization.Open = nil
	case "another-loopback":
		authorization.Open = nil
		authorization.Redirect = "http://[::1]:4711/oauth/callback?client=reference"
	case "needs-no-document":
		authorization.Document = "https://app.example.com/oauth/client.json"
	}
	if spoil := authDefects[defect]; spoil != nil {
		spoil(&c.auth)
	}
	return nil
}

// answerAfterCancellation tells the server that its request was cancelled.
func (c *client) answerAfterCancellation(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refusal := jsonrpc.NewError(id, jsonrpc.InternalError, "Internal error: the request was cancelled")
	c.beside(func() { _ = c.send(c.ctx, refusal) })
}

// loadReferences loads what a schema refers to on the network.
func (c *client) loadReferences(schema any) {
	switch schema := schema.(type) {
	case object:
		ref, _ := schema["$ref"].(string)
		if strings.HasPrefix(ref, "http://") || strings.HasPrefix(ref, "https://") {
			c.load(ref)
		}
		for _, member := range schema {
			c.loadReferences(member)
		}
	case []any:
		for _, member := range schema {
			c.loadReferences(member)
		}
	}
}

// withoutNull is a schema without headers that are null.
func withoutNull(schema any) any {
	members, isObject := schema.(object)
	if !isObject {
		return schema
	}
	bare := object{}
	for name, member := range members {
		if name != annotation || member != nil {
			bare[name] = withoutNull(member)
		}
	}
	return bare
}

// mistaken is what a client with a defect remembers for that.
type mistaken struct {
	mu      sync.Mutex
	posted  atomic.Bool
	ids     map[string]jsonrpc.ID
	cursor  string
	longest int // page
}

// address is where a message is posted: all but the first at an address of their own, as the
// transport HTTP+SSE had, in a client that posts to two addresses.
func (c *client) address() string {
	if c.has("posts-to-two-addresses") && c.mistaken.posted.Swap(true) {
		return strings.TrimSuffix(c.options.URL, "/") + "/messages"
	}
	return c.options.URL
}

// idOf is the id of the request that a question repeats, or the one for it.
func (m *mistaken) idOf(q question, id jsonrpc.ID) jsonrpc.ID {
	_, hasState := q.params["requestState"]
	_, hasInput := q.params["inputResponses"]
	what := fmt.Sprint(q.method, q.params["name"], q.params["uri"])
	if before, known := m.ids[what]; known && (hasState || hasInput) {
		return before
	}
	m.ids[what] = id
	return id
}

// isLast takes a cursor that leads to itself for the end of the list.
func (m *mistaken) isLast(cursor string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.cursor
	m.cursor = cursor
	return cursor == before && cursor != ""
}

// isShorter takes a page that is shorter than another for the last one.
func (m *mistaken) isShorter(page []any) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.longest = max(m.longest, len(page))
	return len(page) < m.longest
}

// hangsUp ends the connection, since something has come that was not expected. It sends
// nothing more, however long the end takes.
func hangsUp(c *client) {
	connection := c.detach()
	go c.leave(connection)
}

// listsAll lists all that the server has beside what is wanted, and fails where one list
// does. That is not wrong.
func (c *client) listsAll(wanted string) error {
	for of, l := range lists {
		if of == "tasks" || of == wanted || c.needs(l.needs...) != nil {
			continue
		}
		if _, err := c.pages(c.ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// ofToolsAlone tells whether a library that lists and calls tools, without progress, can do a
// step. That is not wrong.
func ofToolsAlone(s step) bool {
	switch s.Do {
	case "connect", "answer-with", "wait-for":
		return true
	case "list":
		return s.Of == "tools"
	case "call":
		return !s.Progress && s.Task == nil
	}
	return false
}

// lookFirst does what some clients do before they connect: they ask what a server speaks, on a
// connection of its own, or read its metadata. That is not wrong.
func (c *client) lookFirst(ctx context.Context) error {
	switch c.options.Defect {
	case "looks-at-metadata-first":
		places, err := oauth.ResourcePlaces(c.options.URL)
		for _, place := range places {
			c.load(place)
		}
		return err
	case "looks-first":
		if err := c.reach(ctx); err != nil {
			return err
		}
		defer c.disconnect()
		if _, _, err := c.discover(ctx); err != nil {
			c.log.Printf("a look at the server: %v", err)
		}
	}
	return nil
}

// asksInline takes the server to speak the newest revision and to have tools, and sees by
// what it asks whether that is so. That is not wrong.
func (c *client) asksInline(context.Context) ([]string, bool, error) {
	_, err := c.adopt(Revision20260728, peer{Capabilities: object{"tools": object{}}})
	return []string{Revision20260728}, true, err
}

// listsNothing tells that no list is under way. The caller holds c.mu.
func (c *client) listsNothing() bool {
	for _, asked := range c.open {
		if strings.HasSuffix(asked.method, "/list") {
			return false
		}
	}
	return true
}

// overlooksStatus tells whether the client does not know a server of the handshake era by a
// status by which it is one.
func (c *client) overlooksStatus(status *statusError) bool {
	switch c.options.Defect {
	case "falls-back-for-one-status":
		return status.code != http.StatusBadRequest
	case "falls-back-for-bodies":
		return status.reason == ""
	case "knows-its-own-ids": // the error of another request is no answer
		return jsonrpc.Parse([]byte(status.reason)).Kind == jsonrpc.Response
	}
	return false
}

// speaksOfSessions tells whether an error names what the handshake era has.
func speaksOfSessions(refused *rpcError) bool {
	text := strings.ToLower(refused.Message)
	return refused.Code == jsonrpc.MethodNotFound || strings.Contains(text, "session") ||
		strings.Contains(text, "initializ")
}

// load fetches something, and makes nothing of it.
func (c *client) load(address string) {
	asked, err := http.NewRequestWithContext(c.ctx, http.MethodGet, address, nil)
	if err != nil {
		return
	}
	response, err := http.DefaultClient.Do(asked)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxRefusal))
	_ = response.Body.Close()
}

// pollWhenStale fetches what lives for a short time each time that it is over, until
// there is no session any more.
func (c *client) pollWhenStale(key cacheKey, ttl time.Duration) {
	if ttl > time.Second || key != keyOf(key.method, object{}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beside(func() {
		if pause(c.ctx, ttl) == nil {
			_, _ = c.fetch(c.ctx, question{method: key.method, params: object{}})
		}
	})
}

// endpointRead is what a client reads of the reference by which an old server names its endpoint.
func (c *client) endpointRead(reference string) string {
	unrooted := strings.TrimPrefix(reference, "/")
	path, query, _ := strings.Cut(reference, "?")
	switch c.options.Defect {
	case "posts-below-the-stream":
		return c.options.URL + "/" + unrooted
	case "posts-to-the-stream":
		return c.options.URL
	case "posts-with-a-slash":
		return path + "/?" + query
	case "posts-without-query":
		return path
	case "posts-below-the-origin":
		if !strings.Contains(reference, "://") {
			return "/" + unrooted
		}
	case "posts-as-a-path":
		return "/" + unrooted
	}
	return reference
}
