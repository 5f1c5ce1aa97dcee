package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// The kinds of how a request is answered.
const (
	succeeded  = "result"
	refused    = "error"
	toolError  = "result with isError"
	task       = "task"
	inputAsked = "result that asks for input"
	unanswered = "no answer"
)

// outcome is how a request was answered.
type outcome struct {
	kind   string
	code   int64
	result map[string]any
	reason string // why there is no answer
}

func (o outcome) String() string {
	switch {
	case o.kind == refused:
		return fmt.Sprintf("%s %d", refused, o.code)
	case o.reason != "":
		return o.kind + ": " + o.reason
	}
	return o.kind
}

// outcomeOf is how a recorded request was answered.
func outcomeOf(request *rules.Message) outcome {
	if len(request.Answers) == 0 {
		return outcome{kind: unanswered}
	}
	return read(request.Answers[0].Message)
}

func liveOutcome(answer scripted.Received, err error) outcome {
	if err != nil {
		return outcome{kind: unanswered, reason: excerpt.OneLine(err.Error())}
	}
	return read(answer.Message)
}

func read(answer jsonrpc.Message) outcome {
	if refusal, isRefusal := answer.Error(); isRefusal {
		return outcome{kind: refused, code: refusal.Code}
	}
	member, _ := answer.Result()
	result, _ := member.(map[string]any)
	read := outcome{kind: succeeded, result: result}
	switch {
	case result["isError"] == true:
		read.kind = toolError
	case result["task"] != nil || result["resultType"] == "task":
		read.kind = task
	case result["resultType"] == "input_required":
		read.kind = inputAsked
	}
	return read
}

// change notes a difference.
func (p *player) change(impact reports.Impact, item, where, says string, was, is any) {
	if impact == reports.Telling {
		if p.told == nil {
			p.told = map[string]int{}
		}
		p.told[item]++
		switch of := p.told[item]; {
		case of == maxTold+1:
			where, says, was, is = "", "more is other than recorded", nil, nil
		case of > maxTold:
			return
		}
	}
	p.Changes = append(p.Changes, reports.Difference{
		Impact: impact, Item: item, Where: where, Says: says, Was: shown(was), Is: shown(is),
	})
}

// maxTold bounds how many other values are told of one answer.
const maxTold = 10

// shown is a value for people; "" for none.
func shown(value any) string {
	if value == nil {
		return ""
	}
	return excerpt.Short([]byte(jsonrpc.Text(value)))
}

// compareStatus compares how HTTP requests were answered: accepted or not. Which status a
// sentence wants, rules judge. One that was open when the client ended the session may be
// answered either way.
func (p *player) compareStatus(name, stream string, is int) {
	was := p.tape.statuses[stream]
	const good, redirects = 200, 300
	accepted := func(status int) bool { return good <= status && status < redirects }
	switch {
	case was == 0 || is == 0 || was == is || p.tape.Transport != p.options.Target.Transport:
	case accepted(was) != accepted(is) && !p.tape.ending[stream]:
		p.change(reports.Failing, name, "", "HTTP accepts and refuses otherwise", was, is)
	default:
		p.change(reports.Telling, name, "", "the HTTP status is another", was, is)
	}
}

// lists are the requests whose results the contract of the server compares.
var lists = []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"}

// compare compares how a request was answered with how it was recorded.
func (p *player) compare(one *begun, recorded, live outcome) {
	invalid := func(o outcome) bool {
		return o.kind == toolError || o.kind == refused && o.code == jsonrpc.InvalidParams
	}
	race := func(says string) {
		if was, is := recorded.String(), live.String(); was != is {
			p.change(reports.Telling, one.name, "", says, was, is)
		}
	}
	switch {
	case recorded.kind == unanswered && live.kind == unanswered:
	case p.cancelled[one.ID] && recorded.kind != unanswered && live.kind != unanswered:
		race("the request, which the client cancels, comes to something else")
	case p.tape.endsDuring(one.Message) && recorded.String() != live.String():
		race("the request, during which the client ends the session, comes to something else")
	case recorded.kind == unanswered || live.kind == unanswered && (p.cancelled[one.ID] || p.closed):
		race("it is answered, and was not, or the other way round")
	case one.Method == "tools/call" && recorded.kind != live.kind && invalid(recorded) && invalid(live):
		// server/tools#error-handling leaves to servers which of them it is.
		p.change(reports.Telling, one.name, "", "the error is told in the other way", recorded.String(), live.String())
	case recorded.kind != live.kind:
		p.change(reports.Failing, one.name, "", "the request comes to something else", recorded.String(), live.String())
	case recorded.code != live.code:
		p.change(reports.Failing, one.name, "/error/code", "the error has another code", recorded.code, live.code)
	case slices.Contains(lists, one.Method):
		if was, is := recorded.result["nextCursor"] != nil, live.result["nextCursor"] != nil; was != is {
			p.change(reports.Telling, one.name, "/result/nextCursor", "the list has pages of another size", nil, nil)
		}
	case recorded.result != nil && live.result != nil:
		p.compareResult(one, recorded.result, live.result)
	}
}

