package scripted

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Place is what a client wants where it comes to about authorization.
type Place string

// The places.
const (
	AtEndpoint         Place = "endpoint" // of the server: what it refused for want of a good token
	AtResourceMetadata Place = "resource-metadata"
	AtServerMetadata   Place = "server-metadata"
	AtAuthorize        Place = "authorize"
	AtToken            Place = "token"
	AtRegister         Place = "register"
	AtElsewhere        Place = "elsewhere"
	AtDecoy            Place = "lure"    // where no token may be sent
	AtOpening          Place = "opening" // what a browser was told to open, which is the body
)

const (
	// maxVisits bounds what is recorded about authorization in one scenario: many times
	// what the longest flow takes.
	maxVisits = 400
	// maxVisitBody bounds the body of a form or a registration.
	maxVisitBody = 256 << 10
)

// Visit is one HTTP exchange about authorization, as the one who answers it sees it. It is
// recorded apart from the session: no rule takes its bodies for messages.
type Visit struct {
	Request *http.Request
	Body    []byte
	Query   url.Values
	Form    url.Values // of the body, when it is one
	JSON    Object     // of the body, when it is an object

	guard  *Guard
	writer http.ResponseWriter
	stream string
	from   protocol.Party // who answers
	over   bool
}

// visit begins the record of one; nil when there are too many.
func (g *Guard) visit(w http.ResponseWriter, r *http.Request, body []byte, issuer int, place Place) *Visit {
	stream, room := g.stream(issuer, place)
	if !room {
		return nil
	}
	v := &Visit{
		Request: r,
		Body:    body,
		Query:   r.URL.Query(),
		guard:   g,
		writer:  w,
		stream:  stream,
		from:    protocol.Server,
	}
	if issuer > 0 {
		v.from = protocol.AuthorizationServer
	}
	switch media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media {
	case "application/x-www-form-urlencoded":
		v.Form, _ = url.ParseQuery(string(body)) // what can be read of it
	case "application/json":
		_ = json.Unmarshal(body, &v.JSON) // or it is none
	}
	header := r.Header.Clone()
	header.Set("Host", r.Host)
	v.append(protocol.Client, transcript.Event{Kind: transcript.Head, HTTP: &transcript.HTTP{
		Method: r.Method, URL: "http://" + r.Host + r.URL.RequestURI(), Header: header,
	}})
	if len(body) > 0 {
		v.append(protocol.Client, transcript.Event{Kind: transcript.Body, Raw: body})
	}
	return v
}

func readVisit(r *http.Request) []byte {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxVisitBody)) // as much as came
	return body
}

func (v *Visit) append(from protocol.Party, event transcript.Event) {
	event.From, event.Stream = from, v.stream
	v.guard.log().Append(event)
}

// Answer writes the whole response. The second one is not written.
func (v *Visit) Answer(status int, header http.Header, body []byte) {
	if v.over {
		return
	}
	v.over = true
	for name, values := range header {
		v.writer.Header()[http.CanonicalHeaderKey(name)] = values
	}
	v.append(v.from, transcript.Event{Kind: transcript.Head, HTTP: &transcript.HTTP{
		Status: status, Header: v.writer.Header().Clone(),
	}})
	if len(body) > 0 {
		v.append(v.from, transcript.Event{Kind: transcript.Body, Raw: body})
	}
	v.append(v.from, transcript.Event{Kind: transcript.End, Note: transcript.Complete})
	v.writer.WriteHeader(status)
	_, _ = v.writer.Write(body) // or the client has left
}

// AnswerJSON writes a JSON object.
func (v *Visit) AnswerJSON(status int, object Object) {
	header := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}
	v.Answer(status, header, encode(object))
}

// Redirect sends the client elsewhere.
func (v *Visit) Redirect(location string) {
	v.Answer(http.StatusFound, http.Header{"Location": {location}, "Cache-Control": {"no-store"}}, nil)
}

func encode(object Object) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		panic("scripted: a document that is no JSON: " + err.Error()) // written in a scenario
	}
	return bytes.TrimSpace(text.Bytes())
}

