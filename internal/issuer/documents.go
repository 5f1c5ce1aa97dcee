package issuer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// documentHost serves the client id metadata documents of the harness at an address; the
// authorization server finds them under a URL that leads there.
type documentHost struct {
	server *http.Server

	mu      sync.Mutex
	bodies  map[string][]byte // by path
	fetched map[string]int
}

const documentTimeout = 10 * time.Second // to read a request

// DocumentFresh is how long documents of the harness may be cached.
const DocumentFresh = "max-age=3600"

func hostDocuments(address string) (*documentHost, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	host := &documentHost{bodies: map[string][]byte{}, fetched: map[string]int{}}
	host.server = &http.Server{ReadHeaderTimeout: documentTimeout, Handler: host}
	go func() { _ = host.server.Serve(listener) }() // until close
	return host, nil
}

func (h *documentHost) close() { _ = h.server.Close() }

func (h *documentHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	body, known := h.bodies[r.URL.Path]
	h.fetched[r.URL.Path]++
	h.mu.Unlock()
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", DocumentFresh)
	_, _ = w.Write(body) // fails when the client has left
}

// Document is a client id metadata document of the harness, and the client that it is of.
type Document struct {
	Client *RegisteredClient
	host   *documentHost
	path   string
}

// Fetched is how often the document was asked for.
func (d *Document) Fetched() int {
	d.host.mu.Lock()
	defer d.host.mu.Unlock()
	return d.host.fetched[d.path]
}

// NeedDocuments makes a check go on only where the authorization server supports client id
// metadata documents.
func (i *Issuer) NeedDocuments() {
	if i.Metadata["client_id_metadata_document_supported"] != true {
		i.t.NotApplicable("the authorization server does not support client id metadata documents")
	}
}

// Document serves a document under a URL of its own: a good one, changed by edit, which may
// return a text in its place.
func (i *Issuer) Document(edit func(document Object) []byte) *Document {
	i.NeedDocuments()
	given := harnessOf(i.t).Registration
	at := strings.TrimSuffix(given.Documents, "/")
	if at == "" {
		i.t.Inconclusive("the authorization server needs a client id metadata document that it can reach",
			"give an https URL that leads to this machine: --documents URL, with --documents-listen ADDR")
	}
	state := stateOf(i.t)
	if state.documents == nil {
		host, err := hostDocuments(given.DocumentsListen)
		if err != nil {
			i.t.Inconclusive("cannot serve documents: "+err.Error(), "give another --documents-listen")
		}
		state.documents = host
	}
	document := &Document{host: state.documents, path: "/" + rand.Text() + "/client.json"}
	id := at + document.path
	document.Client = &RegisteredClient{ID: id, Method: authNone, RedirectURI: redirectURI(i.t)}
	members := Object{
		"client_id": id, "client_name": "mcpconform", "redirect_uris": []string{document.Client.RedirectURI},
		"grant_types": []string{grantCode}, "response_types": []string{"code"}, "token_endpoint_auth_method": authNone,
	}
	body := edit(members)
	if body == nil {
		body, _ = json.Marshal(members) // of texts
	}
	base, err := url.Parse(at)
	if err != nil {
		i.t.Inconclusive("--documents "+err.Error(), "give an https URL")
	}
	document.path = base.Path + document.path
	state.documents.mu.Lock()
	defer state.documents.mu.Unlock()
	state.documents.bodies[document.path] = body
	return document
}

// DocumentDecoy listens on this machine at a port that the authorization server has no
// reason to contact, and returns a client_id there. contacted tells whether it was
// contacted until then, and closes the listener.
func (i *Issuer) DocumentDecoy(ctx context.Context) (client *RegisteredClient, contacted func() bool) {
	i.NeedDocuments()
	target, err := url.Parse(URL(i.t))
	if err != nil || !oauth.Loopback(target.Hostname()) {
		i.t.Inconclusive("the harness sees local connections only of an authorization server on this machine",
			"run it on this machine")
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		i.t.Inconclusive("cannot listen on this machine: "+err.Error(), "run it again")
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() }) // of a check that ended before
	came := make(chan string, mostCallers)
	go func() {
		defer close(came)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.Close() // that it came is all that counts
			came <- connection.RemoteAddr().String()
		}
	}()
	client = &RegisteredClient{
		ID: "https://" + listener.Addr().String() + "/client.json", Method: authNone, RedirectURI: redirectURI(i.t),
	}
	return client, func() bool { return othersCame(i.t, listener, came) }
}

// mostCallers at a decoy are remembered.
const mostCallers = 16

// othersCame closes a listener, and tells whether it was contacted before a connection of
// the harness, which is the barrier.
func othersCame(t *T, listener net.Listener, came <-chan string) bool {
	defer func() {
		_ = listener.Close()
		for range came { // to its end
		}
	}()
	barrier, err := (&net.Dialer{}).DialContext(t, "tcp", listener.Addr().String())
	if err != nil {
		t.Inconclusive("the harness cannot reach its own decoy: "+err.Error(), "run it again")
	}
	defer func() { _ = barrier.Close() }() // it was there
	return <-came != barrier.LocalAddr().String()
}
