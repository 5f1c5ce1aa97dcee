// Page server/prompts: messages for a user to choose.

package server

type prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Icons       []icon           `json:"icons,omitempty"` // from 2025-11-25
	Arguments   []promptArgument `json:"arguments,omitempty"`
	Meta        object           `json:"_meta,omitempty"`

	span
	get func(c *call, arguments map[string]string) ([]promptMessage, error)
}

type promptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`

	complete completer // nil when there is nothing to suggest
}

type promptMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// user is a message of the user.
func user(content any) promptMessage { return promptMessage{"user", content} }

// assistant is a message of the model.
func assistant(content any) promptMessage { return promptMessage{"assistant", content} }

type listPromptsResult struct {
	Prompts    []*prompt `json:"prompts"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

type getPromptParams struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

type getPromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []promptMessage `json:"messages"`
}

func (c *call) listPrompts(params listParams) (listPromptsResult, error) {
	c.features.mu.Lock()
	defer c.features.mu.Unlock()
	prompts, next, err := c.features.prompts.page(c.features.cursors+"prompts", params.Cursor, promptsPage)
	return listPromptsResult{prompts, next}, err
}

func (c *call) getPrompt(params getPromptParams) (getPromptResult, error) {
	p, err := c.features.prompt(params.Name)
	if err != nil {
		return getPromptResult{}, err
	}
	for _, argument := range p.Arguments {
		if _, given := params.Arguments[argument.Name]; argument.Required && !given {
			return getPromptResult{}, invalidParams("the prompt %q needs the argument %q", p.Name, argument.Name)
		}
	}
	messages, err := p.get(c, params.Arguments)
	return getPromptResult{p.Description, messages}, err
}

func (f *features) prompt(name string) (*prompt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, known := f.prompts.find(func(p *prompt) bool { return p.Name == name })
	if !known {
		return nil, invalidParams("unknown prompt %q", name)
	}
	return p, nil
}

// changePrompts is to prompts what changeTools is to tools.
func (f *features) changePrompts(item *prompt) {
	f.mu.Lock()
	if !f.prompts.remove(func(p *prompt) bool { return p.Name == item.Name }) {
		f.prompts.add(item)
	}
	f.mu.Unlock()
	f.announce("notifications/prompts/list_changed", nil)
}

// at returns the prompt as a revision describes it.
func (p prompt) at(revision string) *prompt {
	if revision < Revision20251125 {
		p.Icons = nil
	}
	if revision < Revision20250618 {
		p.Title, p.Meta = "", nil
	}
	return &p
}
