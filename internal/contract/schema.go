package contract

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/reports"
)

// schema compares two JSON Schemas of what a tool takes, or of what it gives.
func (c *comparer) schema(at string, was, is any, input bool) {
	if reflect.DeepEqual(was, is) {
		return
	}
	if _, none := was.(absent); none {
		was = map[string]any{}
	}
	if _, none := is.(absent); none {
		is = map[string]any{}
	}
	s := &schemas{
		comparer: c, input: input, before: was, after: is, at: at,
		seen: map[[2]uintptr]bool{}, left: maxCompared,
	}
	s.compare(was, is, at, 0)
}

const (
	// maxCompared bounds how many schemas of one tool are compared.
	maxCompared = 20_000
	// maxDepth bounds how deep in each other they are.
	maxDepth = 100
	// maxReferences is how many references are followed until a schema comes.
	maxReferences = 16
)

// effect is what a change does to the values that a schema accepts.
type effect int

const (
	narrower effect = iota // fewer are accepted
	wider                  // more are
	other                  // some more, and some fewer
	undecided
)

// schemas compares the two schemas of one document each.
type schemas struct {
	*comparer
	input         bool
	before, after any                 // the documents
	at            string              // where they stand
	seen          map[[2]uintptr]bool // pairs that were compared
	kept          []any               // what seen has the addresses of
	left          int
}

// change tells of an effect: an input breaks clients where it is narrower, an output where it is
// wider.
func (s *schemas) change(how effect, at, says string, was, is any) {
	impact := reports.Compatible
	switch {
	case how == undecided:
		impact = reports.Unclear
	case how == other, how == narrower && s.input, how == wider && !s.input:
		impact = reports.Breaking
	}
	s.add(impact, at, says, was, is)
}

// Keywords that accept and reject nothing, and those that only others lead to.
var (
	remarks     = []string{"title", "description", "$comment", "examples", "deprecated", "readOnly", "writeOnly"}
	definitions = []string{"$defs", "definitions"}
)

func (s *schemas) compare(was, is any, at string, depth int) {
	if s.left--; s.left < 0 || depth > maxDepth {
		if s.left == -1 || s.left >= 0 {
			s.change(undecided, at, "the schemas are too large to compare from here on", absent{}, absent{})
		}
		return
	}
	before, wasSchema := objectOf(was)
	after, isSchema := objectOf(is)
	switch {
	case !wasSchema || !isSchema: // what else stands there is none of the forms of JSON Schema 2020-12
		if !reflect.DeepEqual(was, is) {
			s.change(undecided, at, "the schema changed", was, is)
		}
		return
	case was == false && is == false:
		return
	case was == false:
		s.change(wider, at, "values are accepted where none was", was, is)
		return
	case is == false:
		s.change(narrower, at, "no value is accepted any more", was, is)
		return
	}
	followed, wasAt := follow(s.before, before)
	following, isAt := follow(s.after, after)
	if wasAt != "" || isAt != "" {
		s.remarks(before, after, at)
		before, after, at = followed, following, s.at+cmp.Or(isAt, wasAt)
	}
	pair := [2]uintptr{reflect.ValueOf(before).Pointer(), reflect.ValueOf(after).Pointer()}
	if s.seen[pair] {
		return
	}
	s.seen[pair], s.kept = true, append(s.kept, before, after)
	if s.forms(before, after, at, depth) {
		return
	}
	s.types(before, after, at)
	s.allowed(before, after, at)
	s.object(before, after, at, depth)
	s.keywords(before, after, at, depth)
}

// objectOf is a schema as an object: true is one that accepts everything.
func objectOf(schema any) (map[string]any, bool) {
	if _, is := schema.(bool); is {
		return map[string]any{}, true
	}
	object, is := schema.(map[string]any)
	return object, is
}

// follow follows the references of a schema that is nothing else, within its document.
func follow(document any, schema map[string]any) (found map[string]any, at string) {
	found = schema
	for range maxReferences {
		reference, is := found["$ref"].(string)
		if !is || len(assertions(found)) > 1 {
			break
		}
		target, there := resolve(document, reference)
		if !there {
			break
		}
		found, at = target, strings.TrimPrefix(reference, "#")
	}
	return found, at
}

