package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

const (
	// maxViolations bounds what is reported of one value; a person reads the first few, a hostile message may hold
	// millions, and to find the words for one takes longer than to find it.
	maxViolations = 100
	// maxShown is how much of a value found is shown, in characters: enough to recognise it in a transcript.
	maxShown = 80
	// maxListed is how many names of members or alternatives are listed.
	maxListed = 12
)

// Violation is one place where a value is not what its definition says.
type Violation struct {
	Pointer    string `json:"pointer"`              // JSON Pointer (RFC 6901) to the place in the value; "" is the whole
	Expected   string `json:"expected"`             // what had to be there: `one of "user", "assistant"`
	Found      string `json:"found"`                // what was there, shortened: `"system"`
	Definition string `json:"definition,omitempty"` // the innermost definition that says so: "PromptMessage"
	Missing    string `json:"-"`                    // the member that had to be there, at the place; "" where it is about something else
}

// String is the violation as one line for a person.
func (v Violation) String() string {
	text := fmt.Sprintf("expected %s; found %s", v.Expected, v.Found)
	if v.Pointer != "" {
		text = "at " + v.Pointer + ": " + text
	}
	if v.Definition != "" {
		text += " (" + v.Definition + ")"
	}
	return text
}

// finding is a violation with what is needed to weigh it against those of other branches of a union.
type finding struct {
	Violation
	at      []string
	types   []string // not nil: the value's type is none of these
	choices []any    // not nil: the value is none of these
	reasons []string // not nil: what each alternative of a union would need
}

// violations turns the library's tree of errors into a list, not yet tidy.
func violations(failed *jsonschema.ValidationError, definition string, value any, document any) []Violation {
	r := reader{value: value, document: document}
	var all []Violation
	for _, f := range r.read(failed, scope{definition: definition}) {
		all = append(all, f.Violation)
	}
	return all
}

// tidy makes a list short and puts it in order.
func tidy(all []Violation) []Violation {
	all = ordered(all)
	if len(all) > maxViolations {
		all = append(
			all[:maxViolations:maxViolations],
			Violation{Expected: "no violation", Found: "more that are not listed"},
		)
	}
	return all
}

// ordered sorts a list and drops what it says twice.
func ordered(all []Violation) []Violation {
	slices.SortFunc(all, func(a, b Violation) int {
		return cmp.Or(slices.CompareFunc(jsonrpc.Path(a.Pointer), jsonrpc.Path(b.Pointer), compareTokens),
			cmp.Compare(a.Expected, b.Expected), cmp.Compare(a.Definition, b.Definition))
	})
	return slices.CompactFunc(
		all,
		func(a, b Violation) bool { return a.Pointer == b.Pointer && a.Expected == b.Expected },
	)
}

// scope is the definition that speaks at a place of the value.
type scope struct {
	definition string
	depth      int // of the place where the definition was entered
}

type reader struct {
	value    any
	document any // the schema, to look up what a member would have chosen
}

// read collects the findings below an error.
func (r *reader) read(failed *jsonschema.ValidationError, in scope) []finding {
	switch what := failed.ErrorKind.(type) {
	case *kind.Reference:
		// A definition that extends another speaks for both: its name is the one that people look for.
		if name := definitionName(
			what.URL,
		); name != "" &&
			(len(failed.InstanceLocation) > in.depth || in.definition == "") {
			in = scope{name, len(failed.InstanceLocation)}
		}
	case *kind.AnyOf:
		return r.union(failed, in)
	case *kind.OneOf:
		if len(what.Subschemas) == 0 {
			return r.union(failed, in)
		}
	case *kind.Contains, *kind.MinContains, *kind.PropertyNames:
		return []finding{r.leaf(failed, in)} // the causes say why each item was no match: noise
	}
	if len(failed.Causes) == 0 {
		return r.leaves(failed, in)
	}
	// The library visits members in no fixed order, and what is said first is what is said of many.
	slices.SortStableFunc(failed.Causes, func(a, b *jsonschema.ValidationError) int {
		return slices.CompareFunc(a.InstanceLocation, b.InstanceLocation, compareTokens)
	})
	var all []finding
	for _, cause := range failed.Causes {
		if all = append(all, r.read(cause, in)...); len(all) > maxViolations {
			break
		}
	}
	return unrepeated(all)
}

