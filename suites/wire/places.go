package wire

import (
	"fmt"
	"regexp"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// A place is a value in a message, and the JSON pointer to it.
type place struct {
	pointer string
	value   any
}

// member returns a member of the object at a place; there is false when it has
// none.
func (p place) member(name string) (member place, there bool) {
	object, _ := p.value.(map[string]any)
	value, there := object[name]
	return place{p.pointer + "/" + name, value}, there
}

// object returns the object at a place, or nil.
func (p place) object() rules.Object {
	object, _ := p.value.(map[string]any)
	return object
}

// text returns the string at a place, or "".
func (p place) text() string {
	text, _ := p.value.(string)
	return text
}

// items returns the elements of the array that is a member of an object.
func (p place) items(name string) []place {
	member, _ := p.member(name)
	list, _ := member.value.([]any)
	items := make([]place, len(list))
	for i, item := range list {
		items[i] = place{fmt.Sprintf("%s/%d", member.pointer, i), item}
	}
	return items
}

// resultOf is the result of a response.
func resultOf(said *rules.Message) place {
	result, _ := said.Result()
	return place{"/result", result}
}

// found is a place in a message.
type found struct {
	place
	said *rules.Message
}

// results returns the target's results for requests of a method.
func results(conversation *rules.Conversation, method string) []found {
	var all []found
	for _, said := range conversation.Results(method) {
		all = append(all, found{resultOf(said), said})
	}
	return all
}

// listed returns the items of every page of a list that the target sent.
func listed(conversation *rules.Conversation, method string) []found {
	var all []found
	for _, said := range conversation.Results(method) {
		for _, item := range resultOf(said).items(mcp.ListMember(method)) {
			all = append(all, found{item, said})
		}
	}
	return all
}

// toolContent returns the content blocks of all tool results.
func toolContent(conversation *rules.Conversation) []found {
	var all []found
	for _, result := range toolResults(conversation) {
		for _, block := range result.items("content") {
			all = append(all, found{block, result.said})
		}
	}
	return all
}

// promptContent returns the content of all messages of prompts.
func promptContent(conversation *rules.Conversation) []found {
	var all []found
	for _, said := range conversation.Results("prompts/get") {
		for _, message := range resultOf(said).items("messages") {
			if content, there := message.member("content"); there {
				all = append(all, found{content, said})
			}
		}
	}
	return all
}

// readContents returns the contents of all resources that were read.
func readContents(conversation *rules.Conversation) []found {
	var all []found
	for _, said := range conversation.Results("resources/read") {
		for _, contents := range resultOf(said).items("contents") {
			all = append(all, found{contents, said})
		}
	}
	return all
}

// within returns the members of a name that some of the places have.
func within(all []found, name string) []found {
	var members []found
	for _, one := range all {
		if member, there := one.member(name); there {
			members = append(members, found{member, one.said})
		}
	}
	return members
}

// ofType returns the content blocks of one of the types.
func ofType(blocks []found, types ...string) []found {
	var kept []found
	for _, block := range blocks {
		for _, name := range types {
			if block.object()["type"] == name {
				kept = append(kept, block)
			}
		}
	}
	return kept
}

// judgeBy judges values by a place in the schema; see claims.
func judgeBy(conversation *rules.Conversation, reporter *rules.Reporter, all []found, definition string) {
	if conversation.Schema == nil {
		return
	}
	for _, one := range all {
		reporter.Observe()
		for _, violation := range conversation.Schema.Validate(definition, one.value) {
			if violation.Pointer != "" && !claimed(methodOf(one.said), one.pointer+violation.Pointer) {
				continue // the common rule about the schema has it
			}
			reporter.Violation(one.said, rules.Mismatch{
				Wanted: violation.Expected, Found: violation.Found, Where: one.pointer + violation.Pointer,
			})
		}
	}
}

// claims are, by method, the places whose violations of the schema are judged
// by rules of their own, because a page of the specification has a sentence
// about them.
var claims = map[string]*regexp.Regexp{
	"tools/call":                      regexp.MustCompile(`^/result/content/\d+/(?:data|uri|` + embedded + `|` + annotated + `)$`),
	"tasks/result":                    regexp.MustCompile(`^/result/content/\d+/(?:data|uri|` + embedded + `|` + annotated + `)$`),
	"prompts/get":                     regexp.MustCompile(`^/result/messages/\d+/content/(?:data|uri|resource|` + embedded + `|` + annotated + `)$`),
	"resources/read":                  regexp.MustCompile(`^/result/contents/\d+/(?:uri|blob)$`),
	"resources/list":                  regexp.MustCompile(`^/result/(?:nextCursor|resources/\d+/(?:uri|` + annotated + `))$`),
	"resources/templates/list":        regexp.MustCompile(`^/result/(?:nextCursor|resourceTemplates/\d+/(?:uriTemplate|` + annotated + `))$`),
	"tools/list":                      regexp.MustCompile(`^/result/nextCursor$`),
	"prompts/list":                    regexp.MustCompile(`^/result/nextCursor$`),
	"completion/complete":             regexp.MustCompile(`^/result/completion/values$`),
	"roots/list":                      regexp.MustCompile(`^/result/roots/\d+/uri$`),
	"sampling/createMessage":          regexp.MustCompile(`^/result/content(?:/\d+)?/` + annotated + `$`),
	"notifications/resources/updated": regexp.MustCompile(`^/params/uri$`),
	"notifications/progress":          regexp.MustCompile(`^/params/progressToken$`),
	"notifications/message":           regexp.MustCompile(`^/params/level$`),
}

const (
	embedded  = `resource/(?:uri|blob)`
	annotated = `annotations/(?:priority|lastModified|audience(?:/\d+)?)`
)

// claimed tells whether what the schema says of a place in a message (of the
// method, or that answers it) is judged by a rule of its own. The common rule
// about the schema leaves such places out: one cause is one failure.
func claimed(method, pointer string) bool {
	places, some := claims[method]
	return some && places.MatchString(pointer) || pointer == progressPlace || pointer == resultTypePlace || inputClaims.MatchString(pointer)
}

// inputClaims are such places in an input response, whatever the request that has it.
var inputClaims = regexp.MustCompile(`^/params/inputResponses/[^/]+/(?:roots/\d+/uri|content(?:/\d+)?/` + annotated + `)$`)

// progressPlace is where a request asks for progress.
const progressPlace = "/params/_meta/progressToken"

// methodOf is the method of a message, or of the request that it answers.
func methodOf(said *rules.Message) string {
	if said.Request != nil {
		return said.Request.Method
	}
	return said.Method
}