func resolve(document any, reference string) (map[string]any, bool) {
	path, local := strings.CutPrefix(reference, "#")
	if !local || path != "" && path[0] != '/' {
		return nil, false
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch inner := document.(type) {
		case map[string]any:
			document = inner[name]
		case []any:
			index, err := strconv.Atoi(name)
			if err != nil || index < 0 || index >= len(inner) {
				return nil, false
			}
			document = inner[index]
		default:
			return nil, false
		}
	}
	found, isObject := document.(map[string]any)
	return found, isObject
}

// assertions are the keywords of a schema that accept or reject values, sorted.
func assertions(schema map[string]any) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(schema)), func(keyword string) bool {
		return slices.Contains(remarks, keyword) || slices.Contains(definitions, keyword) || keyword == "default"
	})
}

// forms compares two ways to write alternatives: anyOf or oneOf alone, and a type or several.
// It tells whether that was all.
func (s *schemas) forms(before, after map[string]any, at string, depth int) bool {
	wasKeyword, isKeyword := alternation(before), alternation(after)
	if (wasKeyword == "") == (isKeyword == "") {
		return false
	}
	older, wasPossible := branches(before, wasKeyword)
	newer, isPossible := branches(after, isKeyword)
	if !wasPossible || !isPossible {
		return false
	}
	s.alternatives(older, newer, at, depth)
	s.remarks(before, after, at)
	return true
}

// alternation is the keyword of a schema that has only alternatives; "" for others.
func alternation(schema map[string]any) string {
	if all := assertions(schema); len(all) == 1 && (all[0] == "anyOf" || all[0] == "oneOf") {
		return all[0]
	}
	return ""
}

// branches are the alternatives of a schema: those of the keyword, or else one for each type.
func branches(schema map[string]any, keyword string) (all []any, possible bool) {
	if keyword != "" {
		all, possible = schema[keyword].([]any)
		return all, possible && (keyword == "anyOf" || distinct(all))
	}
	if slices.ContainsFunc(assertions(schema), func(one string) bool {
		return slices.Contains([]string{"anyOf", "oneOf", "allOf", "$ref", "enum", "const"}, one)
	}) {
		return nil, false
	}
	types, isList := schema["type"].([]any)
	if !isList {
		types = []any{schema["type"]}
	}
	for _, one := range types {
		branch := map[string]any{}
		for keyword, value := range schema {
			if of, typed := typeOf[keyword]; !typed || slices.Contains(of, text(one)) {
				branch[keyword] = value
			}
		}
		if branch["type"] = one; one == nil {
			delete(branch, "type")
		}
		all = append(all, branch)
	}
	return all, true
}

// typeOf are the types that keywords are about.
var typeOf = func() map[string][]string {
	all := map[string][]string{}
	for types, keywords := range map[string]string{
		"string":         "minLength maxLength pattern format contentEncoding contentMediaType",
		"number integer": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
		"array":          "items prefixItems minItems maxItems uniqueItems contains",
		"object":         "properties required additionalProperties patternProperties propertyNames minProperties maxProperties",
	} {
		for keyword := range strings.FieldsSeq(keywords) {
			all[keyword] = strings.Fields(types)
		}
	}
	return all
}()

// distinct tells whether no value can match two of some alternatives: each has one type, or one
// value, of its own.
func distinct(all []any) bool {
	seen := map[string]bool{}
	constant := 0
	for _, one := range all {
		branch, _ := one.(map[string]any)
		mark, isType := branch["type"].(string)
		if value, there := branch["const"]; there {
			mark, isType = "const "+compact(value), true
			constant++
		}
		if !isType || seen[mark] || mark == "number" && seen["integer"] || mark == "integer" && seen["number"] {
			return false
		}
		seen[mark] = true
	}
	return constant == 0 || constant == len(all)
}

