package clientrun

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// A client that asks for no token where it is to log in may have lost its port to another one:
// then it may only seem to fail, and to refuse what it has asked for.
func TestAClientThatComesToNoTokenMayBeDisturbed(t *testing.T) {
	t.Parallel()
	protected := &scenario.Scenario{Protected: func(*scripted.Guard) {}}
	for name, test := range map[string]struct {
		at                    *scenario.Scenario
		places                []scripted.Place
		tokenless, unanswered bool
	}{
		"a server for all":       {&scenario.Scenario{}, nil, false, false},
		"nothing was asked for":  {protected, nil, true, false},
		"a login was asked for":  {protected, []scripted.Place{scripted.AtAuthorize}, true, true},
		"a token was asked for":  {protected, []scripted.Place{scripted.AtAuthorize, scripted.AtToken}, false, false},
		"a token without a user": {protected, []scripted.Place{scripted.AtToken}, false, false},
	} {
		client := &Client{Recording: &scenario.Recording{}}
		for _, place := range test.places {
			client.Visits = append(client.Visits, &Visit{Place: place})
		}
		seen := &looking{}
		seen.looks(client, test.at)
		if seen.tokenless != test.tokenless || seen.unanswered != test.unanswered {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}
