// Deliberate mistakes, for those who want to see that they are noticed. Most
// mistakes show on the wire, and are made there; these are of behaviour and of
// state, which nobody on the wire can change.

package client

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Parts are what a good client is made of wherever a bad one has something else
// in its place.
type parts struct {
	newID            func(c *client, q question) jsonrpc.ID // the caller holds c.mu
	newToken         func(c *client) any                    // the caller holds c.mu
	now              func() time.Time
	understands      func() []string
	fallsBack        func(err error) bool
	initialized      func(ctx context.Context, c *client) error
	neverCancelled   func(method string) bool
	stopAnswering    func(c *client, id jsonrpc.ID, stop context.CancelFunc)
	refuses          func(c *client, method string, params, capability object) *rpcError
	fillIn           func(schema, content object, everything bool) object
	nextCursor       func(page object) (string, bool)
	listsAgain       func(of string) bool
	listsBeforeCalls func() bool
	checkOutput      func(t *tool, result object) error
	mirroredOf       func(schema any) ([]mirrored, error)
	resultType       func(result object) string
	stateSent        func(state any) any
	pollAfter        func(t task) time.Duration
	restarts         func() bool
	shutDown         func(s *stdio, p *pipes)
	renews           func() bool
	resumes          func() bool
	rest             func(ctx context.Context, d time.Duration) error
	endSession       func(h *streamableHTTP)
	leave            func(t transport)
}

func always() bool { return true }
func never() bool  { return false }

func goodParts() parts {
	return parts{
		newID:            nextID,
		newToken:         nextToken,
		now:              time.Now,
		understands:      Revisions,
		fallsBack:        fallsBack,
		initialized:      initialized,
		neverCancelled:   neverCancelled,
		stopAnswering:    func(_ *client, _ jsonrpc.ID, stop context.CancelFunc) { stop() },
		refuses:          refusal,
		fillIn:           fillIn,
		nextCursor:       nextCursor,
		listsAgain:       func(string) bool { return true },
		listsBeforeCalls: always,
		checkOutput:      checkOutput,
		mirroredOf:       mirroredOf,
		resultType:       resultType,
		stateSent:        func(state any) any { return state },
		pollAfter:        task.interval,
		restarts:         always,
		shutDown:         (*stdio).end,
		renews:           always,
		resumes:          always,
		rest:             pause,
		endSession:       endSession,
		leave:            transport.close,
	}
}

// defects make a good client bad in one way each.
var defects = map[string]func(*client){
	"accepts-any-version":          func(c *client) { c.part.understands = acceptsAnyVersion },
	"alters-request-state":         func(c *client) { c.part.stateSent = altersState },
	"answers-after-cancellation":   func(c *client) { c.part.stopAnswering = answersAfterCancellation },
	"asks-before-answer":           asksBeforeAnswer,
	"caches-for-ever":              cachesForEver,
	"fetches-network-refs":         fetchesNetworkRefs,
	"fills-in-no-defaults":         func(c *client) { c.part.fillIn = fillsInNoDefaults },
	"initialized-never-sent":       func(c *client) { c.part.initialized = sendsNothing },
	"keeps-invalid-headers":        func(c *client) { c.part.mirroredOf = keepsInvalidHeaders },
	"keeps-old-session":            func(c *client) { c.part.renews = never },
	"keeps-tools-unlisted":         func(c *client) { c.part.listsBeforeCalls = never },
	"kills-at-once":                func(c *client) { c.part.shutDown = killsAtOnce },
	"leaves-server-running":        func(c *client) { c.part.shutDown = func(*stdio, *pipes) {} },
	"lists-again-never":            func(c *client) { c.part.listsAgain = func(string) bool { return false } },
	"never-cancels":                func(c *client) { c.part.neverCancelled = func(string) bool { return true } },
	"never-deletes-session":        func(c *client) { c.part.endSession = func(*streamableHTTP) {} },
	"never-falls-back":             func(c *client) { c.part.fallsBack = func(error) bool { return false } },
	"never-restarts":               func(c *client) { c.part.restarts = never },
	"never-resumes":                func(c *client) { c.part.resumes = never },
	"never-waits":                  func(c *client) { c.part.rest = neverWaits },
	"polls-without-pause":          func(c *client) { c.part.pollAfter = func(task) time.Duration { return 0 } },
	"refuses-no-request":           func(c *client) { c.part.refuses = refusesNothing },
	"retries-with-same-id":         retriesWithSameID,
	"stops-after-first-page":       func(c *client) { c.part.nextCursor = func(object) (string, bool) { return "", false } },
	"stops-at-empty-cursor":        func(c *client) { c.part.nextCursor = stopsAtEmptyCursor },
	"takes-any-output":             func(c *client) { c.part.checkOutput = func(*tool, object) error { return nil } },
	"takes-any-result-for-its-own": func(c *client) { c.part.resultType = func(object) string { return complete } },
	"token-used-twice":             func(c *client) { c.part.newToken = func(*client) any { return "progress" } },
}

