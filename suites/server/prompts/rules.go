package prompts

import (
	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/formats"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// Rules are the rules of the page server/prompts.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "uses prompts/list, prompts/get and notifications/prompts/list_changed only if declared",
			Verifies: rules.Verifies("prompts.capability.respected"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				undeclaredChangesOfPrompts(conversation, reporter)
				undeclaredRequestsForPrompts(conversation, reporter)
			},
		},
		{
			Text:     "lists no two prompts with the same name",
			Verifies: rules.Verifies("prompts.name.unique"),
			Judge:    places.UniqueNames("prompts/list", "name", "notifications/prompts/list_changed"),
		},
		{
			Text:     "returns images in prompts with base64 data",
			Verifies: rules.Verifies("prompts.image.encoded"),
			Judge:    encodedInPrompts("image", "ImageContent"),
		},
		{
			Text:     "returns images in prompts with a valid mimeType",
			Verifies: rules.Verifies("prompts.image.mime-type"),
			Judge:    typedInPrompts("image", "ImageContent"),
		},
		{
			Text:     "returns audio in prompts with base64 data",
			Verifies: rules.Verifies("prompts.audio.encoded"),
			Judge:    encodedInPrompts("audio", "AudioContent"),
		},
		{
			Text:     "returns audio in prompts with a valid mimeType",
			Verifies: rules.Verifies("prompts.audio.mime-type"),
			Judge:    typedInPrompts("audio", "AudioContent"),
		},
		{
			Text:     "embeds resources in prompts with a valid uri",
			Verifies: rules.Verifies("prompts.embedded-resource.uri"),
			Judge:    identifiedEmbeddings,
		},
		{
			Text:     "embeds resources in prompts with a valid mimeType",
			Verifies: rules.Verifies("prompts.embedded-resource.mime-type"),
			Judge:    typedEmbeddings,
		},
		{
			Text:     "embeds resources in prompts with text or a base64 blob",
			Verifies: rules.Verifies("prompts.embedded-resource.contents"),
			Judge:    filledEmbeddings,
		},
	}
}

func undeclaredChangesOfPrompts(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.ServerCapabilities == nil {
		return
	}
	for _, message := range conversation.Notifications("notifications/prompts/list_changed") {
		reporter.Observe()
		if !mcp.Declares(conversation.ServerCapabilities, "prompts.listChanged") {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "the notification only from a server that declares prompts.listChanged",
				Found:  "one from a server that does not",
				Where:  "/method",
			})
		}
	}
}

// undeclaredRequestsForPrompts judges a client.
func undeclaredRequestsForPrompts(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.ServerCapabilities == nil {
		return
	}
	for _, method := range []string{"prompts/list", "prompts/get"} {
		for _, message := range conversation.Requests(method) {
			reporter.Observe()
			if !mcp.Declares(conversation.ServerCapabilities, "prompts") {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "prompt requests only to a server that declares prompts",
					Found:  "one to a server that does not",
					Where:  "/method",
				})
			}
		}
	}
}

func embeddedInPrompts(conversation *rules.Conversation) []places.Found {
	return places.Within(places.OfType(places.PromptContent(conversation), "resource"), "resource")
}

// What the page about prompts asks of content, members that are missing, too.
var (
	promptData      = lazy.MustCompile(`/content/data$`)
	promptMediaType = lazy.MustCompile(`/content/mimeType$`)
)

func encodedInPrompts(kind, definition string) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, content := range places.OfType(places.PromptContent(conversation), kind) {
			claims.JudgeMembers(conversation, reporter, content, definition, promptData)
		}
	}
}

func typedInPrompts(kind, definition string) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, content := range places.OfType(places.PromptContent(conversation), kind) {
			claims.JudgeMembers(conversation, reporter, content, definition, promptMediaType)
			mimeType, _ := content.Member("mimeType")
			if text, isString := mimeType.Value.(string); isString && !formats.IsMediaType(text) {
				reporter.Violation(content.Said, rules.Mismatch{Wanted: formats.AMediaType, Found: rules.Show(text), Where: mimeType.Pointer})
			}
		}
	}
}

func identifiedEmbeddings(conversation *rules.Conversation, reporter *rules.Reporter) {
	var uris []places.Found
	for _, resource := range embeddedInPrompts(conversation) {
		uri, there := resource.Member("uri")
		switch {
		case there:
			uris = append(uris, places.Found{Place: uri, Said: resource.Said})
		case resource.Object() != nil:
			reporter.Observe()
			reporter.Violation(resource.Said, rules.Mismatch{Wanted: "a URI", Found: "an embedded resource without uri", Where: resource.Pointer})
		}
	}
	claims.JudgeBy(conversation, reporter, uris, "Resource/properties/uri")
}

// typedEmbeddings judges the media types of embedded resources, which the
// schema lets them leave out and the page does not.
func typedEmbeddings(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, resource := range embeddedInPrompts(conversation) {
		if resource.Object() == nil {
			continue
		}
		reporter.Observe()
		switch mimeType, there := resource.Member("mimeType"); {
		case !there:
			reporter.Violation(resource.Said, rules.Mismatch{
				Wanted: formats.AMediaType, Found: "an embedded resource without mimeType", Where: resource.Pointer,
			})
		case !formats.IsMediaType(mimeType.Text()):
			reporter.Violation(resource.Said, rules.Mismatch{Wanted: formats.AMediaType, Found: rules.Show(mimeType.Value), Where: mimeType.Pointer})
		}
	}
}

// filledEmbeddings judges that embedded resources have contents, and that
// these are base64 where they are binary.
func filledEmbeddings(conversation *rules.Conversation, reporter *rules.Reporter) {
	var blobs []places.Found
	for _, resource := range embeddedInPrompts(conversation) {
		if blob, binary := resource.Member("blob"); binary {
			blobs = append(blobs, places.Found{Place: blob, Said: resource.Said})
			continue
		}
		reporter.Observe()
		text, there := resource.Member("text")
		if _, isString := text.Value.(string); !isString {
			mismatch := rules.Mismatch{Wanted: "text, or a blob of base64", Found: "neither", Where: resource.Pointer}
			if there {
				mismatch.Found, mismatch.Where = rules.Show(text.Value), text.Pointer
			}
			reporter.Violation(resource.Said, mismatch)
		}
	}
	claims.JudgeBy(conversation, reporter, blobs, "BlobResourceContents/properties/blob")
}
