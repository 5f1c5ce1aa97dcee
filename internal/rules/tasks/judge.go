package tasks

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// JudgeSharedIDs judges that no two of the tasks that were announced have the same id.
func JudgeSharedIDs(announced []places.Found, reporter *rules.Reporter) {
	given := map[string]*rules.Message{}
	for _, task := range announced {
		id := ID(task.Object())
		if id == "" {
			continue
		}
		if len(given) > 0 { // one alone is always unique
			reporter.Observe()
		}
		if first := given[id]; first != nil && first.Request != task.Said.Request {
			reporter.Violation(task.Said, rules.Mismatch{
				Wanted: "an id that no other task has",
				Found:  rules.Show(id) + " again",
				Where:  task.Pointer + "/taskId",
			})
		}
		given[id] = task.Said
	}
}

// JudgeGuessableIDs judges the ids of tasks that were announced, where the client shows no
// authorization to which tasks could be bound.
func JudgeGuessableIDs(conversation *rules.Conversation, announced []places.Found, reporter *rules.Reporter) {
	if Authorized(conversation) {
		return
	}
	last := ""
	for _, task := range announced {
		id := ID(task.Object())
		if id == "" {
			continue
		}
		reporter.Observe()
		switch {
		case entropyAtMost(id) < leastEntropy:
			reporter.Violation(task.Said, rules.Mismatch{
				Wanted: fmt.Sprintf("a random id of at least %d bits", leastEntropy),
				Found: fmt.Sprintf(
					"%s, which has no more than %.0f",
					rules.Show(id),
					entropyAtMost(id),
				),
				Where: task.Pointer + "/taskId",
			})
		case follows(last, id), ofOneClock(last, id):
			reporter.Violation(task.Said, rules.Mismatch{
				Wanted: "an id that cannot be guessed from another one",
				Found:  fmt.Sprintf("%s after %s", rules.Show(id), rules.Show(last)), Where: task.Pointer + "/taskId",
			})
		}
		last = id
	}
}

// Authorized tells whether the client sent credentials.
func Authorized(conversation *rules.Conversation) bool {
	return slices.ContainsFunc(conversation.Events, func(event transcript.Event) bool {
		return event.IsRequestHead() && event.HTTP.Header.Get("Authorization") != ""
	})
}

// leastEntropy is far below what is called secure, in bits: ids are judged only
// when they are beyond doubt too short.
const leastEntropy = 32

// entropyAtMost is how many bits an id holds if every character was chosen at
// random among those of its kind.
func entropyAtMost(id string) float64 {
	alphabet := 64.0
	switch {
	case onlyOf(id, "0123456789"):
		alphabet = 10
	case onlyOf(strings.ToLower(id), "0123456789abcdef-"):
		alphabet = 16
	}
	return float64(len(id)) * math.Log2(alphabet)
}

func onlyOf(text, characters string) bool { return strings.Trim(text, characters) == "" }

var digits = regexp.MustCompile(`[0-9]+`)

// nearby is how far a counter moves between two tasks of one client, when
// others count, too.
const nearby = 1000

// follows tells whether two ids are the same but for one number that grew a
// little: a counter.
func follows(earlier, later string) bool {
	if earlier == later || digits.ReplaceAllString(earlier, "0") != digits.ReplaceAllString(later, "0") {
		return false
	}
	was, is := digits.FindAllString(earlier, -1), digits.FindAllString(later, -1)
	changed := 0
	for i := range was {
		if was[i] == is[i] {
			continue
		}
		before, okBefore := new(big.Int).SetString(was[i], 10)
		after, okAfter := new(big.Int).SetString(is[i], 10)
		if !okBefore || !okAfter {
			return false
		}
		if step := new(big.Int).Sub(after, before); step.Sign() <= 0 || step.Cmp(big.NewInt(nearby)) > 0 {
			return false
		}
		changed++
	}
	return changed == 1
}

// byTime is a UUID that is made of the time and, behind it, of who made it (RFC 9562, sections
// 5.1 and 5.6).
var byTime = regexp.MustCompile(`(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[16][0-9a-f]{3}-([89ab][0-9a-f]{3}-[0-9a-f]{12})$`)

