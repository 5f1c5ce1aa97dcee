// Page server/utilities/caching, from 2026-07-28: how long results stay fresh.

package server

// Hints say for how long, in milliseconds, a client may keep a result, and for whom. They are
// members of the result.
var (
	aboutServer         = object{"ttlMs": 60 * 60 * 1000, "cacheScope": "public"}
	lists               = object{"ttlMs": 5 * 60 * 1000, "cacheScope": "public"}
	contentsOfResources = object{"ttlMs": 0, "cacheScope": "private"} // they change, and may have needed input
)
