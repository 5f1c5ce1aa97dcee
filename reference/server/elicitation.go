// Page client/elicitation: asking the user of the client.

package server

import (
	"encoding/json"
	"slices"

	"github.com/mcpconform/mcpconform/reference/jsonschema"
)

type elicitResult struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
}

// entered is what the user has entered or, instead, done.
func (r elicitResult) entered() string { return orElse(string(r.Content), r.Action) }

// canElicitForm tells whether the client shows forms. The empty capability
// means forms alone.
func (c *call) canElicitForm() bool {
	declared := c.client.Elicitation
	if declared == nil {
		return false
	}
	return !c.atLeast(Revision20251125) || declared.Form != nil || declared.URL == nil
}

// canElicitURL tells whether the client sends users to URLs, which only
// clients of 2025-11-25 and later do.
func (c *call) canElicitURL() bool {
	declared := c.client.Elicitation
	return c.atLeast(Revision20251125) && declared != nil && declared.URL != nil
}

var (
	errNoForm = lacks("the client has not declared the capability elicitation, or not its form mode",
		object{"elicitation": object{"form": object{}}})
	errNoURL = lacks("the client has not declared the capability elicitation.url",
		object{"elicitation": object{"url": object{}}})
)

func (c *call) formRequest(message string, schema json.RawMessage) object {
	params := object{"message": message, "requestedSchema": schema}
	if c.atLeast(Revision20251125) {
		params["mode"] = "form"
	}
	return params
}

// elicitForm asks the user to fill in a form, and checks what was entered.
func (c *call) elicitForm(ask asker, message string, schema json.RawMessage) (elicitResult, error) {
	if !c.canElicitForm() {
		return elicitResult{}, errNoForm
	}
	raw, err := ask("elicitation/create", c.formRequest(message, schema))
	if err != nil {
		return elicitResult{}, err
	}
	return readElicitResult(raw, schema)
}

func readElicitResult(raw, schema json.RawMessage) (elicitResult, error) {
	var result elicitResult
	if err := decode(raw, &result, "result"); err != nil {
		return result, wronglyAnswered("the client's answer to elicitation/create is wrong: %v", err)
	}
	if !slices.Contains([]string{"accept", "decline", "cancel"}, result.Action) {
		return result, wronglyAnswered("the client's answer to elicitation/create has the unknown action %q",
			result.Action)
	}
	if result.Action == "accept" && schema != nil {
		if result.Content == nil {
			return result, wronglyAnswered("the client accepts elicitation/create without content")
		}
		if err := jsonschema.Validate(schema, result.Content); err != nil {
			return result, wronglyAnswered("what the user entered does not fit the form: %v", err)
		}
	}
	return result, nil
}

// urlRequest returns the params of an elicitation in URL mode. Nothing is served at the URL,
// since the server has no users. Clients of 2025-11-25 get the id, by which
// notifications/elicitation/complete tells them later that the visit is over.
func (c *call) urlRequest(id, message string) object {
	params := object{
		"mode":    "url",
		"url":     "https://example.com/mcpconform/elicitation/" + id,
		"message": message,
	}
	if !c.atLeast(Revision20260728) {
		params["elicitationId"] = id
	}
	return params
}

// elicitURL asks the user to visit a URL, where what must not pass through the
// client would be entered. To accept means only to be willing.
func (c *call) elicitURL(id, message string) (elicitResult, error) {
	if !c.canElicitURL() {
		return elicitResult{}, errNoURL
	}
	raw, err := c.asks("visit")("elicitation/create", c.urlRequest(id, message))
	if err != nil {
		return elicitResult{}, err
	}
	return readElicitResult(raw, nil)
}

// elicitationComplete is the notification that a visit is over.
func elicitationComplete(id string) (method string, params object) {
	return "notifications/elicitation/complete", object{"elicitationId": id}
}

// urlRequired is the error of a request that must wait until the user has
// visited a URL, at 2025-11-25 alone.
func (c *call) urlRequired(id, message string) *rpcError {
	return &rpcError{
		Code:    codeURLElicitationRequired,
		Message: "This request needs a visit to a URL first",
		Data:    object{"elicitations": []any{c.urlRequest(id, message)}},
	}
}
