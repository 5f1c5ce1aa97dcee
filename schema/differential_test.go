package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// deviation is a deliberate difference from the published schema of a revision.
type deviation struct {
	revisions   []string
	definitions *regexp.Regexp
	looser      bool           // ours accepts what the published schema refuses; else the other way round
	says        *regexp.Regexp // what the stricter side finds, each violation as a line
	page        string         // of the specification, below the revision's folder
	sentence    string         // why ours is right, as the page has it, without markup
}

// answering are the definitions of 2026-07-28 that hold the answers of a client.
const answering = `InputResponses?|InputResponseRequestParams|(CallTool|GetPrompt|ReadResource)Request(Params)?|ClientRequest`

// deviations holds all of them. One that no longer differs fails the test.
var deviations = []deviation{
	{
		revisions: []string{"2024-11-05"}, definitions: exactly(`JSONRPCNotification|JSONRPCMessage`),
		says: regexp.MustCompile(`no member "id"`),
		page: "basic/messages", sentence: "Notifications MUST NOT include an ID.",
	},
	{
		revisions: []string{"2025-03-26"}, definitions: exactly(`JSONRPCNotification|JSONRPCMessage|JSONRPCBatchRequest`),
		says: regexp.MustCompile(`no member "id"`),
		page: "basic/index", sentence: "Notifications MUST NOT include an ID.",
	},
	{
		revisions: []string{"2025-06-18"}, definitions: exactly(`JSONRPCNotification`),
		says: regexp.MustCompile(`no member "id"`),
		page: "basic/index", sentence: "Notifications MUST NOT include an ID.",
	},
	{
		revisions: []string{"2025-11-25", "2026-07-28"}, definitions: exactly(`.*Notification`),
		says: regexp.MustCompile(`no member "id"`),
		page: "basic/index", sentence: "Notifications MUST NOT include an ID.",
	},
	{
		revisions: []string{"2024-11-05"}, definitions: exactly(`JSONRPCResponse|JSONRPCError|JSONRPCMessage`),
		says: regexp.MustCompile(`no member "(error|result)"`),
		page: "basic/messages", sentence: "A response MUST NOT set both.",
	},
	{
		revisions: []string{"2025-03-26"}, definitions: exactly(`JSONRPCResponse|JSONRPCError|JSONRPCMessage|JSONRPCBatchResponse`),
		says: regexp.MustCompile(`no member "(error|result)"`),
		page: "basic/index", sentence: "A response MUST NOT set both.",
	},
	{
		revisions: []string{"2025-06-18"}, definitions: exactly(`JSONRPCResponse|JSONRPCError`),
		says: regexp.MustCompile(`no member "(error|result)"`),
		page: "basic/index", sentence: "A response MUST NOT set both.",
	},
	{ // which says in its section 5: "both members MUST NOT be included"
		revisions:   []string{"2025-11-25", "2026-07-28"},
		definitions: exactly(`.*Response|.*Error`),
		says:        regexp.MustCompile(`no member "(error|result)"`),
		page:        "basic/index",
		sentence:    "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification.",
	},
	{
		revisions: []string{"2024-11-05", "2025-03-26"}, definitions: exactly(`Root|ListRootsResult`),
		says: regexp.MustCompile(`\^file://`),
		page: "client/roots", sentence: "This MUST be a file:// URI in the current specification.",
	},
	{
		revisions: []string{"2025-06-18", "2025-11-25", "2026-07-28"}, definitions: exactly(`Root|ListRootsResult|` + answering),
		says: regexp.MustCompile(`\^file://`),
		page: "schema", sentence: "This must start with file:// for now.",
	},
	{
		revisions: []string{"2024-11-05", "2025-03-26"}, definitions: exactly(`CompleteResult`),
		says: regexp.MustCompile(`at most 100 items`),
		page: "server/utilities/completion", sentence: "Maximum 100 items per response",
	},
	{
		revisions: []string{"2025-06-18", "2025-11-25"}, definitions: exactly(`CompleteResult`),
		says: regexp.MustCompile(`at most 100 items`),
		page: "schema", sentence: "An array of completion values. Must not exceed 100 items.",
	},
	{
		revisions: []string{"2026-07-28"}, definitions: exactly(`InputRequiredResult`),
		says: regexp.MustCompile(`member "inputRequests", member "requestState"`),
		page: "schema", sentence: "At least one of inputRequests or requestState MUST be present.",
	},
	{
		revisions: []string{"2026-07-28"}, definitions: exactly(`InputRequiredResult`),
		says: regexp.MustCompile(`^at /resultType: expected "input_required"`),
		page: "changelog", sentence: `"input_required" for multi round-trip request interim results`,
	},
	{ // so that any other result must be the other alternative, in all its members
		revisions: []string{"2026-07-28"}, definitions: exactly(`(CallTool|GetPrompt|ReadResource)ResultResponse`),
		says: regexp.MustCompile(`^at /result[/:]`),
		page: "changelog", sentence: `"input_required" for multi round-trip request interim results`,
	},
	{ // each definition that contains a JSONObject
		revisions: []string{"2026-07-28"}, definitions: exactly(`.*`), looser: true,
		says: regexp.MustCompile(`an array or a boolean or an integer or an object or a string; found (null|-?\d+\.\d+) `),
		page: "schema", sentence: "JSONValue: string | number | boolean | null | JSONObject | JSONArray",
	},
	{ // the answer to a NumberSchema of type "number"
		revisions: []string{"2025-06-18", "2025-11-25", "2026-07-28"}, definitions: exactly(`ElicitResult|` + answering), looser: true,
		says: regexp.MustCompile(`a boolean or an integer or a string; found -?\d+\.\d+ `),
		page: "schema", sentence: "content?: { [key: string]: string | number | boolean",
	},
}