// compareTokens orders the steps of a pointer: indexes by number, before names by letter.
func compareTokens(a, b string) int {
	first, errA := strconv.Atoi(a)
	second, errB := strconv.Atoi(b)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(first, second)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	default:
		return cmp.Compare(a, b)
	}
}

// unrepeated drops, where a value is none of the choices at a place, that it has not their type either.
func unrepeated(all []finding) []finding {
	chosen := map[string]bool{}
	for _, f := range all {
		if f.choices != nil {
			chosen[f.Pointer] = true
		}
	}
	return slices.DeleteFunc(all, func(f finding) bool { return f.types != nil && chosen[f.Pointer] })
}

// leaves are the findings of an error without causes: one for each member that is missing or too many.
func (r *reader) leaves(failed *jsonschema.ValidationError, in scope) []finding {
	var members []string
	extra, because := false, ""
	switch what := failed.ErrorKind.(type) {
	case *kind.Required:
		members = what.Missing
	case *kind.DependentRequired:
		members, because = what.Missing, what.Prop
	case *kind.Dependency:
		members, because = what.Missing, what.Prop
	case *kind.AdditionalProperties:
		members, extra = what.Properties, true
	default:
		return []finding{r.leaf(failed, in)}
	}
	if len(members) > maxViolations {
		members = members[:maxViolations]
	}
	var all []finding
	for _, member := range members {
		f := r.leaf(failed, in)
		if extra {
			f.at = append(slices.Clone(f.at), member)
			f.Pointer = jsonrpc.Pointer(f.at...)
			f.Expected, f.Found = "no member "+quote(member), describe(r.lookup(f.at))
		} else {
			f.Missing, f.Expected = member, "member "+quote(member)
			if because != "" {
				f.Expected += ", because " + quote(because) + " is there"
			}
		}
		all = append(all, f)
	}
	return all
}

var printer = message.NewPrinter(language.English)

