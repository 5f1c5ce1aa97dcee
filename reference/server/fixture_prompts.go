// What this server serves: prompts.

package server

import (
	"fmt"
	"net/url"
)

func fixturePrompts() []*prompt {
	return []*prompt{
		{
			described: about("test_simple_prompt", "Simple prompt", "One message, no arguments").decorated(),
			get:       always(user(text("This is a simple prompt for testing."))),
		},
		{
			described: about("test_prompt_with_arguments", "Prompt with arguments", "Repeats its two arguments"),
			Arguments: []promptArgument{
				{Name: "arg1", Title: "First", Description: "The first of the two", Required: true, complete: fruits},
				{Name: "arg2", Title: "Second", Description: "The second of the two", Required: true},
			},
			get: func(_ *call, arguments map[string]string) ([]object, error) {
				return []object{user(text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'",
					arguments["arg1"], arguments["arg2"])))}, nil
			},
		},
		{
			described: about("test_prompt_with_embedded_resource", "Prompt with an embedded resource",
				"Embeds a resource with the URI that it is given"),
			Arguments: []promptArgument{
				{Name: "resourceUri", Description: "The URI of the resource", Required: true},
			},
			get: func(_ *call, arguments map[string]string) ([]object, error) {
				uri := arguments["resourceUri"]
				if parsed, err := url.Parse(uri); err != nil || parsed.Scheme == "" {
					return nil, invalidParams("the argument resourceUri must be an absolute URI, but is %q", uri)
				}
				return []object{
					user(embedded(textAt(uri, "text/plain", "Embedded resource content for testing."))),
					user(text("Please process the embedded resource above.")),
				}, nil
			},
		},
		{
			described: about("test_prompt_with_image", "Prompt with a picture",
				"A picture of one pixel, and what to do with it"),
			get: always(user(image()), user(text("Please analyze the image above."))),
		},
		{
			described: about("test_prompt_with_audio", "Prompt with a sound",
				"A moment of silence, and an answer of the assistant").during(from20250326),
			get: always(user(audio()), object{"role": "assistant", "content": text("I hear nothing.")}),
		},
		{
			described: about("test_prompt_with_completion", "Prompt with suggestions",
				"Greets somebody; the names that are suggested depend on the language"),
			Arguments: []promptArgument{
				{Name: "language", Description: "A language", Required: true, complete: languages},
				{Name: "name", Description: "Whom to greet", complete: names},
				{
					Name:        "number",
					Description: "How often; has more suggestions than fit in one answer",
					complete:    numbers,
				},
			},
			get: func(_ *call, arguments map[string]string) ([]object, error) {
				return []object{
					user(text(fmt.Sprintf("Greet %s in %s, %s times.", orElse(arguments["name"], "everybody"),
						arguments["language"], orElse(arguments["number"], "three")))),
				}, nil
			},
		},
		{
			described: about("test_prompt_with_resource_link", "Prompt with a link",
				"A link to a resource, and what to do with it").during(from20250618),
			get: always(user(link("static-text", "text/plain")), user(text("Please read the linked resource."))),
		},
		{
			described: about("test_input_required_result_prompt", "Prompt with a question",
				"Asks the user for a context, and repeats it").during(from20260728),
			get: func(c *call, _ map[string]string) ([]object, error) {
				c.retry.note = "asked for a context" // so that the client has a state to bring along
				ask := c.asks("user_context")
				result, err := c.elicitForm(ask, "Please provide context for the prompt", contextForm)
				return []object{user(text("Context: " + result.entered()))}, err
			},
		},
	}
}

// always makes what a prompt without arguments gives.
func always(messages ...object) func(*call, map[string]string) ([]object, error) {
	return func(*call, map[string]string) ([]object, error) { return messages, nil }
}

// transientPrompt is there or not, as test_trigger_prompt_change decides.
var transientPrompt = &prompt{
	described: about("test_transient_prompt", "Transient prompt", "Comes and goes"),
	get:       always(user(text("Here today, gone tomorrow."))),
}

func fruits(map[string]string) []string {
	return []string{"apple", "apricot", "banana", "papaya", "passion fruit", "pear"}
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