func (p *player) compareResult(one *begun, recorded, live map[string]any) {
	of := &comparing{player: p, item: one.name, method: one.Method, subject: subject(one.Method, one.ParamsObject())}
	if one.Method == "initialize" {
		was, is := mcp.Text(recorded, "protocolVersion"), mcp.Text(live, "protocolVersion")
		if was != is {
			p.change(reports.Failing, one.name, "/result/protocolVersion", "another revision is agreed on", was, is)
		}
		recorded, live = maps.Clone(recorded), maps.Clone(live)
		for _, name := range []string{"protocolVersion", "capabilities"} { // the contract has the latter
			delete(recorded, name)
			delete(live, name)
		}
	}
	if recorded["taskId"] != nil && recorded["status"] != live["status"] {
		return // how far a task is when it is asked for, nothing fixes
	}
	of.value(nil, recorded, live)
}

// comparing compares two values of one answer.
type comparing struct {
	*player

	item, method, subject string
}

func (c *comparing) value(path []string, recorded, live any) {
	by := c.rule(path)
	if by == Ignore || len(path) > 0 && (slices.Contains(opaque, path[len(path)-1]) || path[len(path)-1] == "_meta") {
		return
	}
	where := jsonrpc.Pointer(append([]string{"result"}, path...)...)
	if was, is := kindOf(recorded), kindOf(live); was != is {
		c.change(reports.Warning, c.item, where, "the value is of another type", was, is)
		return
	}
	switch recorded := recorded.(type) {
	case map[string]any:
		c.object(path, where, recorded, live.(map[string]any))
	case []any:
		c.array(path, where, recorded, live.([]any))
	default:
		if by == Shape || jsonrpc.Equal(recorded, live) || jsonrpc.Equal(c.values.normal(recorded), live) {
			return
		}
		c.change(c.ofValue(by), c.item, where, "the value is another", recorded, live)
	}
}

// ofValue is what another value comes to.
func (c *comparing) ofValue(by Compare) reports.Impact {
	if by == Exact || by == "" && c.options.Exact {
		return reports.Failing
	}
	return reports.Telling
}

func (c *comparing) object(path []string, where string, recorded, live map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		at := append(slices.Clip(path), name)
		if other, there := live[name]; there {
			c.value(at, recorded[name], other)
		} else if c.rule(at) != Ignore && name != "_meta" && !slices.Contains(opaque, name) {
			c.change(reports.Warning, c.item, where, "the member "+strconv.Quote(name)+" is gone", recorded[name], nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		if _, there := recorded[name]; !there && c.rule(append(slices.Clip(path), name)) != Ignore && name != "_meta" {
			c.change(reports.Telling, c.item, where, "the member "+strconv.Quote(name)+" is new", nil, live[name])
		}
	}
}

func (c *comparing) array(path []string, where string, recorded, live []any) {
	if len(path) == 1 && path[0] == "content" {
		if was, is := blocks(recorded), blocks(live); !slices.Equal(was, is) {
			c.change(reports.Warning, c.item, where, "the content has other blocks", was, is)
			return
		}
	}
	if len(recorded) != len(live) {
		c.change(c.ofValue(c.rule(path)), c.item, where, "the array has another length", len(recorded), len(live))
	}
	for position := range min(len(recorded), len(live)) {
		c.value(append(slices.Clip(path), strconv.Itoa(position)), recorded[position], live[position])
	}
}

// blocks are the types of content blocks, in order.
func blocks(content []any) (types []string) {
	for _, block := range content {
		types = append(types, mcp.Text(block, "type"))
	}
	return types
}

func kindOf(value any) string {
	switch value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case nil:
		return "null"
	}
	return "a number"
}

// hears waits, once for each method, for what the recorded server sent: what the client says
// next may be for that. How many come, and when, nothing fixes.
func (p *player) hears(ctx context.Context, method string) {
	if _, known := p.heard[method]; known || p.lost {
		return
	}
	_, err := p.client.Await(ctx, 0, func(received scripted.Received) bool { return received.Method == method })
	p.heard[method] = err == nil
	p.waited(method, err)
}

// compareMethods compares which notifications, and which requests, the server sends at all. What
// it sent when the client had closed its input is not missed: it is a race.
func (p *player) compareMethods(ctx context.Context) {
	recorded, expected := map[string]bool{}, map[string]bool{}
	closed := slices.IndexFunc(p.tape.talk.Events, func(event transcript.Event) bool {
		return event.Kind == transcript.Signal && event.From == protocol.Client
	})
	for _, message := range p.tape.talk.Messages {
		if !fromClient(message) && (message.Kind == jsonrpc.Notification || message.Kind == jsonrpc.Request) {
			recorded[message.Method] = true
			if closed < 0 || message.Event.Sequence < p.tape.talk.Events[closed].Sequence {
				expected[message.Method] = true
			}
		}
	}
	came := map[string]bool{}
	for _, received := range p.client.Received(0) {
		came[received.Method] = true
		asks := received.Kind == jsonrpc.Request && received.Method != "ping"
		if asks && !recorded[received.Method] && !slices.Contains(p.unasked, received.Method) {
			p.unasked = append(p.unasked, received.Method)
			p.change(reports.Telling, received.Method, "",
				"the server asks the client, which it did not, and is refused", nil, nil)
		}
	}
	for _, method := range slices.Sorted(maps.Keys(expected)) {
		if p.lost || ctx.Err() != nil || came[method] {
			continue
		}
		if p.hears(ctx, method); !p.heard[method] {
			p.change(reports.Warning, method, "", "the server sends none", nil, nil)
		}
	}
}
