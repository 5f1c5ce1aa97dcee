package wire

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// SamplingRules are the rules of the page client/sampling.
func SamplingRules() []rules.Rule {
	return append([]rules.Rule{
		{
			Text:         "includes tools in sampling requests only if the client declares sampling.tools",
			Requirements: []string{"sampling.request.tools"},
			Judge:        toolsLent,
		},
		{
			Text:         "sets includeContext to thisServer or allServers only if the client declares sampling.context",
			Requirements: []string{"sampling.request.context"},
			Judge:        contextIncluded(false),
		},
		{
			Text:         "does not use includeContext thisServer or allServers even if sampling.context is declared",
			Requirements: []string{"sampling.request.no-context"},
			Judge:        contextIncluded(true),
		},
		{
			Text:         "sets the priorities in modelPreferences to numbers from 0 to 1",
			Requirements: []string{"sampling.request.priorities"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, ask := range conversation.Asks(samplingMethod) {
					if preferences, there := askedBy(ask).member("modelPreferences"); there {
						judgeMembers(conversation, reporter, found{preferences, ask.Message}, "ModelPreferences", samplingPriorities)
					}
				}
			},
		},
		{
			Text:         "sends sampling messages whose content is valid by the schema",
			Requirements: []string{"sampling.request.content"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, ask := range conversation.Asks(samplingMethod) {
					for _, message := range askedBy(ask).items("messages") {
						judgeMembers(conversation, reporter, found{message, ask.Message}, "SamplingMessage", samplingContent)
					}
				}
			},
		},
		{
			Text:         "sends no other content in a sampling message with tool_result",
			Requirements: []string{"sampling.results.unmixed"},
			Judge:        mixedResults,
		},
		{
			Text:         "sends tool_result with the role user and tool_use with the role assistant",
			Requirements: []string{"sampling.results.role"},
			Judge:        resultRoles,
		},
		{
			Text:         "follows sampling messages with tool_use by one with a tool_result for each, and nothing else",
			Requirements: []string{"sampling.results.balanced"},
			Judge:        unansweredUses,
		},
	}, samplingAnswerRules()...)
}

const samplingMethod = "sampling/createMessage"

// askedBy are the params of what the target asks its client.
func askedBy(ask rules.Ask) place { return place{ask.Where, ask.Params} }

func toolsLent(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range conversation.Asks(samplingMethod) {
		reporter.Observe()
		declared := mcp.Declares(conversation.ClientDeclared(ask.Message), "sampling.tools")
		for _, name := range []string{"tools", "toolChoice"} {
			if member, there := askedBy(ask).member(name); there && !declared {
				reporter.Violation(ask.Message, rules.Mismatch{
					Wanted: fmt.Sprintf("no member %q, since the client did not declare sampling.tools", name),
					Found:  rules.Show(member.value), Where: member.pointer,
				})
			}
		}
	}
}

// contextIncluded judges requests to clients that declared sampling.context,
// or to those that did not: one use of the context breaks one rule.
func contextIncluded(declared bool) judge {
	wanted := `no includeContext, or "none", since the client did not declare sampling.context`
	if declared {
		wanted = `no includeContext, or "none"`
	}
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, ask := range conversation.Asks(samplingMethod) {
			if mcp.Declares(conversation.ClientDeclared(ask.Message), "sampling.context") != declared {
				continue
			}
			reporter.Observe()
			member, _ := askedBy(ask).member("includeContext")
			if context := member.text(); context == "thisServer" || context == "allServers" {
				reporter.Violation(ask.Message, rules.Mismatch{Wanted: wanted, Found: rules.Show(context), Where: member.pointer})
			}
		}
	}
}

// A turn is one message of a conversation with a model.
type turn struct {
	place
	role   string
	blocks []place // of its content, which may be one block or several
}

// turns returns the messages of a sampling request.
func turns(ask rules.Ask) []turn {
	var all []turn
	for _, message := range askedBy(ask).items("messages") {
		all = append(all, turnAt(message))
	}
	return all
}

func turnAt(message place) turn {
	role, _ := message.member("role")
	one := turn{place: message, role: role.text(), blocks: message.items("content")}
	if content, _ := message.member("content"); content.object() != nil {
		one.blocks = []place{content}
	}
	return one
}

