// Package server is a small, complete MCP server: every feature of the
// five revisions, 2024-11-05 to 2026-07-28, over stdio and Streamable HTTP.
//
// It is written to be read. Each file keeps to one page of the specification
// and names it in its first line. What both eras have in common is written once:
//
//	basic              jsonrpc.go decode.go call.go inflight.go authorization.go
//	basic/transports   stdio.go streamablehttp.go eventstream.go
//	basic/utilities    cancellation.go progress.go
//	server             tools.go resources.go prompts.go
//	server/utilities   completion.go logging.go pagination.go
//	client             sampling.go elicitation.go roots.go
//
// The handshake era, of revisions up to 2025-11-25, has beside these:
//
//	basic              lifecycle.go session.go batches.go
//	basic/transports   sessions.go
//	basic/utilities    ping.go tasks.go
//
// And the stateless era, from 2026-07-28:
//
//	basic              stateless.go versioning.go
//	basic/transports   statelesshttp.go headers.go
//	basic/patterns     mrtr.go subscriptions.go
//	server             discover.go
//	server/utilities   caching.go
//	extensions         asynctasks.go
//
// The things that it serves are in fixture_tools.go, fixture_stateless.go, fixture_resources.go
// and fixture_prompts.go, as tables: what each is called, what it takes, what it does. They bear the names of the official conformance suite's
// fixtures wherever one corresponds.
//
// A message travels like this: a transport reads it and gives it to the
// session or, in the stateless era, to a connection that knows nothing of what
// came before; that starts a call for a request; the call runs the handler of
// the method, which may notify or ask the client; every message goes out through
// an outlet, which is the pipe of stdio or one event stream of HTTP.
package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// The revisions of the specification that this server speaks. They are dates,
// so that comparing them as strings orders them.
const (
	Revision20241105 = "2024-11-05"
	Revision20250326 = "2025-03-26" // the one with batches
	Revision20250618 = "2025-06-18"
	Revision20251125 = "2025-11-25"
	Revision20260728 = "2026-07-28" // the first of the stateless era
)

// Revisions lists all revisions that this server speaks, oldest first.
func Revisions() []string {
	return []string{Revision20241105, Revision20250326, Revision20250618, Revision20251125, Revision20260728}
}

// Options adjust a Server. The zero value is a good server.
type Options struct {
	// Revisions limits what is spoken to some of Revisions(). Empty: all.
	Revisions []string
	// Path is the HTTP path of the MCP endpoint. Empty: "/mcp".
	Path string
	// Log receives one line per event worth knowing. Nil: nothing is logged.
	Log io.Writer
	// AllowedOrigins are accepted in the Origin header beside those of the
	// local machine, such as "https://app.example.com".
	AllowedOrigins []string
	// AllowedHosts are accepted in the Host header beside the names of the
	// local machine, when a request comes in over a loopback address.
	AllowedHosts []string
	// RequestTimeout is how long the client may take to answer a request.
	// Zero: one minute, since a person may have to decide.
	RequestTimeout time.Duration
	// PingInterval is the time between pings that see whether the client is
	// still there. Zero: 30 seconds. Negative: no pings.
	PingInterval time.Duration
	// SessionIdle is how long an HTTP session is kept after its last request.
	// Zero: 30 minutes.
	SessionIdle time.Duration
	// StateLife is for how long the state that a request leaves with the client
	// is good. Zero: ten minutes, since a person may have to be asked meanwhile.
	StateLife time.Duration
	// Authorization asks for access tokens over HTTP. Nil: for none.
	Authorization *Authorization
	// MoreTools is how many tools it lists beside those of its fixtures, all alike.
	MoreTools int
	// Defect makes it a bad server in one way, which is one of Defects(). Empty:
	// none.
	Defect string
}

