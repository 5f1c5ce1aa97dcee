package contact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// authorizationHeader carries the access token.
const authorizationHeader = "Authorization"

// lock turns the visits to a server that asked for authorization into visits with a survey
// that says so, at the revisions that the user wants: HTTP 401 does not show which of them
// the server speaks. It returns nil when a visit reached the server, when none was refused
// with 401, or when a token was given.
func lock(visits []*visit, to scripted.Target, policy Revise) []*visit {
	refused := func(one *visit) bool { return isUnauthorized(one.err) }
	if slices.ContainsFunc(visits, (*visit).reached) || !slices.ContainsFunc(visits, refused) ||
		to.Header.Get(authorizationHeader) != "" {
		return nil
	}
	wanted := []string{policy.first()}
	if policy.All || policy.Named() {
		wanted = policy.Choose(nil, nil)
	}
	var locked []*visit
	for _, revision := range wanted {
		at := slices.IndexFunc(visits, func(one *visit) bool { return one.asked == revision && one.connection != nil })
		one := &visit{asked: revision}
		if at >= 0 {
			one.connection, visits[at].connection = visits[at].connection, nil
		}
		one.handshake.Revision = revision // assumed: HTTP 401 names none
		one.survey = survey.Guarding(revision, ask(revision))
		locked = append(locked, one)
	}
	for _, one := range visits {
		if one.connection != nil { // it belongs to no cell
			locked = append(locked, &visit{asked: one.asked, connection: one.connection, err: one.err})
		}
	}
	return locked
}

// guarded finds out which request the server refuses without an access token: from what
// was refused already, or, where a token was sent, by another request without.
func (v *visit) guarded(ctx context.Context, budget *transcript.MemoryBudget, to scripted.Target) {
	if to.Transport != protocol.HTTP || !v.usable() {
		return
	}
	if to.Header.Get(authorizationHeader) == "" {
		v.survey.Guarded = v.survey.Unauthorized
		return
	}
	without := to
	without.Header = to.Header.Clone()
	without.Header.Del(authorizationHeader)
	log := transcript.NewLogIn(budget, "survey-"+v.asked+"-without-token")
	bare := &visit{asked: v.asked}
	connection, err := scripted.Dial(without, log)
	if err != nil {
		return
	}
	defer closeAll(ctx, bare)
	bare.connection = connection
	if protocol.Has(v.asked, protocol.Discovery) {
		bare.handshake, bare.err = connection.Discover(ctx, v.asked, scripted.Everything(v.asked))
	} else {
		bare.handshake, bare.err = connection.Initialize(ctx, scripted.Hello(v.asked, scripted.Everything(v.asked)))
	}
	if isRefused(bare.err) {
		v.survey.Guarded = ask(v.asked)
		return
	}
	if bare.handshake.Agreed && v.survey.Declares("tools") {
		if _, err := connection.Call(ctx, survey.Lists[0], nil); isRefused(err) {
			v.survey.Guarded = survey.Lists[0]
		}
	}
}

// ResourceOf is the URL that tokens for a server are to name: that of its metadata, else
// the one that was given.
func ResourceOf(ctx context.Context, to scripted.Target, budget *transcript.MemoryBudget) string {
	to.Header = to.Header.Clone()
	to.Header.Del(authorizationHeader)
	connection, err := scripted.Dial(to, transcript.NewLogIn(budget, "resource"))
	if err != nil {
		return to.URL
	}
	defer closeAll(ctx, &visit{connection: connection})
	ctx, cancel := wait.WithTimeout(ctx, to.Start)
	defer cancel()
	fetch := func(request transport.Request) *scripted.Delivery {
		delivery := connection.HTTP.Exchange(request)
		select {
		case <-delivery.Done():
			return delivery
		case <-ctx.Done():
			return &scripted.Delivery{} // nothing came
		}
	}
	body := jsonrpc.NewRequest(connection.NextID(), "initialize", scripted.Hello(protocol.Newest(), scripted.Nothing()))
	answer := fetch(
		transport.Request{Method: http.MethodPost, Header: connection.HTTP.HeaderOf(http.MethodPost, body), Body: body},
	)
	places, _ := oauth.ResourcePlaces(to.URL)
	if challenge, found, _ := oauth.Bearer(http.Header(answer.Header)); found {
		if named, has := challenge.Get("resource_metadata"); has && oauth.SameOrigin(named, to.URL) {
			places = append([]string{named}, places...)
		}
	}
	for _, place := range places {
		document := fetch(transport.Request{Method: http.MethodGet, URL: place})
		var metadata struct {
			Resource string `json:"resource"`
		}
		if json.Unmarshal(document.Body, &metadata) == nil && oauth.ResourceFlaw(metadata.Resource) == "" {
			return metadata.Resource
		}
	}
	return to.URL
}

// isRefused tells whether a request that is taken with a token was refused without: by 401,
// or by a status that it should not have.
func isRefused(err error) bool {
	_, isStatus := errors.AsType[*scripted.StatusError](err)
	return isStatus
}

func isUnauthorized(err error) bool {
	status, isStatus := errors.AsType[*scripted.StatusError](err)
	return isStatus && status.Status == http.StatusUnauthorized
}

// refusedToken is what a server says of a token that it refuses.
func refusedToken(header http.Header) string {
	says := cmp.Or(header.Get("WWW-Authenticate"), "no reason given")
	return excerpt.Short([]byte(says))
}
