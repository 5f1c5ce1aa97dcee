package offer

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/lazy"
)

// Plausible makes up a text for an argument of a tool, a prompt or a resource template,
// by what it is called and described as: a server is more likely to serve a date where
// it asks for a date.
func Plausible(t *T, name, description string) string {
	if text, found := of(t).plausible(name, description); found {
		return text
	}
	return "example"
}

// GivenArguments are those that the config gives for a tool or a prompt.
func GivenArguments(t *T, name string) (given Object, there bool) {
	given, there = of(t).Arguments[name]
	return given, there
}

// A kindOfText is what a text can be, by the words in the name of an argument, or in its
// description.
type kindOfText struct {
	names     []string // words, lower case
	described *lazy.Regexp
	text      func(*Offer) string
}

// kindsOfText are in the order in which they are looked for.
var kindsOfText = []kindOfText{
	{[]string{"uri", "iri"}, lazy.MustCompile(`(?i)\bURIs?\b`), (*Offer).listedURI},
	{
		[]string{"url", "link", "href", "website", "webpage"},
		lazy.MustCompile(`(?i)\bURLs?\b`),
		(*Offer).listedURL,
	},
	{[]string{"directory", "dir", "folder", "cwd"}, lazy.MustCompile(`(?i)\b(?:directory|folder)\b`), fixed(".")},
	{
		[]string{"path", "file", "filename", "filepath"},
		lazy.MustCompile(`(?i)\b(?:path|file name)\b`),
		(*Offer).listedPath,
	},
	{
		[]string{"datetime", "timestamp"},
		lazy.MustCompile(`(?i)\b(?:date and time|date-time|datetime|timestamp|RFC ?3339)\b`),
		fixed("2025-06-18T12:00:00Z"),
	},
	{[]string{"date", "day", "since", "until"}, lazy.MustCompile(`(?i)\b(?:date|YYYY-MM-DD)\b`), fixed("2025-06-18")},
	{[]string{"timezone", "tz"}, lazy.MustCompile(`(?i)\btime ?zone\b`), fixed("UTC")},
	{[]string{"time"}, lazy.MustCompile(`(?i)\bHH:MM\b`), fixed("12:00")},
	{[]string{"email", "mail"}, lazy.MustCompile(`(?i)\be-?mail\b`), fixed("user@example.com")},
	{[]string{"host", "hostname", "domain"}, lazy.MustCompile(`(?i)\b(?:host ?name|domain)\b`), fixed("example.com")},
	{[]string{"uuid", "guid"}, lazy.MustCompile(`(?i)\b[UG]UID\b`), fixed("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")},
	{[]string{"number", "count", "amount", "quantity", "limit", "max", "min", "age", "size", "temperature", "price"},
		lazy.MustCompile(`(?i)\b(?:a number|numeric|integer)\b`), fixed("1")},
	{[]string{"json"}, lazy.MustCompile(`(?i)\bJSON (?:object|text|string)\b`), fixed("{}")},
	{[]string{"language", "lang", "locale"}, lazy.MustCompile(`(?i)\blanguage code\b`), fixed("en")},
	{[]string{"country"}, lazy.MustCompile(`(?i)\bcountry code\b`), fixed("US")},
	{[]string{"currency"}, lazy.MustCompile(`(?i)\bcurrency\b`), fixed("USD")},
	{[]string{"city", "location", "place"}, nil, fixed("London")},
}

func fixed(text string) func(*Offer) string { return func(*Offer) string { return text } }

// example is one that a description gives in quotation marks.
var example = lazy.MustCompile(
	"(?i)\\b(?:e\\.g\\.|for example|for instance|example|such as)[,:]?\\s*[\"'`‘“]([^\"'`’”\\n]{1,100})[\"'`’”]",
)

// plausible looks for an example first, then at the name, then at the description.
func (o *Offer) plausible(name, description string) (text string, found bool) {
	if given := example.FindStringSubmatch(description); given != nil {
		return given[1], true
	}
	words := wordsOf(name)
	named := func(kind kindOfText) bool {
		return slices.ContainsFunc(kind.names, func(one string) bool { return slices.Contains(words, one) })
	}
	described := func(kind kindOfText) bool { return kind.described != nil && kind.described.MatchString(description) }
	for _, fits := range []func(kindOfText) bool{named, described} {
		if at := slices.IndexFunc(kindsOfText, fits); at >= 0 {
			return kindsOfText[at].text(o), true
		}
	}
	return "", false
}

// counts are the words in names of integers for which 0 makes no sense.
var counts = []string{
	"number",
	"count",
	"amount",
	"quantity",
	"limit",
	"max",
	"size",
	"page",
	"id",
	"days",
	"top",
	"length",
	"steps",
	"width",
	"height",
}

// suggest makes up a member of an object for which a schema of a tool asks.
func (o *Offer) suggest(name string, property Object) (value any, found bool) {
	description, _ := property["description"].(string)
	types, _ := property["type"].([]any)
	switch {
	case slices.Contains(types, "string"):
		if format, formatted := property["format"].(string); formatted && format != "uri" {
			return nil, false
		}
		return o.plausible(name, description)
	case slices.Contains(types, "integer"), slices.Contains(types, "number"):
		return json.Number(
				"1",
			), slices.ContainsFunc(
				wordsOf(name),
				func(word string) bool { return slices.Contains(counts, word) },
			)
	}
	return nil, false
}

// border is where one word of a name ends, and the next begins.
var border = lazy.MustCompile(`([a-z0-9])([A-Z])|[^\pL\pN]+`)

// wordsOf are those of a name such as start_date, startDate or start-date, in lower case.
func wordsOf(name string) []string {
	return strings.Fields(strings.ToLower(border.ReplaceAllString(name, "$1 $2")))
}

// listedURI is that of a resource that the target lists, if it lists some.
func (o *Offer) listedURI() string {
	text, _ := o.resourceURI("https://example.com/", func(*url.URL) bool { return true })
	return text
}

// listedURL is one on the web, if it lists such.
func (o *Offer) listedURL() string {
	text, _ := o.resourceURI(
		"https://example.com/",
		func(uri *url.URL) bool { return uri.Scheme == "https" || uri.Scheme == "http" },
	)
	return text
}

// listedPath is that of a file among the listed resources, if there is one.
func (o *Offer) listedPath() string {
	_, file := o.resourceURI(
		"file:example.txt",
		func(uri *url.URL) bool { return uri.Scheme == "file" && uri.Path != "" },
	)
	return cmp.Or(file.Path, file.Opaque)
}

// resourceURI finds the URI of a listed resource that fits; or else it is another.
func (o *Offer) resourceURI(otherwise string, fits func(*url.URL) bool) (text string, uri *url.URL) {
	for _, resource := range o.resources() {
		text, _ := resource["uri"].(string)
		if uri, err := url.Parse(text); text != "" && err == nil && fits(uri) {
			return text, uri
		}
	}
	uri, err := url.Parse(otherwise)
	if err != nil {
		return otherwise, &url.URL{}
	}
	return otherwise, uri
}
