package progress

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of the page about progress: basic/utilities/progress, and
// from 2026-07-28 on basic/patterns/progress.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends a string or an integer as progressToken",
			Verifies: rules.Verifies("progress.token.type"),
			Judge:    rules.Every(asksForProgress, strangeToken),
		},
		{
			Text:     "sends a different progressToken in each request that is in progress",
			Verifies: rules.Verifies("progress.token.unique"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    sharedTokens,
		},
		{
			Text:     "sends notifications/progress only with a progressToken from a request",
			Verifies: rules.Verifies("progress.token.provided"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    unknownTokens,
		},
		{
			Text:     "sends notifications/progress for a request only until it responds to it",
			Verifies: rules.Verifies("progress.token.in-progress"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    lateProgress,
		},
		{Text: "increases progress with each notifications/progress of a token", Verifies: rules.Verifies("progress.increases"), Needs: []transcript.Lack{transcript.HTTPHead}, Judge: standstills},
		{Text: "limits the rate of notifications/progress", Verifies: rules.Verifies("progress.not-flooding"), Needs: []transcript.Lack{transcript.HTTPHead, transcript.Times}, Judge: floodingProgress},
		{
			Text:     "sends the progress of a task with the progressToken of its original request",
			Verifies: rules.Verifies("progress.tasks.token"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    foreignTaskTokens,
		},
		{
			Text:     "sends no notifications/progress for a task in a terminal status",
			Verifies: rules.Verifies("progress.tasks.stops"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    lateTaskProgress,
		},
	}
}

func asksForProgress(message *rules.Message) bool {
	_, asks := rules.ProgressToken(message)
	return rules.IsRequest(message) && asks
}

func strangeToken(message *rules.Message) rules.Mismatch {
	token, _ := rules.ProgressToken(message)
	if id := jsonrpc.IDOf(token); id.IsString() || id.IsInteger() {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "a string or an integer", Found: rules.Show(token), Where: claims.ProgressPlace}
}

// sharedTokens judges a target that asks. A request without an answer in the
// transcript may have been given up, so that only what is known to be open
// counts: requests that are answered later.
func sharedTokens(conversation *rules.Conversation, reporter *rules.Reporter) {
	openUntil := map[jsonrpc.ID]int{}
	for _, message := range rules.Originals(conversation) {
		if !asksForProgress(message) {
			continue
		}
		token, _ := rules.ProgressToken(message)
		id := jsonrpc.IDOf(token)
		for _, end := range openUntil {
			if end > message.Index { // one alone is always unique
				reporter.Observe()
				break
			}
		}
		if openUntil[id] > message.Index {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "a token that no other request in progress has",
				Found:  id.String() + " again",
				Where:  claims.ProgressPlace,
			})
		}
		if len(message.Answers) > 0 {
			openUntil[id] = max(openUntil[id], message.Answers[0].Index)
		}
	}
}

// unknownTokens leaves the progress of a task whose request gave a token to the
// rule about that.
func unknownTokens(conversation *rules.Conversation, reporter *rules.Reporter) {
	creators := facts.Creators(conversation)
	for _, report := range facts.ProgressReports(conversation) {
		reporter.Observe()
		if _, ofTask := report.TaskToken(creators); len(report.Requests) == 0 && conversation.Complete && !ofTask {
			reporter.Violation(report.Message, rules.Mismatch{
				Wanted: "a progressToken of a request", Found: report.Token.String(), Where: "/params/progressToken",
			})
		}
	}
}

// lateProgress compares where the order is known. Requests that became tasks have rules of their own.
func lateProgress(conversation *rules.Conversation, reporter *rules.Reporter) {
	order := sendingOrder(conversation)
	for _, report := range facts.ProgressReports(conversation) {
		if len(report.Requests) == 0 {
			continue
		}
		reporter.Observe()
		inProgress := slices.ContainsFunc(report.Requests, func(request *rules.Message) bool { return !over(request, report.Message, order) })
		if !inProgress {
			reporter.Violation(report.Message, rules.Mismatch{
				Wanted: "progress only before the response to the request",
				Found:  "progress after it, for the token " + report.Token.String(),
			})
		}
	}
}

// over tells whether a request was answered, for good, before something was
// said.
func over(request, message *rules.Message, order sendings) bool {
	return slices.ContainsFunc(request.Answers, func(answer *rules.Message) bool {
		return order.before(answer, message) && tasks.OfRequest(request) == ""
	})
}

// standstills compares the reports about one request, where their order is known.
func standstills(conversation *rules.Conversation, reporter *rules.Reporter) {
	type line struct {
		request *rules.Message
		token   jsonrpc.ID
		lane    string
	}
	latest := map[line]facts.ProgressReport{}
	order := sendingOrder(conversation)
	for _, report := range facts.ProgressReports(conversation) {
		value, isNumber := report.ParamsObject()["progress"].(json.Number)
		if !isNumber {
			continue // the schema has it
		}
		about := line{token: report.Token, lane: order.lane(report.Message)}
		if len(report.Requests) > 0 {
			about.request = report.Requests[len(report.Requests)-1]
		}
		previous, some := latest[about]
		latest[about] = report
		if !some || !order.before(previous.Message, report.Message) || shared(report, previous, order) {
			continue
		}
		reporter.Observe()
		before := previous.ParamsObject()["progress"].(json.Number)
		if sign, ok := compare(before, value); ok && sign >= 0 {
			reporter.Violation(report.Message, rules.Mismatch{
				Wanted: "more than the progress before",
				Found:  fmt.Sprintf("%s after %s", value, before),
				Where:  "/params/progress",
			})
		}
	}
}

// shared tells whether an earlier request of the same token may still have been in progress,
// so that a report may belong to either.
func shared(report, previous facts.ProgressReport, order sendings) bool {
	earlier := report.Requests[:max(len(report.Requests)-1, 0)]
	return slices.ContainsFunc(earlier, func(request *rules.Message) bool { return !over(request, previous.Message, order) })
}

// compare compares numbers exactly where their size allows it.
func compare(a, b json.Number) (order int, ok bool) {
	left, leftRead := rational(a)
	right, rightRead := rational(b)
	if !leftRead || !rightRead {
		return 0, false
	}
	return left.Cmp(right), true
}

// longestExact is how many digits a number may have to be compared exactly; a
// hostile exponent would cost memory.
const longestExact = 64

func rational(number json.Number) (*big.Rat, bool) {
	text := number.String()
	if len(text) <= longestExact && !strings.ContainsAny(text, "eE") {
		return new(big.Rat).SetString(text)
	}
	approximate, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, false
	}
	return new(big.Rat).SetFloat64(approximate), true
}

