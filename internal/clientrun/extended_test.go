package clientrun

import (
	"encoding/json"
	"net/url"
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// refusedRequest is one to the endpoint that came without a token.
func refusedRequest(t *testing.T, body string) *Client {
	t.Helper()
	visit := &Visit{Place: scripted.AtEndpoint, URL: &url.URL{}}
	if err := json.Unmarshal([]byte(body), &visit.JSON); err != nil {
		t.Fatal(err)
	}
	return &Client{Recording: &scenario.Recording{}, Visits: []*Visit{visit}}
}

func TestDeclaresExtensionInARefusedRequest(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/a":{}}}}}}`:    true,
		`{"params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/b":{}}}}}}`:    false,
		`{"params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/a":false}}}}}`: false,
		`{"params":{"_meta":[]}}`: false,
		`{"params":7}`:            false,
		`{}`:                      false,
	} {
		if got := refusedRequest(t, body).DeclaresExtension("a"); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func TestDriven(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://localhost:1/authorize?redirect_uri=" + url.QueryEscape(OfficialRedirect):                 true,
		"http://localhost:1/authorize?redirect_uri=" + url.QueryEscape("http://localhost:4000/callback"): false,
		"http://localhost:1/authorize": false,
	} {
		parsed, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		client := &Client{Recording: &scenario.Recording{}, Visits: []*Visit{{Place: scripted.AtAuthorize, URL: parsed}}}
		if got := client.Driven(); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// What is missing for lack of room in a scenario to compare makes a check as uncertain as in its
// own.
func TestComparisonOverBudget(t *testing.T) {
	t.Parallel()
	own, plain := &scenario.Scenario{Name: "own"}, &scenario.Scenario{Name: "plain"}
	for over, names := range map[bool][]string{true: {"own", "plain"}, false: {""}} {
		for _, name := range names {
			recordings := []*scenario.Recording{recordOf("own", scenario.Exit{}), recordOf("plain", scenario.Exit{})}
			for _, one := range recordings {
				one.OverBudget = one.Scenario == name
			}
			look(t, own, func(check *T) {
				RunScenario(check)
				AlsoRun(check, plain)
				if OverBudget(check) != over {
					t.Errorf("%q is over its budget: %t", name, !over)
				}
			}, recordings...)
		}
	}
}
