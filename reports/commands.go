package reports

import (
	"fmt"
	"io"
)

// NoCommands returns a writer to w that escapes the commands of CI systems in the texts of a
// target: the runner of GitHub takes a line for one that begins with "::" behind any white
// space, and "##[" anywhere; that of Azure Pipelines "##vso["; TeamCity "##teamcity[". The
// character that makes it one is written as an escape, as by [Visible], which is legal in a
// string of JSON, too. It does so in every environment: a container does not know which CI system
// reads its output.
func NoCommands(w io.Writer) io.Writer { return &noCommands{w: w} }

// noCommands looks at each byte once and remembers none.
type noCommands struct {
	w      io.Writer
	line   inLine
	hashes int // that stand side by side, with a word behind them perhaps
	word   bool
}

// inLine is what there is of a line so far.
type inLine byte

const (
	blank   inLine = iota // nothing, or what may be trimmed
	colon                 // one colon behind that
	further               // what no command begins with
)

// Write writes text; a command may begin in one call and go on in the next.
func (n *noCommands) Write(text []byte) (int, error) {
	done := 0 // text[:done] is written
	for i, char := range text {
		if !n.completes(char) {
			continue
		}
		if _, err := n.w.Write(text[done:i]); err != nil {
			return done, err
		}
		if _, err := fmt.Fprintf(n.w, `\u%04x`, char); err != nil {
			return i, err
		}
		done = i + 1
	}
	if done == len(text) {
		return done, nil
	}
	count, err := n.w.Write(text[done:])
	return done + count, err
}

// completes tells whether a character makes a command of what stands before it. What is neither
// printable nor ASCII may be white space to a reader, or nothing: it makes no difference.
func (n *noCommands) completes(char byte) bool {
	const escape, last = '\x1b', '~'
	switch {
	case char == '\n' || char == '\r':
		n.line, n.hashes, n.word = blank, 0, false
		return false
	case char == escape: // of a colour, which is ours
		n.line, n.hashes, n.word = further, 0, false
		return false
	case char < ' ' || char > last:
		return false
	}
	begins := n.line == colon && char == ':'
	switch {
	case n.line == blank && char == ' ':
	case n.line == blank && char == ':':
		n.line = colon
	default:
		n.line = further
	}
	bracket := n.hashes > 1 && char == '['
	letter := char|' ' >= 'a' && char|' ' <= 'z'
	switch {
	case char == '#' && !n.word:
		n.hashes++
	case char == '#':
		n.hashes, n.word = 1, false
	case letter && n.hashes > 1:
		n.word = true
	default:
		n.hashes, n.word = 0, false
	}
	return begins || bracket
}