// mostReports is how many reports about one request within a second no reader
// can follow, and no program needs.
const mostReports = 200

func floodingProgress(conversation *rules.Conversation, reporter *rules.Reporter) {
	byToken := map[jsonrpc.ID][]*rules.Message{}
	var tokens []jsonrpc.ID
	for _, report := range facts.ProgressReports(conversation) {
		reporter.Observe()
		if byToken[report.Token] == nil {
			tokens = append(tokens, report.Token)
		}
		byToken[report.Token] = append(byToken[report.Token], report.Message)
	}
	for _, token := range tokens {
		if last := rules.Flood(byToken[token], mostReports); last != nil {
			reporter.Violation(last, rules.Mismatch{
				Wanted: "progress at a moderate pace",
				Found:  fmt.Sprintf("more than %d notifications within a second", mostReports),
			})
		}
	}
}

func foreignTaskTokens(conversation *rules.Conversation, reporter *rules.Reporter) {
	creators := facts.Creators(conversation)
	for _, report := range facts.ProgressReports(conversation) {
		token, there := report.TaskToken(creators)
		if !there {
			continue
		}
		reporter.Observe()
		if jsonrpc.IDOf(token) != report.Token {
			reporter.Violation(report.Message, rules.Mismatch{
				Wanted: "the token of the request that created the task, " + rules.Show(token),
				Found:  report.Token.String(), Where: "/params/progressToken",
			})
		}
	}
}

// lateTaskProgress compares the progress of a task with what the target said about
// its status before, where the order is known.
func lateTaskProgress(conversation *rules.Conversation, reporter *rules.Reporter) {
	order := sendingOrder(conversation)
	ends := taskEnds(conversation)
	for _, report := range facts.ProgressReports(conversation) {
		if len(report.Requests) == 0 {
			continue
		}
		task := tasks.OfRequest(report.Requests[len(report.Requests)-1])
		if task == "" {
			continue
		}
		reporter.Observe()
		ended := slices.ContainsFunc(ends[task], func(end *rules.Message) bool { return order.before(end, report.Message) })
		if ended {
			reporter.Violation(report.Message, rules.Mismatch{
				Wanted: "no progress after the task has reached a terminal status",
				Found:  "progress of the task " + task,
			})
		}
	}
}

// taskEnds returns, by task, the messages in which the target says that it has
// reached a terminal status, or hands over its result.
func taskEnds(conversation *rules.Conversation) map[string][]*rules.Message {
	ends := map[string][]*rules.Message{}
	note := func(message *rules.Message, task map[string]any) {
		if id := tasks.ID(task); id != "" && slices.Contains(tasks.Terminal, task["status"]) {
			ends[id] = append(ends[id], message)
		}
	}
	for _, message := range conversation.ByTarget() {
		switch {
		case message.Method == "notifications/tasks/status":
			note(message, message.ParamsObject())
		case !rules.IsResponse(message) || message.Request == nil:
		case message.Request.Method == "tasks/result":
			if id := tasks.ID(message.Request.ParamsObject()); id != "" {
				ends[id] = append(ends[id], message)
			}
		case message.Request.Method == "tasks/get" || message.Request.Method == "tasks/cancel":
			note(message, message.ResultObject())
		}
	}
	return ends
}