// of returns the blocks of a type.
func (t turn) of(kind string) []place {
	var kept []place
	for _, block := range t.blocks {
		if block.object()["type"] == kind {
			kept = append(kept, block)
		}
	}
	return kept
}

func mixedResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range conversation.Asks(samplingMethod) {
		for _, turn := range turns(ask) {
			results := turn.of("tool_result")
			if len(results) == 0 {
				continue
			}
			reporter.Observe()
			for _, block := range turn.blocks {
				if kind, _ := block.member("type"); kind.text() != "tool_result" {
					reporter.Violation(ask.Message, rules.Mismatch{
						Wanted: "nothing but tool results in this message", Found: rules.Show(kind.value), Where: block.pointer,
					})
				}
			}
		}
	}
}

func resultRoles(conversation *rules.Conversation, reporter *rules.Reporter) {
	roles := map[string]string{"tool_result": "user", "tool_use": "assistant"}
	for _, ask := range conversation.Asks(samplingMethod) {
		for _, turn := range turns(ask) {
			for _, kind := range []string{"tool_result", "tool_use"} {
				if len(turn.of(kind)) == 0 {
					continue
				}
				reporter.Observe()
				if turn.role != roles[kind] {
					reporter.Violation(ask.Message, rules.Mismatch{
						Wanted: fmt.Sprintf("the role %q for content of type %s", roles[kind], kind),
						Found:  rules.Show(turn.role), Where: turn.pointer + "/role",
					})
				}
			}
		}
	}
}

func unansweredUses(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range conversation.Asks(samplingMethod) {
		all := turns(ask)
		for i, one := range all {
			uses := one.of("tool_use")
			if len(uses) == 0 {
				continue
			}
			reporter.Observe()
			var next turn
			if i+1 < len(all) {
				next = all[i+1]
			}
			answered := map[string]bool{}
			for _, result := range next.of("tool_result") {
				id, _ := result.member("toolUseId")
				answered[id.text()] = true
			}
			for _, use := range uses {
				id, _ := use.member("id")
				if !answered[id.text()] {
					reporter.Violation(ask.Message, rules.Mismatch{
						Wanted: "a result of every use of a tool in the next message",
						Found:  "none of " + rules.Show(id.value), Where: use.pointer,
					})
				}
			}
			if len(next.of("tool_result")) < len(next.blocks) {
				reporter.Violation(ask.Message, rules.Mismatch{
					Wanted: "nothing but tool results after uses of tools",
					Found:  "other content", Where: next.pointer + "/content",
				})
			}
		}
	}
}

