package elicitation

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of the page client/elicitation.
func Rules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "sends elicitation/create with a message and a requestedSchema",
			Verifies: rules.Verifies("elicitation.request.members"),
			Judge:    judgeElicitations(inAnyMode, `^/params/(?:message|requestedSchema)$`),
		},
		{
			Text:     "sends elicitation/create only in modes that the client declares",
			Verifies: rules.Verifies("elicitation.request.mode"),
			Judge:    undeclaredModes,
		},
		{
			Text:     "sends elicitation/create with a message, and with the mode form, url or none",
			Verifies: rules.Verifies("elicitation.request.parameters"),
			Judge:    judgeElicitations(inAnyMode, `^/params/(?:message|mode)$`),
		},
		{
			Text:     "sends form elicitation with a requestedSchema",
			Verifies: rules.Verifies("elicitation.form.parameters"),
			Judge:    judgeElicitations(inFormMode, `^/params/requestedSchema$`),
		},
		{
			Text:     "sends a requestedSchema that is a flat object of primitive properties",
			Verifies: rules.Verifies("elicitation.form.schema"),
			Judge:    judgeForms(func(place string) bool { return !formFormat.MatchString(place) }),
		},
		{
			Text:     "uses only the formats email, uri, date and date-time in requestedSchema",
			Verifies: rules.Verifies("elicitation.form.formats"),
			Judge:    judgeForms(formFormat.MatchString),
		},
		{
			Text:     "requests no password, key or token in form elicitation, judging by field names",
			Verifies: rules.Verifies("elicitation.form.secret-names"),
			Judge:    secretFields,
		},
		{Text: "sends no clickable URLs in form elicitation", Verifies: rules.Verifies("elicitation.form.no-urls"), Judge: clickable},
		{
			Text:     "gives each URL elicitation a url and, until 2025-11-25, an elicitationId, both strings",
			Verifies: rules.Verifies("elicitation.url.parameters"),
			Judge:    visitsDescribed,
		},
	}, formRules(), elicitationAnswerRules())
}

