// Package lines reads the lines that a target wrote over stdio: which are messages, which
// were meant for one, and which belong together.
package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// LooksLikeJSON leaves out what a program writes to standard output beside its
// messages: no JSON, but no message either. A line such as "[INFO] ready" is none.
func LooksLikeJSON(message *rules.Message) bool {
	const spaces = " \t\r\n\f"
	begun := bytes.TrimLeft(message.Raw, spaces+"\ufeff")
	if list, isList := bytes.CutPrefix(begun, []byte("[")); isList {
		list = bytes.TrimLeft(list, spaces)
		return len(list) > 0 && bytes.IndexByte([]byte("[]{"), list[0]) >= 0
	}
	return bytes.HasPrefix(begun, []byte("{"))
}

// ObjectsIn returns how many JSON objects a line consists of; 0 when there is
// anything else on it.
func ObjectsIn(line *rules.Message) int {
	if !rules.HasFlaw(line, jsonrpc.Trailing) {
		return 0
	}
	decoder := json.NewDecoder(bytes.NewReader(line.Raw))
	for count := 0; ; count++ {
		var object map[string]json.RawMessage
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return count
		case err != nil:
			return 0
		}
	}
}

// EveryWhole is every for rules about the text of messages: it leaves out lines of
// standard output that the rules of stdio judge.
func EveryWhole(concerned func(*rules.Message) bool, wrong func(*rules.Message) rules.Mismatch) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		stray := strayLines(conversation)
		rules.Every(
			func(message *rules.Message) bool { return !stray[message] && concerned(message) },
			wrong,
		)(
			conversation,
			reporter,
		)
	}
}

// strayLines finds the lines of standard output that are no messages by
// themselves: those over which one is spread, those that hold several, those that
// were never meant for one, and the beginning of one that the end of the process
// cut off.
func strayLines(conversation *rules.Conversation) map[*rules.Message]bool {
	return rules.Shared(conversation, "strayLines", readStrayLines)
}

func readStrayLines(conversation *rules.Conversation) map[*rules.Message]bool {
	if conversation.Transport != protocol.Stdio {
		return nil
	}
	stray := map[*rules.Message]bool{}
	messages := conversation.ByTarget()
	for first, count := range Spread(messages) {
		for _, part := range messages[first : first+count] {
			stray[part] = true
		}
	}
	for _, one := range messages {
		if !MeantAsMessage(one) || one.Event.Note != "" || ObjectsIn(one) > 1 {
			stray[one] = true
		}
	}
	return stray
}

// MeantAsMessage tells whether a line was meant for a message, well made or not: a
// list, or an object that has a member of one, as those of a log have not.
func MeantAsMessage(message *rules.Message) bool {
	if message.Object == nil {
		return LooksLikeJSON(message)
	}
	return slices.ContainsFunc(
		[]string{"jsonrpc", "id", "method", "params", "result", "error"},
		func(name string) bool {
			_, there := message.Object[name]
			return there
		},
	)
}

const (
	// maxSpread bounds the lines of one message that is spread over several:
	// that of an indented list of tools is shorter.
	maxSpread = 10_000
	// maxAttempts bounds how many beginnings are followed in vain.
	maxAttempts = 100
)

// Spread finds objects that are written over several lines: for the index of
// the first line of each, how many there are.
func Spread(messages []*rules.Message) map[int]int {
	found := map[int]int{}
	for first, attempts := 0, 0; first < len(messages) && attempts < maxAttempts; first++ {
		_, broken := messages[first].Broken()
		if !broken || !bytes.HasPrefix(bytes.TrimLeft(messages[first].Raw, " \t\r"), []byte("{")) {
			continue
		}
		attempts++
		if count := objectLines(messages[first:]); count > 1 {
			found[first] = count
			first += count - 1
		}
	}
	return found
}

// objectLines returns on how many of the first lines there is one JSON object,
// or 0. The newlines do not count, as some may stand inside a text.
func objectLines(messages []*rules.Message) int {
	messages = messages[:min(len(messages), maxSpread)]
	readers := make([]io.Reader, 0, len(messages))
	for _, line := range messages {
		readers = append(readers, bytes.NewReader(line.Raw))
	}
	decoder := json.NewDecoder(io.MultiReader(readers...))
	var object map[string]json.RawMessage
	if decoder.Decode(&object) != nil {
		return 0
	}
	end := decoder.InputOffset()
	for index, line := range messages {
		if length := int64(len(line.Raw)); end > length {
			end -= length
			continue
		}
		if len(bytes.TrimSpace(line.Raw[end:])) > 0 {
			return 0
		}
		return index + 1
	}
	return 0
}
