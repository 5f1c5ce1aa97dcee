package clientrun

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Visit is one HTTP exchange about authorization.
type Visit = scripted.Visited

// RunProtected is RunScenario for a scenario whose server asks for authorization. Where the
// client does not authorize at all, which shows in a plain scenario of that kind, the check
// does not apply.
func RunProtected(t *T, plain *scenario.Scenario) *Client {
	if runner := runnerOf(t); runner.recorded() && runner.Recordings[scenarioOf(t)] == nil {
		t.NotApplicable("authorization scenarios need a client that a command starts")
	}
	if scenarioOf(t) != plain.Name {
		switch first := AlsoRun(t, plain); {
		case first == nil:
		case !first.Authorizes():
			first.notAuthorizing()
		case first.Exit.Ended && len(first.Admitted()) == 0:
			first.waiting()
		}
	}
	client := RunScenario(t)
	if scenarioOf(t) == plain.Name && !client.Authorizes() {
		client.notAuthorizing()
	}
	return client
}

// RunExtended is RunScenario for a scenario about an extension for authorization. The check
// does not apply to a client that does not declare the extension, which shows in a plain
// scenario, unless its driver has it do what only the extension knows.
func RunExtended(
	t *T, plain *scenario.Scenario, extension string, does func(*Client) bool,
) *Client {
	undeclared := "the client does not declare the extension " + mcp.OfficialExtensions + extension
	if runner := runnerOf(t); runner.recorded() && runner.Recordings[scenarioOf(t)] == nil {
		t.NotApplicable("authorization scenarios need a client that a command starts")
	}
	first := AlsoRun(t, plain)
	declared := first != nil && first.DeclaresExtension(extension)
	if !declared && (first == nil || !first.Driven()) {
		t.NotApplicable(undeclared)
	}
	if !declared {
		tried := AlsoRun(t, t.Declared.Scenario)
		if tried == nil || !does(tried) {
			t.NotApplicable(undeclared)
		}
	}
	return RunScenario(t)
}

// DeclaresExtension tells whether a request of the client, let in or refused, declares an
// extension of the protocol's own.
func (c *Client) DeclaresExtension(name string) bool {
	path := "extensions." + mcp.OfficialExtensions + name
	return c.Declares(path) || slices.ContainsFunc(c.At(scripted.AtEndpoint), func(v *Visit) bool {
		return mcp.Declares(declaredIn(v), path)
	})
}

// DeclaresAnything tells whether a request of the client, let in or refused, has
// capabilities at all.
func (c *Client) DeclaresAnything() bool {
	return slices.ContainsFunc(c.At(scripted.AtEndpoint), func(v *Visit) bool { return declaredIn(v) != nil }) ||
		slices.ContainsFunc(c.Conversations, func(conversation *Conversation) bool {
			return slices.ContainsFunc(conversation.Messages, func(message *Message) bool {
				return fromClient(message) && conversation.ClientDeclared(message) != nil
			})
		})
}

// declaredIn are the capabilities that a refused request has; nil for none.
func declaredIn(v *Visit) map[string]any {
	params, _ := v.JSON["params"].(map[string]any)
	meta, _ := params["_meta"].(map[string]any)
	declared, _ := meta[mcp.MetaCapabilities].(map[string]any)
	return declared
}

// OfficialRedirect is the redirect URI of clients that were written for the official suite.
const OfficialRedirect = "http://localhost:3000/callback"

// Driven tells whether the client is one that knows of scenarios: it tells of its steps, or
// does as drivers do. A client that a user installs knows of none.
func (c *Client) Driven() bool {
	return c.Reports() || slices.ContainsFunc(c.At(scripted.AtAuthorize), func(v *Visit) bool {
		uri, _ := v.Query("redirect_uri")
		return uri == OfficialRedirect
	})
}

// notAuthorizing ends a check that does not apply to a client which does not authorize.
// One that the harness had to end may only have been slow, and others may have run beside it:
// then one of these checks is repeated alone.
func (c *Client) notAuthorizing() {
	const reason = "the client does not authorize"
	c.t.Outcome = Outcome{Ending: Skipped, Reason: reason}
	if !c.byHand {
		c.t.Outcome.Doubtful, c.t.Outcome.Awaited = c.Exit.Ended, "authorization"
	}
	c.t.End()
}

// waiting ends a check of a client that begins to authorize and comes to no end, even where
// all is good: it would wait in each scenario. One of these checks is repeated alone.
func (c *Client) waiting() {
	const reason = "the client waits for a user to log in"
	c.t.Outcome = Outcome{
		Ending: Inconclusion, Reason: reason, Doubtful: !c.byHand, Awaited: "authorization",
		Hint: "let the client run $BROWSER or xdg-open from PATH, or follow the redirect of the authorization URL",
	}
	c.t.End()
}

// Authorizes tells whether the client looked for metadata, or for anything else of an
// authorization server.
func (c *Client) Authorizes() bool {
	return slices.ContainsFunc(c.Visits, func(v *Visit) bool {
		return v.Issuer > 0 || v.Place != scripted.AtEndpoint && v.Place != scripted.AtElsewhere
	})
}

