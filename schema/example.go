package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

const (
	// maxExampleValues bounds the values in an example, however many the schema of a target demands.
	maxExampleValues = 2000
	// maxExampleText bounds each string in an example, in characters.
	maxExampleText = 64 << 10
	// maxExampleDepth bounds how deep an example is nested.
	maxExampleDepth = 48
	// maxExampleTries is how often another choice among alternatives is tried before giving up.
	maxExampleTries = 24
	// maxMerges bounds the schemas that are laid over one another for one example.
	maxMerges = 20_000
)

// Example makes a valid instance of a JSON Schema as tools have it. Seed 0 gives the smallest: no optional member, the
// schema's own example or default where it has one. Seed 1 gives one with all optional members; others vary. The same
// schema and seed give the same instance. The instance is validated, formats included, before it is returned.
//
// The error is as that of Compile, or says that no instance was found.
func Example(document any, seed int) (any, error) { return exampleOf(document, seed, nil) }

// A Suggestion makes up a member of an object by its name and what its schema says of it, with all that applies laid
// over one another; type is a list there. It reports false where it knows none.
type Suggestion func(name string, property map[string]any) (value any, found bool)

// ExampleWith makes the smallest instance as Example does, with members that suggest makes up where the schema has
// neither const, enum, examples, default nor pattern for them, and allows what is suggested.
func ExampleWith(document any, suggest Suggestion) (any, error) {
	return exampleOf(document, 0, suggest)
}

func exampleOf(document any, seed int, suggest Suggestion) (any, error) {
	compiled, err := compile(document, true)
	if err != nil {
		return nil, err
	}
	var reason error
	for try := range maxExampleTries {
		instance, err := generate(compiled.document, compiled.document, seed, try, suggest)
		if err != nil {
			reason = err
			continue
		}
		found, err := compiled.Validate(instance)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return instance, nil
		}
		reason = errors.New(found[0].String())
	}
	return nil, fmt.Errorf("no example found for the schema: %w", reason)
}

// generate makes one attempt at an instance of a schema inside a document.
func generate(document, schema any, seed, try int, suggest Suggestion) (any, error) {
	g := &generator{
		suggest:  suggest,
		document: document,
		random:   rand.New(rand.NewPCG(uint64(seed), uint64(try))), //nolint:gosec // variety, not secrecy
		minimal:  seed == 0,
		maximal:  seed == 1,
		try:      try,
	}
	return g.value(schema, 0)
}

type generator struct {
	suggest          Suggestion // nil for none
	document         any
	random           *rand.Rand
	minimal, maximal bool
	try              int // how many attempts failed before: each makes other choices
	values, merges   int
}

// anySchema is a schema with all that applies at one place laid over one another.
type anySchema = map[string]any

// unions is the member under which a merged schema holds the alternatives still to choose from; no keyword is empty.
const unions = ""

func (g *generator) value(schema any, depth int) (any, error) {
	g.values++
	switch {
	case g.values > maxExampleValues:
		return nil, fmt.Errorf("an example would hold more than %d values", maxExampleValues)
	case depth > maxExampleDepth:
		return nil, fmt.Errorf("an example would be nested more than %d deep", maxExampleDepth)
	}
	merged, err := g.settle(schema)
	if err != nil {
		return nil, err
	}
	if constant, ok := merged["const"]; ok {
		return constant, nil
	}
	if values, ok := merged["enum"].([]any); ok {
		if len(values) == 0 {
			return nil, errors.New("no value is left in an enum")
		}
		return values[g.pick(len(values))], nil
	}
	if g.try%2 == 0 && !g.maximal { // with odd tries, the schema's own word is not trusted
		if examples, ok := merged["examples"].([]any); ok && len(examples) > 0 {
			return examples[g.pick(len(examples))], nil
		}
		if standard, ok := merged["default"]; ok {
			return standard, nil
		}
	}
	switch g.typeOf(merged) {
	case "object":
		return g.object(merged, depth)
	case "array":
		return g.array(merged, depth)
	case "string":
		return g.text(merged)
	case "integer":
		return g.number(merged, true)
	case "number":
		return g.number(merged, false)
	case "boolean":
		return g.pick(2) == 1, nil
	default:
		return nil, nil
	}
}

