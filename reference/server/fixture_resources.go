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

func fixtureResources() []*resource {
	return []*resource{
		{
			described: about("static-text", "Static text", "Text that never changes").decorated(),
			URI:       "test://static-text", MIMEType: "text/plain", Size: len(staticText),
			Annotations: exampleAnnotations, read: textual(staticText),
		},
		{
			described: about("static-binary", "Static picture", "A picture of one pixel"),
			URI:       "test://static-binary", MIMEType: "image/png",
			read: func(_ *call, r *resource) ([]object, error) { return []object{pictureAt(r.URI)}, nil },
		},
		{
			described: about("watched-resource", "Watched text",
				"Text that changes with every call of test_touch_resource"),
			URI: watchedURI, MIMEType: "text/plain",
			read: func(c *call, r *resource) ([]object, error) {
				text := fmt.Sprintf("Watched resource content, touched %d times.", c.features.touched.Load())
				return []object{textAt(r.URI, r.MIMEType, text)}, nil
			},
		},
		{
			described: about("collection", "Collection", "One resource with two contents, a text and a picture"),
			URI:       "test://collection",
			read: func(_ *call, r *resource) ([]object, error) {
				text := textAt(r.URI+"/text", "text/plain", "The text of the collection.")
				return []object{text, pictureAt(r.URI + "/picture")}, nil
			},
		},
		{
			described: about("empty", "Empty text", "Text without a character"),
			URI:       "test://empty", MIMEType: "text/plain", read: textual(""),
		},
		{
			described: about("test_input_required_result_resource", "Text with a question",
				"Asks the user for a name, and repeats it").during(from20260728),
			URI: "test://input-required", MIMEType: "text/plain",
			read: func(c *call, r *resource) ([]object, error) {
				result, err := c.elicitForm(c.asks("user_name"), "Who wants to read this?", nameForm)
				return []object{textAt(r.URI, r.MIMEType, "Read by "+result.entered())}, err
			},
		},
	}
}

// textual reads a resource that is always the same text.
func textual(content string) func(*call, *resource) ([]object, error) {
	return func(_ *call, r *resource) ([]object, error) {
		return []object{textAt(r.URI, r.MIMEType, content)}, nil
	}
}

// transientResource is there or not, as test_trigger_resource_change decides.
var transientResource = &resource{
	described: about("transient", "Transient text", "Text that comes and goes"),
	URI:       "test://transient", MIMEType: "text/plain", read: textual("Here today, gone tomorrow."),
}

func fixtureTemplates() []*template {
	data := about("template", "Data by number", "A JSON object that repeats its id")
	data.Icons = icons
	return []*template{
		{
			described:   data,
			URITemplate: "test://template/{id}/data", MIMEType: "application/json", Annotations: exampleAnnotations,
			read: func(variables map[string]string) string {
				id := variables["id"]
				return string(encode(object{"id": id, "templateTest": true, "data": "Data for ID: " + id}))
			},
			complete: map[string]completer{"id": numbers},
		},
		{
			described:   about("greeting", "Greeting", "A greeting of somebody in some language"),
			URITemplate: "test://greeting/{language}/{name}", MIMEType: "text/plain",
			read: func(variables map[string]string) string {
				return orElse(greetings[variables["language"]], "Hello") + ", " + variables["name"] + "!"
			},
			complete: map[string]completer{"language": languages, "name": names},
		},
		{
			described:   about("echo", "Echo", "The text itself; there is nothing to suggest for it"),
			URITemplate: "test://echo/{text}", MIMEType: "text/plain",
			read: func(variables map[string]string) string { return variables["text"] },
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
