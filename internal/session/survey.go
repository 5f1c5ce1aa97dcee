package session

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/survey"
)

// Declares tells whether the target declared a capability.
func Declares(t *T, path string) bool { return environmentOf(t).declares(path) }

// NeedDeclarations makes the check inconclusive unless the server has said what it declares:
// where it has not, nothing that it does is undeclared.
func NeedDeclarations(t *T) {
	if lookUp[bool](environmentOf(t), survey.IfInferred) {
		t.Inconclusive("the capabilities of the server are unknown", "fix the failures of server/discover first")
	}
}

// mostEmpty is how many empty pages of a list are turned in search of an item.
const mostEmpty = 100

// FirstPage returns the items of the first page of a list that has some. Ask brings the
// result for a cursor; nil asks for the beginning.
func FirstPage(member string, ask func(cursor any) Object) []Object {
	var cursor any
	for range mostEmpty {
		result := ask(cursor)
		var items []Object
		listed, _ := result[member].([]any)
		for _, element := range listed {
			if item, isObject := element.(map[string]any); isObject {
				items = append(items, item)
			}
		}
		next, more := result["nextCursor"].(string)
		if len(items) > 0 || !more {
			return items
		}
		cursor = next
	}
	return nil
}

// ListedTools are the tools that the target listed before the checks began.
func ListedTools(t *T) []Object { return environmentOf(t).tools() }

// ListedResources are the resources that the target listed.
func ListedResources(t *T) []Object { return environmentOf(t).resources() }

// ListedTemplates are the resource templates that the target listed.
func ListedTemplates(t *T) []Object { return lookUp[[]Object](environmentOf(t), survey.AllTemplates) }

// ListedPrompts are the prompts that the target listed.
func ListedPrompts(t *T) []Object { return environmentOf(t).prompts() }

// NoneListed ends a check that finds nothing of what it needs in a list: it does not
// apply, unless the list could not be had.
func NoneListed(t *T, method, reason string) {
	if unread := environmentOf(t).unlisted(method); unread != "" {
		t.Inconclusive(unread, "fix the failures of "+method+" first")
	}
	t.NotApplicable(reason)
}

// unlisted says why a list could not be had; "" when it was read to its end.
func (e *Environment) unlisted(method string) string {
	return lookUp[string](e, survey.WhyUnlisted(method))
}

// Handshakes are the revisions of the handshake era that a server of the stateless era
// agrees to when it is asked by initialize, as first contact has seen.
func Handshakes(t *T) []string { return lookUp[[]string](environmentOf(t), survey.Agreed) }

// Unimplemented are the released revisions that a server of the stateless era does not
// implement: it neither lists them nor agrees to a handshake at them. Where it lists none of
// the handshake era and serves some, those at which no handshake was tried are left out.
func Unimplemented(t *T, listed []string) []string {
	agreed, tried := Handshakes(t), lookUp[[]string](environmentOf(t), survey.Asked)
	isOld := func(revision string) bool { return protocol.Has(revision, protocol.Handshake) }
	silent := len(agreed) > 0 && !slices.ContainsFunc(listed, isOld)
	return slices.DeleteFunc(protocol.Released(), func(revision string) bool {
		return revision == t.Revision() || slices.Contains(listed, revision) || slices.Contains(agreed, revision) ||
			silent && !slices.Contains(tried, revision)
	})
}

func (e *Environment) declares(path string) bool {
	return lookUp[bool](e, survey.WhetherDeclares(path))
}

func (e *Environment) offers(tool string, arguments map[string]any) bool {
	return lookUp[bool](e, survey.WhetherOffers(tool, arguments))
}

func (e *Environment) tools() []Object { return lookUp[[]Object](e, survey.AllTools) }

func (e *Environment) resources() []Object { return lookUp[[]Object](e, survey.AllResources) }

func (e *Environment) prompts() []Object { return lookUp[[]Object](e, survey.AllPrompts) }

// noBarrier says why the target does not answer what every server must; "" when it
// does.
func (e *Environment) noBarrier() string { return lookUp[string](e, survey.WhyNoBarrier) }

// lookUp asks the survey, and tells that it did.
func lookUp[T any](e *Environment, question survey.Question) T {
	if e.Asked != nil {
		e.Asked(question)
	}
	answer, _ := e.Survey.Answer(question).(T)
	return answer
}
