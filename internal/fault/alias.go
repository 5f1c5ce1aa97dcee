package fault

import (
	"bytes"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Alias lets the other side know by other names what the target has named: the first
// text at a pointer by the first name, another by the second, and so on. Names
// that are given twice are taken for what had them first; what comes when none
// is left keeps its own.
type Alias struct {
	At    string `yaml:"at"` // pointer, in a message of the target
	Names Words  `yaml:"names"`
}

// aliases are those of one connection. A text is replaced everywhere in a message
// where it is a whole JSON string, and in messages of the peer it is replaced back.
type aliases []struct{ own, name []byte } // as JSON

// add takes in what stands at the pointer of a message.
func (a *aliases) add(alias *Alias, message any) {
	for _, value := range lookup(message, jsonrpc.Path(alias.At)) {
		if text, isText := value.(string); isText && len(*a) < len(alias.Names) && !a.knows(text) {
			*a = append(*a, struct{ own, name []byte }{write(text), write(alias.Names[len(*a)])})
		}
	}
}

func (a *aliases) knows(text string) bool {
	for _, one := range *a {
		if bytes.Equal(one.own, write(text)) {
			return true
		}
	}
	return false
}

// outward changes a message of the target.
func (a *aliases) outward(message []byte) []byte {
	for _, one := range *a {
		message = swap(message, one.own, one.name)
	}
	return message
}

// inward changes a message to the target.
func (a *aliases) inward(message []byte) []byte {
	for _, one := range *a {
		message = swap(message, one.name, one.own)
	}
	return message
}

// swap leaves a message alone that has nothing of the kind, be it empty.
func swap(message, from, to []byte) []byte {
	if !bytes.Contains(message, from) {
		return message
	}
	return bytes.ReplaceAll(message, from, to)
}