func formRules() []rules.Rule {
	return []rules.Rule{
		{Text: "gives each URL elicitation a valid url", Verifies: rules.Verifies("elicitation.url.valid"), Judge: everyURL(invalidURL)},
		{
			Text:     "sends URL elicitations whose url begins with https, except for loopback hosts",
			Verifies: rules.Verifies("elicitation.url.https"),
			Judge:    everyURL(insecureURL),
		},
		{
			Text:     "gives each URL elicitation a unique elicitationId",
			Verifies: rules.Verifies("elicitation.url.id-unique"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    sharedElicitationIDs,
		},
		{
			Text:     "sends notifications/elicitation/complete with the elicitationId of an elicitation",
			Verifies: rules.Verifies("elicitation.completion.id"),
			Judge:    announcements(true),
		},
		{
			Text:     "sends notifications/elicitation/complete only to clients that received URL elicitation",
			Verifies: rules.Verifies("elicitation.completion.client"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    announcements(false),
		},
		{
			Text:     "returns no error -32042 with an empty list of elicitations",
			Verifies: rules.Verifies("elicitation.required.url-mode"),
			Judge:    demandsNothing,
		},
		{
			Text:     "returns data.elicitations in the error -32042",
			Verifies: rules.Verifies("elicitation.required.listed"),
			Judge:    judgeDemands(lazy.MustCompile(`^/error/data(?:/elicitations)?$`)),
		},
		{
			Text:     "lists only URL elicitations with an elicitationId in the error -32042",
			Verifies: rules.Verifies("elicitation.required.elicitations"),
			Judge:    judgeDemands(lazy.MustCompile(`^/error/data/elicitations/\d+`)),
		},
	}
}

const (
	elicitationMethod = "elicitation/create"
	completionMethod  = "notifications/elicitation/complete"
)

// formFormat is the place of the format of a string in a form.
var formFormat = lazy.MustCompile(`^/params/requestedSchema/properties/[^/]+/format$`)

func modeOf(ask rules.Ask) any {
	if mode, there := ask.Params["mode"]; there {
		return mode
	}
	return "form"
}

func inAnyMode(rules.Ask) bool { return true }

func inFormMode(ask rules.Ask) bool { return modeOf(ask) == "form" }

func inURLMode(ask rules.Ask) bool { return modeOf(ask) == "url" }

// elicitations returns the requests of a mode.
func elicitations(conversation *rules.Conversation, ofMode func(rules.Ask) bool) []rules.Ask {
	return slices.DeleteFunc(conversation.Asks(elicitationMethod), func(ask rules.Ask) bool { return !ofMode(ask) })
}

// elicitationViolations are what the schema says against a request, with the
// place of each as it is in a message of its own.
func elicitationViolations(
	conversation *rules.Conversation,
	ask rules.Ask,
	judgeOne func(place string, mismatch rules.Mismatch),
) {
	if conversation.Schema == nil {
		return
	}
	method, known := conversation.Schema.Method(elicitationMethod)
	if !known {
		return
	}
	for _, violation := range conversation.Schema.Validate(method.Params, ask.Params) {
		judgeOne(claims.MemberPlace("/params", violation), rules.Mismatch{
			Wanted: violation.Expected, Found: violation.Found, Where: ask.Where + violation.Pointer,
		})
	}
}

// judgeElicitations judges requests of a mode as far as places are concerned.
func judgeElicitations(ofMode func(rules.Ask) bool, places string) rules.Judge {
	concerned := lazy.MustCompile(places)
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, ask := range elicitations(conversation, ofMode) {
			reporter.Observe()
			elicitationViolations(conversation, ask, func(place string, mismatch rules.Mismatch) {
				if concerned.MatchString(place) {
					reporter.Violation(ask.Message, mismatch)
				}
			})
		}
	}
}

// judgeForms judges what is in the schemas of forms.
func judgeForms(concerned func(place string) bool) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, ask := range elicitations(conversation, inFormMode) {
			if form, _ := places.OfAsk(ask).Member("requestedSchema"); form.Object() == nil {
				continue
			}
			reporter.Observe()
			elicitationViolations(conversation, ask, func(place string, mismatch rules.Mismatch) {
				if strings.HasPrefix(place, "/params/requestedSchema/") && concerned(place) {
					reporter.Violation(ask.Message, mismatch)
				}
			})
		}
	}
}

// undeclaredModes judges requests to clients that declared elicitation at all;
// without that, the rule of the page about the lifecycle has them.
func undeclaredModes(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range conversation.Asks(elicitationMethod) {
		declared := mcp.Object(conversation.ClientDeclared(ask.Message), "elicitation")
		mode := mcp.Text(modeOf(ask))
		if declared == nil || mode != "form" && mode != "url" {
			continue
		}
		reporter.Observe()
		_, offered := declared[mode]
		if mode == "form" && len(declared) == 0 {
			offered = true
		}
		if !offered {
			reporter.Violation(ask.Message, rules.Mismatch{
				Wanted: "a mode that the client declared: " + rules.Show(declared),
				Found:  mode,
				Where:  ask.Where + "/mode",
			})
		}
	}
}

// clickable looks for URLs in the texts that a form shows to its user.
func clickable(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range elicitations(conversation, inFormMode) {
		reporter.Observe()
		for _, text := range formTexts(places.OfAsk(ask)) {
			if address := webAddress.FindString(text.Text()); address != "" {
				reporter.Violation(ask.Message, rules.Mismatch{
					Wanted: "no URL in the texts of a form", Found: rules.Show(address), Where: text.Pointer,
				})
			}
		}
	}
}

// secretFields guesses by the names and titles of the fields that are to be filled in.
// What only mentions a secret, or has a list of answers to choose from, asks for none.
func secretFields(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range elicitations(conversation, inFormMode) {
		form, _ := places.OfAsk(ask).Member("requestedSchema")
		properties, _ := form.Member("properties")
		for _, name := range slices.Sorted(maps.Keys(properties.Object())) {
			field, _ := properties.Member(name)
			title, _ := field.Member("title")
			_, chosen := field.Object()["enum"]
			if kind := field.Object()["type"]; chosen || kind != "string" && kind != "number" && kind != "integer" {
				continue
			}
			reporter.Observe()
			for _, text := range []string{name, title.Text()} {
				if isSecret(text) {
					reporter.Violation(ask.Message, rules.Mismatch{
						Wanted: "no field in a form whose name suggests a secret (a guess)",
						Found:  rules.Show(text),
						Where:  properties.Pointer + jsonrpc.Pointer(name),
					})
					break
				}
			}
		}
	}
}

