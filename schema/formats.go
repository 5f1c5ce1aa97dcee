package schema

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yosida95/uritemplate/v3"
)

// formats are those that the specification's definitions use. The library has checks of its own for two of them, by
// net/url, which takes spaces and refuses escapes in hosts; the specification points to the RFCs.
var formats = []*jsonschema.Format{
	{Name: "byte", Validate: onString(checkBase64)},
	{Name: "uri", Validate: onString(checkURI)},
	{Name: "uri-template", Validate: onString(checkURITemplate)},
}

// formatNames says in words what a value of a format is.
var formatNames = map[string]string{
	"byte":         "base64 (RFC 4648, section 4)",
	"uri":          "a URI (RFC 3986)",
	"uri-template": "a URI template (RFC 6570)",
	"email":        "an email address",
	"date":         "a date (RFC 3339)",
	"date-time":    "a date and time (RFC 3339)",
	"time":         "a time (RFC 3339)",
	"regex":        "a regular expression",
}

func onString(check func(string) error) func(any) error {
	return func(value any) error {
		if text, ok := value.(string); ok {
			return check(text)
		}
		return nil // a format says nothing about other types
	}
}

func checkBase64(text string) error {
	if _, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(text))); err != nil {
		return errors.New("not standard base64 with padding")
	}
	return nil
}

func checkURITemplate(text string) error {
	_, err := uritemplate.New(text)
	return err
}

// uriParts takes a URI apart as RFC 3986, appendix B, does: authority, path with query, fragment.
var uriParts = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:(?://([^/?#]*))?([^#]*)(?:#(.*))?$`)

// authorityParts is an authority (section 3.2): user information, a host (bracketed if an IP literal), a port.
var authorityParts = regexp.MustCompile(
	`^(?:[^@\[\]]*@)?(?:\[[0-9A-Fa-fvV:.!$&'()*+,;=_~-]+\]|[^@:\[\]]*)(?::[0-9]*)?$`,
)

// IsURI tells whether a text is a URI (RFC 3986).
func IsURI(text string) bool { return checkURI(text) == nil }

// checkURI checks a URI by the grammar of RFC 3986, section 3.
func checkURI(text string) error {
	for i := range len(text) {
		switch char := text[i]; {
		case char == '%':
			if i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
				return fmt.Errorf("%% at byte %d is not followed by two hexadecimal digits", i)
			}
		case char <= ' ' || char >= 0x7f || strings.IndexByte("\"<>\\^`{|}", char) >= 0:
			return fmt.Errorf("the character at byte %d must be percent-encoded", i)
		}
	}
	parts := uriParts.FindStringSubmatch(text)
	switch {
	case parts == nil:
		return errors.New("it has no scheme")
	case !authorityParts.MatchString(parts[1]):
		return fmt.Errorf("%q is no host and port", parts[1])
	case strings.Contains(parts[3], "#"):
		return errors.New("it has two fragments")
	case strings.ContainsAny(parts[2]+parts[3], "[]"):
		return errors.New("brackets outside of the host must be percent-encoded")
	}
	return nil
}

func isHex(char byte) bool {
	return '0' <= char && char <= '9' || 'a' <= char && char <= 'f' || 'A' <= char && char <= 'F'
}
