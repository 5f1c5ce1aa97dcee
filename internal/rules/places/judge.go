package places

import (
	"crypto/sha256"
	"fmt"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// JudgeText judges strings by a predicate; values of other types are left to
// the rule about the schema.
func JudgeText(
	places func(*rules.Conversation) []Found, wanted string, holds func(string) bool,
) func(*rules.Conversation, *rules.Reporter) {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range places(conversation) {
			text, isString := one.Value.(string)
			if !isString {
				continue
			}
			reporter.Observe()
			if !holds(text) {
				reporter.Violation(
					one.Said,
					rules.Mismatch{Wanted: wanted, Found: rules.Show(text), Where: one.Pointer},
				)
			}
		}
	}
}

// UniqueNames judges that no two items of a list have the same key, on all its
// pages. changed is the notification after which a list is another one.
func UniqueNames(method, key, changed string) func(*rules.Conversation, *rules.Reporter) {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		listings := map[string]*listing{} // by the cursor of the page that comes next
		for _, message := range conversation.ByTarget() {
			if message.Kind == jsonrpc.Notification && message.Method == changed {
				clear(listings)
			}
			if message.Request == nil || message.Request.Method != method || message.ResultObject() == nil {
				continue
			}
			cursor, isLater := message.Request.ParamsObject()["cursor"].(string)
			list := listings[cursor]
			if !isLater || list == nil {
				list = &listing{seen: map[string]bool{}, pages: map[[sha256.Size]byte]bool{}}
			}
			delete(listings, cursor)
			list.judge(message, method, key, reporter)
			// Many take an empty cursor for none, and begin anew: the pagination checks judge that.
			if next, _ := message.ResultObject()["nextCursor"].(string); next != "" {
				listings[next] = list
			}
		}
	}
}

// listing is a list as far as its pages have been followed.
type listing struct {
	seen  map[string]bool            // keys of all items so far
	pages map[[sha256.Size]byte]bool // the pages so far, by their keys
}

// Fingerprint tells lists of names apart.
func Fingerprint(names []string) (sum [sha256.Size]byte) {
	hash := sha256.New()
	for _, name := range names {
		_, _ = fmt.Fprintf(hash, "%d:%s", len(name), name) // a hash does not fail
	}
	hash.Sum(sum[:0])
	return sum
}

func (l *listing) judge(message *rules.Message, method, key string, reporter *rules.Reporter) {
	var keys []Place
	var names []string
	for _, item := range ResultOf(message).Items(mcp.ListMember(method)) {
		if name, _ := item.Member(key); name.Text() != "" {
			keys = append(keys, name)
			names = append(names, name.Text())
		}
	}
	page := Fingerprint(names)
	if len(names) > 0 && l.pages[page] {
		return // the same page again is not the fault of its items: the pagination checks judge it
	}
	l.pages[page] = true
	for _, name := range keys {
		if len(l.seen) > 0 { // one alone is always unique
			reporter.Observe()
		}
		if l.seen[name.Text()] {
			reporter.Violation(message, rules.Mismatch{
				Wanted: fmt.Sprintf("a %s that no other item of the list has", key),
				Found:  rules.Show(name.Text()) + " a second time", Where: name.Pointer,
			})
		}
		l.seen[name.Text()] = true
	}
}
