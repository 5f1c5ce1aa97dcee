// Package client is a small, complete MCP client: every feature of the
// five revisions, 2024-11-05 to 2026-07-28, over stdio, Streamable HTTP and HTTP+SSE. It
// runs a list of steps without a user or a model: the steps hold what these would decide.
//
// It is written to be read. Each file keeps to one page of the specification
// and names it in its first line. What both eras have in common is written once:
//
//	basic              messages.go request.go answering.go
//	basic/authorization  authorization.go discovery.go registration.go tokens.go
//	basic/transports   stdio.go process.go streamablehttp.go eventstream.go
//	basic/utilities    cancellation.go
//	server             lists.go tools.go features.go
//	client             sampling.go elicitation.go roots.go
//
// The handshake era, of revisions up to 2025-11-25, has beside these:
//
//	basic              lifecycle.go
//	basic/transports   sessions.go httpsse.go
//	basic/utilities    tasks.go taskreceiver.go
//
// And the stateless era, from 2026-07-28:
//
//	basic              versioning.go
//	basic/transports   headers.go
//	basic/patterns     mrtr.go subscriptions.go
//	server/utilities   caching.go
//	extensions         asynctasks.go
//
// Steps are read in steps.go, carried out in drive.go, and told of in
// report.go.
//
// A step travels like this: drive.go calls what the page of the step is about; that makes a
// request (request.go), which the transport writes (stdio.go, streamablehttp.go); what comes
// back is sorted in messages.go, by id to the request that waits, or to answering.go when the
// server asks.
//
// The client can be made to have one deliberate mistake, for those who test what finds it.
// Those that no recording can show stand in defects.go and the files beside it, each in the place
// of one function in parts.go. To read the good client, read c.part.NAME as that function.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// The revisions of the specification that this client speaks. They are dates,
// so that comparing them as strings orders them.
const (
	Revision20241105 = "2024-11-05"
	Revision20250326 = "2025-03-26" // the one with batches
	Revision20250618 = "2025-06-18"
	Revision20251125 = "2025-11-25"
	Revision20260728 = "2026-07-28" // the first of the stateless era
)

// Revisions lists all revisions that this client speaks, oldest first.
func Revisions() []string {
	return []string{Revision20241105, Revision20250326, Revision20250618, Revision20251125, Revision20260728}
}

// Options say what a client does, and to which server.
type Options struct {
	// URL is the endpoint of a server that is spoken to over HTTP.
	URL string
	// SSE says that it is the URL of a stream of the transport HTTP+SSE.
	SSE bool
	// Transport carries the HTTP requests. Nil: the network.
	Transport *http.Transport
	// Command starts a server that is spoken to over stdio.
	Command []string
	// Dial starts one in another way. It is used where Command is empty.
	Dial func(context.Context) (Process, error)
	// Steps are what to do, as JSON. Empty: connect, list all there is, close.
	Steps []byte
	// Revision is asked for where a step asks for none. Empty: the newest.
	Revision string
	// Only is the one revision that it supports, even if a step asks for another. Empty: all
	// of Revisions().
	Only string
	// Defect makes it a bad client in one way, which is one of Defects(). Empty:
	// none.
	Defect string
	// Report receives the outcome of each step as one line of JSON. Nil: outcomes are
	// discarded.
	Report io.Writer
	// Log receives one line per event worth knowing. Nil: nothing is logged.
	Log io.Writer
	// Timeouts say how long to wait.
	Timeouts Timeouts
	// Authorization says how the client authorizes, where the server asks for that.
	Authorization Authorization
}

// Timeouts are for how long to wait for what. A zero stands for the default.
type Timeouts struct {
	Request   time.Duration // an answer; 30 seconds, since a person may have to decide
	Probe     time.Duration // an answer to server/discover over stdio; 2 seconds, since servers of the handshake era may give none
	Exit      time.Duration // a server to exit when its input ends, and again when it is told to; 2 seconds
	Visit     time.Duration // a visit to a URL to be over; one second
	Reconnect time.Duration // until a stream is taken up again, where the server names no time; half a second
}

// An object is a JSON object.
type object = map[string]any

