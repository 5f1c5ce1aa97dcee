// Package arguments finds values for the arguments of prompts and the
// variables of resource templates, for the checks of several pages.
package arguments

import (
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/session"
)

// Argument is one that can be completed: of a prompt or of a template.
type Argument struct {
	Ref         check.Object // as completion/complete takes it
	Name        string
	Description string
	Required    bool
}

// OfPrompt returns the arguments that a prompt declares.
func OfPrompt(prompt check.Object) []Argument {
	declared := mcp.List(prompt, "arguments")
	var arguments []Argument
	for _, element := range declared {
		argument := mcp.Object(element)
		if name, named := argument["name"].(string); named {
			arguments = append(arguments, Argument{
				Ref:         check.Object{"type": "ref/prompt", "name": prompt["name"]},
				Name:        name,
				Description: mcp.Text(argument, "description"),
				Required:    argument["required"] == true,
			})
		}
	}
	return arguments
}

// OfTemplate returns the variables of a resource template; none, when its URI
// template cannot be read.
func OfTemplate(template check.Object) []Argument {
	text := mcp.Text(template, "uriTemplate")
	parsed, err := uritemplate.New(text)
	if err != nil {
		return nil
	}
	var arguments []Argument
	for _, name := range parsed.Varnames() {
		arguments = append(arguments, Argument{Ref: check.Object{"type": "ref/resource", "uri": text}, Name: name, Required: true})
	}
	return arguments
}

// Expand returns the URI that a resource template makes of values for its variables;
// expanded is false when its URI template cannot be read.
func Expand(template check.Object, values map[string]string) (uri string, expanded bool) {
	parsed, err := uritemplate.New(mcp.Text(template, "uriTemplate"))
	if err != nil {
		return "", false
	}
	filled := uritemplate.Values{}
	for name, value := range values {
		filled.Set(name, uritemplate.String(value))
	}
	uri, err = parsed.Expand(filled)
	return uri, err == nil
}

// Completable returns every argument of the target's prompts and templates, at
// most limit.
func Completable(t *check.T, limit int) []Argument {
	var all []Argument
	for _, prompt := range offer.ListedPrompts(t) {
		all = append(all, OfPrompt(prompt)...)
	}
	for _, template := range offer.ListedTemplates(t) {
		all = append(all, OfTemplate(template)...)
	}
	return all[:min(limit, len(all))]
}

// Completion returns the params of a completion/complete request that asks for
// the values of an argument, given those of others.
func (a Argument) Completion(value string, known map[string]string) check.Object {
	params := check.Object{"ref": a.Ref, "argument": check.Object{"name": a.Name, "value": value}}
	if len(known) > 0 {
		params["context"] = check.Object{"arguments": known}
	}
	return params
}

// Completed fills arguments with the first values that the server completes
// them with, each given those before. It is false when one has none.
func Completed(t *check.T, server *session.Server, all []Argument) (values map[string]string, complete bool) {
	values = map[string]string{}
	for _, argument := range all {
		value, found := first(t, server, argument, values)
		if !found {
			return values, false
		}
		values[argument.Name] = value
	}
	return values, true
}

// beginnings are what completions are asked for, one after the other: some
// servers complete nothing when nothing is typed.
var beginnings = []string{"", "1", "a"}

func first(t *check.T, server *session.Server, argument Argument, known map[string]string) (string, bool) {
	if !offer.Declares(t, "completions") {
		return "", false
	}
	if !t.Has(protocol.CompletionContext) {
		known = nil
	}
	for _, typed := range beginnings {
		reply := server.Call("completion/complete", argument.Completion(typed, known)).May()
		if !reply.Answered() {
			return "", false
		}
		values := mcp.List(reply.Object(), "completion", "values")
		if len(values) == 0 {
			continue
		}
		value, isString := values[0].(string)
		return value, isString
	}
	return "", false
}

// Made fills the required ones among arguments with made-up values, by what they are
// called and described as.
func Made(t *check.T, all []Argument) map[string]string {
	values := map[string]string{}
	for _, argument := range Required(all) {
		values[argument.Name] = offer.Plausible(t, argument.Name, argument.Description)
	}
	return values
}

// Required returns those arguments that must be given.
func Required(all []Argument) []Argument {
	var required []Argument
	for _, argument := range all {
		if argument.Required {
			required = append(required, argument)
		}
	}
	return required
}
