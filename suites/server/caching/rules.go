package caching

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// Rules are the rules of the page server/utilities/caching.
func Rules() []rules.Rule {
	return []rules.Rule{
		{Text: "includes ttlMs and cacheScope in each cacheable result", Verifies: rules.Verifies("caching.hints.given"), Judge: missingHints},
		{
			Text:     "includes no ttlMs or cacheScope in results with resultType input_required",
			Verifies: rules.Verifies("caching.hints.interim"),
			Judge:    interimHints,
		},
		{
			Text:     "sets ttlMs to an integer",
			Verifies: rules.Verifies("caching.ttl.integer"),
			Judge:    hints(claims.TimeToLive, "an integer", isWholeNumber),
		},
		{
			Text:     "sets ttlMs to 0 or more",
			Verifies: rules.Verifies("caching.ttl.not-negative"),
			Judge:    hints(claims.TimeToLive, "0 or more", isNotNegative),
		},
		{
			Text:     "sets cacheScope to public or private",
			Verifies: rules.Verifies("caching.scope.values"),
			Judge:    hints(claims.CacheScope, `"public" or "private"`, func(value any) bool { return value == "public" || value == "private" }),
		},
		{Text: "returns the same cacheScope on all pages of a list", Verifies: rules.Verifies("caching.pages.scope"), Judge: scopesOfPages},
	}
}

// cacheableResults returns the results that must have hints. One whose type is
// missing is meant to be complete.
func cacheableResults(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, message := range facts.StandaloneResults(conversation) {
		kind, typed := message.ResultObject()["resultType"]
		if slices.Contains(claims.Cacheable, message.Request.Method) && (!typed || kind == facts.Complete) {
			all = append(all, places.Found{Place: places.ResultOf(message), Said: message})
		}
	}
	return all
}

func missingHints(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, result := range cacheableResults(conversation) {
		reporter.Observe()
		for _, name := range []string{claims.TimeToLive, claims.CacheScope} {
			if hint, there := result.Member(name); !there {
				reporter.Violation(result.Said, rules.Mismatch{
					Wanted: fmt.Sprintf("a member %q in results of %s", name, result.Said.Request.Method),
					Found:  rules.ShowMember(result.Object(), name), Where: hint.Pointer,
				})
			}
		}
	}
}

func interimHints(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range facts.StandaloneResults(conversation) {
		if !facts.AsksForInput(message) {
			continue
		}
		reporter.Observe()
		for _, name := range []string{claims.TimeToLive, claims.CacheScope} {
			if hint, there := places.ResultOf(message).Member(name); there {
				reporter.Violation(message, rules.Mismatch{
					Wanted: fmt.Sprintf("no member %q in a result with inputRequests", name),
					Found:  rules.Show(hint.Value), Where: hint.Pointer,
				})
			}
		}
	}
}

// hints judges one of the hints wherever it must be.
func hints(name, wanted string, holds func(any) bool) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, hint := range places.Within(cacheableResults(conversation), name) {
			reporter.Observe()
			if !holds(hint.Value) {
				reporter.Violation(hint.Said, rules.Mismatch{Wanted: wanted, Found: rules.Show(hint.Value), Where: hint.Pointer})
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
	for _, one := range facts.Continuations(conversation) {
		first, firstThere := places.ResultOf(one.Giver).Member(claims.CacheScope)
		next, nextThere := places.ResultOf(one.Page).Member(claims.CacheScope)
		if !firstThere || !nextThere {
			continue
		}
		reporter.Observe()
		if !jsonrpc.Equal(first.Value, next.Value) {
			reporter.Violation(one.Page, rules.Mismatch{
				Wanted: "the cacheScope of the first page, " + rules.Show(first.Value),
				Found:  rules.Show(next.Value),
				Where:  next.Pointer,
			})
		}
	}
}
