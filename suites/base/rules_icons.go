package base

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// iconRules are about the icons that a target shows of itself and of what it
// has.
func iconRules() []rules.Rule {
	return []rules.Rule{
		{Text: "sends icons whose src is an HTTP, HTTPS or data URI", Verifies: rules.Verifies("base.icons.source"), Judge: iconSources},
		{Text: "sends icons whose sizes are width and height, as in 48x48, or any", Verifies: rules.Verifies("base.icons.sizes"), Judge: iconSizes},
	}
}

// icons returns all icons in the target's messages.
func icons(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, message := range conversation.ByTarget() {
		for _, icons := range slices.Concat(places.Named(message, "icons"), introducing(message)) {
			for index, icon := range mcp.List(icons.Value) {
				all = append(all, places.Found{Place: places.Place{Pointer: fmt.Sprintf("%s/%d", icons.Pointer, index), Value: icon}, Said: message})
			}
		}
	}
	return all
}

// introducing returns the icons of who sent a message, as it says in its _meta since
// 2026-07-28.
func introducing(message *rules.Message) []places.Place {
	carrier := "/params/_meta"
	if rules.IsResponse(message) {
		carrier = "/result/_meta"
	}
	var all []places.Place
	for _, key := range []string{mcp.MetaClientInfo, mcp.MetaServerInfo} {
		if icons, there := (places.Place{Pointer: carrier + jsonrpc.Pointer(key), Value: message.Meta()[key]}).Member("icons"); there {
			all = append(all, icons)
		}
	}
	return all
}

func iconSources(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, source := range places.Within(icons(conversation), "src") {
		reporter.Observe()
		if !isIconSource(source.Text()) {
			reporter.Violation(source.Said, rules.Mismatch{
				Wanted: "an HTTP or HTTPS URL, or a data URI with base64 data",
				Found:  rules.Show(source.Value),
				Where:  source.Pointer,
			})
		}
	}
}

func isIconSource(text string) bool {
	source, err := url.Parse(text)
	if err != nil {
		return false
	}
	switch strings.ToLower(source.Scheme) {
	case "http", "https":
		return source.Host != ""
	case "data":
		kind, data, split := strings.Cut(text, ",")
		return split && strings.HasSuffix(strings.ToLower(kind), ";base64") && isBase64(data)
	}
	return false
}

// isBase64 also takes what escapes a URI needs not, and what it may: padding
// left out or escaped.
func isBase64(data string) bool {
	plain, err := url.PathUnescape(data)
	if err != nil {
		return false
	}
	_, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "="))
	return err == nil
}

var iconSize = lazy.MustCompile(`^(?:any|[1-9][0-9]*x[1-9][0-9]*)$`)

func iconSizes(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, sizes := range places.Within(icons(conversation), "sizes") {
		for index, size := range mcp.List(sizes.Value) {
			reporter.Observe()
			if text, isText := size.(string); !isText || !iconSize.MatchString(text) {
				reporter.Violation(sizes.Said, rules.Mismatch{
					Wanted: `a size such as "48x48", or "any"`, Found: rules.Show(size),
					Where: fmt.Sprintf("%s/%d", sizes.Pointer, index),
				})
			}
		}
	}
}
