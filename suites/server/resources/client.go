package resources

import (
	"regexp"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Resource templates", expandingTemplates)
}

// An expansion is what RFC 6570 makes of a template and some arguments.
type expansion struct {
	template  string
	arguments Object
	uri       string
}

// expansions are of the kinds of expressions that templates of servers have: simple ones,
// reserved ones, queries, lists, and variables that are not defined. The fifth has
// characters that what escapes URLs elsewhere leaves as they are.
var expansions = []expansion{
	{"test://notes/{id}", Object{"id": "42"}, "test://notes/42"},
	{"test://files/{name}", Object{"name": "to do/été.txt"}, "test://files/to%20do%2F%C3%A9t%C3%A9.txt"},
	{"test://tree/{+path}", Object{"path": "src/main.go"}, "test://tree/src/main.go"},
	{"test://search{?query,lang}", Object{"query": "a&b"}, "test://search?query=a%26b"},
	{"test://books/{title}", Object{"title": "what's new (1)!*"}, "test://books/what%27s%20new%20%281%29%21%2A"},
	{"test://machines/{id}{?state,limit}", Object{"id": "7"}, "test://machines/7"},
	{"test://points/{x,y}", Object{"x": "1/2", "y": "3"}, "test://points/1%2F2,3"},
}

// templates is a server whose resources have templates.
var templates = &Scenario{
	Name:  "resource-templates",
	Says:  "The server has resource templates with expressions of several kinds, and the client reads a resource of each.",
	Steps: templateSteps(),
	Server: func(server *scripted.Server) {
		server.Templates = nil
		for _, one := range expansions {
			server.Templates = append(server.Templates, Object{"uriTemplate": one.template, "name": one.template})
			server.Resources = append(server.Resources, Object{"uri": one.uri, "name": one.uri})
		}
	},
}

func templateSteps() Steps {
	steps := Steps{ToConnect(), ToList("templates")}
	for _, one := range expansions {
		steps = append(steps, ToReadBy(one.template, one.arguments))
	}
	return append(steps, ToList("tools"), ToClose())
}

func expandingTemplates() {
	It("expands a simple uriTemplate expression such as {id} for resources/read",
		Verifies("resources.templates.expanded"), In(templates), func(t *T) { demandExpansion(t, RunScenario(t), 0) })

	It("percent-encodes reserved and non-ASCII characters in a uriTemplate expression such as {name}",
		Verifies("resources.templates.expanded"), In(templates), func(t *T) { demandExpansion(t, RunScenario(t), 1) })

	It("keeps reserved characters in a uriTemplate expression such as {+path}",
		Verifies("resources.templates.expanded"), In(templates), func(t *T) { demandExpansion(t, RunScenario(t), 2) })

	It("omits undefined variables from a uriTemplate query such as {?query,lang}",
		Verifies("resources.templates.expanded"), In(templates), func(t *T) { demandExpansion(t, RunScenario(t), 3) })

	It("percent-encodes !, ', (, ) and * in a uriTemplate expression such as {title}",
		Verifies("resources.templates.expanded"), In(templates), func(t *T) { demandExpansion(t, RunScenario(t), 4) })

	It("omits a uriTemplate query such as {?state,limit} if none of its variables is defined",
		Verifies("resources.templates.expanded"), In(templates), func(t *T) { demandExpansion(t, RunScenario(t), 5) })

	It("joins the values of a uriTemplate expression such as {x,y} with commas",
		Verifies("resources.templates.expanded"), In(templates), func(t *T) { demandExpansion(t, RunScenario(t), 6) })
}

// demandExpansion demands that the client reads what one of the templates expands to.
func demandExpansion(t *T, client *Client, number int) {
	one := expansions[number]
	reads := client.NeedRequests("resources/read")
	if t.Observed(slices.ContainsFunc(reads, func(read *Message) bool { return isURI(read, one.uri) })) {
		return
	}
	beginning, _, _ := strings.Cut(one.template, "{")
	for _, read := range reads {
		uri := mcp.Text(read.ParamsObject(), "uri")
		if strings.HasPrefix(uri, beginning) {
			client.Fail(read, Mismatch{
				Wanted: Show(one.uri) + ", which " + one.template + " with " + Show(one.arguments) + " expands to",
				Found:  Show(uri),
				Where:  "/params/uri",
			})
		}
	}
	client.Inconclusive("the client read no resource of the template "+one.template, "resources/read")
}

// isURI compares the URI of a request; the letters of percent-encodings are the same in
// either case.
func isURI(read *Message, uri string) bool {
	return percents.ReplaceAllStringFunc(mcp.Text(read.ParamsObject(), "uri"), strings.ToUpper) == uri
}

var percents = regexp.MustCompile(`%[0-9a-fA-F]{2}`)
