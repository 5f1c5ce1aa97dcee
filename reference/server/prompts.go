// Page server/prompts: messages for a user to choose.

package server

type prompt struct {
	described

	Arguments []promptArgument `json:"arguments,omitempty"`

	get func(c *call, arguments map[string]string) (messages []object, err error)
}

type promptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`

	complete completer // nil when there is nothing to suggest
}

// user is a message of the user.
func user(content object) object { return object{"role": "user", "content": content} }

type getPromptParams struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

func (c *call) getPrompt(params getPromptParams) (any, error) {
	p, err := c.features.prompts.find(params.Name)
	if err != nil {
		return nil, err
	}
	for _, argument := range p.Arguments {
		if _, given := params.Arguments[argument.Name]; argument.Required && !given {
			return nil, invalidParams("the prompt %q needs the argument %q", p.Name, argument.Name)
		}
	}
	messages, err := p.get(c, params.Arguments)
	return object{"description": p.Description, "messages": messages}, err
}