// secrets are what names of fields end with that cannot be mistaken, in words of their
// own.
var secrets = lazy.MustCompile(
	`(?:^| )(?:password|passwd|passphrase|api ?key|secret|secret key|private key|access key|(?:access|refresh|auth|authentication|bearer|api|security) token|(?:credit |debit )?card number|cvv|cvc)$`,
)

// wordBorder is where a word of a name ends: apiKey, api_key and API key are the same.
var wordBorder = lazy.MustCompile(`([a-z0-9])([A-Z])|[^\pL\pN]+`)

// aboutSecrets are words beside which a secret is only spoken of.
var aboutSecrets = []string{
	"hint",
	"about",
	"at",
	"for",
	"of",
	"with",
	"without",
	"no",
	"change",
	"reset",
	"forgot",
	"remember",
}

// mostWords is how many words the name of a field has; a sentence has more.
const mostWords = 4

func isSecret(name string) bool {
	words := strings.Fields(strings.ToLower(wordBorder.ReplaceAllString(name, "$1 $2")))
	about := slices.ContainsFunc(words, func(word string) bool { return slices.Contains(aboutSecrets, word) })
	return len(words) <= mostWords && !about && secrets.MatchString(strings.Join(words, " "))
}

var webAddress = lazy.MustCompile(`(?i)\bhttps?://[^\s"'<>]+`)

// formTexts returns what a form shows: its message, and the titles and
// descriptions in its schema.
func formTexts(params places.Place) []places.Place {
	var texts []places.Place
	if message, there := params.Member("message"); there {
		texts = append(texts, message)
	}
	form, _ := params.Member("requestedSchema")
	fields := []places.Place{form}
	properties, _ := form.Member("properties")
	for name := range properties.Object() {
		field, _ := properties.Member(name)
		fields = append(fields, field)
	}
	for _, field := range fields {
		for _, name := range []string{"title", "description"} {
			if text, there := field.Member(name); there {
				texts = append(texts, text)
			}
		}
		texts = append(texts, field.Items("enumNames")...)
	}
	slices.SortFunc(texts, func(a, b places.Place) int { return strings.Compare(a.Pointer, b.Pointer) })
	return texts
}

func visitsDescribed(conversation *rules.Conversation, reporter *rules.Reporter) {
	members := []string{"url", "elicitationId"}
	if !conversation.Has(protocol.ElicitationIDs) {
		members = members[:1]
	}
	for _, ask := range elicitations(conversation, inURLMode) {
		reporter.Observe()
		for _, name := range members {
			if _, isText := ask.Params[name].(string); !isText {
				reporter.Violation(ask.Message, rules.Mismatch{
					Wanted: fmt.Sprintf("a member %q that is a string", name),
					Found:  rules.ShowMember(ask.Params, name), Where: ask.Where,
				})
			}
		}
	}
}

// urlRequests returns every elicitation in URL mode: requests, and those that the
// error URLElicitationRequired demands.
func urlRequests(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, ask := range elicitations(conversation, inURLMode) {
		all = append(all, places.Found{Place: places.OfAsk(ask), Said: ask.Message})
	}
	for _, message := range conversation.ByTarget() {
		if isDemand(message) {
			for _, demanded := range demands(message).Items("elicitations") {
				all = append(all, places.Found{Place: demanded, Said: message})
			}
		}
	}
	return all
}

// everyURL judges the URLs of elicitations; wrong says what is wrong with one.
func everyURL(wrong func(address *url.URL, err error) (wanted, why string)) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, visit := range urlRequests(conversation) {
			member, _ := visit.Member("url")
			text, isText := member.Value.(string)
			if !isText {
				continue // another rule has it
			}
			reporter.Observe()
			if wanted, why := wrong(url.Parse(text)); wanted != "" {
				reporter.Violation(visit.Said, rules.Mismatch{Wanted: wanted, Found: rules.Show(text) + why, Where: member.Pointer})
			}
		}
	}
}