// ElicitationRules are the rules of the page client/elicitation.
func ElicitationRules() []rules.Rule {
	return append([]rules.Rule{
		{
			Text:         "sends elicitation/create with a message and a requestedSchema",
			Requirements: []string{"elicitation.request.members"},
			Judge:        judgeElicitations(anyMode, `^/params/(?:message|requestedSchema)$`),
		},
		{
			Text:         "sends elicitation/create only in modes that the client declares",
			Requirements: []string{"elicitation.request.mode"},
			Judge:        undeclaredModes,
		},
		{
			Text:         "sends elicitation/create with a message, and with the mode form, url or none",
			Requirements: []string{"elicitation.request.parameters"},
			Judge:        judgeElicitations(anyMode, `^/params/(?:message|mode)$`),
		},
		{
			Text:         "sends form elicitation with a requestedSchema",
			Requirements: []string{"elicitation.form.parameters"},
			Judge:        judgeElicitations(formMode, `^/params/requestedSchema$`),
		},
		{
			Text:         "sends a requestedSchema that is a flat object of primitive properties",
			Requirements: []string{"elicitation.form.schema"},
			Judge:        judgeForms(func(place string) bool { return !formFormat.MatchString(place) }),
		},
		{
			Text:         "uses only the formats email, uri, date and date-time in requestedSchema",
			Requirements: []string{"elicitation.form.formats"},
			Judge:        judgeForms(formFormat.MatchString),
		},
		{
			Text:         "requests no password, key or token in form elicitation, judging by field names",
			Requirements: []string{"elicitation.form.secret-names"},
			Judge:        secretFields,
		},
		{
			Text:         "sends no clickable URLs in form elicitation",
			Requirements: []string{"elicitation.form.no-urls"},
			Judge:        clickable,
		},
		{
			Text:         "gives each URL elicitation a url and, until 2025-11-25, an elicitationId, both strings",
			Requirements: []string{"elicitation.url.parameters"},
			Judge:        visitsDescribed,
		},
		{
			Text:         "gives each URL elicitation a valid url",
			Requirements: []string{"elicitation.url.valid"},
			Judge:        everyURL(invalidURL),
		},
		{
			Text:         "sends URL elicitations whose url begins with https, except for loopback hosts",
			Requirements: []string{"elicitation.url.https"},
			Judge:        everyURL(insecureURL),
		},
		{
			Text:         "gives each URL elicitation a unique elicitationId",
			Requirements: []string{"elicitation.url.id-unique"},
			Judge:        sharedElicitationIDs,
		},
		{
			Text:         "sends notifications/elicitation/complete with the elicitationId of an elicitation",
			Requirements: []string{"elicitation.completion.id"},
			Judge:        announcements(true),
		},
		{
			Text:         "sends notifications/elicitation/complete only to clients that received URL elicitation",
			Requirements: []string{"elicitation.completion.client"},
			Judge:        announcements(false),
		},
		{
			Text:         "returns no error -32042 with an empty list of elicitations",
			Requirements: []string{"elicitation.required.url-mode"},
			Judge:        demandsNothing,
		},
		{
			Text:         "returns data.elicitations in the error -32042",
			Requirements: []string{"elicitation.required.listed"},
			Judge:        judgeDemands(regexp.MustCompile(`^/error/data(?:/elicitations)?$`)),
		},
		{
			Text:         "lists only URL elicitations with an elicitationId in the error -32042",
			Requirements: []string{"elicitation.required.elicitations"},
			Judge:        judgeDemands(regexp.MustCompile(`^/error/data/elicitations/\d+`)),
		},
	}, elicitationAnswerRules()...)
}

const (
	elicitationMethod = "elicitation/create"
	completionMethod  = "notifications/elicitation/complete"
)

// formFormat is the place of the format of a string in a form.
var formFormat = regexp.MustCompile(`^/params/requestedSchema/properties/[^/]+/format$`)

func modeOf(ask rules.Ask) any {
	if mode, there := ask.Params["mode"]; there {
		return mode
	}
	return "form"
}

func anyMode(rules.Ask) bool      { return true }
func formMode(ask rules.Ask) bool { return modeOf(ask) == "form" }
func urlMode(ask rules.Ask) bool  { return modeOf(ask) == "url" }

// elicitations returns the requests of a mode.
func elicitations(conversation *rules.Conversation, ofMode func(rules.Ask) bool) []rules.Ask {
	return slices.DeleteFunc(conversation.Asks(elicitationMethod), func(ask rules.Ask) bool { return !ofMode(ask) })
}

// elicitationViolations are what the schema says against a request, with the
// place of each as it is in a message of its own.
func elicitationViolations(conversation *rules.Conversation, ask rules.Ask, judgeOne func(place string, mismatch rules.Mismatch)) {
	if conversation.Schema == nil {
		return
	}
	method, known := conversation.Schema.Method(elicitationMethod)
	if !known {
		return
	}
	for _, violation := range conversation.Schema.Validate(method.Params, ask.Params) {
		judgeOne(memberPlace("/params", violation), rules.Mismatch{
			Wanted: violation.Expected, Found: violation.Found, Where: ask.Where + violation.Pointer,
		})
	}
}

// judgeElicitations judges requests of a mode as far as places are concerned.
func judgeElicitations(ofMode func(rules.Ask) bool, places string) judge {
	concerned := regexp.MustCompile(places)
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
func judgeForms(concerned func(place string) bool) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, ask := range elicitations(conversation, formMode) {
			if form, _ := askedBy(ask).member("requestedSchema"); form.object() == nil {
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
		declared, _ := conversation.ClientDeclared(ask.Message)["elicitation"].(map[string]any)
		mode, _ := modeOf(ask).(string)
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
				Wanted: "a mode that the client declared: " + rules.Show(declared), Found: mode, Where: ask.Where + "/mode",
			})
		}
	}
}