func exactly(names string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + names + `)$`) }

func (d deviation) String() string {
	return fmt.Sprintf("%v %s: %s", d.revisions, d.definitions, d.says)
}

// TestReasonsQuoteTheSpecification keeps the reasons honest.
func TestReasonsQuoteTheSpecification(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MCP_SPEC_DIR")
	if dir == "" {
		t.Skip("MCP_SPEC_DIR is not set: no specification to look into")
	}
	pages := map[string]string{}
	check := func(revision, page, sentence string) {
		file := filepath.Join(dir, revision, filepath.FromSlash(page)+".mdx")
		if _, ok := pages[file]; !ok {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pages[file] = plain(string(raw))
		}
		if !strings.Contains(pages[file], plain(sentence)) {
			t.Errorf("%s does not say %q", file, sentence)
		}
	}
	for _, d := range deviations {
		for _, revision := range d.revisions {
			check(revision, d.page, d.sentence)
		}
	}
	for _, known := range refusedExamples {
		check(known.revision, known.page, known.sentence)
	}
}

var (
	tags   = regexp.MustCompile(`<[^<>]*>|\[([^\]]*)\]\([^)]*\)`)
	markup = strings.NewReplacer("*", "", "`", "", " ", "", "\u00a0", "", "\n", "", "\t", "")
)

// plain is a text without markup and white space.
func plain(text string) string {
	return markup.Replace(html.UnescapeString(tags.ReplaceAllString(text, "$1")))
}

// published is the official schema of a revision.
type published struct {
	document any
	prefix   string // of a reference to a definition
	names    []string
	mutex    sync.Mutex
	compiler *jsonschema.Compiler
}

