// Page client/roots: the directories that the client lets the server work in.

package server

import (
	"encoding/json"
	"strings"
)

type root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// listRoots asks the client for its roots. They are not kept, so that
// notifications/roots/list_changed leaves nothing to do.
func (c *call) listRoots(key string) ([]root, error) {
	if c.client.Roots == nil {
		return nil, errNoRoots
	}
	return readRoots(c.asks(key)("roots/list", nil))
}

var errNoRoots = lacks("the client has not declared the capability roots", object{"roots": object{}})

// readRoots reads an answer, if there is one.
func readRoots(raw json.RawMessage, err error) ([]root, error) {
	if err != nil {
		return nil, err
	}
	var result struct {
		Roots []root `json:"roots"`
	}
	if err := decode(raw, &result, "result"); err != nil {
		return nil, wronglyAnswered("the client's answer to roots/list is wrong: %v", err)
	}
	for _, r := range result.Roots {
		if !strings.HasPrefix(r.URI, "file://") {
			return nil, wronglyAnswered("the client's root %q is not a file:// URI", r.URI)
		}
	}
	return result.Roots, nil
}
