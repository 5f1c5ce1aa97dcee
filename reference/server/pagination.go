// Page server/utilities/pagination: long lists in pages.

package server

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

type listParams struct {
	Cursor *string `json:"cursor,omitempty"`
}

// A list holds items in the order in which they were added, each known by its key. Each gets
// a number that is never given again, so that a cursor, which is the number of the last item
// seen, stays valid while items are added and removed.
type list[T interface{ key() string }] struct {
	name string // of the member of a result that holds a page
	size int    // of a page
	most int    // items that there may be; 0 for any number

	mu      sync.Mutex
	entries []entry[T]
	last    int // number of the item added last
}

type entry[T any] struct {
	number int
	item   T
}

// add appends an item, unless there are as many as may be.
func (l *list[T]) add(item T) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.most > 0 && len(l.entries) >= l.most {
		return internalError("more than %d %s", l.most, l.name)
	}
	l.last++
	l.entries = append(l.entries, entry[T]{l.last, item})
	return nil
}

// remove takes out an item, and tells whether it was there.
func (l *list[T]) remove(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.entries)
	l.entries = slices.DeleteFunc(l.entries, func(e entry[T]) bool { return e.item.key() == key })
	return len(l.entries) < before
}

// toggle adds an item, or takes it out if it is there.
func (l *list[T]) toggle(item T) {
	if !l.remove(item.key()) {
		_ = l.add(item) // what has features holds any number
	}
}

// find returns the item with a key.
func (l *list[T]) find(key string) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.item.key() == key {
			return e.item, nil
		}
	}
	var none T
	return none, invalidParams("unknown: %q is not among the %s", key, l.name)
}

// has tells whether there is an item with a key.
func (l *list[T]) has(key string) bool {
	_, err := l.find(key)
	return err == nil
}

// page returns the items after the cursor, at most one page of them, and the
// cursor of the next page, or "" at the end. The mark tells the cursors of one
// list from those of another.
func (l *list[T]) page(mark string, cursor *string) (items []T, next string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	after := 0
	if cursor != nil {
		if after, err = readCursor(mark+l.name, *cursor); err != nil || after > l.last {
			return nil, "", invalidParams("params.cursor %q was not given by this server for this list", *cursor)
		}
	}
	items = []T{} // an empty page is [], not null
	for _, e := range l.entries {
		if e.number <= after {
			continue
		}
		if len(items) == l.size {
			return items, writeCursor(mark+l.name, after), nil
		}
		items = append(items, e.item)
		after = e.number
	}
	return items, "", nil
}

// lister makes the handler that lists what a server has of one kind.
func lister[T interface{ key() string }](of func(*features) *list[T]) handler {
	return handles(func(c *call, params listParams) (any, error) {
		all := of(c.features)
		items, next, err := all.page(c.features.cursors, params.Cursor)
		return pageResult(all.name, items, next), err
	})
}

func pageResult(member string, items any, next string) object {
	result := object{member: items}
	if next != "" {
		result["nextCursor"] = next
	}
	return result
}

func writeCursor(name string, number int) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s:%d", name, number))
}

func readCursor(name, cursor string) (int, error) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return 0, err
	}
	number, err := strconv.Atoi(strings.TrimPrefix(string(text), name+":"))
	if err != nil || number < 1 || writeCursor(name, number) != cursor {
		return 0, fmt.Errorf("not a cursor of %s", name)
	}
	return number, nil
}
