package resources

import (
	"encoding/base64"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// binaryTypes are media types whose files no text can represent, beside those of pictures,
// sound and film.
var binaryTypes = []string{"application/pdf", "application/zip", "application/gzip", "application/x-gzip"}

// isBinary tells whether a media type is one of files that are no text.
func isBinary(mediaType string) bool {
	name, _, err := mime.ParseMediaType(mediaType)
	if err != nil || strings.HasSuffix(name, "+xml") || strings.HasSuffix(name, "+json") {
		return false // as of SVG
	}
	kind, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"image", "audio", "video"}, kind) || slices.Contains(binaryTypes, name)
}

// longestSniffed is as much of a text as shows what it holds: http.DetectContentType reads
// 512 bytes, which are 684 characters of base64.
const longestSniffed = 684

// holdsBinary tells whether a text is the bytes of a file that is none: in base64, or read
// as if they were text.
func holdsBinary(text string) bool {
	head := text[:min(len(text), longestSniffed)]
	if strings.ContainsAny(head, "\x00"+string(utf8.RuneError)) {
		return true
	}
	plain := strings.NewReplacer("\r", "", "\n", "", "=", "", "-", "+", "_", "/").Replace(head)
	decoded, _ := base64.RawStdEncoding.DecodeString(plain[:len(plain)/4*4])
	kind := http.DetectContentType(decoded)
	return len(decoded) > 0 && kind != "application/octet-stream" && !strings.HasPrefix(kind, "text/")
}

// binaryAsText finds contents of files that are no text, and are sent as text. What stands
// in the place of the file, such as a description of it, is none.
func binaryAsText(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, contents := range slices.Concat(
		places.ReadContents(conversation),
		places.Within(places.OfType(places.ToolContent(conversation), "resource"), "resource"),
		places.Within(places.OfType(places.PromptContent(conversation), "resource"), "resource"),
	) {
		mediaType := mcp.Text(contents.Object(), "mimeType")
		if !isBinary(mediaType) {
			continue
		}
		reporter.Observe()
		if text, isText := contents.Object()["text"].(string); isText && holdsBinary(text) {
			reporter.Violation(contents.Said, rules.Mismatch{
				Wanted: "the bytes of " + mediaType + " in blob",
				Found:  "a text with these bytes: " + excerpt.Short([]byte(text)),
				Where:  contents.Pointer + "/text",
			})
		}
	}
}