// At returns the visits to a place, of any issuer.
func (c *Client) At(place scripted.Place) []*Visit {
	return c.visits(func(v *Visit) bool { return v.Place == place })
}

// AtIssuer returns the visits to a place of one authorization server, or of the server,
// which is 0.
func (c *Client) AtIssuer(issuer int, place scripted.Place) []*Visit {
	return c.visits(func(v *Visit) bool { return v.Place == place && v.Issuer == issuer })
}

// Tokens returns the token requests of a grant type.
func (c *Client) Tokens(grant string) []*Visit {
	return c.visits(func(v *Visit) bool { return v.Place == scripted.AtToken && v.Form.Get("grant_type") == grant })
}

func (c *Client) visits(is func(*Visit) bool) []*Visit {
	var all []*Visit
	for _, v := range c.Visits {
		if is(v) {
			all = append(all, v)
		}
	}
	return all
}

// NeedAt is At where the check needs one: else it is inconclusive.
func (c *Client) NeedAt(place scripted.Place) []*Visit {
	return c.Need(c.At(place), wants[place])
}

// wants says in words what a client does at a place.
var wants = map[scripted.Place]string{
	scripted.AtEndpoint:         "sent a request that was rejected for lack of a token",
	scripted.AtResourceMetadata: "requested the protected resource metadata",
	scripted.AtServerMetadata:   "requested the metadata of an authorization server",
	scripted.AtAuthorize:        "sent an authorization request",
	scripted.AtToken:            "sent a token request",
	scripted.AtRegister:         "registered",
	scripted.AtOpening:          "opened a browser",
}

// Need returns visits, of which the check needs one: else it is inconclusive, since the
// client never did what the words say.
func (c *Client) Need(visits []*Visit, did string) []*Visit {
	if len(visits) == 0 {
		c.undecided("the client never "+did, c.authorizeHint())
	}
	return visits
}

func (c *Client) authorizeHint() string {
	return "let the client follow the redirect of the authorization URL, as in the scenario protected"
}

// FailVisit fails the check for a request about authorization.
func (c *Client) FailVisit(v *Visit, wanted, found string) {
	c.FailEvent(v.Event, Mismatch{Wanted: wanted, Found: oauth.NameSecrets(found)})
}

// DemandOf fails the check unless a condition holds of a visit, which it observes.
func (c *Client) DemandOf(v *Visit, holds bool, wanted, found string) {
	c.t.Observe()
	if !holds {
		c.FailVisit(v, wanted, found)
	}
}

// DemandNone fails the check for the first of some visits that may not be; that there are
// none is an observation, for the client came to where it could have made them.
func (c *Client) DemandNone(visits []*Visit, wanted string) {
	c.t.Observe()
	if len(visits) > 0 {
		c.FailVisit(visits[0], wanted, ShowVisit(visits[0]))
	}
}

// ShowVisit says in a line what a request was.
func ShowVisit(v *Visit) string {
	text := v.Method + " " + v.URL.String()
	if len(v.Body.Raw) > 0 {
		text += " with " + string(v.Body.Raw)
	}
	return oauth.NameSecrets(text)
}

// Admitted returns the heads of the requests that the server let in, in order.
func (c *Client) Admitted() []transcript.Event { return c.Heads("") }

// AdmittedWith are those that carried an access token of an authorization server.
func (c *Client) AdmittedWith(issuer, number int) []transcript.Event {
	return slices.DeleteFunc(c.Admitted(), func(event transcript.Event) bool {
		secret, is := oauth.ReadSecret(scripted.BearerToken(event.HTTP.Header))
		return !is || secret.Issuer != issuer || number > 0 && secret.Number != number
	})
}

// NeedAdmitted makes the check inconclusive unless the client got in with a token.
func (c *Client) NeedAdmitted() []transcript.Event {
	entered := slices.DeleteFunc(c.Admitted(), func(event transcript.Event) bool {
		return scripted.BearerToken(event.HTTP.Header) == ""
	})
	if len(entered) == 0 {
		c.undecided("the client never sent a request with an access token", c.authorizeHint())
	}
	return entered
}

// Output is all that the client wrote for its user: its output, and standard error.
func (c *Client) Output() string { return string(c.Exit.Output) + "\n" + string(c.Exit.Stderr) }

// Before returns those of some visits that began before an event.
func Before(visits []*Visit, event transcript.Event) []*Visit {
	var all []*Visit
	for _, v := range visits {
		if v.Event.At.Before(event.At) {
			all = append(all, v)
		}
	}
	return all
}

// After returns those that began after an event.
func After(visits []*Visit, event transcript.Event) []*Visit {
	var all []*Visit
	for _, v := range visits {
		if v.Event.At.After(event.At) {
			all = append(all, v)
		}
	}
	return all
}

// Given describes a parameter for people: its values, or that there is none.
func Given(name string, values []string) string {
	if len(values) == 0 {
		return "no " + name
	}
	return oauth.NameSecrets(fmt.Sprintf("%s %q", name, strings.Join(values, " and ")))
}
