// Page client/roots: the directories that the server may work in.

package client

import (
	"context"
	"fmt"
	"strings"
)

// defaultRoots are answered with where the steps name none.
func defaultRoots() []any {
	return []any{object{"uri": "file:///workspace", "name": "workspace"}}
}

// listRoots returns the roots: those that they were changed to, or those that
// the steps answer with.
func (c *client) listRoots(given object) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.roots != nil:
		return object{"roots": c.roots}
	case given != nil:
		return given
	default:
		return object{"roots": defaultRoots()}
	}
}

// changeRoots takes other roots, and says so where it has promised to.
func (c *client) changeRoots(ctx context.Context, s step) (any, error) {
	for _, root := range s.Roots {
		members, _ := root.(object)
		if uri, _ := members["uri"].(string); !strings.HasPrefix(uri, "file://") {
			return nil, fmt.Errorf("a root must be a file:// URI, which %q is not", uri)
		}
	}
	capability, _ := c.declaredFor("roots/list")
	c.mu.Lock()
	c.roots = append([]any{}, s.Roots...)
	c.mu.Unlock()
	if c.stateless() || !declared(capability, "listChanged") {
		return nil, nil
	}
	return nil, c.notify(ctx, "notifications/roots/list_changed", nil)
}
