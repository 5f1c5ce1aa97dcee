// Page client/elicitation: forms for the user to fill in, and URLs to visit.

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/reference/jsonschema"
)

const completeMethod = "notifications/elicitation/complete"

// urlRequired is the code of the error, at 2025-11-25, of a request that has to
// wait for visits to URLs.
const urlRequired = -32042

// modeOf is the mode of a request; without one it is for a form.
func (c *client) modeOf(params object) string {
	mode, given := params["mode"].(string)
	if !given || c.speaks() < Revision20251125 {
		return "form"
	}
	return mode
}

// refuseForm says why the user cannot be asked.
func (c *client) refuseForm(params, capability object) *rpcError {
	mode := c.modeOf(params)
	// The empty capability stands for forms alone.
	canForm := declared(capability, "form") || !declared(capability, "url")
	switch {
	case mode == "form" && !canForm, mode == "url" && !declared(capability, "url"), mode != "form" && mode != "url":
		return invalidParams("this client has not declared the mode %q of elicitation", mode)
	case mode == "url":
		return refuseURL(params)
	}
	schema, isObject := params["requestedSchema"].(object)
	if !isObject {
		return invalidParams("requestedSchema must be an object")
	}
	if c.speaks() >= Revision20251125 {
		return refuseDialect(schema, "requestedSchema")
	}
	return nil
}

func refuseURL(params object) *rpcError {
	address, _ := params["url"].(string)
	if parsed, err := url.Parse(address); err != nil || !parsed.IsAbs() {
		return invalidParams("%q is not a URL", address)
	}
	return nil
}

// refuseDialect rejects a schema whose dialect the client does not support.
func refuseDialect(schema any, place string) *rpcError {
	if err := jsonschema.CheckDialect(encode(schema)); err != nil {
		return invalidParams("%s: %v", place, err)
	}
	return nil
}

// entered returns the answer of the user: that of the steps, or accept with the defaults of
// the form. Content that does not match requestedSchema is never sent.
func (c *client) entered(params, given object) (object, *rpcError) {
	answer := object{"action": "accept"}
	maps.Copy(answer, given)
	if answer["action"] != "accept" {
		delete(answer, "content")
		return answer, nil
	}
	if c.modeOf(params) == "url" {
		delete(answer, "content")
		if id, isText := params["elicitationId"].(string); isText {
			c.expectVisit(id)
		}
		return answer, nil
	}
	schema, _ := params["requestedSchema"].(object)
	content, _ := answer["content"].(object)
	filled := fillIn(schema, content, answer["content"] == nil)
	if err := fits(schema, filled); err != nil {
		c.log.Printf("what the user would enter does not fit the form, which is closed: %v", err)
		return object{"action": "cancel"}, nil
	}
	answer["content"] = filled
	return answer, nil
}

// fillIn adds the defaults of a form to what is entered and, with everything, samples of
// the other required properties.
func fillIn(schema, content object, everything bool) object {
	filled := object{}
	maps.Copy(filled, content)
	properties, _ := schema["properties"].(object)
	required, _ := schema["required"].([]any)
	for name, property := range properties {
		members, _ := property.(object)
		if _, entered := filled[name]; entered {
			continue
		}
		if suggested, given := members["default"]; given {
			filled[name] = suggested
		} else if everything && slices.Contains(required, any(name)) {
			filled[name] = sample(property)
		}
	}
	return filled
}

// fits checks what is entered, the formats of texts too.
func fits(schema, content object) error {
	if err := jsonschema.Validate(encode(schema), encode(content)); err != nil {
		return err
	}
	properties, _ := schema["properties"].(object)
	for name, value := range content {
		members, _ := properties[name].(object)
		format, _ := members["format"].(string)
		text, isText := value.(string)
		if isText && !hasFormat(format, text) {
			return fmt.Errorf("%s is not of the format %s", name, format)
		}
	}
	return nil
}

