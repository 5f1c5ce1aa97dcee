package wire

import (
	"regexp"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/schema"
)

// memberClaims are, by method, the members whose violations of the schema are
// judged by rules of their own, like claims, but also when they are missing.
var memberClaims = map[string]*regexp.Regexp{
	"initialize":                 introduced,
	"tools/list":                 toolTaskSupport,
	"tools/call":                 regexp.MustCompile(createdTask.String() + `|` + requiredElicitations.String()),
	"resources/read":             requiredElicitations,
	"prompts/get":                regexp.MustCompile(requiredElicitations.String() + `|` + promptMembers.String()),
	"tasks/get":                  regexp.MustCompile(`^/result/(?:taskId|createdAt|lastUpdatedAt|ttl)$`),
	"tasks/cancel":               regexp.MustCompile(`^/result/(?:taskId|createdAt|lastUpdatedAt)$`),
	"tasks/list":                 regexp.MustCompile(`^/result/tasks/\d+/(?:taskId|createdAt|lastUpdatedAt)$`),
	"tasks/result":               requiredElicitations,
	"notifications/tasks/status": wholeParams,
	"subscriptions/listen":       regexp.MustCompile(`^/result/_meta(?:/io\.modelcontextprotocol~1subscriptionId)?$`),
	"sampling/createMessage":     regexp.MustCompile(samplingPriorities.String() + `|` + samplingContent.String()),
	"elicitation/create":         regexp.MustCompile(`^/params/(?:message|mode|url|elicitationId|requestedSchema(?:/.*)?)$`),
}

var (
	toolTaskSupport      = regexp.MustCompile(`^/result/tools/\d+/execution/taskSupport$`)
	createdTask          = regexp.MustCompile(`^/result/task/(?:taskId|createdAt|lastUpdatedAt)$`)
	wholeParams          = regexp.MustCompile(`^/params(?:/.*)?$`)
	samplingPriorities   = regexp.MustCompile(`^/params/modelPreferences/(?:cost|speed|intelligence)Priority$`)
	samplingContent      = regexp.MustCompile(`^/params/messages/\d+/content(?:/.*)?$`)
	promptMembers        = regexp.MustCompile(`^/result/messages/\d+/content/(?:data|mimeType|resource/(?:uri|mimeType))$`)
	requiredElicitations = regexp.MustCompile(`^/error/data(?:/.*)?$`)
)

func memberClaimed(method, place string) bool {
	places, some := memberClaims[method]
	return some && places.MatchString(place) || place == resultTypePlace || isHint(method, place)
}

// memberPlace is the JSON pointer to what a violation is about: the place of a
// missing member is where it would be.
func memberPlace(prefix string, violation schema.Violation) string {
	place := prefix + violation.Pointer
	if missing := missingMember.FindStringSubmatch(violation.Expected); missing != nil {
		place += "/" + escape(missing[1])
	}
	return place
}

// missingMember reads a violation that says which member had to be there.
var missingMember = regexp.MustCompile(`^member "([^"]+)"`)

// judgeMembers judges a part of a message by its definition in the schema, as
// far as a rule is about it: members at the places.
func judgeMembers(
	conversation *rules.Conversation, reporter *rules.Reporter, part found, definition string, places *regexp.Regexp,
) {
	if conversation.Schema == nil {
		return
	}
	reporter.Observe()
	for _, violation := range conversation.Schema.Validate(definition, part.value) {
		if places.MatchString(ownPlace(memberPlace(part.pointer, violation))) {
			reporter.Violation(part.said, rules.Mismatch{
				Wanted: violation.Expected, Found: violation.Found, Where: part.pointer + violation.Pointer,
			})
		}
	}
}

// ownPlace is a place in an input request as it would be in a request of its own.
func ownPlace(pointer string) string { return inputRequestPlace.ReplaceAllString(pointer, "") }

// inputRequestPlace is where a result has one of its input requests.
var inputRequestPlace = regexp.MustCompile(`^/(?:result|params)/inputRequests/[^/]+`)

// relatedTask returns the id of the task that a message names in its metadata:
// in params for requests and notifications, in the result for responses. There
// is false when it names none.
func relatedTask(said *rules.Message) (id string, there bool) {
	related, there := said.Meta()[mcp.RelatedTask]
	object, _ := related.(map[string]any)
	return taskID(object), there
}
