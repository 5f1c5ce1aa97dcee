// Page server/utilities/pagination: long lists in pages.

package server

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Page sizes: so small that every list of the fixtures has at least two pages.
const (
	toolsPage     = 20
	resourcesPage = 4
	templatesPage = 2
	promptsPage   = 4
	tasksPage     = 3
)

type listParams struct {
	Cursor *string `json:"cursor,omitempty"`
}

// A list holds items in the order in which they were added. Each gets a number
// that is never given again, so that a cursor, which is the number of the last
// item seen, stays valid while items are added and removed.
type list[T any] struct {
	entries []entry[T]
	last    int // number of the item added last
}

type entry[T any] struct {
	number int
	item   T
}

func (l *list[T]) add(item T) {
	l.last++
	l.entries = append(l.entries, entry[T]{l.last, item})
}

// remove takes out the items that match, and tells whether there were any.
func (l *list[T]) remove(matches func(T) bool) bool {
	before := len(l.entries)
	l.entries = slices.DeleteFunc(l.entries, func(e entry[T]) bool { return matches(e.item) })
	return len(l.entries) < before
}

// find returns the first item that matches.
func (l *list[T]) find(matches func(T) bool) (T, bool) {
	for _, e := range l.entries {
		if matches(e.item) {
			return e.item, true
		}
	}
	var none T
	return none, false
}

// page returns the items after the cursor, at most size of them, and the
// cursor of the next page, or "" at the end. The name tells the cursors of one
// list from those of another.
func (l *list[T]) page(name string, cursor *string, size int) (items []T, next string, err error) {
	after := 0
	if cursor != nil {
		if after, err = readCursor(name, *cursor); err != nil || after > l.last {
			return nil, "", invalidParams("params.cursor %q was not given by this server for this list", *cursor)
		}
	}
	items = []T{} // an empty page is [], not null
	for _, e := range l.entries {
		if e.number <= after {
			continue
		}
		if len(items) == size {
			return items, writeCursor(name, after), nil
		}
		items = append(items, e.item)
		after = e.number
	}
	return items, "", nil
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