// Server is the reference server. It is safe for concurrent use. Every session
// has its own state, so that no client can disturb another; in the stateless era
// there is one for all, and its changes reach everybody.
type Server struct {
	options       Options
	log           *log.Logger
	handshake     []string // the revisions spoken in sessions, oldest first
	stateless     *stateless
	methods       map[string]method
	notifications map[string]func(*session, json.RawMessage)
	http          *streamableHTTP
	sse           *httpSSE
	guard         *guard                   // nil: everybody may come in
	bindTo        func(host string) string // at which address to listen when asked for a host
	toolRounds    int                      // how often the client's model may use tools
	apart         bool                     // the responses to a batch go out one by one

	asksBy func(*session, *call) sender // carries what a call asks the client, where sessions are
}

// New makes a server. It fails when the options ask for the impossible.
func New(options Options) (*Server, error) {
	if len(options.Revisions) == 0 {
		options.Revisions = Revisions()
	}
	for _, revision := range options.Revisions {
		if !slices.Contains(Revisions(), revision) {
			return nil, fmt.Errorf("the reference server does not speak revision %q, only %s",
				revision, strings.Join(Revisions(), " and "))
		}
	}
	options.Revisions = slices.Sorted(slices.Values(options.Revisions))
	options.Path = cmp.Or(options.Path, "/mcp")
	if !strings.HasPrefix(options.Path, "/") {
		return nil, fmt.Errorf("the path of the MCP endpoint must begin with a slash: %q", options.Path)
	}
	if options.Log == nil {
		options.Log = io.Discard
	}
	options.RequestTimeout = cmp.Or(options.RequestTimeout, time.Minute)
	options.PingInterval = cmp.Or(options.PingInterval, 30*time.Second)
	options.SessionIdle = cmp.Or(options.SessionIdle, 30*time.Minute)
	options.StateLife = cmp.Or(options.StateLife, stateLife)

	s := &Server{
		options: options,
		log:     log.New(options.Log, "", log.LstdFlags|log.Lmicroseconds),
		// All other notifications are ignored, as a receiver should.
		notifications: map[string]func(*session, json.RawMessage){
			"notifications/initialized": (*session).initialized, // basic/lifecycle
			"notifications/cancelled":   (*session).cancelled,   // basic/utilities/cancellation
		},
		bindTo:     orLoopback,
		toolRounds: maxToolRounds,
		asksBy:     func(_ *session, c *call) sender { return c.send },
	}
	first := slices.IndexFunc(options.Revisions, func(revision string) bool { return revision >= Revision20260728 })
	if first < 0 {
		first = len(options.Revisions)
	}
	s.handshake = options.Revisions[:first]
	s.methods = methodsOf(s.handshake)
	s.stateless = newStateless(s, options.Revisions[first:])
	s.http = newStreamableHTTP(s)
	s.sse = newHTTPSSE(s)
	s.guard = newGuard(s)
	return s, s.spoil(options.Defect)
}

// methods says who handles which request, in each era: the function of a page of the
// specification, in the file of that page.
func methods() []method {
	always := span{}
	return []method{
		{until2025, "initialize", handles((*call).initialize), false, nil},
		{until2025, "ping", handles((*call).ping), false, nil},
		{from20260728, "server/discover", handles((*call).discover), false, aboutServer},
		{always, "tools/list", lister(func(f *features) *list[*tool] { return &f.tools }), false, lists},
		{always, "tools/call", handles((*call).callTool), true, nil},
		{always, "resources/list", lister(func(f *features) *list[*resource] { return &f.resources }), false, lists},
		{always, "resources/templates/list",
			lister(func(f *features) *list[*template] { return &f.templates }), false, lists},
		{always, "resources/read", handles((*call).readResource), true, contentsOfResources},
		{until2025, "resources/subscribe", handles((*call).subscribe), false, nil},
		{until2025, "resources/unsubscribe", handles((*call).unsubscribe), false, nil},
		{always, "prompts/list", lister(func(f *features) *list[*prompt] { return &f.prompts }), false, lists},
		{always, "prompts/get", handles((*call).getPrompt), true, nil},
		{always, "completion/complete", handles((*call).complete), false, nil},
		{until2025, "logging/setLevel", handles((*call).setLevel), false, nil},
		{from20260728, "subscriptions/listen", handles((*call).listen), false, nil},

		{at20251125, "tasks/get", handles((*call).getTask), false, nil},
		{at20251125, "tasks/list", handles((*call).listTasks), false, nil},
		{at20251125, "tasks/result", handles((*call).taskResult), false, nil},
		{at20251125, "tasks/cancel", handles((*call).cancelTask), false, nil},

		{from20260728, "tasks/get", withTasks(handles((*call).getAsyncTask)), false, nil},
		{from20260728, "tasks/update", withTasks(handles((*call).updateAsyncTask)), false, nil},
		{from20260728, "tasks/cancel", withTasks(handles((*call).cancelAsyncTask)), false, nil},
	}
}

