package completion

import (
	"encoding/json"
	"fmt"

	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// Rules are the rules of the page server/utilities/completion.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "returns at most 100 values in a completion",
			Verifies: rules.Verifies("completion.values.limit"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				claims.JudgeBy(conversation, reporter, places.Within(completionResults(conversation), "values"),
					"CompleteResult/properties/completion/properties/values")
			},
		},
		{
			Text:     "returns a completion total that is not below the number of values",
			Verifies: rules.Verifies("completion.total.consistent"),
			Judge:    sufficientTotals,
		},
		{
			Text:     "sets hasMore in a completion according to total and the number of values",
			Verifies: rules.Verifies("completion.has-more.consistent"),
			Judge:    honestHasMore,
		},
	}
}

// completionResults returns the completion member of all results.
func completionResults(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, message := range conversation.Results("completion/complete") {
		if completion, there := places.ResultOf(message).Member("completion"); there {
			all = append(all, places.Found{Place: completion, Said: message})
		}
	}
	return all
}

// counts returns the number of values and the total of a completion; known is
// false when it does not say both.
func counts(completion places.Found) (values int, total int64, known bool) {
	list, isList := completion.Object()["values"].([]any)
	number, isNumber := completion.Object()["total"].(json.Number)
	total, err := number.Int64()
	return len(list), total, isList && isNumber && err == nil
}

func sufficientTotals(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, completion := range completionResults(conversation) {
		values, total, known := counts(completion)
		if !known {
			continue
		}
		reporter.Observe()
		if total < int64(values) {
			reporter.Violation(completion.Said, rules.Mismatch{
				Wanted: "a total of all matches, not below the number of values",
				Found:  fmt.Sprintf("a total of %d and %d values", total, values), Where: completion.Pointer + "/total",
			})
		}
	}
}

// honestHasMore judges hasMore by the total. A total below the number of
// values is wrong by itself and says nothing about hasMore.
func honestHasMore(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, completion := range completionResults(conversation) {
		values, total, known := counts(completion)
		more, said := completion.Object()["hasMore"].(bool)
		if !known || !said || total < int64(values) {
			continue
		}
		reporter.Observe()
		if more != (total > int64(values)) {
			reporter.Violation(completion.Said, rules.Mismatch{
				Wanted: "hasMore true if and only if the total exceeds the number of values",
				Found:  fmt.Sprintf("hasMore %t with a total of %d and %d values", more, total, values),
				Where:  completion.Pointer + "/hasMore",
			})
		}
	}
}
