// Page server/utilities/caching, from 2026-07-28: results that stay fresh for as
// long as the server says.

package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// maxCached bounds how many results are kept.
const maxCached = 1024

// A cacheKey is what a result depends on.
type cacheKey struct{ method, params string }

type cached struct {
	result object
	until  time.Time
}

// cacheable are the methods whose results say how long they are fresh.
var cacheable = []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"}

// fetch asks the server, or takes the result that it knows for as long as that
// is fresh. Input that was asked for makes a result one of that request alone.
func (c *client) fetch(ctx context.Context, q question) (object, error) {
	key := c.part.cacheKey(q.method, q.params)
	if fresh, known := c.freshResult(key); known {
		return fresh, nil
	}
	result, retried, err := c.ask(ctx, q)
	if err == nil && (!retried || c.part.cachesRetries()) && c.stateless() && slices.Contains(cacheable, q.method) {
		c.keep(key, result)
	}
	return result, err
}

func keyOf(method string, params object) cacheKey { return cacheKey{method, string(encode(params))} }

func (c *client) freshResult(key cacheKey) (object, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, isKnown := c.cache[key]
	if !isKnown || !time.Now().Before(known.until) {
		return nil, false
	}
	return known.result, true
}

// maxTTL bounds how long anything is taken to be fresh.
const maxTTL = 24 * time.Hour

func (c *client) keep(key cacheKey, result object) {
	number, _ := result["ttlMs"].(json.Number)
	milliseconds, _ := number.Float64() // none, or none that is a number, is 0
	if milliseconds <= 0 {
		return
	}
	ttl := time.Duration(min(milliseconds, float64(maxTTL.Milliseconds()))) * time.Millisecond
	c.part.resultCached(c, key, ttl)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cache) >= maxCached {
		clear(c.cache)
	}
	c.cache[key] = cached{result, time.Now().Add(ttl)}
}

// forgetPages makes all pages of a list stale.
func (c *client) forgetPages(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.cache {
		if key.method == method && c.part.dropsChangedLists() {
			delete(c.cache, key)
		}
	}
}

// resourceUpdated makes stale what was read.
func (c *client) resourceUpdated(params object) {
	if !c.part.dropsUpdatedResources() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cache, cacheKey{"resources/read", string(encode(object{"uri": params["uri"]}))})
}
