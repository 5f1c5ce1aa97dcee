package jsonrpc

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// maxWeight bounds the memory in bytes that a message takes, its text and its
// decoded form together: a list of a hundred thousand tools passes. How long a message may be is for the transport to say: the
// decoded form may always be as large as the text, whose strings it holds.
const maxWeight = 112 << 20

// aside is what there is beside one long string that makes up a message.
const aside = 1 << 20

func budget(raw []byte) int { return max(maxWeight-len(raw), len(raw)+aside) }

// What a decoded value weighs in bytes, rather too much than too little. A map
// has room for eight members at once, which makes a small object forty times as
// large as its text; the tests compare with what is really taken.
const (
	elementWeight     = 16 // of an array
	containerWeight   = 56 // of an array or object, and of its size while it is made
	textWeight        = 24 // of a string, name or number, beside its bytes
	firstMemberWeight = 288
	budgetOfSmall     = 8  // members; one more makes it another kind of map
	slotWeight        = 52 // of each after that
)

// measure is what is known of a message before any of it is made.
type measure struct {
	weight int   // of the decoded form
	sizes  []int // of the arrays and objects, in the order in which they begin
	open   []int // those that are open, as indexes of sizes
}

// What messages are usually like.
const (
	bytesPerContainer = 32
	usualDepth        = 16
)

// take measures a text. What breaks it is left to decoding, which stops there.
func (m *measure) take(text *jsontext.Decoder, expands, limit int) error {
	for depth := 1; depth > 0; depth = text.StackDepth() {
		parent, before := text.StackIndex(text.StackDepth())
		start := text.InputOffset()
		token, err := text.ReadToken()
		if err != nil {
			return nil //nolint:nilerr // decoding finds it again, and tells it
		}
		length := int(text.InputOffset()-start) * expands
		switch kind := token.Kind(); kind {
		case '[', '{':
			m.open = append(m.open, len(m.sizes))
			m.sizes = append(m.sizes, 0)
			m.weight += containerWeight
		case ']', '}':
			last := len(m.open) - 1
			m.sizes[m.open[last]] = int(before)
			m.open = m.open[:last]
			continue
		case '"':
			m.weight += textWeight + length
		case '0':
			if length > len(",1") { // else one of smallNumbers
				m.weight += textWeight + length
			}
		}
		switch {
		case parent == '[':
			m.weight += elementWeight
		case parent == '{' && before%2 == 0:
			m.weight += memberWeight(int(before / 2))
		}
		if m.weight > limit {
			return errTooHeavy
		}
	}
	return nil
}

// Weight is the memory in bytes that a decoded value takes, about.
func Weight(value any) int {
	switch value := value.(type) {
	case string:
		return textWeight + len(value)
	case json.Number:
		return textWeight + len(value)
	case []any:
		weight := containerWeight
		for _, element := range value {
			weight += elementWeight + Weight(element)
		}
		return weight
	case map[string]any:
		weight := containerWeight
		before := 0
		for name, member := range value {
			weight += memberWeight(before) + textWeight + len(name) + Weight(member)
			before++
		}
		return weight
	}
	return 0
}

// memberWeight is that of one more member of an object, beside its
// name and value.
func memberWeight(before int) int {
	switch {
	case before == 0, before == budgetOfSmall:
		return firstMemberWeight
	case before > budgetOfSmall:
		return slotWeight
	}
	return 0
}
