package subscriptions

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rules are the rules of the page basic/patterns/subscriptions.
func Rules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends notifications/subscriptions/acknowledged before it ends a subscription",
			Verifies: rules.Verifies("subscriptions.acknowledged.sent"),
			Judge:    unacknowledged,
		},
		{
			Text:     "sends nothing on a subscription before notifications/subscriptions/acknowledged",
			Verifies: rules.Verifies("subscriptions.acknowledged.first"),
			Needs:    []transcript.Lack{transcript.Whole},
			Judge:    acknowledgedFirst,
		},
		{
			Text:     "acknowledges only what subscriptions/listen requests",
			Verifies: rules.Verifies("subscriptions.acknowledged.requested"),
			Judge:    everyAcknowledged(unrequested),
		},
		{
			Text:     "acknowledges only notifications whose capability it declares",
			Verifies: rules.Verifies("subscriptions.acknowledged.supported"),
			Judge:    everyAcknowledged(unsupported),
		},
		{Text: "sends only requested notifications on a subscription", Verifies: rules.Verifies("subscriptions.filter.honored"), Judge: unwanted},
		{
			Text:     "sends subscriptionId in the _meta of each notification on a subscription",
			Verifies: rules.Verifies("subscriptions.id.carried"),
			Judge:    untagged,
		},
		{
			Text:     "sends the subscriptions/listen result or notifications/cancelled when it ends a subscription",
			Verifies: rules.Verifies("subscriptions.closed.announced"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    brokenOff,
		},
		{
			Text:     "sends subscriptionId in the _meta of the subscriptions/listen result",
			Verifies: rules.Verifies("subscriptions.closed.id"),
			Judge:    closedWithoutID,
		},
	}
}

const (
	acknowledgedMethod = facts.AcknowledgedMethod
	updatedMethod      = "notifications/resources/updated"
)

// subscriptionIDPlace is where _meta has the id of a subscription, as JSON pointer.
const subscriptionIDPlace = "/io.modelcontextprotocol~1subscriptionId"

type listNotification struct{ wish, method, capability string }

// listNotifications are the members of a filter that ask for announcements of changes
// of a list, with their notifications and what a server declares that sends them.
var listNotifications = []listNotification{
	{"toolsListChanged", "notifications/tools/list_changed", "tools.listChanged"},
	{"promptsListChanged", "notifications/prompts/list_changed", "prompts.listChanged"},
	{"resourcesListChanged", "notifications/resources/list_changed", "resources.listChanged"},
}

// isAnnouncement tells whether a notification is one that subscriptions are for.
func isAnnouncement(message *rules.Message) bool {
	if message.Kind != jsonrpc.Notification {
		return false
	}
	return message.Method == updatedMethod || message.Method == acknowledgedMethod ||
		slices.ContainsFunc(listNotifications, func(one listNotification) bool { return one.method == message.Method })
}

// A subscription is a request to listen, with what the target said on it: over
// HTTP on its stream, over stdio with its id.
type subscription struct {
	request *rules.Message
	filter  places.Place
	told    []*rules.Message
}

// subscriptions reads those of a conversation, and what the target announced in the
// stateless era that belongs to none.
func subscriptions(conversation *rules.Conversation) (all []*subscription, stray []*rules.Message) {
	spoken := facts.Negotiations(conversation)
	byStream, byID := map[string]*subscription{}, map[jsonrpc.ID]*subscription{}
	for _, message := range conversation.Messages {
		if !message.FromTarget(conversation.Cell) {
			if rules.IsRequest(message) && message.Method == facts.ListenMethod && message.Event.Deliberate == "" {
				filter, _ := places.ParamsOf(message).Member("notifications")
				one := &subscription{request: message, filter: filter}
				all = append(all, one)
				byStream[message.Event.Stream], byID[message.ID] = one, one
			}
			continue
		}
		if message.Kind != jsonrpc.Notification {
			continue
		}
		tag, tagged := facts.SubscriptionID(message)
		one := byID[tag]
		if protocol.Over(conversation.Transport).Exchanges() {
			one = byStream[message.Event.Stream]
		}
		switch {
		case one != nil:
			one.told = append(one.told, message)
		case protocol.Has(spoken[message.Index], protocol.Subscriptions) && (tagged || isAnnouncement(message)):
			stray = append(stray, message)
		}
	}
	return all, stray
}

// wants tells whether the filter asks for the changes of a list.
func wants(filter places.Place, wish string) bool {
	asked, _ := filter.Member(wish)
	return asked.Value == true
}

// answer is the first response to the request, nil when there is none.
func (s *subscription) answer() *rules.Message {
	if len(s.request.Answers) == 0 {
		return nil
	}
	return s.request.Answers[0]
}

// acknowledgement is the first one, nil when there is none.
func (s *subscription) acknowledgement() *rules.Message {
	for _, message := range s.told {
		if message.Method == acknowledgedMethod {
			return message
		}
	}
	return nil
}

