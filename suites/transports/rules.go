package transports

import (
	"fmt"
	"unicode/utf8"

	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of every transport.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "encodes its messages in UTF-8",
			Verifies: rules.Verifies("transports.utf8"),
			Needs:    []transcript.Lack{transcript.RawBytes, transcript.Encoding},
			Judge:    rules.Every(func(*rules.Message) bool { return true }, otherEncoding),
		},
	}
}

// beside is how many bytes are shown on either side of one that belongs to no character.
const beside = 40

func otherEncoding(message *rules.Message) rules.Mismatch {
	if utf8.Valid(message.Raw) {
		return rules.Mismatch{}
	}
	position := 0
	for position < len(message.Raw) {
		character, size := utf8.DecodeRune(message.Raw[position:])
		if character == utf8.RuneError && size == 1 {
			break
		}
		position += size
	}
	return rules.Mismatch{
		Wanted: "a message in UTF-8",
		Found: fmt.Sprintf(
			"the byte 0x%02X, which belongs to no character, between %q and %q",
			message.Raw[position],
			message.Raw[max(0, position-beside):position],
			message.Raw[position+1:min(len(message.Raw), position+1+beside)],
		),
		Where: fmt.Sprintf("byte %d", position),
	}
}
