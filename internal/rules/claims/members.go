package claims

import (
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/schema"
)

// memberClaims are, by method, the members whose violations of the schema are
// judged by rules of their own, like claims, but also when they are missing.
var memberClaims = map[string]*lazy.Regexp{
	"initialize":                 introduced,
	"tools/list":                 ToolTaskSupport,
	"tools/call":                 lazy.MustCompile(createdTask.String() + `|` + requiredElicitations.String()),
	"resources/read":             requiredElicitations,
	"prompts/get":                lazy.MustCompile(requiredElicitations.String() + `|` + promptMembers.String()),
	"tasks/get":                  lazy.MustCompile(`^/result/(?:taskId|createdAt|lastUpdatedAt|ttl)$`),
	"tasks/cancel":               lazy.MustCompile(`^/result/(?:taskId|createdAt|lastUpdatedAt)$`),
	"tasks/list":                 lazy.MustCompile(`^/result/tasks/\d+/(?:taskId|createdAt|lastUpdatedAt)$`),
	"tasks/result":               requiredElicitations,
	"notifications/tasks/status": WholeParams,
	"subscriptions/listen":       lazy.MustCompile(`^/result/_meta(?:/io\.modelcontextprotocol~1subscriptionId)?$`),
	"sampling/createMessage":     lazy.MustCompile(SamplingPriorities.String() + `|` + SamplingContent.String()),
	"elicitation/create": lazy.MustCompile(
		`^/params/(?:message|mode|url|elicitationId|requestedSchema(?:/.*)?)$`,
	),
}

// Places that the rules of a page judge by the schema themselves; see JudgeMembers.
var (
	ToolTaskSupport    = lazy.MustCompile(`^/result/tools/\d+/execution/taskSupport$`)
	createdTask        = lazy.MustCompile(`^/result/task/(?:taskId|createdAt|lastUpdatedAt)$`)
	WholeParams        = lazy.MustCompile(`^/params(?:/.*)?$`)
	SamplingPriorities = lazy.MustCompile(`^/params/modelPreferences/(?:cost|speed|intelligence)Priority$`)
	SamplingContent    = lazy.MustCompile(`^/params/messages/\d+/content(?:/.*)?$`)
	promptMembers      = lazy.MustCompile(
		`^/result/messages/\d+/content/(?:data|mimeType|resource/(?:uri|mimeType))$`,
	)
	requiredElicitations = lazy.MustCompile(`^/error/data(?:/.*)?$`)
)

// MemberClaimed is Claimed for members that may be missing.
func MemberClaimed(method, place string) bool {
	places, some := memberClaims[method]
	return some && places.MatchString(place) || place == ResultTypePlace || isHint(method, place)
}

// MemberPlace is the JSON pointer to what a violation is about: the place of a
// missing member is where it would be.
func MemberPlace(prefix string, violation schema.Violation) string {
	place := prefix + violation.Pointer
	if violation.Missing != "" {
		place += jsonrpc.Pointer(violation.Missing)
	}
	return place
}

// JudgeMembers judges a part of a message by its definition in the schema, as
// far as a rule is about it: members at the places.
func JudgeMembers(
	conversation *rules.Conversation,
	reporter *rules.Reporter,
	part places.Found,
	definition string,
	places *lazy.Regexp,
) {
	if conversation.Schema == nil {
		return
	}
	reporter.Observe()
	for _, violation := range conversation.Schema.Validate(definition, part.Value) {
		if places.MatchString(OwnPlace(MemberPlace(part.Pointer, violation))) {
			reporter.Violation(part.Said, rules.Mismatch{
				Wanted: violation.Expected, Found: violation.Found, Where: part.Pointer + violation.Pointer,
			})
		}
	}
}

// OwnPlace is a place in an input request as it would be in a request of its own.
func OwnPlace(pointer string) string { return inputRequestPlace.ReplaceAllString(pointer, "") }

// inputRequestPlace is where a result has one of its input requests.
var inputRequestPlace = lazy.MustCompile(`^/(?:result|params)/inputRequests/[^/]+`)
