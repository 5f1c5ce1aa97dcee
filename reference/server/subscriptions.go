// Page basic/patterns/subscriptions, from 2026-07-28: streams of changes.

package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
)

// maxSubscriptionStreams bounds the subscriptions to one server: each holds a
// connection open.
const maxSubscriptionStreams = 1024

// A filter is the kinds of changes that a client wants to hear of.
type filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
	TaskIDs   []string `json:"taskIds,omitempty"` // extensions/tasks
}

// wants tells whether a notification passes the filter.
func (f filter) wants(method string, params object) bool {
	switch method {
	case "notifications/tools/list_changed":
		return f.Tools
	case "notifications/prompts/list_changed":
		return f.Prompts
	case "notifications/resources/list_changed":
		return f.Resources
	case "notifications/resources/updated":
		return slices.Contains(f.URIs, params["uri"].(string))
	case "notifications/tasks":
		return slices.Contains(f.TaskIDs, params["taskId"].(string))
	default:
		return false
	}
}

// A subscription is a request subscriptions/listen in flight.
type subscription struct {
	call   *call
	filter filter
}

// notify sends a notification that belongs to the subscription.
func (s *subscription) notify(method string, params object) {
	said := object{"_meta": object{metaSubscription: json.RawMessage(s.call.id)}}
	maps.Copy(said, params)
	s.call.notify(method, said)
}

// subscriptions is all that are open at a server.
type subscriptions struct {
	reached func(open []*subscription, method string, params object) []*subscription // by a change

	mu   sync.Mutex
	open []*subscription
}

// wanting are the subscriptions that want to hear of a change.
func wanting(open []*subscription, method string, params object) []*subscription {
	unwanted := func(each *subscription) bool { return !each.filter.wants(method, params) }
	return slices.DeleteFunc(slices.Clone(open), unwanted)
}

// announce tells a change to all that want to hear of it.
func (s *subscriptions) announce(method string, params object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.reached(s.open, method, params) {
		each.notify(method, params)
	}
}

// add opens a subscription. It is acknowledged before any change can reach it.
func (s *subscriptions) add(added *subscription) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxSubscriptionStreams {
		return internalError("more than %d subscriptions", maxSubscriptionStreams)
	}
	s.open = append(s.open, added)
	added.notify("notifications/subscriptions/acknowledged", object{"notifications": added.filter})
	return nil
}

func (s *subscriptions) remove(removed *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(each *subscription) bool { return each == removed })
}

type listenParams struct {
	Notifications filter `json:"notifications"`
}

// listen keeps a subscription open until the client gives it up, which is not
// answered, or the server ends.
func (c *call) listen(params listenParams) (any, error) {
	wanted := params.Notifications
	if len(wanted.TaskIDs) > 0 {
		if err := tasksOfClient(c.client); err != nil {
			return nil, err
		}
	}
	all := c.server.stateless
	wanted.URIs = only(wanted.URIs, func(uri string) bool {
		_, err := c.reader(uri)
		return err == nil
	})
	wanted.TaskIDs = only(wanted.TaskIDs, all.tasks.has)

	s := &subscription{c, wanted}
	if err := all.subscriptions.add(s); err != nil {
		return nil, err
	}
	defer all.subscriptions.remove(s)
	c.takesTime()
	<-c.ctx.Done()
	if errors.Is(context.Cause(c.ctx), errCancelled) {
		return nil, errCancelled
	}
	about := object{metaSubscription: json.RawMessage(c.id)}
	c.send(encodeNotification("notifications/cancelled", object{ // basic/patterns/cancellation
		"requestId": json.RawMessage(c.id), "reason": "the server ends", "_meta": about,
	}))
	return object{"_meta": about}, nil
}

// only keeps what there is, each once.
func only(wanted []string, there func(string) bool) []string {
	var kept []string
	for _, one := range wanted {
		if !slices.Contains(kept, one) && there(one) {
			kept = append(kept, one)
		}
	}
	return kept
}