func unacknowledged(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, _ := subscriptions(conversation)
	for _, one := range all {
		answer := one.answer()
		switch {
		case one.acknowledgement() != nil:
			reporter.Observe()
		case answer != nil && !rules.IsRefusal(answer) && conversation.Complete:
			reporter.Observe()
			reporter.Violation(answer, rules.Mismatch{
				Wanted: "an acknowledgement, and this result at the end of the subscription", Found: "the result alone",
			})
		}
	}
}

// acknowledgedFirst leaves aside messages that any request may bring, such as progress. A result
// that is never followed by an acknowledgement is for the rule about that.
func acknowledgedFirst(conversation *rules.Conversation, reporter *rules.Reporter) {
	const wanted = acknowledgedMethod + " as the first message of the subscription"
	all, _ := subscriptions(conversation)
	for _, one := range all {
		first := slices.IndexFunc(one.told, func(message *rules.Message) bool { return isAnnouncement(message) || isTagged(message) })
		if first < 0 {
			continue
		}
		reporter.Observe()
		message, answer := one.told[first], one.answer()
		switch {
		case answer != nil && answer.Index < message.Index && !rules.IsRefusal(answer) && one.acknowledgement() != nil:
			reporter.Violation(answer, rules.Mismatch{Wanted: wanted, Found: "the result that ends the subscription", Where: "/result"})
		case message.Method != acknowledgedMethod:
			reporter.Violation(message, rules.Mismatch{Wanted: wanted, Found: message.Method, Where: "/method"})
		}
	}
}

func isTagged(message *rules.Message) bool {
	_, tagged := facts.SubscriptionID(message)
	return tagged
}

// everyAcknowledged judges the filters that were acknowledged.
func everyAcknowledged(
	judgeOne func(one *subscription, declared rules.Object, agreed places.Place, breaks func(rules.Mismatch)),
) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		all, _ := subscriptions(conversation)
		for _, one := range all {
			acknowledgement := one.acknowledgement()
			if acknowledgement == nil {
				continue
			}
			agreed, _ := places.ParamsOf(acknowledgement).Member("notifications")
			if agreed.Object() == nil {
				continue // the schema has it
			}
			reporter.Observe()
			judgeOne(one, conversation.ServerCapabilities, agreed, func(mismatch rules.Mismatch) { reporter.Violation(acknowledgement, mismatch) })
		}
	}
}

func unrequested(one *subscription, _ rules.Object, agreed places.Place, breaks func(rules.Mismatch)) {
	for _, change := range listNotifications {
		if wants(agreed, change.wish) && !wants(one.filter, change.wish) {
			breaks(rules.Mismatch{Wanted: "only what was requested", Found: change.wish, Where: agreed.Pointer + "/" + change.wish})
		}
	}
	asked := texts(one.filter, "resourceSubscriptions")
	for _, uri := range agreed.Items("resourceSubscriptions") {
		if !slices.Contains(asked, uri.Text()) {
			breaks(rules.Mismatch{Wanted: "only what was requested", Found: rules.Show(uri.Value), Where: uri.Pointer})
		}
	}
}

func unsupported(_ *subscription, declared rules.Object, agreed places.Place, breaks func(rules.Mismatch)) {
	if declared == nil {
		return
	}
	for _, change := range listNotifications {
		if wants(agreed, change.wish) && !mcp.Declares(declared, change.capability) {
			breaks(rules.Mismatch{
				Wanted: "no acknowledgement without the declared capability " + change.capability,
				Found:  change.wish, Where: agreed.Pointer + "/" + change.wish,
			})
		}
	}
	if len(agreed.Items("resourceSubscriptions")) > 0 && !mcp.Declares(declared, "resources.subscribe") {
		breaks(rules.Mismatch{
			Wanted: "no acknowledgement without the declared capability resources.subscribe",
			Found:  "resourceSubscriptions", Where: agreed.Pointer + "/resourceSubscriptions",
		})
	}
}

// texts returns the strings in the array that is a member.
func texts(object places.Place, name string) []string {
	var all []string
	for _, item := range object.Items(name) {
		all = append(all, item.Text())
	}
	return all
}

// unwanted judges announcements, and what belongs to other requests. What
// extensions announce, and ask for in filters of their own, is for them to say.
func unwanted(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, stray := subscriptions(conversation)
	for _, one := range all {
		for _, message := range one.told {
			if !isAnnouncement(message) && (!isTagged(message) || !isOfRequest(message)) {
				continue
			}
			reporter.Observe()
			if mismatch := one.unwanted(message); mismatch != (rules.Mismatch{}) {
				reporter.Violation(message, mismatch)
			}
		}
	}
	for _, message := range stray {
		if !isAnnouncement(message) || someAsked(all, message) || !conversation.Complete {
			continue // if some did, it lacks the id
		}
		reporter.Observe()
		reporter.Violation(message, rules.Mismatch{Wanted: "only what a subscription requested", Found: message.Method, Where: "/method"})
	}
}