// A client is the reference client, and all that it knows of its server.
type client struct {
	options Options
	log     *log.Logger
	steps   []step
	part    parts
	ctx     context.Context // of the whole run
	cancel  context.CancelFunc
	report  *report

	background *sync.WaitGroup // what is done beside the steps, in this session
	closing    chan struct{}   // closed when the session is to end

	mu         sync.Mutex
	transport  transport
	revision   string // spoken since connect; "" before
	opening    string // asked for by initialize
	knownEra   string // the revision that the server was last found to speak
	peer       peer
	lastID     int64
	lastToken  int64
	sessions   int // how many were begun
	open       map[jsonrpc.ID]*request
	answering  map[jsonrpc.ID]context.CancelFunc // requests of the server that are worked on
	logLevel   string
	answers    map[string]*answers // by method
	roots      []any               // in place of those of answers, once they have changed
	received   map[string]int      // how often the server sent what, by method
	taken      map[string]int      // how often wait-for has waited for it
	news       chan struct{}       // closed, and replaced, when something was received
	listed     map[string]bool     // which lists were asked for
	relisting  map[string]relist   // which are fetched anew since they have changed
	tools      map[string]*tool    // by name; nil before they were listed
	cache      map[cacheKey]cached
	visits     map[string]chan struct{} // to URLs that are not complete, by elicitation id
	subscribed []*subscription
	tasks      *ownTasks
}

// A peer is what the server has said of itself.
type peer struct {
	Capabilities object
	Info         any
}

// Run connects to a server, carries out the steps and leaves it in good order.
// A step that fails is reported, and is no error but for connecting.
func Run(ctx context.Context, options Options) error {
	c, err := newClient(ctx, options)
	if err != nil {
		return err
	}
	defer c.cancel()
	return c.drive()
}

func newClient(ctx context.Context, options Options) (*client, error) {
	steps, err := readSteps(options.Steps)
	if err != nil {
		return nil, err
	}
	for _, named := range []string{options.Revision, options.Only} {
		if named != "" && !slices.Contains(Revisions(), named) {
			return nil, fmt.Errorf("the reference client does not speak revision %q, only %s",
				named, strings.Join(Revisions(), ", "))
		}
	}
	if (options.URL != "") == (len(options.Command) > 0 || options.Dial != nil) {
		return nil, errors.New("the reference client needs either the URL of a server or the command that starts one")
	}
	if options.Log == nil {
		options.Log = io.Discard
	} else {
		options.Log = &shared{to: options.Log}
	}
	setDefault(&options.Timeouts.Request, 30*time.Second)
	setDefault(&options.Timeouts.Probe, 2*time.Second)
	setDefault(&options.Timeouts.Exit, 2*time.Second)
	setDefault(&options.Timeouts.Visit, time.Second)
	setDefault(&options.Timeouts.Reconnect, 500*time.Millisecond)
	c := &client{
		options:   options,
		log:       log.New(options.Log, "", log.LstdFlags|log.Lmicroseconds),
		steps:     steps,
		part:      goodParts(),
		report:    &report{to: options.Report},
		open:      map[jsonrpc.ID]*request{},
		answering: map[jsonrpc.ID]context.CancelFunc{},
		answers:   map[string]*answers{},
		received:  map[string]int{},
		taken:     map[string]int{},
		news:      make(chan struct{}),
		listed:    map[string]bool{},
		relisting: map[string]relist{},
		cache:     map[cacheKey]cached{},
		visits:    map[string]chan struct{}{},
		tasks:     &ownTasks{known: map[string]*ownTask{}},
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if err := c.spoil(options.Defect); err != nil {
		c.cancel()
		return nil, err
	}
	return c, nil
}

// A shared writer is written to by the log, and by the standard error of servers.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (s *shared) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(text)
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// revisions are those that this client speaks, oldest first.
func (c *client) revisions() []string {
	if c.options.Only != "" {
		return []string{c.options.Only}
	}
	return Revisions()
}

// speaks is the revision that is spoken, "" before one was agreed on.
func (c *client) speaks() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision
}

// opens is the revision that initialize asks for; "" before, and without it.
func (c *client) opens() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opening
}

// stateless tells whether what is spoken is of the stateless era.
func (c *client) stateless() bool { return c.speaks() >= Revision20260728 }

// declares tells whether the server has declared a capability, such as
// "resources", "subscribe".
func (c *client) declares(path ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return declared(c.peer.Capabilities, path...)
}

// declared tells whether capabilities have a member that is an object or true.
func declared(capabilities object, path ...string) bool {
	var at any = capabilities
	for _, name := range path {
		members, _ := at.(object)
		at = members[name]
	}
	if flag, isFlag := at.(bool); isFlag {
		return flag
	}
	_, isObject := at.(object)
	return isObject
}

// needs is the error of a step for which the server lacks a capability.
func (c *client) needs(path ...string) error {
	if !c.declares(path...) {
		return fmt.Errorf("the server has not declared the capability %s", strings.Join(path, "."))
	}
	return nil
}
