// What this server serves: prompts.

package server

import (
	"fmt"
	"net/url"
)

func fixturePrompts() []prompt {
	return []prompt{
		{
			Name: "test_simple_prompt", Title: "Simple prompt",
			Description: "One message, no arguments", Icons: icons, Meta: exampleMeta,
			get: func(*call, map[string]string) ([]promptMessage, error) {
				return []promptMessage{user(text("This is a simple prompt for testing."))}, nil
			},
		},
		{
			Name: "test_prompt_with_arguments", Title: "Prompt with arguments",
			Description: "Repeats its two arguments",
			Arguments: []promptArgument{
				{Name: "arg1", Title: "First", Description: "The first of the two", Required: true, complete: fruits},
				{Name: "arg2", Title: "Second", Description: "The second of the two", Required: true},
			},
			get: func(_ *call, arguments map[string]string) ([]promptMessage, error) {
				return []promptMessage{user(text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'",
					arguments["arg1"], arguments["arg2"])))}, nil
			},
		},
		{
			Name:        "test_prompt_with_embedded_resource",
			Title:       "Prompt with an embedded resource",
			Description: "Embeds a resource with the URI that it is given",
			Arguments: []promptArgument{
				{Name: "resourceUri", Description: "The URI of the resource", Required: true},
			},
			get: func(_ *call, arguments map[string]string) ([]promptMessage, error) {
				uri := arguments["resourceUri"]
				if parsed, err := url.Parse(uri); err != nil || parsed.Scheme == "" {
					return nil, invalidParams("the argument resourceUri must be an absolute URI, but is %q", uri)
				}
				return []promptMessage{
					user(embedded(textAt(uri, "text/plain", "Embedded resource content for testing."))),
					user(text("Please process the embedded resource above.")),
				}, nil
			},
		},
		{
			Name: "test_prompt_with_image", Title: "Prompt with a picture",
			Description: "A picture of one pixel, and what to do with it",
			get: func(*call, map[string]string) ([]promptMessage, error) {
				return []promptMessage{user(image(pixelPNG)), user(text("Please analyze the image above."))}, nil
			},
		},
		{
			Name: "test_prompt_with_audio", Title: "Prompt with a sound",
			Description: "A moment of silence, and an answer of the assistant", span: from20250326,
			get: func(*call, map[string]string) ([]promptMessage, error) {
				return []promptMessage{user(audio(silenceWAV)), assistant(text("I hear nothing."))}, nil
			},
		},
		{
			Name: "test_prompt_with_completion", Title: "Prompt with suggestions",
			Description: "Greets somebody; the names that are suggested depend on the language",
			Arguments: []promptArgument{
				{Name: "language", Description: "A language", Required: true, complete: languages},
				{Name: "name", Description: "Whom to greet", complete: names},
				{
					Name:        "number",
					Description: "How often; has more suggestions than fit in one answer",
					complete:    numbers,
				},
			},
			get: func(_ *call, arguments map[string]string) ([]promptMessage, error) {
				return []promptMessage{user(text(fmt.Sprintf(
					"Greet %s in %s, %s times.",
					orElse(
						arguments["name"],
						"everybody",
					),
					arguments["language"],
					orElse(arguments["number"], "three"),
				)))}, nil
			},
		},
		{
			Name: "test_prompt_with_resource_link", Title: "Prompt with a link",
			Description: "A link to a resource, and what to do with it", span: from20250618,
			get: func(*call, map[string]string) ([]promptMessage, error) {
				return []promptMessage{
					user(link(&resource{URI: "test://static-text", Name: "static-text", MIMEType: "text/plain"})),
					user(text("Please read the linked resource.")),
				}, nil
			},
		},
		inputPrompt(),
	}
}

// transientPrompt is there or not, as test_trigger_prompt_change decides.
var transientPrompt = &prompt{
	Name: "test_transient_prompt", Title: "Transient prompt", Description: "Comes and goes",
	get: func(*call, map[string]string) ([]promptMessage, error) {
		return []promptMessage{user(text("Here today, gone tomorrow."))}, nil
	},
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
