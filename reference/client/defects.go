// Deliberate mistakes, for those who want to see that they are noticed. Most are made on the
// wire, or in the recording of a good client; these are in what a client makes of what it
// reads, and in what it does when a server reacts.

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
)

// defects make a good client bad in one way each.
var defects = map[string]func(*client){
	"answers-after-cancellation": func(c *client) { c.part.stopAnswering = answersAfterCancellation },
	"fetches-network-refs":       fetchesNetworkRefs,
	"asks-inline":                func(c *client) { c.part.discovers = asksInline },
	"assumes-page-size":          assumesPageSize,
	"caches-all-alike":           func(c *client) { c.part.cacheKey = cachesAllAlike },
	"caches-changed-meanwhile":   func(c *client) { c.part.dropsChangedLists = c.listsNothing },
	"caches-past-changes":        func(c *client) { c.part.dropsChangedLists = func() bool { return false } },
	"expands-as-text":            func(c *client) { c.part.expand = expandsAsText },
	"falls-back-for-one-status":  func(c *client) { c.part.fallsBack = fallsBackFor(isBadRequest, anyRefusal) },
	"falls-back-for-words":       func(c *client) { c.part.fallsBack = fallsBackFor(anyStatus, speaksOfSessions) },
	"fetches-urls":               func(c *client) { c.part.refuses = fetchesURLs },
	"forgets-eras":               func(c *client) { c.part.reopens = probesAgain },
	"looks-first":                func(c *client) { c.part.beforeConnecting = looksFirst },
	"has-tools-alone":            func(c *client) { c.part.hasAPI = ofToolsAlone },
	"keeps-templates":            func(c *client) { c.part.listGiven = allBut("templates") },
	"lists-all-together":         func(c *client) { c.part.listGiven = c.listsAll },
	"throws-errors-of-tools":     func(c *client) { c.part.checkOutput = thrown },
	"never-kills":                func(c *client) { c.part.shutDown = neverKills },
	"posts-to-two-addresses":     postsToTwoAddresses,
	"renews-at-oldest-revision":  func(c *client) { c.part.reopens = reopensAtOldest },
	"renews-once":                renewsOnce,
	"retries-without-input":      func(c *client) { c.part.inputs = retriesWithoutInput },
	"hangs-up-at-cancellations":  func(c *client) { c.part.unknownNotification = hangsUpAt(cancelledMethod) },
	"hangs-up-at-completions":    func(c *client) { c.part.unknownNotification = hangsUpAt(completeMethod) },
	"caches-by-parameters":       func(c *client) { c.part.cacheKey = cachesByParameters },
	"polls-when-stale":           func(c *client) { c.part.resultCached = pollsWhenStale },
	"posts-below-the-stream":     func(c *client) { c.part.endpoint = postsBelowTheStream },
	"posts-to-the-stream":        func(c *client) { c.part.endpoint = postsToTheStream },
	"posts-with-a-slash":         func(c *client) { c.part.endpoint = postsWithSlash },
	"posts-without-query":        func(c *client) { c.part.endpoint = postsWithoutQuery },
	"posts-below-the-origin":     func(c *client) { c.part.endpoint = postsBelowTheOrigin },
	"posts-as-a-path":            func(c *client) { c.part.endpoint = postsAsPath },
	"goes-on-over-new-streams":   func(c *client) { c.part.reopens = reopensNothing },
	"opens-streams-per-request":  opensStreamsPerRequest,
	"keeps-invalid-headers":      func(c *client) { c.part.mirroredOf = keepsInvalidHeaders },
	"kills-at-once":              func(c *client) { c.part.shutDown = killsAtOnce },
	"leaves-server-running":      func(c *client) { c.part.shutDown = func(*stdio, *pipes) {} },
	"cancels-calls-alone":        func(c *client) { c.part.neverCancelled = func(method string) bool { return method != "tools/call" } },
	"never-cancels":              func(c *client) { c.part.neverCancelled = func(string) bool { return true } },
	"refuses-no-request":         func(c *client) { c.part.refuses = refusesNothing },
	"retries-with-same-id":       retriesWithSameID,
	"stops-at-known-cursor":      stopsAtKnownCursor,
	"keeps-null-headers":         func(c *client) { c.part.mirroredOf = keepsNullHeaders },
	"knows-its-own-ids":          func(c *client) { c.part.fallsBack = fallsBackFor(isNoAnswer, anyRefusal) },
	"falls-back-for-bodies":      func(c *client) { c.part.fallsBack = fallsBackFor(hasReason, anyRefusal) },
	"refuses-nested-headers":     func(c *client) { c.part.mirroredOf = refusesNestedHeaders },
	// In authorization:
	"token-to-anybody":         func(c *client) { c.part.redirected = goesAnywhere },
	"issuer-is-the-server":     func(c *client) { c.part.auth.fitsIssuer = c.isServer },
	"assertion-for-the-server": func(c *client) { c.part.auth.asserts = c.addressesServer },
	// Which is legal there, and another habit than that of the client:
	"looks-at-metadata-first":  func(c *client) { c.part.beforeConnecting = looksAtMetadata },
	"redirected-without-token": func(c *client) { c.part.redirected = goesAnywhere },
	"reads-redirects":          func(c *client) { c.options.Authorization.Open = nil },
	"another-loopback": func(c *client) {
		c.options.Authorization.Open = nil
		c.options.Authorization.Redirect = "http://[::1]:4711/oauth/callback?client=reference"
	},
	"needs-no-document": func(c *client) {
		c.options.Authorization.Document = "https://app.example.com/oauth/client.json"
	},
}