// leaf says in words what one error of the library means.
func (r *reader) leaf(failed *jsonschema.ValidationError, in scope) finding {
	at := failed.InstanceLocation
	value := r.lookup(at)
	f := finding{
		at:        at,
		Violation: Violation{Pointer: jsonrpc.Pointer(at...), Found: describe(value), Definition: in.definition},
	}
	switch what := failed.ErrorKind.(type) {
	case *kind.Type:
		f.types = slices.Sorted(slices.Values(what.Want))
		f.Expected = typesInWords(f.types)
	case *kind.Const:
		f.choices = []any{what.Want}
		f.Expected = choicesInWords(f.choices)
	case *kind.Enum:
		f.choices = what.Want
		f.Expected = choicesInWords(f.choices)
	case *kind.FalseSchema:
		f.Expected = "nothing"
		if len(at) > 0 {
			f.Expected = "no member " + quote(at[len(at)-1])
			if _, inArray := r.lookup(at[:len(at)-1]).([]any); inArray {
				f.Expected = "no item here"
			}
		}
	case *kind.Format:
		f.Expected = cmp.Or(formatNames[what.Want], "the format "+quote(what.Want))
		if what.Err != nil && formatNames[what.Want] != "" {
			f.Found += " (" + excerpt.Counted(what.Err.Error(), maxShown) + ")"
		}
	case *kind.Pattern:
		f.Expected = "a string that matches " + excerpt.Counted(what.Want, maxShown)
	case *kind.Minimum:
		f.Expected = "a number of at least " + decimal(what.Want)
	case *kind.Maximum:
		f.Expected = "a number of at most " + decimal(what.Want)
	case *kind.ExclusiveMinimum:
		f.Expected = "a number above " + decimal(what.Want)
	case *kind.ExclusiveMaximum:
		f.Expected = "a number below " + decimal(what.Want)
	case *kind.MultipleOf:
		f.Expected = "a multiple of " + decimal(what.Want)
	case *kind.MinLength:
		f.Expected = "at least " + count(what.Want, "character")
		f.Found += fmt.Sprintf(" (%s)", count(what.Got, "character"))
	case *kind.MaxLength:
		f.Expected = "at most " + count(what.Want, "character")
		f.Found += fmt.Sprintf(" (%s)", count(what.Got, "character"))
	case *kind.MinItems:
		f.Expected = "at least " + count(what.Want, "item")
	case *kind.MaxItems:
		f.Expected = "at most " + count(what.Want, "item")
	case *kind.MinProperties:
		f.Expected = "at least " + count(what.Want, "member")
	case *kind.MaxProperties:
		f.Expected = "at most " + count(what.Want, "member")
	case *kind.AdditionalItems:
		f.Expected = "no further items"
		f.Found = fmt.Sprintf("%s, %d too many", f.Found, what.Count)
	case *kind.UniqueItems:
		f.Expected = "items that differ"
		f.Found = fmt.Sprintf("equal items %d and %d", what.Duplicates[0], what.Duplicates[1])
	case *kind.Contains:
		f.Expected = `an item as "contains" describes it`
	case *kind.MinContains:
		f.Expected = fmt.Sprintf(`at least %s as "contains" describes them`, count(what.Want, "item"))
	case *kind.MaxContains:
		f.Expected = fmt.Sprintf(`at most %s as "contains" describes them`, count(what.Want, "item"))
	case *kind.PropertyNames:
		f.Expected = `members named as "propertyNames" says`
		f.Found = "member " + quote(what.Property)
	case *kind.Not:
		f.Expected = `a value that "not" does not describe`
	case *kind.OneOf:
		f.Expected = "a value that exactly one alternative describes"
		if len(what.Subschemas) > 1 {
			f.Found += fmt.Sprintf(", which alternatives %d and %d describe", what.Subschemas[0], what.Subschemas[1])
		}
	default:
		f.Expected = "a value for which this does not hold: " + failed.ErrorKind.LocalizedString(printer)
	}
	return f
}

// branch is one alternative of a union that failed.
type branch struct {
	name     string // the definition, "" if it has none
	url      string // where in the schema it is
	findings []finding
}

