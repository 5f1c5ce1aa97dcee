package runner

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/issuer"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// Options say what to check and how.
type Options struct {
	Executable []string // this binary, for workers and the reference; default os.Executable

	Role       string         // that the target plays; default: server
	URL        string         // the target's endpoint, or
	Command    target.Command // the command that starts it, or neither: the embedded reference
	Transports []string       // default: what the target allows
	falls      bool           // the user named no transport for the URL: HTTP with SSE is tried, too
	Header     http.Header
	Access     *offer.Access // tokens for a server that asks for authorization; nil for none
	// Mint issues tokens of all kinds for a server, by the URL that they are for, from an
	// authorization server that it trusts. Nil for none.
	Mint func(resource string) (*offer.Access, error)
	// Registration is for the client of a target authorization server.
	Registration issuer.Registration
	// Network lets the harness contact all hosts that the target names, not only this machine
	// and the origin of the target.
	Network   bool
	Trusted   string // the issuer of those, which the embedded reference trusts; "" for none
	Revisions contact.Revise
	// Served is the process of the server at URL, where it was started for the run; else nil.
	Served *target.Process

	Filter  string
	Profile string // of [Profiles], beside the filter; "" for everything
	// Requirements are the only ones that the target is judged by, at the revision of the
	// set; nil for all.
	Requirements *catalogue.Set
	// Draft is what to say of a draft that the target is judged by, whose schema is in use in
	// this process, and DraftSchema its document, for the workers; nil for none.
	Draft          *reports.Draft
	DraftSchema    []byte
	Shard          shard.Shard // the checks that it is to run; zero for all
	provoke.Policy             // of the target's tools; default: provoke.CallReadOnly

	Workers    int           // lanes at most, in which checks run side by side; 0: as many as are of use
	Timeout    time.Duration // of one reply, the first one too; 0: 5 s, and longer for the first
	Deadline   time.Duration // of the run; 0: DefaultDeadline
	MaxMessage int           // bytes

	Tool        reports.Tool // what the report says of this program
	Transcripts string       // directory; "" for none
	folder      *os.Root     // that directory, opened before a target could make a link of it
	Exchanges   worker.Shown // which are kept
	Redactor    *reports.Redactor
	Progress    *reports.Progress                           // nil for none
	Found       func(*reports.Cell, *reports.Result)        // is told what a check found, perhaps several at once; it may be nil
	Rerun       func(cell check.Cell, filter string) string // the command that repeats a check

	// Explore is how many draws of legal inputs are made on each cell, from Seed on.
	Explore int
	Seed    uint64
	Redraw  func(cell check.Cell, seed uint64) string // the command that repeats a draw
}

const (
	defaultTimeout = 5 * time.Second
	// endTimeout is how long after its deadline, or a signal, a run goes on: two
	// seconds, less what writing the reports takes.
	endTimeout        = 1500 * time.Millisecond
	defaultMaxMessage = 16 << 20 // each worker may hold one: together they stay within 256 MiB
	// DefaultDeadline ends a run that hangs, with its reports, before CI does so
	// without: most give a job an hour. A slow target needs a quarter of it, with
	// each reply of 1000 checks in four workers taking as long as one may.
	DefaultDeadline = 30 * time.Minute
)

func (o *Options) defaults() error {
	if o.Executable == nil {
		self, err := program.Itself()
		if err != nil {
			return err
		}
		o.Executable = self
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.Calls == "" {
		o.Calls = provoke.CallReadOnly
	}
	if o.Role == "" {
		o.Role = protocol.ServerRole
	}
	if len(o.Transports) == 0 {
		o.Transports = o.allowedTransports()
		o.falls = o.URL != "" && o.Role == protocol.ServerRole
	}
	return nil
}

// openFolder opens the directory of transcripts, which may be a new one.
func openFolder(path string) (*os.Root, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("--transcripts: %w", err)
	}
	folder, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("--transcripts: %w", err)
	}
	return folder, nil
}

func (o *Options) allowedTransports() []string {
	switch {
	case o.URL != "", o.Role == protocol.AuthorizationServerRole,
		o.Role == protocol.ClientRole && len(o.Command.Args) > 0 && !scenario.TakesServer(o.Command.Args):
		return []string{protocol.HTTP}
	case len(o.Command.Args) > 0:
		return []string{protocol.Stdio}
	}
	return []string{protocol.Stdio, protocol.HTTP}
}