// Defects lists what Options.Defect may be.
func Defects() []string { return slices.Sorted(maps.Keys(defects)) }

func (c *client) spoil(defect string) error {
	if defect == "" {
		return nil
	}
	spoil, known := defects[defect]
	if !known {
		return fmt.Errorf("the reference client has no defect %q, only %s", defect, strings.Join(Defects(), ", "))
	}
	spoil(c)
	return nil
}

// acceptsAnyVersion speaks with a server whatever version that answers.
func acceptsAnyVersion() []string {
	return append(Revisions(), "1999-12-31", "1900-01-01", "2024-11-05", "2025-03-26")
}

// altersState sends back another state than it was given.
func altersState(state any) any {
	text, _ := state.(string)
	return strings.TrimSpace(text) + "+"
}

// answersAfterCancellation tells the server that its request was cancelled.
func answersAfterCancellation(c *client, id jsonrpc.ID, stop context.CancelFunc) {
	stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	transport := c.transport
	c.beside(func() {
		_ = transport.send(c.ctx, jsonrpc.NewError(id, jsonrpc.InternalError, "Internal error: the request was cancelled"))
	})
}

// asksBeforeAnswer lists the tools while the handshake is still going on.
func asksBeforeAnswer(c *client) {
	give := c.part.newID
	c.part.newID = func(c *client, q question) jsonrpc.ID {
		if q.method == "initialize" {
			early := jsonrpc.NewRequest(give(c, question{method: "tools/list"}), "tools/list", nil)
			ctx, transport := c.ctx, c.transport
			c.beside(func() { _ = transport.send(ctx, early) })
		}
		return give(c, q)
	}
}

// cachesForEver finds whatever it has fetched once fresh.
func cachesForEver(c *client) {
	began := time.Now()
	c.part.now = func() time.Time { return began }
}

// fetchesNetworkRefs loads the schemas on the network that a schema refers to.
func fetchesNetworkRefs(c *client) {
	c.part.checkOutput = func(t *tool, result object) error {
		for _, ref := range references(t.outputSchema) {
			if at, err := url.Parse(ref); err == nil && (at.Scheme == "http" || at.Scheme == "https") {
				if asked, err := http.NewRequestWithContext(c.ctx, http.MethodGet, ref, nil); err == nil {
					if response, err := http.DefaultClient.Do(asked); err == nil {
						_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxRefusal))
						_ = response.Body.Close()
					}
				}
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

// fillsInNoDefaults leaves out what a form suggests.
func fillsInNoDefaults(schema, content object, everything bool) object {
	properties, _ := schema["properties"].(object)
	bare := object{}
	for name, property := range properties {
		members, _ := property.(object)
		kept := maps.Clone(members)
		delete(kept, "default")
		bare[name] = kept
	}
	return fillIn(object{"properties": bare, "required": schema["required"]}, content, everything)
}

func sendsNothing(context.Context, *client) error { return nil }

// keepsInvalidHeaders uses tools whose headers break the rules, as far as it can.
func keepsInvalidHeaders(schema any) ([]mirrored, error) {
	all, _ := mirroredOf(schema)
	return all, nil
}

// killsAtOnce gives the server no time to exit.
func killsAtOnce(_ *stdio, p *pipes) {
	_ = p.process.Kill()
	<-p.exited
}

// neverWaits comes back at once, whatever the server wishes.
func neverWaits(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }

// refusesNothing answers whatever is asked.
func refusesNothing(*client, string, object, object) *rpcError { return nil }

// retriesWithSameID gives a retry the id of the request before it.
func retriesWithSameID(c *client) {
	give := c.part.newID
	used := map[string]jsonrpc.ID{}
	c.part.newID = func(c *client, q question) jsonrpc.ID {
		_, hasState := q.params["requestState"]
		_, hasInput := q.params["inputResponses"]
		if before, known := used[q.method]; known && (hasState || hasInput) {
			return before
		}
		used[q.method] = give(c, q)
		return used[q.method]
	}
}

// stopsAtEmptyCursor takes an empty cursor for none.
func stopsAtEmptyCursor(page object) (string, bool) {
	cursor, more := nextCursor(page)
	return cursor, more && cursor != ""
}