// namedDefects stand where they make a difference, as c.has(NAME).
var namedDefects = []string{
	"always-declares",              // declares capabilities for which the steps have no answers
	"answers-input-again",          // answers each question of a task each time that it sees it
	"caches-past-updates",          // keeps what it read when the server says that it has changed
	"caches-retries",               // keeps results that took input
	"cancels-namesakes",            // takes the id of a request of the server for that of its own
	"finds-http-sse",               // takes no notice of being told that the transport is HTTP+SSE
	"forgets-subscriptions",        // does not subscribe again at a server that was started again
	"hangs-up-at-late-answers",     // ends the connection at the answer to no request
	"hangs-up-at-refused-stream",   // ends the connection where the server offers no stream
	"insists-on-deletion",          // fails when its session cannot be ended, but by 404
	"insists-on-sessions",          // fails when its session cannot be ended, but by 405
	"keeps-cursors",                // goes on with the cursors of a session that is over
	"keeps-http-sse-open",          // leaves the stream of HTTP+SSE open at the end
	"never-restarts",               // does not start again a server that has exited
	"never-waits",                  // reconnects at once and ignores the retry time of the server
	"polls-without-pause",          // looks at a task again and again without a pause
	"reads-no-streams",             // does not know event streams, unless they open a connection
	"recalls-old-session",          // goes on under the id of its first session in each later one
	"renews-subscriptions-in-part", // leaves the resources out of what it subscribes to again
	"resumes-by-post",              // takes streams up again with POST
	"session-ids-of-few-letters",   // knows session ids by the letters that those of most servers have
	"broken-by-refusals",           // gives up the connection when one request is refused
	"hangs-at-null-errors",         // waits for an error that is about the request it was sent for
	"hangs-at-refusals",            // waits for an answer to a request that was refused
	"hangs-up-at-accepted-media",   // breaks off at a media type where nothing is to be read
	"hangs-up-at-bare-acceptance",  // ends the connection at a 202 that does not say what it has
	"http-sse-wants-200",           // takes a message for refused that HTTP+SSE accepts with another status than 200
	"http-sse-wants-202",           // does so with another status than 202
	"keeps-old-session",            // begins no new session in place of one that is over
	"keeps-old-session-for-calls",  // begins none for tools/call
	"keeps-old-session-for-reads",  // begins none for resources/read
	"media-types-as-text",          // compares Content-Type as a text
	"media-types-by-beginning",     // knows a media type by the letters that a Content-Type begins with
	"reads-bare-lines",             // breaks off at a line that ends with more than a newline
	"reads-chunks-for-messages",    // takes what one read gives for one message
	"reads-first-line-of-body",     // reads the first line of a body
	"reads-short-bodies",           // reads no more than 64 KiB of a body
	"reads-short-lines",            // takes the rest of long lines for other lines
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
	"takes-answers-in-order",       // takes each answer for that to the request which waits for the longest time
	"takes-requests-for-answers",   // goes by the id of what comes alone
	"takes-session-of-refusals",    // takes the session id of a refusal for that of the session to come
	"waits-in-old-session",         // leaves a request unanswered to whose session the server answers 404
	// In authorization:
	"assertion-withheld",               // sends no assertion
	"code-flow-always",                 // has a user grant access where there is none
	"guesses-the-server",               // takes default endpoints at the origin of the server, and reads no metadata
	"identity-token-as-grant",          // takes what the identity provider said of the user for a grant
	"insists-on-refused-refresh-token", // keeps a refresh token that was refused
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
	// Which is legal there, and another habit than that of the client:
	"assertion-as-grant",            // sends its assertion as a grant
	"machine-secret-posted",         // sends the secret of a client without a user in the form
	"never-refreshes",               // keeps no refresh token
	"refreshes-twice",               // refreshes twice, as two requests do that are refused at once
	"reports-refused-refresh-token", // tells of a refresh token that was refused, and goes no further
}