// alternatives compares those of anyOf, or of oneOf where they are distinct: the same ones with
// each other, then those of one kind, then the only ones left.
func (s *schemas) alternatives(older, newer []any, at string, depth int) {
	for _, mark := range []func(any) string{compact, asserted, kindOf, func(any) string { return "" }} {
		was, is := byMark(older, mark), byMark(newer, mark)
		for _, name := range keysOf(was.only, is.only) {
			one, wasThere := was.only[name]
			another, isThere := is.only[name]
			if wasThere && isThere && !was.twice[name] && !is.twice[name] {
				s.compare(one, another, at, depth+1)
				was.paired[name], is.paired[name] = true, true
			}
		}
		older, newer = was.left(older, mark), is.left(newer, mark)
	}
	switch {
	case len(older) > 0 && len(newer) > 0:
		s.change(undecided, at, "the alternatives changed", older, newer)
	case len(newer) > 0:
		s.change(wider, at, "an alternative is new", absent{}, newer)
	case len(older) > 0:
		s.change(narrower, at, "an alternative is gone", older, absent{})
	}
}

// marked are alternatives by something that marks them.
type marked struct {
	only          map[string]any
	twice, paired map[string]bool
}

func byMark(all []any, mark func(any) string) marked {
	found := marked{map[string]any{}, map[string]bool{}, map[string]bool{}}
	for _, one := range all {
		name := mark(one)
		if _, there := found.only[name]; there {
			found.twice[name] = true
		}
		found.only[name] = one
	}
	return found
}

// left are those that are not paired.
func (m marked) left(all []any, mark func(any) string) []any {
	return slices.DeleteFunc(slices.Clone(all), func(one any) bool { return m.paired[mark(one)] })
}

// asserted is a schema without what accepts and rejects nothing.
func asserted(schema any) string {
	object, is := schema.(map[string]any)
	if !is {
		return compact(schema)
	}
	bare := map[string]any{}
	for _, keyword := range assertions(object) {
		bare[keyword] = object[keyword]
	}
	return compact(bare)
}

// kindOf is what a schema is of at first sight.
func kindOf(schema any) string {
	object, _ := schema.(map[string]any)
	return compact([]any{object["type"], object["$ref"], object["const"], object["title"]})
}

// types compares the types that are accepted.
func (s *schemas) types(before, after map[string]any, at string) {
	_, wasThere := before["type"]
	_, isThere := after["type"]
	if !wasThere && !isThere {
		return
	}
	older, newer := typesOf(before), typesOf(after)
	how, changed := sets(older, newer)
	if changed {
		s.change(how, pointer(at, "type"), "type changed", member(before, "type"), member(after, "type"))
	}
}

// typesOf are the types of a schema, or else of the values that it lists; nil for all.
func typesOf(schema map[string]any) []string {
	switch types := schema["type"].(type) {
	case string:
		return []string{types}
	case []any:
		var all []string
		for _, one := range types {
			all = append(all, text(one))
		}
		return all
	}
	values, listed := valuesOf(schema)
	if !listed {
		return nil
	}
	var all []string
	for _, value := range values {
		all = append(all, jsonType(value))
	}
	return all
}

func jsonType(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return "number"
		}
		return "integer"
	}
	return "object"
}

// sets compares two sets; nil is the set of everything.
func sets(older, newer []string) (how effect, changed bool) {
	lacks := func(of, among []string) bool {
		there := map[string]bool{}
		for _, one := range among {
			there[one] = true
		}
		return among != nil && (of == nil || slices.ContainsFunc(of, func(one string) bool {
			return !there[one] && (one != "integer" || !there["number"])
		}))
	}
	less, more := lacks(older, newer), lacks(newer, older)
	switch {
	case less && more:
		return other, true
	case less:
		return narrower, true
	case more:
		return wider, true
	}
	return 0, false
}

// allowed compares the values that are listed.
func (s *schemas) allowed(before, after map[string]any, at string) {
	older, wasListed := valuesOf(before)
	newer, isListed := valuesOf(after)
	if !wasListed && !isListed {
		return
	}
	how, changed := sets(keys(older), keys(newer))
	if changed {
		keyword := "enum"
		if _, constant := after["const"]; constant {
			keyword = "const"
		}
		s.change(how, pointer(at, keyword), "the allowed values changed", listed(older), listed(newer))
	}
}

func listed(values []any) any {
	if values == nil {
		return absent{}
	}
	return values
}

// valuesOf are the values that a schema lists.
func valuesOf(schema map[string]any) (values []any, listed bool) {
	if value, there := schema["const"]; there {
		return []any{value}, true
	}
	values, listed = schema["enum"].([]any)
	return values, listed
}