// isOfRequest tells whether a notification is about one request in progress.
func isOfRequest(message *rules.Message) bool {
	return message.Method == facts.ProgressMethod || message.Method == "notifications/message"
}

// someAsked tells whether a subscription that was there before wants something.
func someAsked(all []*subscription, message *rules.Message) bool {
	return slices.ContainsFunc(all, func(one *subscription) bool {
		return one.request.Index < message.Index && one.unwanted(message) == rules.Mismatch{}
	})
}

// unwanted says why the subscription did not ask for something.
func (s *subscription) unwanted(message *rules.Message) rules.Mismatch {
	switch {
	case message.Method == acknowledgedMethod:
		return rules.Mismatch{}
	case isOfRequest(message):
		return rules.Mismatch{Wanted: "only notifications of changes on a subscription", Found: message.Method, Where: "/method"}
	case message.Method == updatedMethod:
		uri := mcp.Text(message.ParamsObject(), "uri")
		asked := texts(s.filter, "resourceSubscriptions")
		if slices.ContainsFunc(asked, func(one string) bool { return strings.HasPrefix(uri, one) }) {
			return rules.Mismatch{} // one below it is a part of it, maybe
		}
		if len(asked) == 0 {
			return rules.Mismatch{
				Wanted: "no notifications/resources/updated, which the subscription did not request",
				Found:  message.Method,
				Where:  "/method",
			}
		}
		return rules.Mismatch{
			Wanted: "only updates of the requested resources: " + strings.Join(asked, ", "),
			Found:  rules.Show(uri),
			Where:  "/params/uri",
		}
	}
	for _, change := range listNotifications {
		if change.method == message.Method && !wants(s.filter, change.wish) {
			return rules.Mismatch{
				Wanted: "nothing without " + change.wish + " in the filter of the subscription",
				Found:  message.Method,
				Where:  "/method",
			}
		}
	}
	return rules.Mismatch{}
}

// untagged judges what is announced on the stream of a subscription, and over
// stdio, where all share one channel, what some subscription has asked for.
func untagged(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, stray := subscriptions(conversation)
	var concerned []*rules.Message
	wanted := map[*rules.Message]string{}
	for _, one := range all {
		for _, message := range one.told {
			if isAnnouncement(message) || isTagged(message) {
				concerned = append(concerned, message)
				wanted[message] = "the id of the subscription, " + one.request.ID.String()
				if tag, _ := facts.SubscriptionID(message); tag == one.request.ID {
					wanted[message] = ""
				}
			}
		}
	}
	for _, message := range stray {
		if !protocol.Over(conversation.Transport).Exchanges() && isAnnouncement(message) &&
			(message.Method == acknowledgedMethod || someAsked(all, message)) {
			concerned = append(concerned, message)
			wanted[message] = "the id of a subscription"
		}
	}
	slices.SortFunc(concerned, func(a, b *rules.Message) int { return cmp.Compare(a.Index, b.Index) })
	for _, message := range concerned {
		reporter.Observe()
		if wanted[message] == "" {
			continue
		}
		mismatch := rules.Mismatch{Wanted: wanted[message], Found: "none", Where: "/params/_meta" + subscriptionIDPlace}
		if tag, tagged := facts.SubscriptionID(message); tagged {
			mismatch.Found = tag.String()
		}
		reporter.Violation(message, mismatch)
	}
}

// brokenOff judges streams that the server has ended in good order. Over stdio
// nothing shows that a subscription is over but what says so.
func brokenOff(conversation *rules.Conversation, reporter *rules.Reporter) {
	all, _ := subscriptions(conversation)
	byRequest := map[*rules.Message]*subscription{}
	for _, one := range all {
		byRequest[one.request] = one
	}
	for _, one := range exchanges.Of(conversation) {
		subscribed := byRequest[one.Sent]
		if subscribed == nil || !one.Streams() {
			continue
		}
		reporter.Observe()
		if one.EndedByServer() && subscribed.answer() == nil && !subscribed.cancelled() {
			reporter.ViolationAt(*one.End, rules.Mismatch{
				Wanted: "the result of " + facts.ListenMethod + " before the end of its stream, or " + facts.CancelledMethod,
				Found:  "the end of the stream",
			}, one.Explained()...)
		}
	}
}

// cancelled tells whether the target said so on the subscription.
func (s *subscription) cancelled() bool {
	return slices.ContainsFunc(s.told, func(message *rules.Message) bool { return message.Method == facts.CancelledMethod })
}

func closedWithoutID(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, message := range conversation.Results(facts.ListenMethod) {
		reporter.Observe()
		if id, _ := facts.SubscriptionID(message); id != message.ID {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "the id of the subscription, " + message.ID.String(),
				Found:  rules.ShowMember(message.Meta(), mcp.MetaSubscription),
				Where:  "/result/_meta" + subscriptionIDPlace,
			})
		}
	}
}