// ofOneClock tells whether two ids differ in the time alone.
func ofOneClock(earlier, later string) bool {
	before, after := byTime.FindStringSubmatch(earlier), byTime.FindStringSubmatch(later)
	return earlier != later && before != nil && after != nil && strings.EqualFold(before[1], after[1])
}

// JudgeEndings judges what was asked after a task was known to be over: what was said at the
// same time may have come in another order. Where several tasks have one id, it is unknown
// which of them is meant.
func JudgeEndings(created, states []places.Found, reporter *rules.Reporter) {
	type ending struct {
		status string
		known  int // position among the messages
	}
	over := map[string]ending{}
	announced := map[string]int{}
	for _, task := range created {
		announced[ID(task.Object())]++
	}
	slices.SortStableFunc(states, func(a, b places.Found) int { return a.Said.Index - b.Said.Index })
	for _, state := range states {
		id, status := ID(state.Object()), state.Object()["status"]
		text, isText := status.(string)
		if id == "" || !isText || announced[id] > 1 {
			continue
		}
		reporter.Observe()
		end, known := over[id]
		switch {
		case !known && slices.Contains(Terminal, status):
			over[id] = ending{text, state.Said.Index}
		case known && text != end.status && state.Said.Request != nil && state.Said.Request.Index > end.known:
			reporter.Violation(state.Said, rules.Mismatch{
				Wanted: fmt.Sprintf("the status %q, which the task had before", end.status),
				Found:  rules.Show(text), Where: state.Pointer + "/status",
			})
		}
	}
}

// UnexplainedFailures judges that failed tasks say why.
func UnexplainedFailures(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, sent := range conversation.Results("tasks/get") {
		result := places.ResultOf(sent)
		if status, _ := result.Member("status"); status.Value != "failed" {
			continue
		}
		reporter.Observe()
		if message, _ := result.Member("statusMessage"); strings.TrimSpace(message.Text()) == "" {
			reporter.Violation(sent, rules.Mismatch{
				Wanted: "a statusMessage that says why",
				Found:  rules.ShowMember(result.Object(), "statusMessage"),
				Where:  message.Pointer,
			})
		}
	}
}

// JudgePolls judges them by what the answer before says.
func JudgePolls(conversation *rules.Conversation, reporter *rules.Reporter, interval string) {
	answered := map[string]*rules.Message{} // by task: the last answer that had an interval
	for _, message := range conversation.Messages {
		switch {
		case message.FromTarget(conversation.Cell) && rules.IsRequest(message) && message.Method == "tasks/get":
			before := answered[ID(message.ParamsObject())]
			if before == nil {
				continue
			}
			reporter.Observe()
			asked := pollInterval(before, interval)
			// From request to request: some count from what they sent, others from its answer.
			if waited := message.Event.At.Sub(before.Request.Event.At); waited < asked/2 {
				reporter.Violation(message, rules.Mismatch{
					Wanted: fmt.Sprintf("tasks/get again after %s", asked),
					Found:  fmt.Sprintf("after %s", waited.Round(time.Millisecond)),
				})
			}
		case message.FromTarget(conversation.Cell) || !rules.IsResponse(message) || message.Request == nil:
		case IsCreated(message.ResultObject()):
			task, _ := message.ResultObject()["task"].(map[string]any)
			delete(answered, ID(task)) // what an earlier task of the id was told is over
		case message.Request.Method == "tasks/get":
			switch id := ID(message.ResultObject()); {
			case slices.Contains(Terminal, message.ResultObject()["status"]):
				delete(answered, id) // tasks/get for a task that is over is not polling
			case pollInterval(message, interval) > 0:
				answered[id] = message
			}
		}
	}
}

func pollInterval(message *rules.Message, member string) time.Duration {
	milliseconds, isNumber := message.ResultObject()[member].(interface{ Float64() (float64, error) })
	if !isNumber {
		return 0
	}
	value, err := milliseconds.Float64()
	if err != nil || value <= 0 || value > float64(time.Hour.Milliseconds()) {
		return 0
	}
	return time.Duration(value * float64(time.Millisecond))
}