// keys are values as texts that are the same where the values are to JSON Schema: 1 and 1.0 are.
func keys(values []any) []string {
	if values == nil {
		return nil
	}
	all := make([]string, 0, len(values))
	for _, value := range values {
		if found, is := number(value); is {
			value = found
		}
		all = append(all, compact(value))
	}
	return all
}

func number(value any) (float64, bool) {
	written, is := value.(json.Number)
	if !is {
		return 0, false
	}
	found, err := written.Float64()
	return found, err == nil
}

// object compares what is said of the members of objects.
func (s *schemas) object(before, after map[string]any, at string, depth int) {
	older, _ := before["properties"].(map[string]any)
	newer, _ := after["properties"].(map[string]any)
	demanded, demands := namesIn(before["required"]), namesIn(after["required"])
	for _, name := range keysOf(demanded, demands) {
		where := pointer(pointer(at, "properties"), name)
		switch {
		case demanded[name] == nil && s.input && older[name] == nil && newer[name] != nil:
			s.change(narrower, where, "new, and required", absent{}, newer[name])
		case demanded[name] == nil && s.input:
			s.change(narrower, where, "newly required", false, true)
		case demanded[name] == nil:
			s.change(narrower, where, "now always there", false, true)
		case demands[name] == nil && s.input:
			s.change(wider, where, "no longer required", true, false)
		case demands[name] == nil:
			s.change(wider, where, "no longer promised", true, false)
		}
	}
	wasOpen, isOpen := openness(before), openness(after)
	for _, name := range keysOf(older, newer) {
		was, wasThere := older[name]
		is, isThere := newer[name]
		where := pointer(pointer(at, "properties"), name)
		switch {
		case wasThere && isThere:
			s.compare(was, is, where, depth+1)
		case isThere && demands[name] != nil && demanded[name] == nil: // told as such
		case isThere && (wasOpen == schemed || !s.input && wasOpen == closed):
			s.change(undecided, where, "new, where the old schema allowed no such member", absent{}, is)
		case isThere:
			s.add(reports.Compatible, where, "new, and optional", absent{}, is)
		case isOpen == closed:
			s.change(narrower, where, "gone, and no longer allowed", was, absent{})
		case demanded[name] != nil && !s.input: // told as such
		default:
			s.change(undecided, where, "gone; what is not described is still allowed", was, absent{})
		}
	}
	s.others(before, after, at, depth)
}

// namesIn are the texts of a list.
func namesIn(value any) map[string]any {
	all, _ := value.([]any)
	names := map[string]any{}
	for _, one := range all {
		names[text(one)] = true
	}
	return names
}

// open, closed and schemed say which members an object may have that are not described.
const (
	open    = "open"
	closed  = "closed"
	schemed = "schemed"
)

func openness(schema map[string]any) string {
	switch others := schema["additionalProperties"].(type) {
	case nil:
		return open
	case bool:
		if !others {
			return closed
		}
		return open
	case map[string]any:
		if len(assertions(others)) == 0 {
			return open
		}
	}
	return schemed
}

// others compares which members are allowed that are not described.
func (s *schemas) others(before, after map[string]any, at string, depth int) {
	wasOpen, isOpen := openness(before), openness(after)
	where := pointer(at, "additionalProperties")
	was, is := member(before, "additionalProperties"), member(after, "additionalProperties")
	switch {
	case wasOpen == schemed && isOpen == schemed:
		s.compare(was, is, where, depth+1)
	case wasOpen == isOpen:
	case isOpen == open && !s.input, wasOpen == closed && !s.input:
		s.change(undecided, where, "members are allowed that were not", was, is)
	case isOpen == open, wasOpen == closed:
		s.change(wider, where, "members are allowed that were not", was, is)
	default:
		s.change(narrower, where, "fewer members are allowed", was, is)
	}
}

// bounds are the keywords that bound something: from below, or from above.
var bounds = map[string]bool{
	"minimum": true, "exclusiveMinimum": true, "minLength": true, "minItems": true, "minProperties": true,
	"maximum": false, "exclusiveMaximum": false, "maxLength": false, "maxItems": false, "maxProperties": false,
}