func invalidURL(address *url.URL, err error) (wanted, why string) {
	const valid = "a valid URL, with a scheme"
	switch {
	case err != nil:
		return valid, " (" + err.Error() + ")"
	case address.Scheme == "":
		return valid, ""
	case (address.Scheme == "http" || address.Scheme == "https") && address.Hostname() == "":
		return valid + " and a host", ""
	}
	return "", ""
}

// insecureURL lets URLs of the machine itself pass: they are for development.
func insecureURL(address *url.URL, err error) (wanted, why string) {
	if err != nil || address.Scheme == "" || address.Scheme == "https" {
		return "", ""
	}
	if host := address.Hostname(); address.Scheme == "http" && isLoopback(host) {
		return "", ""
	}
	return "a URL that begins with https", ""
}

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	address := net.ParseIP(host)
	return address != nil && address.IsLoopback()
}

func sharedElicitationIDs(conversation *rules.Conversation, reporter *rules.Reporter) {
	given := map[string]bool{}
	for _, message := range rules.Originals(conversation) {
		if !rules.IsRequest(message) || message.Method != elicitationMethod || message.ParamsObject()["mode"] != "url" {
			continue
		}
		id, isText := message.ParamsObject()["elicitationId"].(string)
		if !isText {
			continue
		}
		if len(given) > 0 { // one alone is always unique
			reporter.Observe()
		}
		if given[id] {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "an id that no other elicitation has",
				Found:  rules.Show(id) + " again",
				Where:  "/params/elicitationId",
			})
		}
		given[id] = true
	}
}

// announcements judges those of a completion: to a client that was sent to URLs,
// by their ids; to one that was not, by being sent at all.
func announcements(asked bool) rules.Judge {
	wanted := "no notifications/elicitation/complete for an elicitation that this client did not receive"
	if asked {
		wanted = "the elicitationId of a URL elicitation that the client received"
	}
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		if !conversation.Complete || !asked && len(tasks.Created(conversation)) > 0 {
			return // what a task demands is told only to who fetches its result
		}
		ids := map[string]bool{}
		for _, visit := range urlRequests(conversation) {
			id, _ := visit.Member("elicitationId")
			ids[id.Text()] = true
		}
		for _, message := range conversation.Notifications(completionMethod) {
			id := mcp.Text(message.ParamsObject(), "elicitationId")
			if known := ids[id]; !known && asked != (len(ids) > 0) {
				continue // the other rule has it
			}
			reporter.Observe()
			if !ids[id] {
				reporter.Violation(message, rules.Mismatch{
					Wanted: wanted,
					Found:  rules.ShowMember(message.ParamsObject(), "elicitationId"),
					Where:  "/params/elicitationId",
				})
			}
		}
	}
}

// urlElicitationRequired is the code of the error that demands a visit.
const urlElicitationRequired = -32042

func isDemand(message *rules.Message) bool {
	refusal, refused := message.Error()
	return rules.IsResponse(message) && refused && refusal.Code == urlElicitationRequired
}

// demands is what the error says beside its code and message.
func demands(message *rules.Message) places.Place {
	refusal, _ := message.Error()
	return places.Place{Pointer: "/error/data", Value: refusal.Data}
}

func demandsNothing(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.ByTarget() {
		if !isDemand(message) {
			continue
		}
		reporter.Observe()
		list, _ := demands(message).Member("elicitations")
		if all, isArray := list.Value.([]any); isArray && len(all) == 0 {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "at least one elicitation that the request needs",
				Found:  "an empty list",
				Where:  list.Pointer,
			})
		}
	}
}

// judgeDemands judges what the error holds, as far as places are concerned.
func judgeDemands(concerned *lazy.Regexp) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, message := range conversation.ByTarget() {
			if !isDemand(message) || conversation.Schema == nil {
				continue
			}
			reporter.Observe()
			for _, violation := range conversation.Schema.ValidateError(claims.Mended(message.Object, true)) {
				if concerned.MatchString(claims.MemberPlace("", violation)) {
					reporter.Violation(message, rules.Mismatch{Wanted: violation.Expected, Found: violation.Found, Where: violation.Pointer})
				}
			}
		}
	}
}
