package facts

import (
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/schema"
)

// RevisionOf returns the revision that a request names in its _meta, as each of the
// stateless era does.
func RevisionOf(request *rules.Message) (revision string, named bool) {
	revision, named = request.Meta()[mcp.MetaVersion].(string)
	return revision, named && rules.IsRequest(request)
}

// Negotiations returns, for each message, the revision that it is said in: that of
// the cell until a handshake says otherwise. The answer that negotiates is itself in
// the revision that it names, and the result for a request of the stateless era in
// the one that the request names.
func Negotiations(conversation *rules.Conversation) []string {
	return rules.Shared(conversation, "negotiations", readNegotiations)
}

func readNegotiations(conversation *rules.Conversation) []string {
	revisions := make([]string, len(conversation.Messages))
	spoken := conversation.Revision
	for index, message := range conversation.Messages {
		if rules.IsResponse(message) && message.Request != nil && message.Request.Method == "initialize" {
			if answered, isText := message.ResultObject()["protocolVersion"].(string); isText {
				spoken = answered
			}
		}
		revisions[index] = spoken
		if rules.IsResponse(message) && message.Request != nil && !rules.IsRefusal(message) {
			if named, some := RevisionOf(message.Request); some {
				revisions[index] = named
			}
		}
	}
	return revisions
}

// Schemas returns, for each message, the schema that it is to be judged by;
// nil where none is known, and where a handshake names a revision that has none.
func Schemas(conversation *rules.Conversation) []*schema.Schema {
	return rules.Shared(conversation, "schemas", readSchemas)
}

func readSchemas(conversation *rules.Conversation) []*schema.Schema {
	judging := make([]*schema.Schema, len(conversation.Messages))
	for index, revision := range Negotiations(conversation) {
		if asked, some := revisionAsked(conversation.Messages[index]); some {
			revision = asked
		}
		known, err := schema.For(revision)
		if err == nil && (revision == conversation.Revision || HasHandshake(known)) {
			judging[index] = known
		}
	}
	return judging
}

// revisionAsked returns the revision that a request names as its own: initialize in
// its params, one of the stateless era in its _meta.
func revisionAsked(message *rules.Message) (revision string, named bool) {
	if rules.IsRequest(message) && message.Method == "initialize" {
		revision, named = message.ParamsObject()["protocolVersion"].(string)
		return revision, named
	}
	return RevisionOf(message)
}

// HasHandshake tells the era of a revision.
func HasHandshake(known *schema.Schema) bool {
	_, has := known.Method("initialize")
	return has
}
