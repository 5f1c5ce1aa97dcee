package contract

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/reports"
)

// Compare finds what has changed from one contract to another. What neither the protocol nor
// JSON Schema decides is Unclear.
func Compare(before, after *Contract) *reports.ContractDiff {
	found := &reports.ContractDiff{
		Format:  reports.ContractFormat,
		Items:   []string{"revisions", "capabilities"},
		Changes: []reports.Difference{},
	}
	c := &comparer{found: found}
	c.revisions(before, after)
	c.capabilities(before.Capabilities, after.Capabilities)
	if before.Server != after.Server {
		found.Items = append(found.Items, "server")
		c.item = "server"
		c.add(reports.Wording, "", "the name in serverInfo changed", before.Server, after.Server)
	}
	for _, kind := range lists() {
		c.list(kind, before, after)
	}
	return found
}

// comparer collects changes.
type comparer struct {
	found *reports.ContractDiff
	item  string // that is compared
}

// absent is a value that is not there.
type absent struct{}

// maxChanges bounds how many are kept of those that break nothing.
const maxChanges = 10_000

func (c *comparer) add(impact reports.Impact, where, says string, was, is any) {
	if len(c.found.Changes) >= maxChanges && impact != reports.Breaking {
		return
	}
	c.found.Changes = append(c.found.Changes, reports.Difference{
		Impact: impact, Item: c.item, Where: where, Says: says, Was: shown(was), Is: shown(is),
	})
}

// maxShown bounds what a report shows of a value, in bytes.
const maxShown = 400

// shown is a value as a report shows it; "" for one that is not there.
func shown(value any) string {
	if _, none := value.(absent); none {
		return ""
	}
	text := compact(value)
	if short, whole := excerpt.Bytes(text, maxShown); whole {
		text = short
	}
	return excerpt.Middle(text, maxShown)
}

// member is a member of an object, or absent.
func member(of map[string]any, name string) any {
	if value, there := of[name]; there {
		return value
	}
	return absent{}
}

