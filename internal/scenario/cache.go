package scenario

import "sync"

// Cache keeps what came of scenarios, by name, for the checks that look at them: the
// client is run once for all. The zero value is empty. It is safe for concurrent use.
type Cache[Told any] struct {
	mu   sync.Mutex
	told map[string]Told
}

// Get returns what came of a scenario. When it was not run before, run does so; no other
// scenario is run meanwhile.
func (c *Cache[Told]) Get(name string, run func() Told) Told {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, there := c.told[name]; there {
		return known
	}
	told := run()
	if c.told == nil {
		c.told = map[string]Told{}
	}
	c.told[name] = told
	return told
}

// Drain empties the cache and returns what was in it, by name.
func (c *Cache[Told]) Drain() map[string]Told {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.told
	c.told = nil
	return told
}
