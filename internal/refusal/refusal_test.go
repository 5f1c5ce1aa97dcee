package refusal

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

func replyOf(outcome string) Reply {
	return Reply{Received: scripted.Received{Message: jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + outcome + `}`))}}
}

// Whether the refusal of what is wrong differs from that of what is right.
func TestAlike(t *testing.T) {
	t.Parallel()
	const (
		served  = `"result":{"content":[]}`
		invalid = `"error":{"code":-32602,"message":"Invalid params"}`
	)
	for name, test := range map[string]struct {
		refused, wrong, control, right string
		alike                          bool
	}{
		"the right one is served":          {invalid, "", served, "", false},
		"the wrong one is served":          {served, "", invalid, "", false},
		"the same error":                   {invalid, "", invalid, "", true},
		"the same code, and other words":   {invalid, "", `"error":{"code":-32602,"message":"No such host"}`, "", true},
		"another code":                     {invalid, "", `"error":{"code":-32603,"message":"No such host"}`, "", false},
		"the same words under other codes": {invalid, "", `"error":{"code":-32603,"message":"Invalid params"}`, "", true},
		"it names what is wrong":           {`"error":{"code":-32602,"message":"Unknown tool: x-1"}`, "x-1", `"error":{"code":-32602,"message":"path is missing"}`, "y", false},
		"it names it in its data":          {`"error":{"code":-32002,"message":"No","data":{"uri":"a:b"}}`, "a:b", `"error":{"code":-32002,"message":"Denied"}`, "c:d", false},
		"both are named in the same words": {`"error":{"code":-32603,"message":"No database to read a:b"}`, "a:b", `"error":{"code":-32603,"message":"No database to read c:d"}`, "c:d", true},
		"both name it, in other words":     {`"error":{"code":-32603,"message":"Failed to explain resource: 08:01"}`, "resource", `"error":{"code":-32603,"message":"Failed to explain resource: 08:02"}`, "pods", true},
		"both name it, for two reasons":    {`"error":{"code":-32602,"message":"The prompt needs arg1"}`, "arg1", `"error":{"code":-32602,"message":"arg1: no such value"}`, "", false},
		"a part of a word is no name":      {`"error":{"code":-32602,"message":"Invalid"}`, "id", `"error":{"code":-32602,"message":"Wrong"}`, "", true},
		"both are errors of a tool":        {`"result":{"isError":true,"content":[{"type":"text","text":"ENOTFOUND a"}]}`, "q", `"result":{"isError":true,"content":[{"type":"text","text":"ENOTFOUND b"}]}`, "", true},
		"one is an error of a tool":        {invalid, "", `"result":{"isError":true,"content":[]}`, "", false},
		"names of members are no words":    {`"result":{"isError":true,"content":[{"type":"text","text":"ENOTFOUND"}]}`, "text", `"result":{"isError":true,"content":[{"type":"text","text":"ENOTFOUND!"}]}`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found := Alike(replyOf(test.refused), test.wrong, replyOf(test.control), test.right); found != test.alike {
				t.Errorf("alike is %t", found)
			}
		})
	}
}

// What controls cannot tell is in doubt where one may have come too late.
func TestControlsThatComeTooLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		controls []Request
		doubtful bool
	}{
		"that is right at any time":   {[]Request{{Method: "tasks/get"}}, false},
		"that is right for a while":   {[]Request{{Method: "tasks/cancel", Passing: true}}, true},
		"one of which is for a while": {[]Request{{Method: "tasks/get"}, {Method: "tasks/cancel", Passing: true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checked := check.New(t.Context(), rules.Cell{}, &check.Declaration{})
			checked.Run(func() { inconclusive(checked, test.controls, "it was refused in the same way", "serve it") })
			if outcome := checked.Outcome; outcome.Ending != check.Inconclusion || outcome.Doubtful != test.doubtful || outcome.Hint == "" {
				t.Errorf("the outcome is %+v", outcome)
			}
		})
	}
}
