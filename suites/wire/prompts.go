package wire

import (
	"regexp"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// PromptRules are the rules of the page server/prompts.
func PromptRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "uses prompts/list, prompts/get and notifications/prompts/list_changed only if declared",
			Requirements: []string{"prompts.capability.respected"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				undeclaredChangesOfPrompts(conversation, reporter)
				undeclaredRequestsForPrompts(conversation, reporter)
			},
		},
		{
			Text:         "lists no two prompts with the same name",
			Requirements: []string{"prompts.name.unique"},
			Judge:        unique("prompts/list", "name", "notifications/prompts/list_changed"),
		},
		{
			Text:         "returns images in prompts with base64 data",
			Requirements: []string{"prompts.image.encoded"},
			Judge:        encodedInPrompts("image", "ImageContent"),
		},
		{
			Text:         "returns images in prompts with a valid mimeType",
			Requirements: []string{"prompts.image.mime-type"},
			Judge:        typedInPrompts("image", "ImageContent"),
		},
		{
			Text:         "returns audio in prompts with base64 data",
			Requirements: []string{"prompts.audio.encoded"},
			Judge:        encodedInPrompts("audio", "AudioContent"),
		},
		{
			Text:         "returns audio in prompts with a valid mimeType",
			Requirements: []string{"prompts.audio.mime-type"},
			Judge:        typedInPrompts("audio", "AudioContent"),
		},
		{
			Text:         "embeds resources in prompts with a valid uri",
			Requirements: []string{"prompts.embedded-resource.uri"},
			Judge:        identifiedEmbeddings,
		},
		{
			Text:         "embeds resources in prompts with a valid mimeType",
			Requirements: []string{"prompts.embedded-resource.mime-type"},
			Judge:        typedEmbeddings,
		},
		{
			Text:         "embeds resources in prompts with text or a base64 blob",
			Requirements: []string{"prompts.embedded-resource.contents"},
			Judge:        filledEmbeddings,
		},
	}
}

func undeclaredChangesOfPrompts(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.ServerCapabilities == nil {
		return
	}
	for _, said := range conversation.Notifications("notifications/prompts/list_changed") {
		reporter.Observe()
		if !mcp.Declares(conversation.ServerCapabilities, "prompts.listChanged") {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "announcements only of a server that declares prompts.listChanged", Found: "one of a server that does not", Where: "/method",
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
		for _, said := range conversation.Requests(method) {
			reporter.Observe()
			if !mcp.Declares(conversation.ServerCapabilities, "prompts") {
				reporter.Violation(said, rules.Mismatch{
					Wanted: "requests for prompts only to a server that declares prompts", Found: "one to a server that does not", Where: "/method",
				})
			}
		}
	}
}

func embeddedInPrompts(conversation *rules.Conversation) []found {
	return within(ofType(promptContent(conversation), "resource"), "resource")
}

// What the page about prompts asks of content, members that are missing, too.
var (
	promptData      = regexp.MustCompile(`/content/data$`)
	promptMediaType = regexp.MustCompile(`/content/mimeType$`)
)

func encodedInPrompts(kind, definition string) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, content := range ofType(promptContent(conversation), kind) {
			judgeMembers(conversation, reporter, content, definition, promptData)
		}
	}
}

func typedInPrompts(kind, definition string) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, content := range ofType(promptContent(conversation), kind) {
			judgeMembers(conversation, reporter, content, definition, promptMediaType)
			mimeType, _ := content.member("mimeType")
			if text, isString := mimeType.value.(string); isString && !isMediaType(text) {
				reporter.Violation(content.said, rules.Mismatch{Wanted: aMediaType, Found: rules.Show(text), Where: mimeType.pointer})
			}
		}
	}
}

func identifiedEmbeddings(conversation *rules.Conversation, reporter *rules.Reporter) {
	var uris []found
	for _, resource := range embeddedInPrompts(conversation) {
		uri, there := resource.member("uri")
		switch {
		case there:
			uris = append(uris, found{uri, resource.said})
		case resource.object() != nil:
			reporter.Observe()
			reporter.Violation(resource.said, rules.Mismatch{
				Wanted: "a URI", Found: "an embedded resource without uri", Where: resource.pointer,
			})
		}
	}
	judgeBy(conversation, reporter, uris, "Resource/properties/uri")
}

// typedEmbeddings judges the media types of embedded resources, which the
// schema lets them leave out and the page does not.
func typedEmbeddings(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, resource := range embeddedInPrompts(conversation) {
		if resource.object() == nil {
			continue
		}
		reporter.Observe()
		switch mimeType, there := resource.member("mimeType"); {
		case !there:
			reporter.Violation(resource.said, rules.Mismatch{
				Wanted: aMediaType, Found: "an embedded resource without mimeType", Where: resource.pointer,
			})
		case !isMediaType(mimeType.text()):
			reporter.Violation(resource.said, rules.Mismatch{
				Wanted: aMediaType, Found: rules.Show(mimeType.value), Where: mimeType.pointer,
			})
		}
	}
}

// filledEmbeddings judges that embedded resources have contents, and that
// these are base64 where they are binary.
func filledEmbeddings(conversation *rules.Conversation, reporter *rules.Reporter) {
	var blobs []found
	for _, resource := range embeddedInPrompts(conversation) {
		if blob, binary := resource.member("blob"); binary {
			blobs = append(blobs, found{blob, resource.said})
			continue
		}
		reporter.Observe()
		text, there := resource.member("text")
		if _, isString := text.value.(string); !isString {
			mismatch := rules.Mismatch{Wanted: "text, or a blob of base64", Found: "neither", Where: resource.pointer}
			if there {
				mismatch.Found, mismatch.Where = rules.Show(text.value), text.pointer
			}
			reporter.Violation(resource.said, mismatch)
		}
	}
	judgeBy(conversation, reporter, blobs, "BlobResourceContents/properties/blob")
}
