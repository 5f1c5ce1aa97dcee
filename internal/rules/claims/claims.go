// Package claims knows the places of messages about which a page has a rule of its own.
// The common rule about the schema leaves them out: one cause is one failure.
package claims

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/schema"
)

// The two hints (server/utilities/caching#cacheable-model).
const (
	TimeToLive = "ttlMs"
	CacheScope = "cacheScope"
)

// Cacheable are the methods whose results clients may keep.
var Cacheable = append([]string{"server/discover", "resources/read"}, facts.Paged...)

// isHint tells whether a place in a message is that of a hint: what the schema says
// of it, the rules of the page server/utilities/caching say.
func isHint(method, place string) bool {
	return (place == "/result/"+TimeToLive || place == "/result/"+CacheScope) && slices.Contains(Cacheable, method)
}

// introduced are the places of initialize that rules of their own judge.
var introduced = lazy.MustCompile(`^/params(?:/(?:protocolVersion|capabilities|clientInfo(?:/(?:name|version))?))?$`)

// InputRequestsPlace is where a result of the stateless era asks for input.
const InputRequestsPlace = "/result/inputRequests"

// IsOfInput tells whether what the schema says of a place in a response, or of a
// member that is missing there, is judged by the rules about input.
func IsOfInput(message *rules.Message, place string, violation schema.Violation) bool {
	switch place {
	case "/result": // both are missing
		return violation.Definition == "InputRequiredResult"
	case "/result/resultType":
		result, _ := message.Object["result"].(map[string]any)
		return result["resultType"] == "input_required"
	}
	return place == InputRequestsPlace || strings.HasPrefix(place, InputRequestsPlace+"/")
}

// JudgeBy judges values by a place in the schema; see claims.
func JudgeBy(conversation *rules.Conversation, reporter *rules.Reporter, all []places.Found, definition string) {
	if conversation.Schema == nil {
		return
	}
	for _, one := range all {
		reporter.Observe()
		for _, violation := range conversation.Schema.Validate(definition, one.Value) {
			if violation.Pointer != "" && !Claimed(MethodOf(one.Said), one.Pointer+violation.Pointer) {
				continue // the common rule about the schema has it
			}
			reporter.Violation(one.Said, rules.Mismatch{
				Wanted: violation.Expected, Found: violation.Found, Where: one.Pointer + violation.Pointer,
			})
		}
	}
}

// claims are, by method, the places whose violations of the schema are judged
// by rules of their own, because a page of the specification has a sentence
// about them.
var claims = map[string]*lazy.Regexp{
	"tools/call": lazy.MustCompile(
		`^/result/content/\d+/(?:data|uri|` + embedded + `|` + annotated + `)$`,
	),
	"tasks/result": lazy.MustCompile(
		`^/result/content/\d+/(?:data|uri|` + embedded + `|` + annotated + `)$`,
	),
	"prompts/get": lazy.MustCompile(
		`^/result/messages/\d+/content/(?:data|uri|resource|` + embedded + `|` + annotated + `)$`,
	),
	"resources/read": lazy.MustCompile(`^/result/contents/\d+/(?:uri|blob)$`),
	"resources/list": lazy.MustCompile(
		`^/result/(?:nextCursor|resources/\d+/(?:uri|` + annotated + `))$`,
	),
	"resources/templates/list": lazy.MustCompile(
		`^/result/(?:nextCursor|resourceTemplates/\d+/(?:uriTemplate|` + annotated + `))$`,
	),
	"tools/list":                      lazy.MustCompile(`^/result/nextCursor$`),
	"prompts/list":                    lazy.MustCompile(`^/result/nextCursor$`),
	"completion/complete":             lazy.MustCompile(`^/result/completion/values$`),
	"roots/list":                      lazy.MustCompile(`^/result/roots/\d+/uri$`),
	"sampling/createMessage":          lazy.MustCompile(`^/result/content(?:/\d+)?/` + annotated + `$`),
	"notifications/resources/updated": lazy.MustCompile(`^/params/uri$`),
	"notifications/progress":          lazy.MustCompile(`^/params/progressToken$`),
	"notifications/message":           lazy.MustCompile(`^/params/level$`),
}

const (
	embedded  = `resource/(?:uri|blob)`
	annotated = `annotations/(?:priority|lastModified|audience(?:/\d+)?)`
)

// Claimed tells whether what the schema says of a place in a message (of the
// method, or that answers it) is judged by a rule of its own. The common rule
// about the schema leaves such places out: one cause is one failure.
func Claimed(method, pointer string) bool {
	places, some := claims[method]
	return some && places.MatchString(pointer) || pointer == ProgressPlace || pointer == ResultTypePlace ||
		inputClaims.MatchString(pointer)
}

// inputClaims are such places in an input response, in every request that has one.
var inputClaims = lazy.MustCompile(
	`^/params/inputResponses/[^/]+/(?:roots/\d+/uri|content(?:/\d+)?/` + annotated + `)$`,
)

// ProgressPlace is where a request asks for progress.
const ProgressPlace = "/params/_meta/progressToken"

// MethodOf is the method of a message, or of the request that it answers.
func MethodOf(message *rules.Message) string {
	if message.Request != nil {
		return message.Request.Method
	}
	return message.Method
}

// ResultTypePlace is where a result tells its type.
const ResultTypePlace = "/result/resultType"

// Mended returns a message with the right version and, if it needs one, a
// right id.
func Mended(message map[string]any, needsID bool) map[string]any {
	mended := maps.Clone(message)
	mended["jsonrpc"] = "2.0"
	delete(mended, "id")
	if needsID {
		mended["id"] = json.Number("0")
	}
	return mended
}
