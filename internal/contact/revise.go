package contact

import (
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Revise says which revisions to check.
type Revise struct {
	Auto   bool     // the newest that the target speaks
	All    bool     // each that the harness knows
	Listed []string // these
	// Among are the only ones that Auto and All choose from; nil for all that the
	// harness knows.
	Among []string

	transport string // over which it is spoken; "" for any
}

// Over returns the same for one transport, over which not every revision is spoken.
func (r Revise) Over(transport string) Revise {
	r.transport = transport
	return r
}

// released lists the revisions that may be spoken over the transport, oldest first.
func (r Revise) released() []string { return r.carried(protocol.Released()) }

func (r Revise) carried(revisions []string) []string {
	return slices.DeleteFunc(slices.Clone(revisions), func(revision string) bool {
		return !protocol.Carries(r.transport, revision)
	})
}

func (r Revise) first() string {
	if len(r.Listed) > 0 {
		return slices.Max(r.carried(r.Listed))
	}
	return slices.Max(r.among())
}

// lastHandshakes is how many of the revisions with a handshake every target is asked for, the newest
// ones; of those without, it is asked for all.
const lastHandshakes = 2

// stages are the revisions that a target is asked for, at once those of each stage. Where
// the newest is to be found, those of the second are asked for only where it speaks none of
// the first.
func (r Revise) stages() [][]string {
	all := r.released()
	if !r.Auto || r.Among != nil {
		return [][]string{all}
	}
	without := slices.IndexFunc(all, func(one string) bool { return !protocol.Has(one, protocol.Handshake) })
	if without < 0 {
		without = len(all)
	}
	first := max(0, without-lastHandshakes)
	return [][]string{all[first:], all[:first]}
}

func (r Revise) among() []string {
	if r.Among != nil {
		return r.carried(r.Among)
	}
	return r.released()
}

func (r Revise) wants(revision string) bool {
	if len(r.Listed) > 0 {
		return slices.Contains(r.Listed, revision)
	}
	return slices.Contains(r.among(), revision)
}

// Named tells whether the user asked for certain revisions.
func (r Revise) Named() bool { return len(r.Listed) > 0 }

// Any tells whether there is a revision to choose.
func (r Revise) Any() bool {
	return len(r.carried(r.Listed)) > 0 || len(r.Listed) == 0 && len(r.among()) > 0
}

// Choose picks the revisions to report on, oldest first: those that the user wants, or
// the newest that the target speaks, and the newest of each era that it means to speak
// and whose opening is broken.
func (r Revise) Choose(speaks, broken []string) []string {
	switch {
	case len(r.Listed) > 0:
		return slices.Sorted(slices.Values(r.carried(r.Listed)))
	case r.All:
		return r.among()
	}
	chosen := map[string]bool{newestOf(slices.DeleteFunc(slices.Clone(speaks), func(revision string) bool {
		return !r.wants(revision)
	})): true}
	for _, handshake := range []bool{true, false} {
		chosen[newestOf(slices.DeleteFunc(slices.Clone(broken), func(revision string) bool {
			return protocol.Has(revision, protocol.Handshake) != handshake || !r.wants(revision)
		}))] = true
	}
	delete(chosen, "")
	return slices.Sorted(maps.Keys(chosen))
}
