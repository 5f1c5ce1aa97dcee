package formats

import (
	"errors"
	"mime"
	"strings"
)

// IsMediaType tells whether a text is a media type, type and subtype, with or
// without parameters (RFC 2045, section 5.1). Parameters are not judged.
func IsMediaType(text string) bool {
	name, _, err := mime.ParseMediaType(text)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return false
	}
	return strings.Count(name, "/") == 1
}

// AMediaType is what a mimeType should be, in words.
const AMediaType = "a media type, such as image/png"