// methodsOf are the methods that there are at some revisions, by name.
func methodsOf(revisions []string) map[string]method {
	found := map[string]method{}
	for _, m := range methods() {
		if slices.ContainsFunc(revisions, m.has) {
			found[m.name] = m
		}
	}
	return found
}

// A method is one kind of request.
type method struct {
	span

	name   string
	handle handler
	asks   bool   // whether results may ask the client for input, from 2026-07-28
	hints  object // for how long results may be kept, from 2026-07-28; nil for not at all
}

type handler func(c *call, params json.RawMessage) (result any, err error)

// handles makes a handler of a typed function: params are decoded and checked
// before it runs, and what does not fit is answered with Invalid params.
func handles[P any](f func(*call, P) (any, error)) handler {
	return func(c *call, raw json.RawMessage) (any, error) {
		var params P
		if err := decode(raw, &params, "params"); err != nil {
			return nil, invalidParams("%v", err)
		}
		return f(c, params)
	}
}

// Handler returns the HTTP side of the server: the MCP endpoint at Options.Path, HTTP with
// SSE at SSEPath, with authorization its metadata, and Not Found everywhere else. Its sessions live until they
// expire, the client ends them, or Close is called.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == s.options.Path:
			s.http.ServeHTTP(w, r)
		case s.sse.serves(r):
			s.sse.ServeHTTP(w, r)
		case s.guard != nil && r.URL.Path == s.guard.metadataPath() && r.Method == http.MethodGet:
			s.guard.serveMetadata(w, r)
		case s.guard != nil && r.URL.Path == oauth.ServerPath && r.Method == http.MethodGet && s.supports(Revision20250326):
			s.guard.serveIssuer(w, r)
		default:
			http.NotFound(w, r)
		}
	})
}

// Close ends every HTTP session, and all that runs in them or without one. Open
// subscriptions are told.
func (s *Server) Close() {
	s.stateless.end(errSessionEnded)
	s.http.close()
	s.sse.end()
}

// Bounds of the HTTP server that Serve runs.
const (
	headerTimeout  = 10 * time.Second // ample for some headers, too little to hold many connections
	maxHeaderBytes = 64 << 10         // far above any honest request
	idleConnection = 2 * time.Minute  // outlives the pauses of a working client
	shutdownGrace  = time.Second      // for answers that are being written when the server ends
)

// ListenAndServe serves HTTP at addr until ctx ends, and then ends all
// sessions. An addr without host, like ":8080", means the loopback address:
// other machines are let in only when asked for by name, as in "0.0.0.0:8080".
// The URL is logged.
func (s *Server) ListenAndServe(ctx context.Context, addr string) error {
	listener, err := s.Listen(ctx, addr)
	if err != nil {
		return err
	}
	return s.Serve(ctx, listener)
}

// Listen listens at addr as ListenAndServe does.
func (s *Server) Listen(ctx context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("the address to listen at must be HOST:PORT or :PORT: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(s.bindTo(host), port))
	if err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w", addr, err)
	}
	return listener, nil
}

func orLoopback(host string) string {
	if host == "" {
		return "127.0.0.1"
	}
	return host
}

// Serve serves HTTP on listener, which it closes, until ctx ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		IdleTimeout:       idleConnection,
		ErrorLog:          s.log,
	}
	s.log.Printf("listening at http://%s%s", listener.Addr(), s.options.Path)

	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		s.Close()
		return fmt.Errorf("cannot go on serving at %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}

	s.Close() // ends the event streams, which Shutdown would wait for
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if failed := <-served; err == nil && !errors.Is(failed, http.ErrServerClosed) {
		err = failed
	}
	return err
}
