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
)

// defects make a good client bad in one way each.
var defects = map[string]func(*client){
	"answers-after-cancellation": func(c *client) { c.part.stopAnswering = answersAfterCancellation },
	"fetches-network-refs":       fetchesNetworkRefs,
	"answers-input-again":        func(c *client) { c.part.answersInputAgain = always },
	"always-declares":            alwaysDeclares,
	"asks-inline":                func(c *client) { c.part.discovers = asksInline },
	"assumes-page-size":          assumesPageSize,
	"caches-all-alike":           func(c *client) { c.part.cacheKey = cachesAllAlike },
	"caches-changed-meanwhile":   func(c *client) { c.part.dropsChangedLists = c.listsNothing },
	"caches-past-updates":        func(c *client) { c.part.dropsUpdatedResources = never },
	"caches-past-changes": func(c *client) {
		c.part.dropsChangedLists, c.part.listsAgain = never, func(string) bool { return false }
	},
	"caches-retries":               func(c *client) { c.part.cachesRetries = always },
	"expands-as-text":              func(c *client) { c.part.expand = expandsAsText },
	"falls-back-for-one-status":    func(c *client) { c.part.fallsBack = fallsBackForOneStatus },
	"falls-back-for-words":         func(c *client) { c.part.fallsBack = fallsBackForWords },
	"fetches-urls":                 func(c *client) { c.part.refuses = fetchesURLs },
	"forgets-eras":                 func(c *client) { c.part.remembersEras, c.part.reopens = never, probesAgain },
	"forgets-subscriptions":        func(c *client) { c.part.subscribesAgain = never },
	"looks-first":                  func(c *client) { c.part.beforeConnecting = looksFirst },
	"has-tools-alone":              func(c *client) { c.part.hasAPI = ofToolsAlone },
	"keeps-templates":              func(c *client) { c.part.listGiven = allBut("templates") },
	"lists-all-together":           func(c *client) { c.part.listGiven = c.listsAll },
	"throws-errors-of-tools":       func(c *client) { c.part.checkOutput = thrown },
	"never-kills":                  func(c *client) { c.part.shutDown = neverKills },
	"posts-to-two-addresses":       postsToTwoAddresses,
	"reads-no-streams":             func(c *client) { c.part.mediaRead = readsNo(eventStreamMedia) },
	"renews-at-oldest-revision":    func(c *client) { c.part.reopens = reopensAtOldest },
	"renews-once":                  renewsOnce,
	"renews-subscriptions-in-part": func(c *client) { c.part.renewedFilter = listsAlone },
	"retries-without-input":        func(c *client) { c.part.inputs = retriesWithoutInput },
	"hangs-up-at-cancellations":    func(c *client) { c.part.unknownNotification = hangsUpAt(cancelledMethod) },
	"hangs-up-at-completions":      func(c *client) { c.part.unknownNotification = hangsUpAt(completeMethod) },
	"hangs-up-at-late-answers":     func(c *client) { c.part.unknownAnswer = hangsUp },
	"caches-by-parameters":         func(c *client) { c.part.cacheKey = cachesByParameters },
	"keeps-cursors":                func(c *client) { c.part.restartsList = never },
	"polls-when-stale":             func(c *client) { c.part.resultCached = pollsWhenStale },
	"posts-below-the-stream":       func(c *client) { c.part.endpoint = postsBelowTheStream },
	"posts-to-the-stream":          func(c *client) { c.part.endpoint = postsToTheStream },
	"posts-with-a-slash":           func(c *client) { c.part.endpoint = postsWithSlash },
	"posts-without-query":          func(c *client) { c.part.endpoint = postsWithoutQuery },
	"posts-below-the-origin":       func(c *client) { c.part.endpoint = postsBelowTheOrigin },
	"posts-as-a-path":              func(c *client) { c.part.endpoint = postsAsPath },
	"goes-on-over-new-streams":     func(c *client) { c.part.reopens = reopensNothing },
	"opens-streams-per-request":    opensStreamsPerRequest,
	"finds-http-sse":               func(c *client) { c.part.knowsHTTPSSE = never },
	"keeps-http-sse-open":          func(c *client) { c.part.closesHTTPSSE = never },
	"keeps-invalid-headers":        func(c *client) { c.part.mirroredOf = keepsInvalidHeaders },
	"recalls-old-session":          func(c *client) { c.part.nextSessionID = recallsOldSession },
	"waits-in-old-session":         waitsInOldSession,
	"keeps-old-session-for-reads":  func(c *client) { c.part.renews = func(method string) bool { return method != "resources/read" } },
	"keeps-old-session":            func(c *client) { c.part.renews = func(string) bool { return false } },
	"keeps-old-session-for-calls":  func(c *client) { c.part.renews = func(method string) bool { return method != "tools/call" } },
	"kills-at-once":                func(c *client) { c.part.shutDown = killsAtOnce },
	"leaves-server-running":        func(c *client) { c.part.shutDown = func(*stdio, *pipes) {} },
	"cancels-namesakes":            func(c *client) { c.part.requestCancelled = givesUpNamesake },
	"cancels-calls-alone":          func(c *client) { c.part.neverCancelled = func(method string) bool { return method != "tools/call" } },
	"never-cancels":                func(c *client) { c.part.neverCancelled = func(string) bool { return true } },
	"never-restarts":               func(c *client) { c.part.restarts = never },
	"never-waits":                  func(c *client) { c.part.waitsToReconnect = neverWaits },
	"polls-without-pause":          func(c *client) { c.part.pollAfter = func(task) time.Duration { return 0 } },
	"refuses-no-request":           func(c *client) { c.part.refuses = refusesNothing },
	"resumes-by-post":              func(c *client) { c.part.resumesBy = func() string { return http.MethodPost } },
	"retries-with-same-id":         retriesWithSameID,
	"stops-at-known-cursor":        stopsAtKnownCursor,
	"keeps-null-headers":           func(c *client) { c.part.mirroredOf = keepsNullHeaders },
	"knows-its-own-ids":            func(c *client) { c.part.fallsBack = fallsBackForOwnIDs },
	"falls-back-for-bodies":        func(c *client) { c.part.fallsBack = fallsBackForBodies },
	"http-sse-wants-200":           func(c *client) { c.part.acceptedHTTPSSE = wants(http.StatusOK) },
	"http-sse-wants-202":           func(c *client) { c.part.acceptedHTTPSSE = wants(http.StatusAccepted) },
	"refuses-nested-headers":       func(c *client) { c.part.mirroredOf = refusesNestedHeaders },
	"takes-session-of-refusals":    takesSessionOfRefusals,
	"sse-keeps-name":               func(c *client) { c.part.framing.keepsName = true },
	"reads-bare-lines":             func(c *client) { c.part.readLines = readsBareLines },
	"broken-by-refusals":           func(c *client) { c.part.refusedPost = brokenByRefusal },
	"hangs-at-null-errors":         func(c *client) { c.part.refusedPost = hangsAtNullError },
	"hangs-at-refusals":            func(c *client) { c.part.refusedPost = hangsAtRefusal },
	"insists-on-deletion":          func(c *client) { c.part.endSession = insistsOnDeletion(http.StatusNotFound) },
	"insists-on-sessions":          func(c *client) { c.part.endSession = insistsOnDeletion(http.StatusMethodNotAllowed) },
	"session-ids-of-few-letters":   func(c *client) { c.part.checksSessionID = takesFewLetters },
	"hangs-up-at-accepted-media":   func(c *client) { c.part.acceptedPost = hangsUpAtMedia },
	"hangs-up-at-bare-acceptance":  func(c *client) { c.part.acceptedPost = hangsUpAtNoMedia },
	"hangs-up-at-refused-stream":   func(c *client) { c.part.streamRefused = hangsUp },
	"takes-answers-in-order":       func(c *client) { c.part.answeredBy = oldestOpen },
	"takes-requests-for-answers":   func(c *client) { c.part.kindOf = takesRequestsForAnswers },
	"sse-line-feeds-only":          replacesInStreams("\r", " "),
	"sse-drops-carriage-returns":   replacesInStreams("\r", ""),
	"sse-counts-crlf-twice":        replacesInStreams("\r", "\n"),
	"sse-splits-at-separators":     replacesInStreams("\u2028", "\n", "\u2029", "\n", "\u0085", "\n"),
	"sse-decodes-chunks-alone":     func(c *client) { c.part.framing.bytes = decodesAlone },
	"sse-first-data-line":          func(c *client) { c.part.framing.join = firstLine },
	"sse-last-data-line":           func(c *client) { c.part.framing.join = lastLine },
	"sse-data-lines-apart":         func(c *client) { c.part.framing.apart = true },
	"sse-waits-behind-cr":          func(c *client) { c.part.framing.bytes = waitsBehindCR },
	"sse-wants-space":              func(c *client) { c.part.framing.field = wantsSpace },
	"sse-wants-name":               func(c *client) { c.part.framing.complete = wantsName },
	"sse-fails-at-names":           func(c *client) { c.part.framing.complete = failsAtNames },
	"sse-dispatches-without-data":  func(c *client) { c.part.framing.complete = dispatchesWithoutData },
	"sse-fails-at-comments":        func(c *client) { c.part.framing.field = knowsFields("event", "data", "id", "retry") },
	"sse-fails-at-fields":          func(c *client) { c.part.framing.field = knowsFields("", "event", "data", "id", "retry") },
	"sse-fails-at-retry":           func(c *client) { c.part.framing.field = knowsFields("", "event", "data", "id", "x-unknown") },
	"sse-fails-at-empty-data":      func(c *client) { c.part.framing.complete = failsAtEmptyData },
	"sse-keeps-mark":               func(c *client) { c.part.framing.mark = nil },
	"sse-short-lines":              func(c *client) { c.part.framing.field = shortLines },
	"sse-waits-for-the-end":        func(c *client) { c.part.readsStream = waitsForTheEnd },
	"media-types-as-text":          func(c *client) { c.part.mediaOf = func(header string) string { return header } },
	"media-types-by-beginning":     func(c *client) { c.part.mediaOf = byBeginning },
	"reads-first-line-of-body":     func(c *client) { c.part.bodyRead = firstLineOfBody },
	"reads-short-bodies":           func(c *client) { c.part.bodyRead = func(body []byte) []byte { return body[:min(len(body), 64<<10)] } },
	"reads-chunks-for-messages":    func(c *client) { c.part.readLines = readsChunks },
	"sse-forgets-last-event":       func(c *client) { c.part.framing.forgets = true },
	"reads-short-lines":            func(c *client) { c.part.readLines = readsShortLines },
	"splits-lines-at-separators":   func(c *client) { c.part.readLines = splitsAtSeparators },
}

