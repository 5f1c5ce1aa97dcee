// Page client/roots: the directories that the client lets the server work in.

package server

import (
	"errors"
	"fmt"
	"strings"
)

type root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// listRoots asks the client for its roots. They are not kept, so that
// notifications/roots/list_changed leaves nothing to do.
func (c *call) listRoots() ([]root, error) {
	if c.session.clientHas().Roots == nil {
		return nil, errors.New("the client has not declared the capability roots")
	}
	raw, err := c.ask("roots/list", nil)
	if err != nil {
		return nil, err
	}
	var result struct {
		Roots []root `json:"roots"`
	}
	if err := decode(raw, &result, "result"); err != nil {
		return nil, fmt.Errorf("the client's answer to roots/list is wrong: %w", err)
	}
	for _, r := range result.Roots {
		if !strings.HasPrefix(r.URI, "file://") {
			return nil, fmt.Errorf("the client's root %q is not a file:// URI", r.URI)
		}
	}
	return result.Roots, nil
}

// clientHas is what the client has declared.
func (s *session) clientHas() clientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}