// Defects lists what Options.Defect may be.
func Defects() []string {
	all := slices.AppendSeq(slices.Clone(namedDefects), maps.Keys(defects))
	all = slices.AppendSeq(all, maps.Keys(authDefects))
	slices.Sort(all)
	return all
}

// has tells whether this is the client with a defect.
func (c *client) has(defect string) bool { return c.options.Defect == defect }

func (c *client) spoil(defect string) error {
	if defect != "" && !slices.Contains(Defects(), defect) {
		return fmt.Errorf("the reference client has no defect %q, only %s", defect, strings.Join(Defects(), ", "))
	}
	if spoil := defects[defect]; spoil != nil {
		spoil(c)
	}
	if spoil := authDefects[defect]; spoil != nil {
		spoil(&c.part.auth)
	}
	return nil
}

// answersAfterCancellation tells the server that its request was cancelled.
func answersAfterCancellation(c *client, id jsonrpc.ID, stop context.CancelFunc) {
	stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	refusal := jsonrpc.NewError(id, jsonrpc.InternalError, "Internal error: the request was cancelled")
	c.beside(func() { _ = c.send(c.ctx, refusal) })
}

// fetchesNetworkRefs loads the schemas on the network that a schema refers to.
func fetchesNetworkRefs(c *client) {
	c.part.checkOutput = func(t *tool, result object) error {
		for _, ref := range references(t.outputSchema) {
			if at, err := url.Parse(ref); err == nil && (at.Scheme == "http" || at.Scheme == "https") {
				c.load(ref)
			}
		}
		return checkOutput(t, result)
	}
}

// references are what a schema refers to.
func references(schema any) []string {
	var all []string
	switch schema := schema.(type) {
	case object:
		for name, member := range schema {
			if text, isText := member.(string); isText && name == "$ref" {
				all = append(all, text)
			}
			all = append(all, references(member)...)
		}
	case []any:
		for _, member := range schema {
			all = append(all, references(member)...)
		}
	}
	return all
}

// keepsInvalidHeaders uses tools whose headers break the rules, as far as it can.
func keepsInvalidHeaders(schema any) ([]mirrored, error) {
	all, _ := mirroredOf(schema)
	return all, nil
}

// refusesNestedHeaders knows headers of the parameters of a tool, and of nothing in them.
func refusesNestedHeaders(schema any) ([]mirrored, error) {
	all, err := mirroredOf(schema)
	for _, one := range all {
		if len(one.path) > 1 {
			return nil, fmt.Errorf("the annotation of %s is nested", one.header)
		}
	}
	return all, err
}

// keepsNullHeaders takes a header that is null for none.
func keepsNullHeaders(schema any) ([]mirrored, error) { return mirroredOf(withoutNull(schema)) }

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

// killsAtOnce gives the server no time to exit.
func killsAtOnce(_ *stdio, p *pipes) {
	_ = p.process.Kill()
	<-p.exited
}

// postsToTwoAddresses has an address of its own for all messages but the first, as the
// transport HTTP+SSE had.
func postsToTwoAddresses(c *client) {
	var begun atomic.Bool
	c.part.address = func(url string) string {
		if begun.Swap(true) {
			return strings.TrimSuffix(url, "/") + "/messages"
		}
		return url
	}
}

// refusesNothing answers requests that the client must reject, too.
func refusesNothing(*client, string, object, object) *rpcError { return nil }

// retriesWithSameID gives a retry the id of the request before it.
func retriesWithSameID(c *client) {
	give := c.part.newID
	used := map[string]jsonrpc.ID{}
	c.part.newID = func(c *client, q question) jsonrpc.ID {
		_, hasState := q.params["requestState"]
		_, hasInput := q.params["inputResponses"]
		what := fmt.Sprint(q.method, q.params["name"], q.params["uri"])
		if before, known := used[what]; known && (hasState || hasInput) {
			return before
		}
		used[what] = give(c, q)
		return used[what]
	}
}