// union says why a value is none of the alternatives at its place. It leaves out the reasons of alternatives that the
// value visibly is not (another JSON type, another "type" or "method").
func (r *reader) union(failed *jsonschema.ValidationError, in scope) []finding {
	at := failed.InstanceLocation
	var branches []branch
	for _, cause := range failed.Causes {
		b := branch{url: cause.SchemaURL}
		if reference, ok := cause.ErrorKind.(*kind.Reference); ok {
			b.name, b.url = definitionName(reference.URL), reference.URL
		}
		b.findings = r.read(cause, scope{cmp.Or(b.name, in.definition), len(at)})
		slices.SortFunc(b.findings, func(a, b finding) int {
			return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Expected, b.Expected))
		})
		branches = append(branches, b)
	}
	result := finding{
		at:        at,
		Violation: Violation{Pointer: jsonrpc.Pointer(at...), Found: describe(r.lookup(at)), Definition: in.definition},
	}

	// Another JSON type altogether.
	types := map[string]bool{}
	rightType := slices.DeleteFunc(slices.Clone(branches), func(b branch) bool {
		i := slices.IndexFunc(b.findings, func(f finding) bool { return f.types != nil && len(f.at) == len(at) })
		if i < 0 {
			return false
		}
		for _, name := range b.findings[i].types {
			types[name] = true
		}
		return true
	})
	if len(rightType) == 0 {
		result.types = slices.Sorted(maps.Keys(types))
		result.Expected = typesInWords(result.types)
		return []finding{result}
	}
	branches = rightType

	// Another value of the member that tells the alternatives apart.
	var choices []any
	told := map[string]finding{}
	rightChoice := slices.DeleteFunc(slices.Clone(branches), func(b branch) bool {
		i := slices.IndexFunc(
			b.findings,
			func(f finding) bool { return f.choices != nil && len(f.at) == len(at)+1 && discriminates(f.at) },
		)
		if i < 0 {
			return false
		}
		f := b.findings[i]
		told[f.Pointer] = f
		choices = append(choices, f.choices...)
		return true
	})
	if len(rightChoice) == 0 && len(told) == 1 {
		for _, f := range told {
			f.choices = distinct(choices)
			f.Expected = choicesInWords(f.choices)
			f.Definition = in.definition
			return []finding{f}
		}
	}
	if len(rightChoice) > 0 {
		branches = rightChoice
	}

	// The member that tells the alternatives apart is not there.
	if member, values := r.absent(branches, len(at)); member != "" && len(branches) > 1 {
		result.Missing = member
		result.Expected = fmt.Sprintf("member %s, %s", quote(member), choicesInWords(values))
		return []finding{result}
	}

	// What the nearest alternative misses, if one is nearer than all others or all miss the same.
	slices.SortStableFunc(
		branches,
		func(a, b branch) int { return cmp.Compare(a.distance(len(at)), b.distance(len(at))) },
	)
	if len(branches) == 1 || branches[0].distance(len(at)) < branches[1].distance(len(at)) || allAlike(branches) {
		return branches[0].findings
	}
	for _, b := range branches {
		for _, reason := range b.reasons(result.Pointer) {
			if !slices.Contains(result.reasons, reason) {
				result.reasons = append(result.reasons, reason)
			}
		}
	}
	shown := result.reasons
	if len(shown) > maxListed {
		shown = append(shown[:maxListed:maxListed], fmt.Sprintf("%d more", len(shown)-maxListed))
	}
	result.Expected = "one of " + strings.Join(shown, ", ")
	return []finding{result}
}

// distance orders alternatives by how far the value is from them. One that misses no member is what the sender meant,
// rather than one that does.
func (b branch) distance(depth int) int {
	const missing = 1000
	distance := len(b.findings)
	for _, f := range b.findings {
		if len(f.at) == depth && (f.Missing != "" || f.reasons != nil) {
			return distance + missing
		}
	}
	return distance
}

// reasons says what the alternative would need, in a few words; those of an alternative that is a union itself are
// those of its own alternatives.
func (b branch) reasons(base string) []string {
	first := b.findings[0]
	if first.reasons != nil && first.Pointer == base {
		return first.reasons
	}
	reason := first.Expected
	if inside := strings.TrimPrefix(first.Pointer, base); inside != "" {
		reason += " at " + inside
	}
	if b.name != "" {
		reason = fmt.Sprintf("%s (with %s)", b.name, reason)
	}
	return []string{reason}
}

// discriminates tells whether the member at a place is one by which the specification tells alternatives apart.
func discriminates(at []string) bool {
	return slices.Contains([]string{"type", "method", "mode", "resultType", "jsonrpc"}, at[len(at)-1])
}

// absent finds a discriminating member that every branch misses, and the values that it could have.
func (r *reader) absent(branches []branch, depth int) (string, []any) {
	for _, f := range branches[0].findings {
		if f.Missing == "" || len(f.at) != depth || !discriminates([]string{f.Missing}) {
			continue
		}
		var values []any
		for _, b := range branches {
			if !slices.ContainsFunc(
				b.findings,
				func(g finding) bool { return g.Missing == f.Missing && len(g.at) == depth },
			) {
				return "", nil
			}
			values = append(values, r.choicesFor(b.url, f.Missing)...)
		}
		if len(values) > 0 {
			return f.Missing, distinct(values)
		}
	}
	return "", nil
}