// clickable looks for URLs in the texts that a form shows to its user.
func clickable(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range elicitations(conversation, formMode) {
		reporter.Observe()
		for _, text := range formTexts(askedBy(ask)) {
			if address := webAddress.FindString(text.text()); address != "" {
				reporter.Violation(ask.Message, rules.Mismatch{
					Wanted: "no URL in the texts of a form", Found: rules.Show(address), Where: text.pointer,
				})
			}
		}
	}
}

// secretFields guesses by the names and titles of the fields that are to be filled in.
// What only mentions a secret, or has a list of answers to choose from, asks for none.
func secretFields(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range elicitations(conversation, formMode) {
		form, _ := askedBy(ask).member("requestedSchema")
		properties, _ := form.member("properties")
		for _, name := range slices.Sorted(maps.Keys(properties.object())) {
			field, _ := properties.member(name)
			title, _ := field.member("title")
			_, chosen := field.object()["enum"]
			if kind := field.object()["type"]; chosen || kind != "string" && kind != "number" && kind != "integer" {
				continue
			}
			reporter.Observe()
			for _, text := range []string{name, title.text()} {
				if isSecret(text) {
					reporter.Violation(ask.Message, rules.Mismatch{
						Wanted: "no field in a form whose name says that it asks for a secret (a guess)", Found: rules.Show(text),
						Where: properties.pointer + "/" + escape(name),
					})
					break
				}
			}
		}
	}
}

// secrets are what names of fields end with that cannot be mistaken, in words of their
// own.
var secrets = regexp.MustCompile(`(?:^| )(?:password|passwd|passphrase|api ?key|secret|secret key|private key|access key|(?:access|refresh|auth|authentication|bearer|api|security) token|(?:credit |debit )?card number|cvv|cvc)$`)

// wordBorder is where a word of a name ends: apiKey, api_key and API key are the same.
var wordBorder = regexp.MustCompile(`([a-z0-9])([A-Z])|[^\pL\pN]+`)

// aboutSecrets are words beside which a secret is only spoken of.
var aboutSecrets = []string{"hint", "about", "at", "for", "of", "with", "without", "no", "change", "reset", "forgot", "remember"}

// mostWords is how many words the name of a field has; a sentence has more.
const mostWords = 4

func isSecret(name string) bool {
	words := strings.Fields(strings.ToLower(wordBorder.ReplaceAllString(name, "$1 $2")))
	about := slices.ContainsFunc(words, func(word string) bool { return slices.Contains(aboutSecrets, word) })
	return len(words) <= mostWords && !about && secrets.MatchString(strings.Join(words, " "))
}

