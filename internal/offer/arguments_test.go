package offer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/survey"
)

func surveyed(resources ...string) *Offer {
	all := &Offer{Scope: &scope.Scope{Survey: &survey.Survey{}}, Policy: provoke.Policy{Calls: provoke.CallAll}}
	for _, uri := range resources {
		all.Survey.Resources = append(all.Survey.Resources, Object{"uri": uri, "name": uri})
	}
	return all
}

func TestPlausible(t *testing.T) {
	t.Parallel()
	listing := surveyed("test://a/b", "file:///data/notes.md", "https://docs.example/one")
	for name, test := range map[string]struct {
		name, description, wanted string
		offered                   *Offer
	}{
		"a URI of a resource":             {"resourceUri", "", "test://a/b", listing},
		"a URI without resources":         {"uri", "", "https://example.com/", surveyed()},
		"a URL on the web":                {"page_url", "", "https://docs.example/one", listing},
		"a URI by the description":        {"target", "The URI of what to read", "test://a/b", listing},
		"a path of a resource":            {"path", "", "/data/notes.md", listing},
		"a path without resources":        {"filePath", "", "example.txt", surveyed()},
		"a folder":                        {"outputDir", "", ".", listing},
		"a date":                          {"start_date", "", "2025-06-18", listing},
		"a date by the description":       {"from", "First day, as YYYY-MM-DD", "2025-06-18", listing},
		"a moment":                        {"timestamp", "", "2025-06-18T12:00:00Z", listing},
		"an e-mail address":               {"userEmail", "", "user@example.com", listing},
		"a number":                        {"count", "How many", "1", listing},
		"a number by the description":     {"n", "An integer, as text", "1", listing},
		"an example in words":             {"city", "The city, e.g. \"Lisbon\" or 'Porto'", "Lisbon", listing},
		"an example in code":              {"query", "Such as `is:open`", "is:open", listing},
		"nothing known":                   {"topic", "What it is about", "", listing},
		"a word that only holds another":  {"curiosity", "Updates, dated or not", "", listing},
		"a word that only ends so: repat": {"repath", "", "", listing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found, _ := test.offered.plausible(test.name, test.description); found != test.wanted {
				t.Errorf("made up %q, wanted %q", found, test.wanted)
			}
		})
	}
}

// What a schema says goes before what its names and descriptions suggest.
func TestArgumentsAreSuggested(t *testing.T) {
	t.Parallel()
	schema, _ := jsonrpc.Decode([]byte(`{"type":"object","required":["uri","date","email","limit","kind","when","code","count","other"],"properties":{
		"uri":{"type":"string","format":"uri"},"date":{"type":"string"},"email":{"type":"string","examples":["ada@example.org"]},
		"limit":{"type":"integer","minimum":5},"kind":{"type":"string","enum":["url","path"]},"when":{"type":"string","format":"date-time"},
		"code":{"type":"string","description":"e.g. 'AB'","pattern":"^[A-Z]{3}$"},"count":{"type":["integer","null"]},"other":{"type":"string","default":"x"}}}`))
	made, err := surveyed("test://a").arguments(Object{"name": "any", "inputSchema": schema})
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{
		"uri": `"test://a"`, "date": `"2025-06-18"`, "email": `"ada@example.org"`, "limit": "5", "kind": `"url"`,
		"when": `"2025-06-18T12:00:00Z"`, "code": `"AAA"`, "count": "1", "other": `"x"`,
	}
	found := map[string]string{}
	for name, value := range made {
		found[name] = jsonrpc.Text(value)
	}
	if difference := cmp.Diff(wanted, found); difference != "" {
		t.Error(difference)
	}
}
