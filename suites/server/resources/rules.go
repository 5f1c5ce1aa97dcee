package resources

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/formats"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// Rules are the rules of the page server/resources.
func Rules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "lists no two resources with the same uri",
			Verifies: rules.Verifies("resources.uri.unique"),
			Judge:    places.UniqueNames("resources/list", "uri", "notifications/resources/list_changed"),
		},
		{
			Text:     "identifies resources by a uri that is valid by RFC 3986",
			Verifies: rules.Verifies("resources.uri.valid"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				claims.JudgeBy(conversation, reporter, resourceURIs(conversation), "Resource/properties/uri")
			},
		},
		{
			Text:     "lists resource templates with a uriTemplate that is valid by RFC 6570",
			Verifies: rules.Verifies("resources.templates.valid"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				claims.JudgeBy(
					conversation,
					reporter,
					places.Within(places.Listed(conversation, "resources/templates/list"), "uriTemplate"),
					"ResourceTemplate/properties/uriTemplate",
				)
			},
		},
		{
			Text:     "sets mimeType of resources to a valid media type",
			Verifies: rules.Verifies("resources.mime-type.valid"),
			Judge: places.JudgeText(func(conversation *rules.Conversation) []places.Found {
				return places.Within(slices.Concat(
					places.Listed(conversation, "resources/list"),
					places.Listed(conversation, "resources/templates/list"),
					places.ReadContents(conversation),
					places.OfType(places.ToolContent(conversation), "resource_link"),
					places.Within(places.OfType(places.ToolContent(conversation), "resource"), "resource"),
				), "mimeType")
			}, formats.AMediaType, formats.IsMediaType),
		},
		{
			Text:     "returns binary resource contents with a base64 blob",
			Verifies: rules.Verifies("resources.blob.encoded"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				claims.JudgeBy(conversation, reporter, places.Within(slices.Concat(
					places.ReadContents(conversation),
					places.Within(places.OfType(places.ToolContent(conversation), "resource"), "resource"),
				), "blob"), "BlobResourceContents/properties/blob")
			},
		},
	}, annotationRules())
}

func annotationRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "returns images, audio and other binary files as blob, not as text",
			Verifies: rules.Verifies("resources.text.textual"),
			Judge:    binaryAsText,
		},
		{
			Text:     "uses only user and assistant as audience in annotations",
			Verifies: rules.Verifies("resources.annotations.audience"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				claims.JudgeBy(conversation, reporter, annotations(conversation, "audience"), "Annotations/properties/audience")
			},
		},
		{
			Text:     "sets priority in annotations to a number from 0 to 1",
			Verifies: rules.Verifies("resources.annotations.priority"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				claims.JudgeBy(conversation, reporter, annotations(conversation, "priority"), "Annotations/properties/priority")
			},
		},
		{
			Text:     "sets lastModified in annotations to an ISO 8601 date and time",
			Verifies: rules.Verifies("resources.annotations.last-modified"),
			Judge: places.JudgeText(func(conversation *rules.Conversation) []places.Found {
				return annotations(conversation, "lastModified")
			}, "an ISO 8601 date and time, such as 2025-01-12T15:00:58Z", formats.IsISO8601),
		},
		{
			Text:     "sends notifications/resources/updated only to a client that sent resources/subscribe",
			Verifies: rules.Verifies("resources.updated.subscribed"),
			Judge:    updatesAfterSubscription,
		},
	}
}

// resourceURIs returns every URI of a resource that the target sent, save
// those embedded in prompts, which have a sentence of their own.
func resourceURIs(conversation *rules.Conversation) []places.Found {
	uris := places.Within(slices.Concat(
		places.Listed(conversation, "resources/list"),
		places.ReadContents(conversation),
		places.OfType(places.ToolContent(conversation), "resource_link"),
		places.OfType(places.PromptContent(conversation), "resource_link"),
		places.Within(places.OfType(places.ToolContent(conversation), "resource"), "resource"),
	), "uri")
	for _, message := range conversation.Notifications("notifications/resources/updated") {
		params := places.Place{Pointer: "/params", Value: message.Params()}
		if uri, there := params.Member("uri"); there {
			uris = append(uris, places.Found{Place: uri, Said: message})
		}
	}
	return uris
}

// annotations returns a member of everything that carries annotations for
// clients; those of tools are of another kind.
func annotations(conversation *rules.Conversation, member string) []places.Found {
	return places.Within(places.Within(slices.Concat(
		places.Listed(conversation, "resources/list"),
		places.Listed(conversation, "resources/templates/list"),
		places.ToolContent(conversation),
		places.PromptContent(conversation),
		sampledContent(conversation),
	), "annotations"), member)
}

// sampledContent returns the content of the samples that a target client gave.
func sampledContent(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, one := range facts.Answers(conversation, facts.SamplingMethod) {
		for _, block := range facts.TurnAt(one.Place).Blocks {
			all = append(all, places.Found{Place: block, Said: one.Said})
		}
	}
	return all
}

// updatesAfterSubscription judges updates on connections where the client
// never asked for any. After an unsubscription some may still be on their way.
func updatesAfterSubscription(conversation *rules.Conversation, reporter *rules.Reporter) {
	if !conversation.Complete || conversation.ServerCapabilities == nil {
		return
	}
	subscribed := false
	for _, message := range conversation.Messages {
		switch {
		case message.Kind == jsonrpc.Request && message.Method == "resources/subscribe" && !message.FromTarget(conversation.Cell):
			subscribed = true
		case message.Kind == jsonrpc.Notification && message.Method == "notifications/resources/updated" && message.FromTarget(conversation.Cell):
			reporter.Observe()
			if !subscribed {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "no update before resources/subscribe",
					Found:  "one of " + rules.Show(message.ParamsObject()["uri"]), Where: "/method",
				})
			}
		}
	}
}
