package catalogue

// A Level says how strong an obligation is, in the words of BCP 14.
type Level string

// The levels.
const (
	Must      Level = "MUST"
	MustNot   Level = "MUST NOT"
	Should    Level = "SHOULD"
	ShouldNot Level = "SHOULD NOT"
	May       Level = "MAY"
)

// Failing tells whether breaking the obligation is a failure.
func (l Level) Failing() bool { return l == Must || l == MustNot }

// Warning tells whether breaking the obligation is worth a warning only.
func (l Level) Warning() bool { return l == Should || l == ShouldNot }

// levels are all levels, the strongest first.
var levels = []Level{Must, MustNot, Should, ShouldNot, May}
