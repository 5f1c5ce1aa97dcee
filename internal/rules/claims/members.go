package claims

import (
	"regexp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/schema"
)

// memberClaims are, by method, the members whose violations of the schema are
// judged by rules of their own, like claims, but also when they are missing.
var memberClaims = map[string]*regexp.Regexp{
	"initialize":                 introduced,
	"tools/list":                 ToolTaskSupport,
	"tools/call":                 regexp.MustCompile(createdTask.String() + `|` + requiredElicitations.String()),
	"resources/read":             requiredElicitations,
	"prompts/get":                regexp.MustCompile(requiredElicitations.String() + `|` + promptMembers.String()),
	"tasks/get":                  regexp.MustCompile(`^/result/(?:taskId|createdAt|lastUpdatedAt|ttl)$`),
	"tasks/cancel":               regexp.MustCompile(`^/result/(?:taskId|createdAt|lastUpdatedAt)$`),
	"tasks/list":                 regexp.MustCompile(`^/result/tasks/\d+/(?:taskId|createdAt|lastUpdatedAt)$`),
	"tasks/result":               requiredElicitations,
	"notifications/tasks/status": WholeParams,
	"subscriptions/listen":       regexp.MustCompile(`^/result/_meta(?:/io\.modelcontextprotocol~1subscriptionId)?$`),
	"sampling/createMessage":     regexp.MustCompile(SamplingPriorities.String() + `|` + SamplingContent.String()),
	"elicitation/create": regexp.MustCompile(
		`^/params/(?:message|mode|url|elicitationId|requestedSchema(?:/.*)?)$`,
	),
}

// Places that the rules of a page judge by the schema themselves; see JudgeMembers.
var (
	ToolTaskSupport    = regexp.MustCompile(`^/result/tools/\d+/execution/taskSupport$`)
	createdTask        = regexp.MustCompile(`^/result/task/(?:taskId|createdAt|lastUpdatedAt)$`)
	WholeParams        = regexp.MustCompile(`^/params(?:/.*)?$`)
	SamplingPriorities = regexp.MustCompile(`^/params/modelPreferences/(?:cost|speed|intelligence)Priority$`)
	SamplingContent    = regexp.MustCompile(`^/params/messages/\d+/content(?:/.*)?$`)
	promptMembers      = regexp.MustCompile(
		`^/result/messages/\d+/content/(?:data|mimeType|resource/(?:uri|mimeType))$`,
	)
	requiredElicitations = regexp.MustCompile(`^/error/data(?:/.*)?$`)
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
	if missing := missingMember.FindStringSubmatch(violation.Expected); missing != nil {
		place += jsonrpc.Pointer(missing[1])
	}
	return place
}

// missingMember reads a violation that says which member had to be there.
var missingMember = regexp.MustCompile(`^member "([^"]+)"`)

// JudgeMembers judges a part of a message by its definition in the schema, as
// far as a rule is about it: members at the places.
func JudgeMembers(
	conversation *rules.Conversation,
	reporter *rules.Reporter,
	part places.Found,
	definition string,
	places *regexp.Regexp,
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
var inputRequestPlace = regexp.MustCompile(`^/(?:result|params)/inputRequests/[^/]+`)