// pick chooses among n: the first for the smallest example, unless that did not do.
func (g *generator) pick(n int) int {
	if g.minimal {
		return g.try / 2 % n
	}
	return g.random.IntN(n)
}

// ample tells whether there may be optional members and items at a depth: less deep with each try, for schemas that
// hold themselves.
func (g *generator) ample(depth int) bool { return !g.minimal && depth < 6-g.try/4 }

// settle lays all that applies over one another and chooses among alternatives.
func (g *generator) settle(schema any) (anySchema, error) {
	merged := anySchema{}
	if err := g.merge(merged, schema, 0); err != nil {
		return nil, err
	}
	for {
		open, _ := merged[unions].([]any)
		if len(open) == 0 {
			return merged, nil
		}
		merged[unions] = open[1:]
		alternatives, _ := open[0].([]any)
		if len(alternatives) == 0 {
			return nil, errors.New("an anyOf or oneOf without alternatives")
		}
		choice := alternatives[g.pick(len(alternatives))]
		if err := g.merge(merged, choice, 0); err != nil {
			return nil, err
		}
	}
}

// merge lays a schema over what is merged so far.
func (g *generator) merge(into anySchema, schema any, depth int) error {
	g.merges++
	if depth > maxExampleDepth || g.merges > maxMerges {
		return errors.New("the schema refers to itself too deeply")
	}
	object, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return errors.New("the schema allows no value")
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := g.mergeKeyword(into, name, object, depth); err != nil {
			return err
		}
	}
	return nil
}