var webAddress = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>]+`)

// formTexts returns what a form shows: its message, and the titles and
// descriptions in its schema.
func formTexts(params place) []place {
	var texts []place
	if message, there := params.member("message"); there {
		texts = append(texts, message)
	}
	form, _ := params.member("requestedSchema")
	fields := []place{form}
	properties, _ := form.member("properties")
	for name := range properties.object() {
		field, _ := properties.member(name)
		fields = append(fields, field)
	}
	for _, field := range fields {
		for _, name := range []string{"title", "description"} {
			if text, there := field.member(name); there {
				texts = append(texts, text)
			}
		}
		texts = append(texts, field.items("enumNames")...)
	}
	slices.SortFunc(texts, func(a, b place) int { return strings.Compare(a.pointer, b.pointer) })
	return texts
}

func visitsDescribed(conversation *rules.Conversation, reporter *rules.Reporter) {
	members := []string{"url", "elicitationId"}
	if !conversation.Has(protocol.ElicitationIDs) {
		members = members[:1]
	}
	for _, ask := range elicitations(conversation, urlMode) {
		reporter.Observe()
		for _, name := range members {
			if _, isText := ask.Params[name].(string); !isText {
				reporter.Violation(ask.Message, rules.Mismatch{
					Wanted: fmt.Sprintf("a member %q that is a string", name),
					Found:  shown(ask.Params, name), Where: ask.Where,
				})
			}
		}
	}
}

// visits returns every elicitation in URL mode: requests, and those that the
// error URLElicitationRequired demands.
func visits(conversation *rules.Conversation) []found {
	var all []found
	for _, ask := range elicitations(conversation, urlMode) {
		all = append(all, found{askedBy(ask), ask.Message})
	}
	for _, said := range conversation.ByTarget() {
		if isDemand(said) {
			for _, demanded := range demands(said).items("elicitations") {
				all = append(all, found{demanded, said})
			}
		}
	}
	return all
}

// everyURL judges the URLs of visits; wrong says what is wrong with one.
func everyURL(wrong func(address *url.URL, err error) (wanted, why string)) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, visit := range visits(conversation) {
			member, _ := visit.member("url")
			text, isText := member.value.(string)
			if !isText {
				continue // another rule has it
			}
			reporter.Observe()
			if wanted, why := wrong(url.Parse(text)); wanted != "" {
				reporter.Violation(visit.said, rules.Mismatch{Wanted: wanted, Found: rules.Show(text) + why, Where: member.pointer})
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
	for _, said := range originals(conversation) {
		if !isRequest(said) || said.Method != elicitationMethod || said.ParamsObject()["mode"] != "url" {
			continue
		}
		id, isText := said.ParamsObject()["elicitationId"].(string)
		if !isText {
			continue
		}
		if len(given) > 0 { // one alone is always unique
			reporter.Observe()
		}
		if given[id] {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "an id that no other elicitation has", Found: rules.Show(id) + " again", Where: "/params/elicitationId",
			})
		}
		given[id] = true
	}
}

// announcements judges those of a completion: to a client that was sent to URLs,
// by their ids; to one that was not, by being sent at all.
func announcements(asked bool) judge {
	wanted := "no announcement of an elicitation that this client was not asked for"
	if asked {
		wanted = "the elicitationId of an elicitation in URL mode that the client was asked for"
	}
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		if !conversation.Complete || !asked && len(created(conversation)) > 0 {
			return // what a task demands is told only to who fetches its result
		}
		ids := map[string]bool{}
		for _, visit := range visits(conversation) {
			id, _ := visit.member("elicitationId")
			ids[id.text()] = true
		}
		for _, said := range conversation.Notifications(completionMethod) {
			id, _ := said.ParamsObject()["elicitationId"].(string)
			if known := ids[id]; !known && asked != (len(ids) > 0) {
				continue // the other rule has it
			}
			reporter.Observe()
			if !ids[id] {
				reporter.Violation(said, rules.Mismatch{Wanted: wanted, Found: shown(said.ParamsObject(), "elicitationId"), Where: "/params/elicitationId"})
			}
		}
	}
}

// urlElicitationRequired is the code of the error that demands a visit.
const urlElicitationRequired = -32042

func isDemand(said *rules.Message) bool {
	refusal, refused := said.Error()
	return isResponse(said) && refused && refusal.Code == urlElicitationRequired
}

// demands is what the error says beside its code and message.
func demands(said *rules.Message) place {
	refusal, _ := said.Error()
	return place{"/error/data", refusal.Data}
}

func demandsNothing(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByTarget() {
		if !isDemand(said) {
			continue
		}
		reporter.Observe()
		list, _ := demands(said).member("elicitations")
		if all, isArray := list.value.([]any); isArray && len(all) == 0 {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "at least one elicitation that the request waits for", Found: "an empty list", Where: list.pointer,
			})
		}
	}
}

// judgeDemands judges what the error holds, as far as places are concerned.
func judgeDemands(concerned *regexp.Regexp) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, said := range conversation.ByTarget() {
			if !isDemand(said) || conversation.Schema == nil {
				continue
			}
			reporter.Observe()
			for _, violation := range conversation.Schema.ValidateError(mended(said.Object, true)) {
				if concerned.MatchString(memberPlace("", violation)) {
					reporter.Violation(said, rules.Mismatch{Wanted: violation.Expected, Found: violation.Found, Where: violation.Pointer})
				}
			}
		}
	}
}
