package pool

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/worker"
)

// scene is a scenario on a cell.
type scene struct {
	cell int
	name string
}

// grant lets a lane run a check that none has run, or again one that was put off. It looks in a
// scenario that this lane has, or none.
func (d *coordinator) grant(cell int, asked worker.Claim, lane string, pass pass) bool {
	key := asked.Key
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case pass.again && d.unshown >= mostUnshown:
		return false
	case d.slow && !pass.again:
		if d.only = cmp.Or(d.only, lane); d.only != lane {
			return false // what that one is past already is for the rest
		}
	}
	if d.claimed[key] && (!pass.again || !d.deferred[key]) {
		return false
	}
	if asked.Scenario != "" && !pass.again && !pass.rest {
		shared := scene{cell, asked.Scenario}
		if owner := d.scenarios[shared]; owner != "" && owner != lane {
			return false
		}
		d.scenarios[shared] = lane
	}
	d.claimed[key] = true
	delete(d.deferred, key)
	d.results.Begin(asked.Text())
	return true
}

// resign has another lane go on where the one that did so alone has ended.
func (d *coordinator) resign(lanes ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(lanes, d.only) {
		d.only = ""
	}
}

// bequeath leaves the scenarios of lanes to others.
func (d *coordinator) bequeath(lanes ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.scenarios, func(_ scene, owner string) bool { return slices.Contains(lanes, owner) })
}

// postpone keeps a check for when there is more room.
func (d *coordinator) postpone(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deferred[key] = true
}