// Visited is a Visit as the record tells it.
type Visited struct {
	Place  Place
	Issuer int // which authorization server, from 1; 0 for the server
	Stream string
	Event  transcript.Event // the head of the request
	Body   transcript.Event // of the request, or zero
	Method string
	URL    *url.URL
	Header http.Header
	Form   url.Values
	JSON   Object
	Status int         // of the answer; 0 for none
	Answer http.Header // its headers
	Reply  Object      // its body, when it is a JSON object
}

// ReadVisits returns the visits in the record of a connection about authorization, in the
// order in which they began.
func ReadVisits(events []transcript.Event) []*Visited {
	var all []*Visited
	known := map[string]*Visited{}
	for _, event := range events {
		one := known[event.Stream]
		if one == nil {
			issuer, place, is := readStream(event.Stream)
			if !is {
				continue
			}
			one = &Visited{Place: place, Issuer: issuer, Stream: event.Stream, Event: event, URL: &url.URL{}}
			known[event.Stream] = one
			all = append(all, one)
		}
		one.read(event)
	}
	return all
}

func (v *Visited) read(event transcript.Event) {
	asked := event.From == protocol.Client || event.From == protocol.Browser
	switch {
	case event.Kind == transcript.Head && asked:
		v.Event, v.Method, v.Header = event, event.HTTP.Method, event.HTTP.Header
		if parsed, err := url.Parse(event.HTTP.URL); err == nil {
			v.URL = parsed
		}
	case event.Kind == transcript.Head:
		v.Status, v.Answer = event.HTTP.Status, event.HTTP.Header
	case event.Kind == transcript.Body && asked:
		v.Body = event
		v.Form, _ = url.ParseQuery(string(event.Raw)) // what can be read of it
		_ = json.Unmarshal(event.Raw, &v.JSON)        // or it is none
	case event.Kind == transcript.Body:
		_ = json.Unmarshal(event.Raw, &v.Reply) // or it is none
	}
}

// Query returns a parameter of the URL, and how often it is there.
func (v *Visited) Query(name string) (value string, count int) {
	values := v.URL.Query()[name]
	return strings.Join(values, ", "), len(values)
}

// Arguments are those of a browser, when the visit is an opening.
func (v *Visited) Arguments() []string {
	list, _ := v.JSON["arguments"].([]any)
	var all []string
	for _, one := range list {
		text, _ := one.(string)
		all = append(all, text)
	}
	return all
}

// Token is the bearer token of the request; "" for none.
func (v *Visited) Token() string { return BearerToken(v.Header) }

// BearerToken is that of the header of a request; "" for none.
func BearerToken(header http.Header) string {
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Secrets are those of authorization servers that the request carries, in URL, headers or
// body.
func (v *Visited) Secrets() []oauth.Secret {
	sent := v.URL.String() + "\n" + string(v.Body.Raw)
	if unescaped, err := url.QueryUnescape(sent); err == nil {
		sent = unescaped
	}
	texts := []string{sent}
	for _, values := range v.Header {
		texts = append(texts, values...)
	}
	if _, password, basic := (&http.Request{Header: v.Header}).BasicAuth(); basic {
		texts = append(texts, password)
	}
	return oauth.SecretsIn(strings.Join(texts, "\n"))
}

// Streams about authorization are named by who answers, by the place and by a number:
// issuer-1-token-2.
func streamOf(issuer int, place Place, number int) string {
	return "issuer-" + strconv.Itoa(issuer) + "-" + string(place) + "-" + strconv.Itoa(number)
}

func readStream(stream string) (issuer int, place Place, is bool) {
	rest, is := strings.CutPrefix(stream, "issuer-")
	number, rest, more := strings.Cut(rest, "-")
	end := strings.LastIndexByte(rest, '-')
	issuer, err := strconv.Atoi(number)
	if !is || !more || err != nil || end < 0 {
		return 0, "", false
	}
	return issuer, Place(rest[:end]), true
}