// restrictions are keywords that reject values, with what accepts all in their place.
var restrictions = map[string]any{
	"pattern": "", "multipleOf": absent{}, "uniqueItems": false, "items": true, "format": "", "anyOf": absent{},
	"allOf": absent{},
}

// compared are the keywords that others compare.
var compared = append(slices.Concat(remarks, definitions),
	"default", "type", "enum", "const", "properties", "required", "additionalProperties")

// keywords compares the other keywords, each by itself.
func (s *schemas) keywords(before, after map[string]any, at string, depth int) {
	s.remarks(before, after, at)
	for _, keyword := range keysOf(before, after) {
		was, is, where := member(before, keyword), member(after, keyword), pointer(at, keyword)
		fromBelow, bound := bounds[keyword]
		_, restriction := restrictions[keyword]
		_, none := was.(absent)
		_, gone := is.(absent)
		older, wasList := was.([]any)
		newer, isList := is.([]any)
		switch {
		case slices.Contains(compared, keyword):
		case bound:
			s.bound(where, was, is, fromBelow)
		case keyword == "items" && !none && !gone:
			s.compare(was, is, where, depth+1)
		case keyword == "prefixItems" && wasList && isList && len(older) == len(newer):
			for position := range older {
				s.compare(older[position], newer[position], pointer(where, strconv.Itoa(position)), depth+1)
			}
		case wasList && isList && (keyword == "anyOf" || keyword == "oneOf" && distinct(older) && distinct(newer)):
			s.alternatives(older, newer, where, depth)
		case keyword == "allOf" && wasList && isList && len(older) == len(newer):
			for position := range older {
				s.compare(older[position], newer[position], pointer(where, strconv.Itoa(position)), depth+1)
			}
		case reflect.DeepEqual(was, is):
			if refers(map[string]any{keyword: is}) &&
				!reflect.DeepEqual(definitionsOf(s.before), definitionsOf(s.after)) {
				s.change(undecided, where, "refers to definitions, and some of them changed", absent{}, absent{})
			}
		case none && idle(keyword, is), gone && idle(keyword, was):
		case restriction && (none || idle(keyword, was)):
			s.change(narrower, where, keyword+" is new", was, is)
		case restriction && (gone || idle(keyword, is)):
			s.change(wider, where, keyword+" is gone", was, is)
		default:
			s.change(undecided, where, keyword+" changed", was, is)
		}
	}
}

// idle tells whether a keyword with a value rejects nothing.
func idle(keyword string, value any) bool {
	object, isObject := objectOf(value)
	_, restriction := restrictions[keyword]
	return restriction && (reflect.DeepEqual(value, restrictions[keyword]) ||
		keyword == "items" && value != false && isObject && len(assertions(object)) == 0)
}

func (s *schemas) bound(where string, was, is any, fromBelow bool) {
	older, wasNumber := number(was)
	newer, isNumber := number(is)
	_, none := was.(absent)
	_, gone := is.(absent)
	switch {
	case reflect.DeepEqual(was, is), wasNumber && isNumber && older == newer:
	case isNumber && (none || wasNumber && newer > older == fromBelow):
		s.change(narrower, where, "a narrower bound", was, is)
	case wasNumber && (gone || isNumber):
		s.change(wider, where, "a wider bound", was, is)
	default:
		s.change(undecided, where, "the bound changed", was, is)
	}
}

// remarks compares what accepts and rejects nothing.
func (s *schemas) remarks(before, after map[string]any, at string) {
	for _, keyword := range append(slices.Clone(remarks), "default") {
		was, is := member(before, keyword), member(after, keyword)
		if reflect.DeepEqual(was, is) {
			continue
		}
		if keyword == "default" && s.input {
			s.change(undecided, pointer(at, keyword), "the default changed", was, is)
			continue
		}
		s.add(reports.Wording, pointer(at, keyword), keyword+" changed", was, is)
	}
}

// refers tells whether there is a reference in a value.
func refers(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if _, is := value["$ref"]; is {
			return true
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), refers)
	case []any:
		return slices.ContainsFunc(value, refers)
	}
	return false
}

func definitionsOf(document any) []any {
	object, _ := document.(map[string]any)
	return []any{object["$defs"], object["definitions"]}
}
