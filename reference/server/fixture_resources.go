// What this server serves: resources and resource templates.

package server

import (
	"fmt"
	"strconv"
)

// watchedURI is the resource that changes, when test_touch_resource is called.
const watchedURI = "test://watched-resource"

// staticText is the content of test://static-text.
const staticText = "This is the content of the static text resource."

func fixtureResources() []resource {
	return []resource{
		{
			URI: "test://static-text", Name: "static-text", Title: "Static text",
			Description: "Text that never changes", MIMEType: "text/plain", Size: len(staticText),
			Icons: icons, Annotations: exampleAnnotations, Meta: exampleMeta,
			read: textual(func(*call) string { return staticText }),
		},
		{
			URI: "test://static-binary", Name: "static-binary", Title: "Static picture",
			Description: "A picture of one pixel", MIMEType: "image/png",
			read: func(_ *call, r *resource) ([]resourceContents, error) {
				return []resourceContents{{URI: r.URI, MIMEType: r.MIMEType, Blob: pixelPNG}}, nil
			},
		},
		{
			URI: watchedURI, Name: "watched-resource", Title: "Watched text",
			Description: "Text that changes with every call of test_touch_resource", MIMEType: "text/plain",
			read: textual(func(c *call) string {
				return fmt.Sprintf("Watched resource content, touched %d times.", c.features.touches())
			}),
		},
		{
			URI: "test://collection", Name: "collection", Title: "Collection",
			Description: "One resource with two contents, a text and a picture",
			read: func(_ *call, r *resource) ([]resourceContents, error) {
				return []resourceContents{
					textAt(r.URI+"/text", "text/plain", "The text of the collection."),
					{URI: r.URI + "/picture", MIMEType: "image/png", Blob: pixelPNG},
				}, nil
			},
		},
		{
			URI: "test://empty", Name: "empty", Title: "Empty text",
			Description: "Text without a character", MIMEType: "text/plain",
			read: textual(func(*call) string { return "" }),
		},
		inputResource(),
	}
}

// textual reads a resource that is one text.
func textual(content func(*call) string) func(*call, *resource) ([]resourceContents, error) {
	return func(c *call, r *resource) ([]resourceContents, error) {
		return []resourceContents{textAt(r.URI, r.MIMEType, content(c))}, nil
	}
}

// transientResource is there or not, as test_trigger_resource_change decides.
var transientResource = &resource{
	URI: "test://transient", Name: "transient", Title: "Transient text",
	Description: "Text that comes and goes", MIMEType: "text/plain",
	read: textual(func(*call) string { return "Here today, gone tomorrow." }),
}

func fixtureTemplates() []resourceTemplate {
	return []resourceTemplate{
		{
			URITemplate: "test://template/{id}/data", Name: "template", Title: "Data by number",
			Description: "A JSON object that repeats its id", MIMEType: "application/json",
			Icons: icons, Annotations: exampleAnnotations,
			read: func(uri string, variables map[string]string) resourceContents {
				return textAt(uri, "application/json", string(encode(object{
					"id":           variables["id"],
					"templateTest": true,
					"data":         "Data for ID: " + variables["id"],
				})))
			},
			complete: map[string]completer{"id": numbers},
		},
		{
			URITemplate: "test://greeting/{language}/{name}", Name: "greeting", Title: "Greeting",
			Description: "A greeting of somebody in some language", MIMEType: "text/plain",
			read: func(uri string, variables map[string]string) resourceContents {
				hello, known := greetings[variables["language"]]
				if !known {
					hello = "Hello"
				}
				return textAt(uri, "text/plain", hello+", "+variables["name"]+"!")
			},
			complete: map[string]completer{"language": languages, "name": names},
		},
		{
			URITemplate: "test://echo/{text}", Name: "echo", Title: "Echo",
			Description: "The text itself; there is nothing to suggest for it", MIMEType: "text/plain",
			read: func(uri string, variables map[string]string) resourceContents {
				return textAt(uri, "text/plain", variables["text"])
			},
		},
	}
}

// numbers are more values than one answer may hold.
func numbers(map[string]string) []string {
	values := make([]string, 250)
	for i := range values {
		values[i] = strconv.Itoa(i + 1)
	}
	return values
}

var greetings = map[string]string{"English": "Hello", "French": "Bonjour", "German": "Hallo", "Spanish": "Hola"}

func languages(map[string]string) []string { return []string{"English", "French", "German", "Spanish"} }

// names depend on the language that is filled in already.
func names(filledIn map[string]string) []string {
	switch filledIn["language"] {
	case "French":
		return []string{"Amélie", "Benoît", "Chloé"}
	case "German":
		return []string{"Anja", "Bernd", "Cäcilie"}
	case "Spanish":
		return []string{"Ana", "Benito", "Carmen"}
	default:
		return []string{"Alice", "Bob", "Carol"}
	}
}
