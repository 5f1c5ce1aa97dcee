// Page server/utilities/completion: suggestions while a user types.

package server

import (
	"slices"
	"strings"
)

// maxCompletions is how many values one answer may hold.
const maxCompletions = 100

// A completer returns all values that an argument can have, best first, given
// the arguments that are already filled in.
type completer func(filledIn map[string]string) []string

type completeParams struct {
	Ref struct {
		Type string `json:"type"`
		Name string `json:"name,omitempty"` // of a ref/prompt
		URI  string `json:"uri,omitempty"`  // of a ref/resource
	} `json:"ref"`
	Argument struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
	Context struct {
		Arguments map[string]string `json:"arguments,omitempty"`
	} `json:"context,omitzero"`
}

func (c *call) complete(params completeParams) (any, error) {
	all, err := c.features.completer(params)
	if err != nil {
		return nil, err
	}
	values := []string{} // no suggestion is [], not null
	if all != nil {
		typed := strings.ToLower(params.Argument.Value)
		for _, value := range all(params.Context.Arguments) {
			if strings.HasPrefix(strings.ToLower(value), typed) {
				values = append(values, value)
			}
		}
	}
	total := len(values)
	values = values[:min(total, maxCompletions)]
	return object{"completion": object{"values": values, "total": total, "hasMore": total > len(values)}}, nil
}

// completer finds what completes the argument: nil when nothing does.
func (f *features) completer(params completeParams) (completer, error) {
	name := params.Argument.Name
	switch params.Ref.Type {
	case "ref/prompt":
		p, err := f.prompts.find(params.Ref.Name)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(p.Arguments, func(a promptArgument) bool { return a.Name == name })
		if i < 0 {
			return nil, invalidParams("the prompt %q has no argument %q", p.Name, name)
		}
		return p.Arguments[i].complete, nil
	case "ref/resource":
		t, err := f.templates.find(params.Ref.URI)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(t.URITemplate, "{"+name+"}") {
			return nil, invalidParams("the resource template %q has no variable %q", t.URITemplate, name)
		}
		return t.complete[name], nil
	default:
		return nil, invalidParams(`params.ref.type must be "ref/prompt" or "ref/resource", but is %q`, params.Ref.Type)
	}
}
