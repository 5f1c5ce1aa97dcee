package wire

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// CachingRules are the rules of the page server/utilities/caching.
func CachingRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "includes ttlMs and cacheScope in each cacheable result",
			Requirements: []string{"caching.hints.given"},
			Judge:        missingHints,
		},
		{
			Text:         "includes no ttlMs or cacheScope in results with resultType input_required",
			Requirements: []string{"caching.hints.interim"},
			Judge:        interimHints,
		},
		{
			Text:         "sets ttlMs to an integer",
			Requirements: []string{"caching.ttl.integer"},
			Judge:        hints(timeToLive, "an integer", isWholeNumber),
		},
		{
			Text:         "sets ttlMs to 0 or more",
			Requirements: []string{"caching.ttl.not-negative"},
			Judge:        hints(timeToLive, "0 or more", isNotNegative),
		},
		{
			Text:         "sets cacheScope to public or private",
			Requirements: []string{"caching.scope.values"},
			Judge: hints(cacheScope, `"public" or "private"`, func(value any) bool {
				return value == "public" || value == "private"
			}),
		},
		{
			Text:         "returns the same cacheScope on all pages of a list",
			Requirements: []string{"caching.pages.scope"},
			Judge:        scopesOfPages,
		},
	}
}

// The two hints (server/utilities/caching#cacheable-model).
const (
	timeToLive = "ttlMs"
	cacheScope = "cacheScope"
)

// cacheable are the methods whose results clients may keep.
var cacheable = append([]string{"server/discover", "resources/read"}, paged...)

// isHint tells whether a place in a message is that of a hint: what the schema says
// of it, the rules here say.
func isHint(method, place string) bool {
	return (place == "/result/"+timeToLive || place == "/result/"+cacheScope) && slices.Contains(cacheable, method)
}

// cacheableResults returns the results that must have hints. One whose type is
// missing is meant to be complete.
func cacheableResults(conversation *rules.Conversation) []found {
	var all []found
	for _, said := range standaloneResults(conversation) {
		kind, typed := said.ResultObject()["resultType"]
		if slices.Contains(cacheable, said.Request.Method) && (!typed || kind == complete) {
			all = append(all, found{resultOf(said), said})
		}
	}
	return all
}

func missingHints(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, result := range cacheableResults(conversation) {
		reporter.Observe()
		for _, name := range []string{timeToLive, cacheScope} {
			if hint, there := result.member(name); !there {
				reporter.Violation(result.said, rules.Mismatch{
					Wanted: fmt.Sprintf("a member %q in results of %s", name, result.said.Request.Method),
					Found:  shown(result.object(), name), Where: hint.pointer,
				})
			}
		}
	}
}

func interimHints(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range standaloneResults(conversation) {
		if !asksForInput(said) {
			continue
		}
		reporter.Observe()
		for _, name := range []string{timeToLive, cacheScope} {
			if hint, there := resultOf(said).member(name); there {
				reporter.Violation(said, rules.Mismatch{
					Wanted: fmt.Sprintf("no member %q in a result that asks for input", name),
					Found:  rules.Show(hint.value), Where: hint.pointer,
				})
			}
		}
	}
}

// hints judges one of the hints wherever it must be.
func hints(name, wanted string, holds func(any) bool) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, hint := range within(cacheableResults(conversation), name) {
			reporter.Observe()
			if !holds(hint.value) {
				reporter.Violation(hint.said, rules.Mismatch{Wanted: wanted, Found: rules.Show(hint.value), Where: hint.pointer})
			}
		}
	}
}

func isWholeNumber(value any) bool {
	_, isNumber := value.(json.Number)
	return isNumber && jsonrpc.IDOf(value).IsInteger()
}

// isNotNegative leaves what is no number to the rule about that.
func isNotNegative(value any) bool {
	number, isNumber := value.(json.Number)
	if !isNumber {
		return true
	}
	amount, _ := number.Float64() // or the infinity that is nearest
	return amount >= 0
}

// scopesOfPages compares each page with the one that gave its cursor.
func scopesOfPages(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range continuations(conversation) {
		first, firstThere := resultOf(one.giver).member(cacheScope)
		next, nextThere := resultOf(one.page).member(cacheScope)
		if !firstThere || !nextThere {
			continue
		}
		reporter.Observe()
		if !sameJSON(first.value, next.value) {
			reporter.Violation(one.page, rules.Mismatch{
				Wanted: "the scope of the page before, " + rules.Show(first.value), Found: rules.Show(next.value), Where: next.pointer,
			})
		}
	}
}