// Defects lists what Options.Defect may be.
func Defects() []string {
	return slices.Sorted(maps.Keys(allDefects()))
}

// allDefects are those of authorization, too, and habits there.
func allDefects() map[string]func(*client) {
	all := maps.Clone(defects)
	for _, some := range []map[string]func(*client, *authParts){authDefects, habits} {
		for name, spoil := range some {
			all[name] = func(c *client) { spoil(c, &c.part.auth) }
		}
	}
	return all
}

func (c *client) spoil(defect string) error {
	if defect == "" {
		return nil
	}
	spoil, known := allDefects()[defect]
	if !known {
		return fmt.Errorf("the reference client has no defect %q, only %s", defect, strings.Join(Defects(), ", "))
	}
	spoil(c)
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

// neverWaits reconnects at once and ignores the retry time of the server.
func neverWaits(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }

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

// alwaysDeclares declares capabilities for which the steps have no answers.
func alwaysDeclares(c *client) {
	c.part.declares = func(capabilities object) {
		for _, capability := range capabilityOf {
			if capabilities[capability] == nil {
				capabilities[capability] = object{}
			}
		}
	}
	c.part.unhandled = func(capability string) *rpcError {
		return refuse(jsonrpc.InvalidRequest, "%s is not supported", capability)
	}
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

// fallsBackForOneStatus knows servers of the handshake era by the status 400.
func fallsBackForOneStatus(err error, modern bool) bool {
	status, isStatus := errors.AsType[*statusError](err)
	return fallsBack(err, modern) && (!isStatus || status.code == http.StatusBadRequest)
}

// fallsBackForWords knows servers of the handshake era by what they say of it.
func fallsBackForWords(err error, modern bool) bool {
	refused, isRefused := asRPCError(err)
	if !isRefused || refused.Code == jsonrpc.MethodNotFound {
		return fallsBack(err, modern)
	}
	text := strings.ToLower(refused.Message)
	return fallsBack(err, modern) && (strings.Contains(text, "session") || strings.Contains(text, "initializ"))
}

// fallsBackForOwnIDs knows servers of the handshake era by errors that are about its request, or
// about none, and takes one with another id for no answer at all.
func fallsBackForOwnIDs(err error, modern bool) bool {
	status, isStatus := errors.AsType[*statusError](err)
	return fallsBack(err, modern) && (!isStatus || jsonrpc.Parse([]byte(status.reason)).Kind != jsonrpc.Response)
}

// fallsBackForBodies knows servers of the handshake era by what they say.
func fallsBackForBodies(err error, modern bool) bool {
	status, isStatus := errors.AsType[*statusError](err)
	return fallsBack(err, modern) && (!isStatus || status.reason != "")
}

// expandsAsText puts values into a template as they are.
func expandsAsText(template string, arguments object) (string, error) {
	for name, value := range arguments {
		template = strings.ReplaceAll(template, "{"+name+"}", fmt.Sprint(value))
	}
	return template, nil
}

// givesUpNamesake takes the id of a request of the server for that of its own.
func givesUpNamesake(c *client, id jsonrpc.ID) {
	c.mu.Lock()
	own := c.open[id]
	c.mu.Unlock()
	if own != nil {
		own.finish(nil, errCancelled)
	}
}

// fetchesURLs has a look at what the user is asked to visit.
func fetchesURLs(c *client, method string, params, capability object) *rpcError {
	refused := refusal(c, method, params, capability)
	if address, isText := params["url"].(string); isText && refused == nil {
		c.load(address)
	}
	return refused
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

// neverKills asks the server to exit, and leaves alone one that does not.
func neverKills(s *stdio, p *pipes) {
	_ = p.process.Close()
	if !within(s.client.options.Timeouts.Exit, p.exited) {
		_ = p.process.Terminate()
		within(s.client.options.Timeouts.Exit, p.exited)
	}
}

// readsNo does not know a media type, unless it opens a connection.
func readsNo(unknown string) func(string, string) string {
	return func(method, media string) string {
		if media == unknown && method != "initialize" && method != "server/discover" {
			return "unknown"
		}
		return media
	}
}

// renewsWithOldSession begins a new session under the id of the old one.
func renewsWithOldSession(h *streamableHTTP) http.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	headers := http.Header{}
	if h.session != "" {
		headers.Set(sessionHeader, h.session)
	}
	return headers
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

// listsAlone leaves the resources out of what is subscribed to anew.
func listsAlone(to object) object {
	rest := maps.Clone(to)
	delete(rest, "resourceSubscriptions")
	return rest
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

// recallsOldSession goes on under the id of its first session in each later one.
func recallsOldSession(before, id string) string {
	if before != "" {
		return before
	}
	return id
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

// postsBelowTheStream appends the endpoint that an old server names to the URL of the stream.
func postsBelowTheStream(h *streamableHTTP, reference string) (string, error) {
	return h.client.options.URL + "/" + strings.TrimPrefix(reference, "/"), nil
}

// postsToTheStream takes no notice of the endpoint that an old server names.
func postsToTheStream(h *streamableHTTP, _ string) (string, error) { return h.client.options.URL, nil }

// postsWithSlash ends the path of the endpoint that an old server names with a slash.
func postsWithSlash(h *streamableHTTP, reference string) (string, error) {
	path, query, _ := strings.Cut(reference, "?")
	return h.endpoint(path + "/?" + query)
}

// postsWithoutQuery drops the query of the endpoint that an old server names.
func postsWithoutQuery(h *streamableHTTP, reference string) (string, error) {
	path, _, _ := strings.Cut(reference, "?")
	return h.endpoint(path)
}

// postsBelowTheOrigin takes what is relative to the stream for a path of the origin.
func postsBelowTheOrigin(h *streamableHTTP, reference string) (string, error) {
	if !strings.Contains(reference, "://") {
		reference = "/" + strings.TrimPrefix(reference, "/")
	}
	return h.endpoint(reference)
}

// postsAsPath takes the URI of an endpoint event for a path of the origin, even if it is
// a whole URL.
func postsAsPath(h *streamableHTTP, reference string) (string, error) {
	return h.endpoint("/" + strings.TrimPrefix(reference, "/"))
}
