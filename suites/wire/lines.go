package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// StdioRules are the rules of stdio.
func StdioRules() []rules.Rule { return append(lines(), directions()...) }

// lines are about what is written on standard output and input.
func lines() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends messages without embedded newlines over stdio",
			Requirements: []string{"transports.stdio.newlines"},
			Judge:        embeddedNewlines,
		},
		{
			Text:         "writes only MCP messages to its peer over stdio",
			Requirements: []string{"transports.stdio.stdout", "transports.stdio.stdin"},
			Judge:        otherOutput,
		},
	}
}

func embeddedNewlines(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Transport != protocol.Stdio {
		return
	}
	said := conversation.ByTarget()
	parts := spread(said)
	for index, one := range said {
		reporter.Observe()
		if parts[index] > 0 {
			reporter.Violation(one, rules.Mismatch{
				Wanted: "a message on one line",
				Found:  fmt.Sprintf("one on %d lines, the first of which is %s", parts[index], excerpt.Short(one.Raw)),
			})
		} else if count := objectsIn(one); count > 1 {
			reporter.Violation(one, rules.Mismatch{
				Wanted: "a newline after each message",
				Found:  fmt.Sprintf("%d messages on one line: %s", count, excerpt.Short(one.Raw)),
			})
		}
	}
}

// objectsIn returns how many JSON objects a line consists of; 0 when there is
// anything else on it.
func objectsIn(line *rules.Message) int {
	if !hasFlaw(line, jsonrpc.Trailing) {
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

// otherOutput judges lines that were never meant for messages. What is meant for
// one, and is none, has rules of its own.
func otherOutput(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Transport != protocol.Stdio {
		return
	}
	said := conversation.ByTarget()
	parts := spread(said)
	for index := 0; index < len(said); index++ {
		if parts[index] > 0 {
			index += parts[index] - 1 // messages, though on several lines
			continue
		}
		reporter.Observe()
		if one := said[index]; !meantAsMessage(one) {
			reporter.Violation(one, rules.Mismatch{Wanted: "an MCP message", Found: fmt.Sprintf("the line %q", excerpt.Short(one.Raw))})
		}
	}
}

// whole is every for rules about the text of messages: it leaves out lines of
// standard output that the rules of stdio judge.
func whole(concerned func(*rules.Message) bool, wrong func(*rules.Message) rules.Mismatch) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		stray := strayLines(conversation)
		every(func(said *rules.Message) bool { return !stray[said] && concerned(said) }, wrong)(conversation, reporter)
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
	said := conversation.ByTarget()
	for first, count := range spread(said) {
		for _, part := range said[first : first+count] {
			stray[part] = true
		}
	}
	for _, one := range said {
		if !meantAsMessage(one) || one.Event.Note != "" || objectsIn(one) > 1 {
			stray[one] = true
		}
	}
	return stray
}

// meantAsMessage tells whether a line was meant for a message, well made or not: a
// list, or an object that has a member of one, as those of a log have not.
func meantAsMessage(said *rules.Message) bool {
	if said.Object == nil {
		return looksLikeJSON(said)
	}
	return slices.ContainsFunc([]string{"jsonrpc", "id", "method", "params", "result", "error"}, func(name string) bool {
		_, there := said.Object[name]
		return there
	})
}

const (
	// maxSpread bounds the lines of one message that is spread over several:
	// that of an indented list of tools is shorter.
	maxSpread = 10_000
	// maxAttempts bounds how many beginnings are followed in vain.
	maxAttempts = 100
)

// spread finds objects that are written over several lines: for the index of
// the first line of each, how many there are.
func spread(said []*rules.Message) map[int]int {
	found := map[int]int{}
	for first, attempts := 0, 0; first < len(said) && attempts < maxAttempts; first++ {
		_, broken := said[first].Broken()
		if !broken || !bytes.HasPrefix(bytes.TrimLeft(said[first].Raw, " \t\r"), []byte("{")) {
			continue
		}
		attempts++
		if count := objectLines(said[first:]); count > 1 {
			found[first] = count
			first += count - 1
		}
	}
	return found
}

// objectLines returns on how many of the first lines there is one JSON object,
// or 0. The newlines do not count, as some may stand inside a text.
func objectLines(said []*rules.Message) int {
	said = said[:min(len(said), maxSpread)]
	readers := make([]io.Reader, 0, len(said))
	for _, line := range said {
		readers = append(readers, bytes.NewReader(line.Raw))
	}
	decoder := json.NewDecoder(io.MultiReader(readers...))
	var object map[string]json.RawMessage
	if decoder.Decode(&object) != nil {
		return 0
	}
	end := decoder.InputOffset()
	for index, line := range said {
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