func readPublished(t *testing.T, revision string) *published {
	t.Helper()
	file, err := os.Open(filepath.Join(os.Getenv("MCP_SCHEMA_DIR"), revision, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &published{document: document, compiler: newCompiler()}
	p.compiler.AssertFormat()
	if err := p.compiler.AddResource("urn:published", document); err != nil {
		t.Fatal(err)
	}
	for _, keyword := range []string{"$defs", "definitions"} {
		if definitions, ok := document.(map[string]any)[keyword].(map[string]any); ok {
			p.prefix, p.names = "#/"+keyword+"/", slices.Sorted(maps.Keys(definitions))
		}
	}
	return p
}

func (p *published) compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	compiled, err := p.compiler.Compile("urn:published" + p.prefix + name)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// TestAgreesWithPublished compares every definition with the published one, on valid instances made from both and on
// every single mutation of each.
func TestAgreesWithPublished(t *testing.T) {
	t.Parallel()
	if os.Getenv("MCP_SCHEMA_DIR") == "" {
		t.Skip("MCP_SCHEMA_DIR is not set: no published schemas to compare with")
	}
	if raceDetector {
		t.Skip("so many comparisons take minutes with the race detector, and have nothing to race for")
	}
	used := map[string]bool{}
	var mutex sync.Mutex
	t.Run("revisions", func(t *testing.T) {
		for _, revision := range Revisions() {
			official := readPublished(t, revision)
			ours, err := For(revision)
			if err != nil {
				t.Fatal(err)
			}
			if got := ours.Definitions(); !slices.Equal(got, official.names) {
				t.Errorf("%s: our definitions %v, published %v", revision, got, official.names)
			}
			for _, name := range ours.Definitions() {
				t.Run(revision+"/"+name, func(t *testing.T) {
					t.Parallel()
					compare(t, ours, official, name, func(entries []int) {
						mutex.Lock()
						defer mutex.Unlock()
						for _, entry := range entries {
							used[fmt.Sprint(revision, entry)] = true
						}
					})
				})
			}
		}
	})
	for i, d := range deviations {
		for _, revision := range d.revisions {
			if !used[fmt.Sprint(revision, i)] {
				t.Errorf("%s, %v: no longer differs: remove the entry", revision, d)
			}
		}
	}
}

// How many instances of a definition each side makes, and how many of them, beginning with the smallest and the
// largest, are also mutated; the others show all values of an enum, and alternatives without a name.
const (
	comparedSeeds = 40
	mutatedSeeds  = 3
)

func compare(t *testing.T, ours *Schema, official *published, name string, use func([]int)) {
	us, err := ours.compile(name)
	if err != nil {
		t.Fatal(err)
	}
	they := official.compile(t, name)
	seen := map[string]bool{}
	judge := func(what string, value any) {
		ourError, theirError := us.Validate(value), they.Validate(value)
		if (ourError == nil) == (theirError == nil) {
			return
		}
		stricter, document := ourError, any(ours.document)
		if ourError == nil {
			stricter, document = theirError, official.document
		}
		var failed *jsonschema.ValidationError
		if !errors.As(stricter, &failed) {
			t.Fatal(stricter)
		}
		found := violations(failed, name, value, document)
		found = found[:min(len(found), maxViolations)] // without the line that says how many more there are
		if entries := explained(ours.Revision(), name, ourError == nil, found); entries != nil {
			use(entries)
			return
		}
		text, _ := json.Marshal(value)
		t.Errorf("%s\n%s\nours: %v\npublished: %v\nin words: %v", what, text, ourError, theirError, found)
	}
	union := alternativesOf(ours.document, "#/$defs/", name)
	sameUnion := union != nil && slices.Equal(union, alternativesOf(official.document, official.prefix, name))
	sides := []struct {
		side, prefix string
		document     any
		valid        *jsonschema.Schema
	}{
		{"ours", "#/$defs/", ours.document, us},
		{"published", official.prefix, official.document, they},
	}
	for _, side := range sides {
		instances := 0
		for what, instance := range instancesOf(t, side.document, side.prefix, name, side.valid) {
			instances++
			text, err := json.Marshal(instance)
			if err != nil {
				t.Fatal(err)
			}
			if seen[string(text)] {
				continue
			}
			seen[string(text)] = true
			judge(side.side+", "+what, instance)
			if instances > mutatedSeeds || sameUnion {
				continue // the mutations of a union's alternatives are compared under their own names
			}
			for how, mutant := range mutations(instance) {
				judge(side.side+", "+what+", "+how, mutant)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("nothing was compared")
	}
}

// instancesOf makes instances of a definition, first those with the compared seeds, then one of each alternative.
func instancesOf(t *testing.T, document any, prefix, name string, valid *jsonschema.Schema) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		made := func(what, definition string, seed int) bool {
			instance, err := validInstance(document, map[string]any{"$ref": prefix + definition}, valid, seed)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			return yield(what, instance)
		}
		for seed := range comparedSeeds {
			if !made(fmt.Sprintf("seed %d", seed), name, seed) {
				return
			}
		}
		for _, alternative := range alternativesOf(document, prefix, name) {
			if !made(alternative, alternative, 1) {
				return
			}
		}
	}
}

// alternativesOf looks a union up; sorted, since their order says nothing.
func alternativesOf(document any, prefix, name string) []string {
	return slices.Sorted(slices.Values(alternatives(at(document, jsonrpc.Path(strings.TrimPrefix(prefix+name, "#"))))))
}

// explained finds the deviations that a difference is made of: one for each line of the stricter side, or nil.
func explained(revision, definition string, looser bool, found []Violation) []int {
	var entries []int
	for _, violation := range found {
		entry := slices.IndexFunc(deviations, func(d deviation) bool {
			return slices.Contains(d.revisions, revision) && d.definitions.MatchString(definition) &&
				d.looser == looser && d.says.MatchString(violation.String())
		})
		if entry < 0 {
			return nil
		}
		entries = append(entries, entry)
	}
	return entries
}

func validInstance(document, schema any, valid *jsonschema.Schema, seed int) (any, error) {
	var reason error
	for try := range maxExampleTries {
		instance, err := generate(document, schema, seed, try, nil)
		if err == nil {
			err = valid.Validate(instance)
		}
		if err == nil {
			return instance, nil
		}
		reason = err
	}
	return nil, reason
}

// replacements stand in for every value of an instance, one after the other.
var replacements = []any{
	nil, true, json.Number("-1"), json.Number("1.5"), json.Number("1e3"), "", "x", "not base64!", "file:///{", "none",
	[]any{}, []any{"x"}, map[string]any{}, map[string]any{"type": "text", "text": "x"},
}

// additions are members that some definition knows, or none.
var additions = map[string]any{
	"id": json.Number("1"), "result": map[string]any{}, "error": map[string]any{"code": json.Number("1"), "message": "x"},
	"method": "ping", "params": map[string]any{}, "_meta": "x", "name": nil, "unknown": nil,
}

// mutations are all the single changes to an instance, each with a name.
func mutations(instance any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) { mutate(instance, "", yield) }
}

func mutate(value any, at string, yield func(string, any) bool) bool {
	for _, replacement := range replacements {
		if !yield("replace "+at, replacement) {
			return false
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for name, addition := range additions {
			if _, ok := value[name]; !ok && !yield("add "+at+"/"+name, with(value, name, addition)) {
				return false
			}
		}
		for name, member := range value {
			without := maps.Clone(value)
			delete(without, name)
			if !yield("remove "+at+"/"+name, without) {
				return false
			}
			if !mutate(member, at+"/"+name, func(what string, mutant any) bool { return yield(what, with(value, name, mutant)) }) {
				return false
			}
		}
	case []any:
		if len(value) > 0 && isScalar(value[0]) && !yield("repeat "+at+"/0", append(slices.Clone(value), slices.Repeat(value[:1], 100)...)) {
			return false
		}
		for i, item := range value[:min(len(value), 2)] { // further items are like the second
			if !mutate(item, fmt.Sprintf("%s/%d", at, i), func(what string, mutant any) bool {
				changed := slices.Clone(value)
				changed[i] = mutant
				return yield(what, changed)
			}) {
				return false
			}
		}
	}
	return true
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	default:
		return true
	}
}

func with(object map[string]any, name string, value any) map[string]any {
	changed := maps.Clone(object)
	changed[name] = value
	return changed
}