// stopsAtKnownCursor takes a cursor that leads to itself for the end of the list.
func stopsAtKnownCursor(c *client) {
	var mu sync.Mutex
	before := ""
	c.part.nextCursor = func(page object) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		cursor, more := nextCursor(page)
		more = more && (cursor != before || cursor == "")
		before = cursor
		return cursor, more
	}
}

// hangsUp ends the connection, since something has come that was not expected. It sends
// nothing more, however long the end takes.
func hangsUp(c *client) {
	connection := c.detach()
	go c.leave(connection)
}

// hangsUpAt ends the connection when a notification is about nothing that is known.
func hangsUpAt(method string) func(*client, string) {
	return func(c *client, notification string) {
		if notification == method {
			hangsUp(c)
		}
	}
}

// assumesPageSize takes a page that is shorter than another for the last one.
func assumesPageSize(c *client) {
	var mu sync.Mutex
	longest := 0
	c.part.nextCursor = func(page object) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		for _, l := range lists {
			items, isList := page[l.member].([]any)
			if isList && len(items) < longest {
				return "", false
			}
			longest = max(longest, len(items))
		}
		return nextCursor(page)
	}
}

// allBut gives all lists but one, for which there is no API. That is not wrong.
func allBut(kept string) func(of string) error {
	return func(of string) error {
		if of == kept {
			return fmt.Errorf("there is no API for the list of %s", of)
		}
		return nil
	}
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

// ofToolsAlone is the API of a library that lists and calls tools, without progress. That is
// not wrong.
func ofToolsAlone(s step) error {
	switch s.Do {
	case "connect", "answer-with", "wait-for":
		return nil
	case "list":
		if s.Of == "tools" {
			return nil
		}
	case "call":
		if !s.Progress && s.Task == nil {
			return nil
		}
	}
	return fmt.Errorf("there is no API for the step %s", s.Do)
}

// thrown tells its caller of an error of a tool as of any other. That is not wrong.
func thrown(t *tool, result object) error {
	if result["isError"] == true {
		return fmt.Errorf("the tool reports an error: %v", result["content"])
	}
	return checkOutput(t, result)
}

// looksFirst asks what a server speaks on a connection of its own. That is not wrong.
func looksFirst(ctx context.Context, c *client) error {
	if err := c.reach(ctx); err != nil {
		return err
	}
	defer c.disconnect()
	if _, _, err := c.discover(ctx); err != nil {
		c.log.Printf("a look at the server: %v", err)
	}
	return nil
}

// asksInline takes the server to speak the newest revision and to have tools, and sees by
// what it asks whether that is so. That is not wrong.
func asksInline(_ context.Context, c *client) ([]string, bool, error) {
	_, err := c.adopt(Revision20260728, peer{Capabilities: object{"tools": object{}}})
	return []string{Revision20260728}, true, err
}

// cachesAllAlike finds all results of a method alike.
func cachesAllAlike(method string, _ object) cacheKey { return cacheKey{method: method} }

// cachesByParameters leaves the method out of the key of a cached result.
func cachesByParameters(_ string, params object) cacheKey { return keyOf("", params) }

// listsNothing tells that no list is under way. The caller holds c.mu.
func (c *client) listsNothing() bool {
	for _, asked := range c.open {
		if strings.HasSuffix(asked.method, "/list") {
			return false
		}
	}
	return true
}

// fallsBackFor knows servers of the handshake era by less than they are known by: by some
// statuses, and by some errors.
func fallsBackFor(status func(*statusError) bool, refusal func(*rpcError) bool) func(error, bool) bool {
	return func(err error, modern bool) bool {
		found, isStatus := errors.AsType[*statusError](err)
		refused, isRefused := asRPCError(err)
		return fallsBack(err, modern) && (!isStatus || status(found)) && (!isRefused || refusal(refused))
	}
}

func isBadRequest(status *statusError) bool { return status.code == http.StatusBadRequest }
func hasReason(status *statusError) bool    { return status.reason != "" }
func anyStatus(*statusError) bool           { return true }
func anyRefusal(*rpcError) bool             { return true }

// isNoAnswer tells whether the reason is no response: the error of another request is one.
func isNoAnswer(status *statusError) bool {
	return jsonrpc.Parse([]byte(status.reason)).Kind != jsonrpc.Response
}

// speaksOfSessions tells whether an error names what the handshake era has.
func speaksOfSessions(refused *rpcError) bool {
	text := strings.ToLower(refused.Message)
	return refused.Code == jsonrpc.MethodNotFound || strings.Contains(text, "session") ||
		strings.Contains(text, "initializ")
}

// expandsAsText puts values into a template as they are.
func expandsAsText(template string, arguments object) (string, error) {
	for name, value := range arguments {
		template = strings.ReplaceAll(template, "{"+name+"}", fmt.Sprint(value))
	}
	return template, nil
}

// fetchesURLs has a look at what the user is asked to visit.
func fetchesURLs(c *client, method string, params, capability object) *rpcError {
	refused := refusal(c, method, params, capability)
	if address, isText := params["url"].(string); isText && refused == nil {
		c.load(address)
	}
	return refused
}

// looksAtMetadata reads the protected resource metadata before it connects.
func looksAtMetadata(_ context.Context, c *client) error {
	places, err := oauth.ResourcePlaces(c.options.URL)
	for _, place := range places {
		c.load(place)
	}
	return err
}

func (c *client) isServer(address, _ string) bool { return address == c.options.URL }

func (c *client) addressesServer(a *assertion) { a.claims["aud"] = c.options.URL }

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

// neverKills asks the server to exit, and leaves alone one that does not.
func neverKills(s *stdio, p *pipes) {
	_ = p.process.Close()
	if !within(s.client.options.Timeouts.Exit, p.exited) {
		_ = p.process.Terminate()
		within(s.client.options.Timeouts.Exit, p.exited)
	}
}

// reopensAtOldest begins a new session at the oldest revision that the client speaks.
func reopensAtOldest(ctx context.Context, h *streamableHTTP, _ string) error {
	return reopens(ctx, h, Revisions()[0])
}

// reopensNothing goes on where a session would have to begin.
func reopensNothing(context.Context, *streamableHTTP, string) error { return nil }

// opensStreamsPerRequest goes on over a stream of its own with each request.
func opensStreamsPerRequest(c *client) {
	c.part.reopens, c.part.staysOnHTTPSSE = reopensNothing, func(*httpSSE) bool { return false }
}

// renewsOnce begins one new session, and no third.
func renewsOnce(c *client) {
	var renewed atomic.Bool
	c.part.reopens = func(ctx context.Context, h *streamableHTTP, revision string) error {
		if renewed.Swap(true) {
			return errors.New("the session is over once more")
		}
		return reopens(ctx, h, revision)
	}
}

// probesAgain asks of which era a server is whose session is over.
func probesAgain(ctx context.Context, h *streamableHTTP, revision string) error {
	h.begin("")
	if _, _, err := h.client.discover(ctx); err != nil {
		h.client.log.Printf("the server is still of the era of the handshake: %v", err)
	}
	return reopens(ctx, h, revision)
}

// retriesWithoutInput sends a request again when it cannot answer what is asked.
func retriesWithoutInput(ctx context.Context, c *client, requests any) (object, error) {
	responses, err := inputs(ctx, c, requests)
	if err != nil {
		return object{}, nil //nolint:nilerr // that is the mistake
	}
	return responses, nil
}

// pollsWhenStale fetches what lives for a short time each time that it is over, until
// there is no session any more.
func pollsWhenStale(c *client, key cacheKey, ttl time.Duration) {
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

// Where a client posts that takes the endpoint, which an old server names by a reference, for
// another address than it is.

func postsBelowTheStream(stream, reference string) string { return stream + "/" + unrooted(reference) }

func postsToTheStream(stream, _ string) string { return stream }

func postsWithSlash(_, reference string) string {
	path, query, _ := strings.Cut(reference, "?")
	return path + "/?" + query
}

func postsWithoutQuery(_, reference string) string {
	path, _, _ := strings.Cut(reference, "?")
	return path
}

// postsBelowTheOrigin takes what is relative to the stream for a path of the origin.
func postsBelowTheOrigin(_, reference string) string {
	if strings.Contains(reference, "://") {
		return reference
	}
	return "/" + unrooted(reference)
}

// postsAsPath does so even with a whole URL.
func postsAsPath(_, reference string) string { return "/" + unrooted(reference) }

func unrooted(reference string) string { return strings.TrimPrefix(reference, "/") }