func (g *generator) mergeKeyword(into anySchema, name string, beside anySchema, depth int) error {
	value := beside[name]
	before, both := into[name]
	switch name {
	case "$ref", "$dynamicRef":
		target, err := g.resolve(value)
		if err != nil {
			return err
		}
		return g.merge(into, target, depth+1)
	case "allOf":
		all, _ := value.([]any)
		for _, schema := range all {
			if err := g.merge(into, schema, depth+1); err != nil {
				return err
			}
		}
	case "anyOf", "oneOf":
		into[unions] = append(openUnions(into), value)
	case "if": // chosen like an alternative; validation has the last word
		into[unions] = append(openUnions(into), []any{
			anySchema{"allOf": []any{value, either(beside["then"], true)}},
			either(beside["else"], true),
		})
	case "properties", "patternProperties":
		members, _ := value.(map[string]any)
		old, _ := before.(map[string]any)
		united := maps.Clone(old)
		if united == nil {
			united = map[string]any{}
		}
		for member, schema := range members {
			if first, ok := united[member]; ok {
				schema = anySchema{"allOf": []any{first, schema}}
			}
			united[member] = schema
		}
		into[name] = united
	case "items", "additionalProperties", "contains", "propertyNames":
		if both {
			value = anySchema{"allOf": []any{before, value}}
		}
		into[name] = value
	case "required":
		list, _ := value.([]any)
		old, _ := before.([]any)
		into[name] = append(slices.Clip(old), list...)
	case "type":
		types, err := narrowed(before, value)
		if err != nil {
			return err
		}
		into[name] = types
	case "enum":
		values, _ := value.([]any)
		if old, ok := before.([]any); ok {
			values = slices.DeleteFunc(slices.Clone(values), func(v any) bool {
				return !slices.ContainsFunc(old, func(w any) bool { return literal(v) == literal(w) })
			})
		}
		into[name] = values
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		into[name] = stricter(before, value, 1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		into[name] = stricter(before, value, -1)
	default:
		if !both {
			into[name] = value
		}
	}
	return nil
}

// openUnions are the alternatives still to choose from, to be appended to.
func openUnions(merged anySchema) []any {
	open, _ := merged[unions].([]any)
	return slices.Clip(open)
}

func either(value, otherwise any) any {
	if value == nil {
		return otherwise
	}
	return value
}

// stricter is the higher (sign 1) or lower (sign -1) of two bounds. A boolean bound (draft 4) wins as it is.
func stricter(before, value any, sign int) any {
	first, ok := rational(before)
	if !ok {
		return value
	}
	if second, ok := rational(value); !ok || first.Cmp(second)*sign > 0 {
		return before
	}
	return value
}

// narrowed is the list of types that two "type" keywords both allow.
func narrowed(before, value any) ([]any, error) {
	list := func(value any) []any {
		if one, ok := value.(string); ok {
			return []any{one}
		}
		many, _ := value.([]any)
		return many
	}
	types := list(value)
	if before == nil {
		return types, nil
	}
	old := list(before)
	var common []any
	for _, name := range types {
		switch {
		case slices.Contains(old, name), name == "integer" && slices.Contains(old, any("number")):
			common = append(common, name)
		case name == "number" && slices.Contains(old, any("integer")):
			common = append(common, "integer")
		}
	}
	if len(common) == 0 {
		return nil, fmt.Errorf("no value is of the types %v and %v", old, types)
	}
	return common, nil
}

// resolve follows a reference within the document.
func (g *generator) resolve(reference any) (any, error) {
	text, _ := reference.(string)
	fragment, ok := strings.CutPrefix(text, "#")
	if !ok {
		return nil, fmt.Errorf("examples follow only references of the form #/…, not %s", quote(text))
	}
	target := at(g.document, jsonrpc.Path(fragment))
	if target == nil {
		return nil, fmt.Errorf("the reference %s leads nowhere", quote(text))
	}
	return target, nil
}

// impliedTypes are the types that keywords speak about, for a schema that has no "type".
var impliedTypes = []struct {
	name     string
	keywords []string
}{
	{"object", []string{"properties", "required", "additionalProperties", "minProperties", "patternProperties"}},
	{"array", []string{"items", "prefixItems", "minItems", "uniqueItems", "contains"}},
	{"string", []string{"pattern", "minLength", "maxLength", "format"}},
	{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
}

func (g *generator) typeOf(merged anySchema) string {
	if types, ok := merged["type"].([]any); ok && len(types) > 0 {
		name, _ := types[g.pick(len(types))].(string)
		return name
	}
	for _, implied := range impliedTypes {
		for _, keyword := range implied.keywords {
			if _, ok := merged[keyword]; ok {
				return implied.name
			}
		}
	}
	types := []string{"string", "integer", "boolean", "null", "object", "array"}
	return types[g.pick(len(types))]
}

func (g *generator) object(merged anySchema, depth int) (any, error) {
	made := objectExample{generator: g, schema: merged, depth: depth, rest: true, members: map[string]any{}}
	made.properties, _ = merged["properties"].(map[string]any)
	if rest, restricted := merged["additionalProperties"]; restricted {
		made.rest = rest
	}
	least, most := bound(merged["minProperties"], 0), bound(merged["maxProperties"], maxExampleValues)
	if err := made.addAll(merged["required"]); err != nil {
		return nil, err
	}
	if err := made.addDescribed(least, most); err != nil {
		return nil, err
	}
	if err := made.addDependent(); err != nil {
		return nil, err
	}
	if _, described := made.rest.(map[string]any); described && merged["propertyNames"] == nil && least == 0 &&
		g.ample(depth) {
		least = min(len(made.members)+1, most) // a map: one entry shows what the others are like
	}
	if err := made.addExtra(least); err != nil {
		return nil, err
	}
	return made.members, nil
}

// objectExample is an object that is being made.
type objectExample struct {
	*generator

	schema     anySchema
	depth      int
	properties map[string]any // schemas of members
	rest       any            // schema of all others
	members    map[string]any
}

func (o *objectExample) add(name string) error {
	if _, there := o.members[name]; there {
		return nil
	}
	schema, described := o.properties[name]
	if !described {
		schema = o.rest
	}
	value, err := o.member(name, schema, o.depth+1)
	if err != nil {
		return fmt.Errorf("member %s: %w", quote(name), err)
	}
	o.members[name] = value
	return nil
}

// addAll adds the members that a list names.
func (o *objectExample) addAll(names any) error {
	list, _ := names.([]any)
	for _, name := range list {
		if name, isText := name.(string); isText {
			if err := o.add(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// addDescribed adds members that the schema describes: as many as it needs, and others
// as the generator likes.
func (o *objectExample) addDescribed(least, most int) error {
	for _, name := range slices.Sorted(maps.Keys(o.properties)) {
		needed := len(o.members) < least
		liked := o.ample(o.depth) && (o.maximal || o.random.IntN(3) == 0)
		if len(o.members) >= most || !needed && !liked {
			continue
		}
		if err := o.add(name); err != nil && needed {
			return err // an optional member for which there is no value is left out
		}
	}
	return nil
}

// addDependent adds what members need that are there.
func (o *objectExample) addDependent() error {
	dependents, _ := o.schema["dependentRequired"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(dependents)) {
		if _, there := o.members[name]; !there {
			continue
		}
		if err := o.addAll(dependents[name]); err != nil {
			return err
		}
	}
	return nil
}

// addExtra adds members of other names, until there are enough.
func (o *objectExample) addExtra(least int) error {
	for extra := 1; len(o.members) < least; extra++ {
		name := fmt.Sprintf("member%d", extra)
		if names, restricted := o.schema["propertyNames"]; restricted {
			made, err := o.value(names, o.depth+1)
			if err != nil {
				return err
			}
			if text, isText := made.(string); isText {
				name = text
			}
		}
		if extra > maxExampleValues {
			return fmt.Errorf("no %d different names for members found", least)
		}
		if err := o.add(name); err != nil {
			return err
		}
	}
	return nil
}

// member makes the value of a member, as suggested where the schema leaves it open. With odd tries suggestions are not
// trusted, as others are not.
func (g *generator) member(name string, schema any, depth int) (any, error) {
	if g.suggest != nil && g.try%2 == 0 {
		merged, err := g.settle(schema)
		if err != nil {
			return nil, err
		}
		if value, found := g.suggest(name, merged); found && !says(merged) && fits(merged, value) {
			g.values++
			return value, nil
		}
	}
	return g.value(schema, depth)
}

// fits tells whether a value keeps the bounds of a schema: a suggestion that does not would spoil the whole example.
func fits(merged anySchema, value any) bool {
	if text, isText := value.(string); isText {
		length := utf8.RuneCountInString(text)
		return length >= bound(merged["minLength"], 0) && length <= bound(merged["maxLength"], maxExampleText)
	}
	number, isNumber := rational(value)
	return isNumber && merged["multipleOf"] == nil && spanOf(merged).has(number)
}

// says tells whether a schema gives a value itself, or says of which characters one is made.
func says(merged anySchema) bool {
	return slices.ContainsFunc([]string{"const", "enum", "examples", "default", "pattern"}, func(keyword string) bool {
		_, there := merged[keyword]
		return there
	})
}

func (g *generator) array(merged anySchema, depth int) (any, error) {
	head, _ := merged["prefixItems"].([]any)
	items, ok := merged["items"]
	if tuple, isTuple := items.([]any); isTuple { // before 2020-12
		head = tuple
		items, ok = merged["additionalItems"]
	}
	if !ok {
		items = true
	}
	least, most := bound(merged["minItems"], 0), bound(merged["maxItems"], maxExampleValues)
	contained, mustContain := merged["contains"]
	containing := 0
	if mustContain {
		containing = bound(merged["minContains"], 1)
		least = max(least, containing)
	}
	length := least
	switch {
	case g.maximal && g.ample(depth):
		length = max(least, len(head), 1)
	case g.ample(depth):
		length = least + g.random.IntN(3)
	}
	length = min(length, most)
	if length > maxExampleValues {
		return nil, fmt.Errorf("an example would hold more than %d values", maxExampleValues)
	}
	if items == false {
		length = min(length, len(head))
	}
	unique := merged["uniqueItems"] == true
	instance := []any{}
	seen := map[string]bool{}
	for tries := 0; len(instance) < length; tries++ {
		schema := items
		if index := len(instance); index < len(head) {
			schema = head[index]
		} else if index-len(head) < containing {
			schema = anySchema{"allOf": []any{schema, contained}}
		}
		item, err := g.value(schema, depth+1)
		if err != nil {
			if len(instance) >= least {
				return instance, nil
			}
			return nil, fmt.Errorf("item %d: %w", len(instance), err)
		}
		if unique {
			item = g.distinguish(item, schema, tries)
			text, err := json.Marshal(item)
			if err != nil {
				return nil, err
			}
			if seen[string(text)] {
				if tries > 8*length+64 {
					return nil, fmt.Errorf("no %d different items found", length)
				}
				continue
			}
			seen[string(text)] = true
		}
		instance = append(instance, item)
	}
	return instance, nil
}

// distinguish varies an item, where its schema lets it, so that the next one differs.
func (g *generator) distinguish(item, schema any, number int) any {
	if number == 0 {
		return item
	}
	merged, err := g.settle(schema)
	if err != nil {
		return item
	}
	if values, ok := merged["enum"].([]any); ok && len(values) > 0 {
		return values[number%len(values)]
	}
	switch value := item.(type) {
	case string:
		if merged["pattern"] == nil && merged["format"] == nil {
			if longer := fmt.Sprintf(
				"%s%d",
				value,
				number,
			); utf8.RuneCountInString(
				longer,
			) <= bound(
				merged["maxLength"],
				maxExampleText,
			) {
				return longer
			}
		}
	case json.Number:
		step := big.NewRat(1, 1)
		if multiple, ok := rational(merged["multipleOf"]); ok {
			step = multiple
		}
		if base, ok := rational(value); ok {
			return numberOf(new(big.Rat).Add(base, new(big.Rat).Mul(step, big.NewRat(int64(number), 1))))
		}
	case bool:
		return number%2 == 0
	}
	return item
}

// samples are values of the formats, of which the first is taken for the smallest example.
var samples = map[string][]string{
	"uri":                   {"https://example.com/", "file:///example", "urn:example:a"},
	"iri":                   {"https://example.com/"},
	"uri-reference":         {"/example", "https://example.com/"},
	"iri-reference":         {"/example"},
	"uri-template":          {"https://example.com/{id}", "file:///{+path}"},
	"email":                 {"user@example.com", "someone.else@example.org"},
	"idn-email":             {"user@example.com"},
	"hostname":              {"example.com", "www.example.org"},
	"idn-hostname":          {"example.com"},
	"ipv4":                  {"192.0.2.1", "198.51.100.7"},
	"ipv6":                  {"2001:db8::1", "::1"},
	"date":                  {"2025-06-18", "2024-02-29"},
	"time":                  {"12:00:00Z", "23:59:59+01:00"},
	"date-time":             {"2025-06-18T12:00:00Z", "2024-02-29T23:59:59.5+01:00"},
	"duration":              {"PT1S", "P1DT12H"},
	"uuid":                  {"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"},
	"json-pointer":          {"/example/0", ""},
	"relative-json-pointer": {"0", "1/example"},
	"regex":                 {"^a+$"},
	"byte":                  {"", "bWNwY29uZm9ybQ=="},
	"semver":                {"1.0.0"},
	"period":                {"2025-06-18T12:00:00Z/PT1S"},
}

var words = []string{"example", "a", "", "two words", "ünïcödé ✓", `"quoted"\`, "line\nbreak"}

func (g *generator) text(merged anySchema) (any, error) {
	least, most := bound(merged["minLength"], 0), bound(merged["maxLength"], maxExampleText)
	if least > maxExampleText {
		return nil, fmt.Errorf("an example would hold a string of more than %d characters", maxExampleText)
	}
	if pattern, ok := merged["pattern"].(string); ok {
		return g.matching(pattern, least)
	}
	if format, ok := merged["format"].(string); ok {
		if values := samples[format]; len(values) > 0 {
			return values[g.pick(len(values))], nil
		}
	}
	text := []rune(words[g.pick(len(words))])
	if g.maximal {
		text = []rune(words[0])
	}
	for len(text) < least {
		text = append(text, 'a')
	}
	return string(text[:min(len(text), max(most, 0))]), nil
}

// matching makes a string that a regular expression describes, for those without assertions other than ^ and $.
func (g *generator) matching(pattern string, least int) (any, error) {
	if strings.HasPrefix(pattern, "^") && !strings.ContainsAny(pattern[1:], `\[](){}.*+?|^$`) {
		return pattern[1:] + strings.Repeat("a", max(0, least-utf8.RuneCountInString(pattern[1:]))), nil
	}
	parsed, err := syntax.Parse(fromECMAScript(pattern), syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the regular expression %s: %w", quote(pattern), err)
	}
	// What repeats is repeated as often as the length asks for, more with each try.
	for repeat := range maxExampleTries {
		var b strings.Builder
		m := matcher{generator: g, text: &b, repeat: repeat, left: maxExampleText}
		if repeat == maxExampleTries-1 {
			m.repeat = least
		}
		if m.write(parsed); m.left < 0 {
			return nil, fmt.Errorf("an example would hold a string of more than %d characters", maxExampleText)
		}
		if utf8.RuneCountInString(b.String()) >= least {
			return b.String(), nil
		}
	}
	return nil, fmt.Errorf("no string of %d characters found for the regular expression %s", least, quote(pattern))
}

type matcher struct {
	*generator
	text   *strings.Builder
	repeat int
	left   int // how many characters it may still write
}

func (m *matcher) write(re *syntax.Regexp) {
	if m.left < 0 {
		return
	}
	times := func(least, most int) {
		n := max(least, m.repeat)
		if most >= 0 {
			n = min(n, most)
		}
		for range n {
			m.left-- // also for what is empty
			m.write(re.Sub[0])
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, char := range re.Rune {
			m.put(char)
		}
	case syntax.OpCharClass:
		m.put(printable(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		m.put('a')
	case syntax.OpCapture:
		m.write(re.Sub[0])
	case syntax.OpStar:
		times(0, -1)
	case syntax.OpPlus:
		times(1, -1)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		times(re.Min, re.Max)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			m.write(sub)
		}
	case syntax.OpAlternate:
		m.write(re.Sub[m.pick(len(re.Sub))])
	default: // anchors and boundaries match nothing; whether they hold, validation says
	}
}

func (m *matcher) put(char rune) {
	m.left--
	_, _ = m.text.WriteRune(char) // a Builder does not fail
}

// printable is a character of a class given as pairs, one that people can read if there is one.
func printable(pairs []rune) rune {
	for _, liked := range "a0A_- " {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] <= liked && liked <= pairs[i+1] {
				return liked
			}
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] > ' ' {
			return max(pairs[i], '!')
		}
	}
	if len(pairs) > 0 {
		return pairs[0]
	}
	return 'a'
}

func (g *generator) number(merged anySchema, whole bool) (any, error) {
	step := big.NewRat(1, 1)
	multiple, stepped := rational(merged["multipleOf"])
	if stepped && multiple.Sign() > 0 {
		step = multiple
		if whole && !step.IsInt() {
			step = new(big.Rat).SetInt(step.Num()) // n/d: a whole multiple of it is a multiple of n
		}
	}
	span := spanOf(merged)
	low, hasLow, high, hasHigh := span.low, span.hasLow, span.high, span.hasHigh
	start := new(big.Rat)
	switch {
	case span.has(start):
	case hasLow && low.Sign() >= 0:
		start = aligned(low, step, 1)
		if !span.has(start) {
			start.Add(start, step)
		}
	case hasHigh:
		start = aligned(high, step, -1)
		if !span.has(start) {
			start.Sub(start, step)
		}
	}
	if !span.has(start) && !whole && !stepped && hasLow && hasHigh && low.Cmp(high) < 0 {
		start = new(big.Rat).Add(low, high)
		start.Quo(start, big.NewRat(2, 1))
	}
	if !span.has(start) {
		return nil, errors.New("no number lies between the bounds")
	}
	if broken := new(
		big.Rat,
	).Add(start, big.NewRat(1, 4)); g.minimal && g.try > 1 && !whole && !stepped &&
		span.has(broken) {
		start = broken // for those who tell numbers from integers
	}
	if !g.minimal { // somewhere else, if there is room
		for range 4 {
			shift := new(big.Rat).Mul(step, big.NewRat(int64(g.random.IntN(2001)-1000), 1))
			if g.random.IntN(2) == 0 {
				shift = new(big.Rat).Mul(step, big.NewRat(int64(g.random.IntN(5)-2), 1))
			}
			if !whole && !stepped && g.random.IntN(2) == 0 {
				shift.Add(shift, big.NewRat(1, 4))
			}
			if moved := new(big.Rat).Add(start, shift); span.has(moved) {
				start = moved
				break
			}
		}
	}
	return numberOf(start), nil
}

// A span is what lies between the bounds of a schema for numbers.
type span struct {
	low, high         *big.Rat
	hasLow, hasHigh   bool
	lowOpen, highOpen bool // a bound is not in it
}

func spanOf(merged anySchema) (s span) {
	s.low, s.hasLow, s.lowOpen = limit(merged, "minimum", "exclusiveMinimum", 1)
	s.high, s.hasHigh, s.highOpen = limit(merged, "maximum", "exclusiveMaximum", -1)
	return s
}

func (s span) has(x *big.Rat) bool {
	return (!s.hasLow || x.Cmp(s.low) > 0 || !s.lowOpen && x.Cmp(s.low) == 0) &&
		(!s.hasHigh || x.Cmp(s.high) < 0 || !s.highOpen && x.Cmp(s.high) == 0)
}

// limit is the stricter of an inclusive and an exclusive bound, and whether it is exclusive. Draft 4 says so by a
// boolean.
func limit(merged anySchema, inclusive, exclusive string, sign int) (bound *big.Rat, ok, open bool) {
	bound, ok = rational(merged[inclusive])
	if merged[exclusive] == true {
		return bound, ok, ok
	}
	other, also := rational(merged[exclusive])
	if also && (!ok || other.Cmp(bound)*sign >= 0) {
		return other, true, true
	}
	return bound, ok, false
}

// aligned is the multiple of step next to x, at or above it (direction 1) or at or below it (direction -1).
func aligned(x, step *big.Rat, direction int) *big.Rat {
	quotient := new(big.Rat).Quo(x, step)
	whole := new(
		big.Int,
	).Div(quotient.Num(), quotient.Denom())
	// rounds towards minus infinity: the divisor is positive
	if direction > 0 && !quotient.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt(whole), step)
}

// bound is a length or count, or the other value where there is none.
func bound(value any, otherwise int) int {
	number, ok := rational(value)
	if !ok || !number.IsInt() {
		return otherwise
	}
	if !number.Num().IsInt64() || number.Num().Int64() > 1<<30 {
		return 1 << 30
	}
	return int(number.Num().Int64())
}

func rational(value any) (*big.Rat, bool) {
	switch value := value.(type) {
	case json.Number:
		return new(big.Rat).SetString(tameNumber(string(value)))
	case float64, int:
		return new(big.Rat).SetString(fmt.Sprint(value))
	default:
		return nil, false
	}
}

// numberOf writes a number as JSON has it: exactly where the decimals end, else cut.
func numberOf(x *big.Rat) json.Number {
	if x.IsInt() {
		return json.Number(x.Num().String())
	}
	digits, exact := x.FloatPrec()
	if !exact {
		digits = 17
	}
	return json.Number(x.FloatString(digits))
}
