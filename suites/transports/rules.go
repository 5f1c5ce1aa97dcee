package transports

import (
	"fmt"
	"unicode/utf8"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// Rules are the rules of every transport.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "encodes its messages in UTF-8",
			Verifies: rules.Verifies("transports.utf8"),
			Judge:    rules.Every(func(*rules.Message) bool { return true }, otherEncoding),
		},
	}
}

// beside is how many bytes are shown on either side of one that belongs to no character.
const beside = 40

func otherEncoding(said *rules.Message) rules.Mismatch {
	if utf8.Valid(said.Raw) {
		return rules.Mismatch{}
	}
	position := 0
	for position < len(said.Raw) {
		character, size := utf8.DecodeRune(said.Raw[position:])
		if character == utf8.RuneError && size == 1 {
			break
		}
		position += size
	}
	return rules.Mismatch{
		Wanted: "a message in UTF-8",
		Found: fmt.Sprintf(
			"the byte 0x%02X, which belongs to no character, between %q and %q",
			said.Raw[position],
			said.Raw[max(0, position-beside):position],
			said.Raw[position+1:min(len(said.Raw), position+1+beside)],
		),
		Where: fmt.Sprintf("byte %d", position),
	}
}
