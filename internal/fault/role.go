package fault

import "github.com/mcpconform/mcpconform/internal/protocol"

// ofClient tells whether the target is a client.
func (f *Fault) ofClient() bool { return f.Role == protocol.ClientRole }

// turn makes what is said of a client, and seen from there, what it is on a wire.
func (f *Fault) turn() {
	for _, change := range f.AllChanges() {
		change.When.turn()
		for i := range change.Do {
			change.Do[i].Hold.turn()
			if given := change.Do[i].Direction; given != "" {
				change.Do[i].Direction = given.Opposite()
			}
		}
	}
}

func (m *Match) turn() {
	if m == nil {
		return
	}
	m.Direction = m.direction().Opposite()
	m.After.turn()
	m.Before.turn()
}
