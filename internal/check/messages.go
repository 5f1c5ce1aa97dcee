package check

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// answer is what carries a result or an error.
type answer interface {
	Evidence
	Response() jsonrpc.Message
}

// httpAnswer is an HTTP response.
type httpAnswer interface {
	Evidence
	HTTPStatus() int
	MediaType() string // without parameters
}

// Sent is a message that the target sent, as evidence.
type Sent struct {
	jsonrpc.Message
	At transcript.Place
}

// Describe says in words what the message is.
func (s Sent) Describe() string {
	if refusal, refused := s.Error(); refused {
		return fmt.Sprintf("error %s %q", CodeName(refusal.Code), refusal.Message)
	}
	if result, there := s.Result(); there {
		return "the result " + Show(result)
	}
	return excerpt.Short(s.Raw)
}

// Response is the message itself.
func (s Sent) Response() jsonrpc.Message { return s.Message }

// Place is where it stands in the transcript.
func (s Sent) Place() transcript.Place { return s.At }

// Object returns the result as an object; nil when it is none.
func (s Sent) Object() Object {
	result, _ := s.Result()
	object, _ := result.(map[string]any)
	return object
}

// HaveMember matches an object (or a response with a result object) that has a
// member: with any value, with an equal one, or with one that matches.
func HaveMember(name string, value ...any) types.GomegaMatcher {
	wanted := fmt.Sprintf("a member %q", name)
	if len(value) > 0 {
		wanted += " that is " + Words(value[0])
	}
	return NewMatcher(wanted, func(actual any) (string, string) {
		object, isObject := AsObject(actual)
		if !isObject {
			return Show(actual), ""
		}
		member, there := object[name]
		switch {
		case !there:
			return "an object without it: " + Show(object), ""
		case len(value) == 0 || matches(value[0], member):
			return "", ""
		}
		return Show(member), "/" + name
	})
}

// BeJSONRPCError matches an error response; with codes, one with such a code.
func BeJSONRPCError(codes ...int64) types.GomegaMatcher {
	wanted := "a JSON-RPC error"
	if len(codes) > 0 {
		texts := make([]string, len(codes))
		for i, code := range codes {
			texts[i] = CodeName(code)
		}
		wanted += " " + strings.Join(texts, " or ")
	}
	return NewMatcher(wanted, func(actual any) (string, string) {
		reply, isReply := actual.(answer)
		if !isReply {
			return Show(actual), ""
		}
		refusal, refused := reply.Response().Error()
		switch {
		case !refused:
			return reply.Describe(), ""
		case len(codes) == 0 || slices.Contains(codes, refusal.Code):
			return "", ""
		}
		return reply.Describe(), "/error/code"
	})
}

// BeResult matches a response that carries a result, and no error.
func BeResult() types.GomegaMatcher {
	return NewMatcher("a result", func(actual any) (string, string) {
		reply, isReply := actual.(answer)
		if !isReply {
			return Show(actual), ""
		}
		if _, refused := reply.Response().Error(); refused {
			return reply.Describe(), ""
		}
		if _, there := reply.Response().Result(); !there {
			return reply.Describe(), ""
		}
		return "", ""
	})
}

// HaveStatus matches an HTTP response with one of the statuses.
func HaveStatus(statuses ...int) types.GomegaMatcher {
	texts := make([]string, len(statuses))
	for i, status := range statuses {
		texts[i] = StatusName(status)
	}
	return NewMatcher(strings.Join(texts, " or "), func(actual any) (string, string) {
		response, isResponse := actual.(httpAnswer)
		switch {
		case !isResponse:
			return Show(actual), ""
		case slices.Contains(statuses, response.HTTPStatus()):
			return "", ""
		}
		return response.Describe(), "HTTP status"
	})
}

// HaveContentType matches an HTTP response of one of the media types; parameters
// are ignored.
func HaveContentType(mediaTypes ...string) types.GomegaMatcher {
	return NewMatcher(
		"the content type "+strings.Join(mediaTypes, " or "),
		func(actual any) (string, string) {
			response, isResponse := actual.(httpAnswer)
			switch {
			case !isResponse:
				return Show(actual), ""
			case slices.Contains(mediaTypes, response.MediaType()):
				return "", ""
			}
			return response.Describe(), "header Content-Type"
		},
	)
}

// BeEmptyObject matches a result without members; _meta may always be there.
func BeEmptyObject() types.GomegaMatcher {
	return Be("an empty object", func(value any) bool {
		object, isObject := AsObject(value)
		if !isObject {
			return false
		}
		_, meta := object["_meta"]
		return len(object) == 0 || len(object) == 1 && meta
	})
}

// BeText matches a string that is not empty.
func BeText() types.GomegaMatcher {
	return Be("a non-empty string", func(value any) bool {
		text, isString := value.(string)
		return isString && text != ""
	})
}

// BeOneOf matches a value equal to one of those given.
func BeOneOf(values ...any) types.GomegaMatcher {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = Show(value)
	}
	return Be("one of "+strings.Join(texts, ", "), func(value any) bool {
		return slices.ContainsFunc(values, func(allowed any) bool { return Same(allowed, value) })
	})
}

// BeAList matches an array.
func BeAList() types.GomegaMatcher {
	return Be("an array", func(value any) bool {
		_, isArray := value.([]any)
		return isArray
	})
}

func matches(wanted, actual any) bool {
	if m, isMatcher := wanted.(types.GomegaMatcher); isMatcher {
		ok, err := m.Match(actual)
		return ok && err == nil
	}
	return Same(wanted, actual)
}

// Same compares JSON values independently of their Go types; numbers are the same
// when their values are.
func Same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	one, _ := jsonrpc.Decode([]byte(jsonrpc.Text(a)))
	other, _ := jsonrpc.Decode([]byte(jsonrpc.Text(b)))
	return jsonrpc.Equal(one, other)
}

// AsObject returns an object, or that which an answer has for its result.
func AsObject(value any) (map[string]any, bool) {
	switch value := value.(type) {
	case map[string]any:
		return value, true
	case answer:
		result, _ := value.Response().Result()
		object, isObject := result.(map[string]any)
		return object, isObject
	}
	return nil, false
}

var codeNames = map[int64]string{
	jsonrpc.ParseError:       "Parse error",
	jsonrpc.InvalidRequest:   "Invalid Request",
	jsonrpc.MethodNotFound:   "Method not found",
	jsonrpc.InvalidParams:    "Invalid params",
	jsonrpc.InternalError:    "Internal error",
	jsonrpc.ResourceNotFound: "Resource not found",
}

// CodeName writes the code of an error with its name in JSON-RPC, where it has one.
func CodeName(code int64) string {
	if name, known := codeNames[code]; known {
		return fmt.Sprintf("%d (%s)", code, name)
	}
	return strconv.FormatInt(code, 10)
}

// StatusName writes an HTTP status with its name.
func StatusName(status int) string {
	if name := http.StatusText(status); name != "" {
		return fmt.Sprintf("HTTP %d (%s)", status, name)
	}
	return fmt.Sprintf("HTTP %d", status)
}

// BeARevision matches the name of a released revision of the specification.
func BeARevision() types.GomegaMatcher {
	return Be("a released revision ("+strings.Join(protocol.Released(), ", ")+")", func(value any) bool {
		name, isString := value.(string)
		return isString && slices.Contains(protocol.Released(), name)
	})
}