// choicesFor looks up the values that a schema allows for a member.
func (r *reader) choicesFor(url, member string) []any {
	_, fragment, _ := strings.Cut(url, "#")
	schema, _ := at(r.document, strings.Split(strings.TrimPrefix(fragment, "/"), "/")).(map[string]any)
	property, _ := at(schema, []string{"properties", member}).(map[string]any)
	if constant, ok := property["const"]; ok {
		return []any{constant}
	}
	values, _ := property["enum"].([]any)
	return values
}

func allAlike(branches []branch) bool {
	for _, b := range branches[1:] {
		if !slices.EqualFunc(b.findings, branches[0].findings, func(a, b finding) bool {
			return a.Pointer == b.Pointer && a.Expected == b.Expected
		}) {
			return false
		}
	}
	return true
}

// distinct drops values that are there twice.
func distinct(values []any) []any {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(values), func(value any) bool {
		text := literal(value)
		defer func() { seen[text] = true }()
		return seen[text]
	})
}

func (r *reader) lookup(location []string) any { return at(r.value, location) }

// at follows the tokens of a JSON Pointer, nil where they lead nowhere.
func at(value any, tokens []string) any {
	for _, token := range tokens {
		switch container := value.(type) {
		case map[string]any:
			value = container[token]
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 || index >= len(container) {
				return nil
			}
			value = container[index]
		default:
			return nil
		}
	}
	return value
}

// describe shows a value, shortened, as a person would name it.
func describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return quote(value)
	case []any:
		if len(value) == 0 {
			return "an empty array"
		}
		return "an array of " + count(len(value), "item")
	case map[string]any:
		if len(value) == 0 {
			return "an empty object"
		}
		names := slices.Sorted(maps.Keys(value))
		rest := ""
		if len(names) > maxListed {
			rest = fmt.Sprintf(" and %d more", len(names)-maxListed)
			names = names[:maxListed]
		}
		for i, name := range names {
			names[i] = excerpt.Counted(name, maxShown/2)
		}
		noun := "members "
		if len(value) == 1 {
			noun = "only the member "
		}
		return "an object with " + noun + strings.Join(names, ", ") + rest
	default:
		return excerpt.Counted(fmt.Sprint(value), maxShown)
	}
}

// quote shows a string as JSON does, shortened.
func quote(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(excerpt.Counted(text, maxShown)); err != nil {
		return strconv.Quote(excerpt.Counted(text, maxShown))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func decimal(number *big.Rat) string {
	if number.IsInt() {
		return excerpt.Counted(number.Num().String(), maxShown)
	}
	value, _ := number.Float64()
	return strconv.FormatFloat(value, 'g', -1, 64)
}

func choicesInWords(values []any) string {
	switch len(values) {
	case 0:
		return "no value, as the enum is empty"
	case 1:
		return literal(values[0])
	}
	var shown []string
	for i, value := range values {
		if i == maxListed*2 {
			shown = append(shown, fmt.Sprintf("%d more", len(values)-i))
			break
		}
		shown = append(shown, literal(value))
	}
	return "one of " + strings.Join(shown, ", ")
}

// literal is a value as JSON, shortened.
func literal(value any) string {
	if text, ok := value.(string); ok {
		return quote(text)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return describe(value)
	}
	return excerpt.Counted(string(text), maxShown)
}

var typeWords = map[string]string{
	"string": "a string", "integer": "an integer", "number": "a number", "boolean": "a boolean",
	"array": "an array", "object": "an object", "null": "null",
}

func typesInWords(types []string) string {
	var words []string
	for _, name := range types {
		words = append(words, cmp.Or(typeWords[name], name))
	}
	return strings.Join(words, " or ")
}
