package offer

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/survey"
)

// Declares tells whether the target declared a capability.
func Declares(t *T, path string) bool { return of(t).declares(path) }

// NeedDeclarations makes the check inconclusive unless the server has said what it declares:
// where it has not, nothing that it does is undeclared.
func NeedDeclarations(t *T) {
	if lookUp[bool](of(t), survey.IfInferred) {
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
func ListedTools(t *T) []Object { return of(t).tools() }

// ListedTool is the first tool of a name that the target listed; nil for none.
func ListedTool(t *T, name string) Object { return of(t).listed(name) }

// ListedResources are the resources that the target listed.
func ListedResources(t *T) []Object { return of(t).resources() }

// ListedTemplates are the resource templates that the target listed.
func ListedTemplates(t *T) []Object { return lookUp[[]Object](of(t), survey.AllTemplates) }

// ListedPrompts are the prompts that the target listed.
func ListedPrompts(t *T) []Object { return of(t).prompts() }

// NoneListed ends a check that finds nothing of what it needs in a list: it does not
// apply, unless the list could not be had.
func NoneListed(t *T, method, reason string) {
	if unread := of(t).unlisted(method); unread != "" {
		t.Inconclusive(unread, "fix the failures of "+method+" first")
	}
	t.NotApplicable(reason)
}

// unlisted says why a list could not be had; "" when it was read to its end.
func (o *Offer) unlisted(method string) string {
	return lookUp[string](o, survey.WhyUnlisted(method))
}

// Handshakes are the revisions of the handshake era that a server of the stateless era
// agrees to when it is asked by initialize, as first contact has seen.
func Handshakes(t *T) []string { return lookUp[[]string](of(t), survey.Agreed) }

// Unimplemented are the released revisions that a server of the stateless era does not
// implement: it neither lists them nor agrees to a handshake at them. Where it lists none of
// the handshake era and serves some, those at which no handshake was tried are left out.
func Unimplemented(t *T, listed []string) []string {
	agreed, tried := Handshakes(t), lookUp[[]string](of(t), survey.Asked)
	isOld := func(revision string) bool { return protocol.Has(revision, protocol.Handshake) }
	silent := len(agreed) > 0 && !slices.ContainsFunc(listed, isOld)
	return slices.DeleteFunc(protocol.Released(), func(revision string) bool {
		return revision == t.Revision() || slices.Contains(listed, revision) || slices.Contains(agreed, revision) ||
			silent && !slices.Contains(tried, revision)
	})
}

func (o *Offer) declares(path string) bool {
	return lookUp[bool](o, survey.WhetherDeclares(path))
}

func (o *Offer) offers(tool string, arguments map[string]any) bool {
	return lookUp[bool](o, survey.WhetherOffers(tool, arguments))
}

func (o *Offer) tools() []Object { return lookUp[[]Object](o, survey.AllTools) }

// listed finds a tool by its name without looking through all of them: a server may list
// thousands, and checks ask for each.
func (o *Offer) listed(name string) Object {
	tools := o.tools()
	o.index.Do(func() {
		o.byName = make(map[string]Object, len(tools))
		for _, tool := range slices.Backward(tools) { // of two with one name the first stays
			if name, isText := tool["name"].(string); isText {
				o.byName[name] = tool
			}
		}
	})
	return o.byName[name]
}

func (o *Offer) resources() []Object { return lookUp[[]Object](o, survey.AllResources) }

func (o *Offer) prompts() []Object { return lookUp[[]Object](o, survey.AllPrompts) }

// lookUp asks the survey, and tells that it did.
func lookUp[T any](o *Offer, question survey.Question) T {
	if o.Asked != nil {
		o.Asked(question)
	}
	answer, _ := o.Survey.Answer(question).(T)
	return answer
}
