// Page server/utilities/pagination: lists, page by page to their end, and their
// changes.

package client

import (
	"context"
	"errors"
	"fmt"
)

// maxPages bounds how far a list is followed.
const maxPages = 1000

// A list is one kind of thing that servers have.
type list struct {
	method string
	member string   // of the result, with the items
	needs  []string // the capability
	until  string   // the last revision that has it; "" for all
	since  string
}

var lists = map[string]list{
	"tools":     {method: "tools/list", member: "tools", needs: []string{"tools"}},
	"resources": {method: "resources/list", member: "resources", needs: []string{"resources"}},
	"templates": {method: "resources/templates/list", member: "resourceTemplates", needs: []string{"resources"}},
	"prompts":   {method: "prompts/list", member: "prompts", needs: []string{"prompts"}},
	"tasks": {
		method: "tasks/list",
		member: "tasks",
		needs:  []string{"tasks", "list"},
		since:  Revision20251125,
		until:  Revision20251125,
	},
}

func (c *client) listStep(ctx context.Context, s step) (any, error) {
	return c.list(ctx, s.Of)
}

// errBeginAnew says that a list has to be fetched from its beginning.
var errBeginAnew = errors.New("the list must be fetched from its beginning")

// list fetches all items of a list.
func (c *client) list(ctx context.Context, of string) ([]any, error) {
	l := lists[of]
	revision := c.speaks()
	switch {
	case revision == "":
		return nil, errNotConnected
	case revision < l.since || l.until != "" && revision > l.until:
		return nil, fmt.Errorf("%s has no %s", revision, l.method)
	}
	if err := c.needs(l.needs...); err != nil {
		return nil, err
	}
	items, err := c.pages(ctx, l)
	if errors.Is(err, errBeginAnew) {
		items, err = c.pages(ctx, l)
	}
	if err != nil {
		return nil, err
	}
	if err := c.part.listGiven(of); err != nil {
		return nil, err
	}
	if of == "tools" {
		items = c.learnTools(items)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed[of] = true
	return items, nil
}

// pages follows a list from its beginning to its end. A cursor belongs to the
// session that gave it, so that a new session begins anew.
func (c *client) pages(ctx context.Context, l list) ([]any, error) {
	items := []any{}
	params := object{}
	session := c.session()
	for range maxPages {
		page, err := c.fetch(ctx, question{method: l.method, params: params, session: session})
		if _, refused := asRPCError(err); refused && params["cursor"] != nil && c.stateless() && c.part.restartsList() {
			c.forgetPages(l.method) // the cursor is not good any more
			return nil, errBeginAnew
		}
		if err != nil {
			return nil, err
		}
		if params["cursor"] != nil && session != c.session() && c.part.restartsList() {
			return nil, errBeginAnew
		}
		some, isList := page[l.member].([]any)
		if !isList {
			return nil, fmt.Errorf("the result of %s has no array %q", l.method, l.member)
		}
		items = append(items, some...)
		cursor, more := c.part.nextCursor(page)
		if !more {
			return items, nil
		}
		params = object{"cursor": cursor}
	}
	return nil, fmt.Errorf("%s has more than %d pages", l.method, maxPages)
}

// nextCursor is where a page says that there is more. Any text is a cursor, the
// empty one too.
func nextCursor(page object) (string, bool) {
	cursor, isText := page["nextCursor"].(string)
	return cursor, isText
}

// session is the number of the session, which is another after each new one.
func (c *client) session() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions
}

// A relist says how far the fetching of a list anew has come.
type relist int

const (
	underWay     relist = iota + 1
	changedTwice        // it has changed again meanwhile
)

// changed takes the news that a list is not what it was. What was asked for
// before is fetched anew, at most once at a time however much news there is.
func (c *client) changed(of string) {
	c.forgetPages(lists[of].method)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.listed[of] || c.isClosing() || !c.part.listsAgain(of) {
		return
	}
	if c.relisting[of] != 0 {
		c.relisting[of] = changedTwice
		return
	}
	c.relisting[of] = underWay
	c.beside(func() {
		for c.listAgain(of) {
		}
	})
}

// listAgain fetches a list anew, and tells whether to do so once more.
func (c *client) listAgain(of string) (again bool) {
	if _, err := c.list(c.ctx, of); err != nil {
		c.log.Printf("cannot list the %s anew: %v", of, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	again = c.relisting[of] == changedTwice && !c.isClosing()
	delete(c.relisting, of)
	if again {
		c.relisting[of] = underWay
	}
	return again
}

// isClosing tells whether the session is to end. The caller holds c.mu.
func (c *client) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}