// hasFormat knows the formats that forms can have.
func hasFormat(format, text string) bool {
	var err error
	switch format {
	case "email":
		var address *mail.Address
		if address, err = mail.ParseAddress(text); err == nil && address.Address != text {
			return false
		}
	case "uri":
		var parsed *url.URL
		if parsed, err = url.Parse(text); err == nil && !parsed.IsAbs() {
			return false
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	return err == nil
}

// sample makes up a value for a schema, such as a user would who enters as
// little as possible.
func sample(schema any) any { return sampleWithin(schema, 0) }

// maxSampleDepth bounds what is made up.
const maxSampleDepth = 8

func sampleWithin(schema any, depth int) any {
	members, _ := schema.(object)
	for _, keyword := range []string{"default", "const"} {
		if value, given := members[keyword]; given {
			return value
		}
	}
	if choices, _ := members["enum"].([]any); len(choices) > 0 {
		return choices[0]
	}
	if depth >= maxSampleDepth {
		members = object{"type": members["type"]} // with nothing in it
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if choices, _ := members[keyword].([]any); len(choices) > 0 {
			return sampleWithin(choices[0], depth+1)
		}
	}
	switch members["type"] {
	case "boolean":
		return false
	case "integer", "number":
		if least, isNumber := members["minimum"].(json.Number); isNumber {
			return least
		}
		return 0
	case "array":
		items := []any{}
		if least, isNumber := members["minItems"].(json.Number); isNumber && least != "0" {
			items = append(items, sampleWithin(members["items"], depth+1))
		}
		return items
	case "object":
		made := object{}
		required, _ := members["required"].([]any)
		properties, _ := members["properties"].(object)
		for _, name := range texts(required) {
			made[name] = sampleWithin(properties[name], depth+1)
		}
		return made
	}
	return sampleText(members)
}

// sampleTexts are of the formats that forms can have.
var sampleTexts = map[string]string{
	"email": "user@example.com", "uri": "https://example.com/",
	"date": "2026-07-28", "date-time": "2026-07-28T12:00:00Z",
}

func sampleText(schema object) string {
	format, _ := schema["format"].(string)
	if text := sampleTexts[format]; text != "" {
		return text
	}
	text := "text"
	least, _ := schema["minLength"].(json.Number)
	if wanted, err := least.Int64(); err == nil && wanted > int64(len(text)) && wanted < maxSampleText {
		return strings.Repeat("t", int(wanted))
	}
	most, _ := schema["maxLength"].(json.Number)
	if allowed, err := most.Int64(); err == nil && allowed >= 0 && allowed < int64(len(text)) {
		return text[:allowed]
	}
	return text
}

// maxSampleText bounds a text that is made up.
const maxSampleText = 1000

// maxVisits bounds how many visits to URLs are remembered.
const maxVisits = 256

// expectVisit remembers a visit that the user has agreed to. The URL is the
// user's to open: nothing here touches it.
func (c *client) expectVisit(id string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.visits[id]; known != nil {
		return known
	}
	complete := make(chan struct{})
	if len(c.visits) < maxVisits {
		c.visits[id] = complete
	}
	return complete
}

// visitComplete takes the news that a visit is over. One that is not known, or
// is over already, is ignored.
func (c *client) visitComplete(params object) {
	id, _ := params["elicitationId"].(string)
	c.mu.Lock()
	complete := c.visits[id]
	delete(c.visits, id)
	c.mu.Unlock()
	if complete == nil {
		c.log.Printf("ignored: the completion of the unknown elicitation %q", id)
		c.part.unknownNotification(c, completeMethod)
		return
	}
	close(complete)
}

// visitAll asks the user to visit the URLs that a request has to wait for, and waits
// for notifications/elicitation/complete of each, at most Timeouts.Visit: a server need
// not send it, or may have sent it before the request.
func (c *client) visitAll(ctx context.Context, required *rpcError) error {
	data, _ := required.Data.(object)
	elicitations, _ := data["elicitations"].([]any)
	if len(elicitations) == 0 {
		return fmt.Errorf("%w, but without saying which", required)
	}
	patience := time.NewTimer(c.options.Timeouts.Visit)
	defer patience.Stop()
	for _, one := range elicitations {
		params, _ := one.(object)
		id, hasID := params["elicitationId"].(string)
		if c.modeOf(params) != "url" || !hasID {
			return fmt.Errorf("%w, but not by elicitations in URL mode with an elicitationId", required)
		}
		complete := c.expectVisit(id)
		answer, refused := c.input(ctx, "elicitation/create", params)
		if refused != nil {
			return errors.Join(required, refused)
		}
		if answer["action"] != "accept" {
			return fmt.Errorf("%w, and the user does not visit it", required)
		}
		select {
		case <-complete:
		case <-patience.C:
			c.log.Printf("nobody says that the visit %q is over: the request is tried again all the same", id)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