// pointer is the place of a member below another.
func pointer(at, name string) string {
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func (c *comparer) note(format string, values ...any) {
	c.found.Notes = append(c.found.Notes, fmt.Sprintf(format, values...))
}

func (c *comparer) revisions(before, after *Contract) {
	c.item = "revisions"
	if before.Revision != after.Revision {
		c.note("compared at different revisions: what is offered was read at %s, and is read at %s",
			before.Revision, after.Revision)
	}
	if before.Recorded {
		c.note("the old contract was made from recordings: more revisions now are no change")
	}
	if after.Recorded {
		c.note("the new contract was made from recordings: fewer revisions now are no change")
	}
	for _, revision := range before.Revisions {
		if !after.Recorded && !slices.Contains(after.Revisions, revision) {
			c.add(reports.Breaking, "", "the server no longer speaks the revision", revision, absent{})
		}
	}
	for _, revision := range after.Revisions {
		if !before.Recorded && !slices.Contains(before.Revisions, revision) {
			c.add(reports.Compatible, "", "the server also speaks the revision", absent{}, revision)
		}
	}
}

func (c *comparer) capabilities(before, after map[string]any) {
	c.item = "capabilities"
	c.capability("", before, after)
}

// capability compares what is declared at a place, and below it.
func (c *comparer) capability(at string, before, after map[string]any) {
	for _, name := range keysOf(before, after) {
		was, is, where := member(before, name), member(after, name), pointer(at, name)
		declared, declares := declaration(was), declaration(is)
		older, wasObject := was.(map[string]any)
		newer, isObject := is.(map[string]any)
		switch {
		case declared && !declares:
			c.add(reports.Breaking, where, "the capability is no longer declared", was, is)
		case !declared && declares:
			c.add(reports.Compatible, where, "the capability is new", was, is)
		case wasObject && isObject:
			c.capability(where, older, newer)
		case declared && !reflect.DeepEqual(was, is):
			c.add(reports.Unclear, where, "the value of the capability changed", was, is)
		}
	}
}

// declaration tells whether a value declares a capability.
func declaration(value any) bool {
	_, none := value.(absent)
	return !none && value != nil && value != false
}

// list compares what is listed of a kind.
func (c *comparer) list(kind list, before, after *Contract) {
	older, newer := *kind.of(before), *kind.of(after)
	switch unlisted := slices.Contains(after.Unlisted, kind.method); {
	case slices.Contains(before.Unlisted, kind.method):
		c.note("%s is not in the old contract: not compared", kind.method)
		return
	case unlisted && after.Recorded:
		c.note("%s was not recorded to its end in the new contract: not compared", kind.method)
		return
	case unlisted && len(older) > 0:
		c.item = kind.method
		c.found.Items = append(c.found.Items, c.item)
		c.add(reports.Breaking, "", "the list is no longer answered to its last page", absent{}, absent{})
		return
	}
	wasNamed, isNamed := named(older, kind.key), named(newer, kind.key)
	for _, name := range keysOf(wasNamed, isNamed) {
		c.item = kind.one + " " + name
		c.found.Items = append(c.found.Items, c.item)
		was, wasThere := wasNamed[name].(map[string]any)
		is, isThere := isNamed[name].(map[string]any)
		switch {
		case !isThere && kind.member == "resources": // which come and go in many servers
			c.add(reports.Unclear, "", "the resource is no longer listed", absent{}, absent{})
		case !isThere:
			c.add(reports.Breaking, "", "the "+kind.one+" is gone", absent{}, absent{})
		case !wasThere:
			c.add(reports.Compatible, "", "the "+kind.one+" is new", absent{}, absent{})
		default:
			c.members(kind, was, is)
		}
	}
}

// named are items by what they are called; of several with one name the others have a number.
func named(items []map[string]any, key string) map[string]any {
	all := map[string]any{}
	for _, item := range items {
		name := text(item[key])
		for number := 2; all[name] != nil; number++ {
			name = fmt.Sprintf("%s (%d)", text(item[key]), number)
		}
		all[name] = item
	}
	return all
}

// wording are members that tell people and models something.
var wording = []string{"title", "description", "icons"}

// members compares the members of what is listed.
func (c *comparer) members(kind list, before, after map[string]any) {
	for _, name := range keysOf(before, after) {
		was, is, at := member(before, name), member(after, name), pointer("", name)
		tool := kind.member == "tools"
		resource := kind.member == "resources" || kind.member == "templates"
		switch {
		case tool && name == "inputSchema":
			c.schema(at, was, is, true)
		case tool && name == "outputSchema":
			c.output(at, was, is)
		case tool && name == "annotations":
			c.annotations(was, is)
		case tool && name == "execution":
			c.execution(was, is)
		case kind.member == "prompts" && name == "arguments":
			c.arguments(was, is)
		case reflect.DeepEqual(was, is):
		case resource && name == "mimeType":
			c.mediaType(was, is)
		case slices.Contains(wording, name), resource && (name == "name" || name == "annotations"):
			c.add(reports.Wording, at, name+" changed", was, is)
		default:
			c.add(reports.Unclear, at, name+" changed", was, is)
		}
	}
}

func (c *comparer) mediaType(was, is any) {
	if _, none := was.(absent); none {
		c.add(reports.Compatible, "/mimeType", "mimeType is now known", was, is)
		return
	}
	c.add(reports.Breaking, "/mimeType", "mimeType changed", was, is)
}

func (c *comparer) output(at string, was, is any) {
	_, none := was.(absent)
	_, gone := is.(absent)
	switch {
	case none && gone:
	case gone:
		c.add(reports.Breaking, at, "outputSchema is gone: structuredContent is no longer promised", was, is)
	case none:
		c.add(reports.Compatible, at, "outputSchema is new", was, is)
	default:
		c.schema(at, was, is, false)
	}
}

// hints are the annotations of a tool that say how safe a call is, each with what it is where it
// is absent (2025-11-25, schema, ToolAnnotations).
var hints = []struct {
	name         string
	absent, safe bool
}{
	{"readOnlyHint", false, true},
	{"destructiveHint", true, false},
	{"idempotentHint", false, true},
	{"openWorldHint", true, false},
}

func (c *comparer) annotations(was, is any) {
	before, _ := was.(map[string]any)
	after, _ := is.(map[string]any)
	known := map[string]bool{}
	for _, hint := range hints {
		known[hint.name] = true
		at := pointer("/annotations", hint.name)
		told, tells := member(before, hint.name), member(after, hint.name)
		older, newer := hinted(told, hint.absent), hinted(tells, hint.absent)
		// Of what is read-only two hints say nothing.
		idle := (hint.name == "destructiveHint" || hint.name == "idempotentHint") &&
			(hinted(member(before, "readOnlyHint"), false) || hinted(member(after, "readOnlyHint"), false))
		switch {
		case older == newer || idle:
		case newer == hint.safe:
			c.add(reports.Compatible, at, "the tool is safer to call", older, newer)
		default:
			c.add(reports.Breaking, at, "the tool is less safe to call", older, newer)
		}
	}
	for _, name := range keysOf(before, after) {
		told, tells := member(before, name), member(after, name)
		switch at := pointer("/annotations", name); {
		case known[name] || reflect.DeepEqual(told, tells):
		case name == "title":
			c.add(reports.Wording, at, "title changed", told, tells)
		default:
			c.add(reports.Unclear, at, name+" changed", told, tells)
		}
	}
}

func hinted(value any, otherwise bool) bool {
	if hint, is := value.(bool); is {
		return hint
	}
	return otherwise
}

// taskSupport are the changes of execution.taskSupport that no client need notice.
var taskSupport = map[[2]string]bool{{"forbidden", "optional"}: true, {"required", "optional"}: true}

func (c *comparer) execution(was, is any) {
	before, _ := was.(map[string]any)
	after, _ := is.(map[string]any)
	for _, name := range keysOf(before, after) {
		told, tells := member(before, name), member(after, name)
		at := pointer("/execution", name)
		if name != "taskSupport" {
			if !reflect.DeepEqual(told, tells) {
				c.add(reports.Unclear, at, name+" changed", told, tells)
			}
			continue
		}
		change := [2]string{supported(told), supported(tells)}
		switch {
		case change[0] == change[1]:
		case taskSupport[change]:
			c.add(reports.Compatible, at, "the tool can be called with a task and without", change[0], change[1])
		default:
			c.add(reports.Breaking, at, "the tool can no longer be called in each way", change[0], change[1])
		}
	}
}

func supported(value any) string {
	if text, is := value.(string); is {
		return text
	}
	return "forbidden"
}

// arguments compares those of a prompt.
func (c *comparer) arguments(was, is any) {
	before, after := argumentsOf(was), argumentsOf(is)
	for _, name := range keysOf(before, after) {
		older, wasThere := before[name].(map[string]any)
		newer, isThere := after[name].(map[string]any)
		at := pointer("/arguments", name)
		required := newer["required"] == true
		switch {
		case !isThere:
			c.add(
				reports.Unclear,
				at,
				"the argument is gone; whether the server ignores it is not said",
				older,
				absent{},
			)
			continue
		case !wasThere && required:
			c.add(reports.Breaking, at, "a new argument is required", absent{}, newer)
			continue
		case !wasThere:
			c.add(reports.Compatible, at, "an optional argument is new", absent{}, newer)
			continue
		}
		wasRequired := older["required"] == true
		if required != wasRequired {
			impact, says := reports.Compatible, "the argument is no longer required"
			if required {
				impact, says = reports.Breaking, "the argument is newly required"
			}
			c.add(impact, at, says, wasRequired, required)
		}
		for _, name := range keysOf(older, newer) {
			told, tells := member(older, name), member(newer, name)
			switch {
			case name == "required" || reflect.DeepEqual(told, tells):
			case slices.Contains(wording, name):
				c.add(reports.Wording, pointer(at, name), name+" changed", told, tells)
			default:
				c.add(reports.Unclear, pointer(at, name), name+" changed", told, tells)
			}
		}
	}
}

func argumentsOf(value any) map[string]any {
	return named(mcp.Objects(map[string]any{"arguments": value}, "arguments"), "name")
}
