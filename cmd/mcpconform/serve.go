package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/serve"
	"github.com/mcpconform/mcpconform/reports"
)

const (
	// servedAt is where the scenarios are served when the user does not say.
	servedAt = "127.0.0.1:7777"
	// patience is how long a scripted server waits for an answer that a person may
	// have to give.
	patience = time.Minute
)

// servedOver are the transports over which clients can come by themselves.
var servedOver = []string{protocol.HTTP, protocol.SSE}

func newServe() *cobra.Command {
	s := &settings{role: protocol.ClientRole}
	var listen, over string
	command := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Serve the scenarios for clients that no command can drive",
		Long: `Serve runs the scripted servers on a port, without starting a client: for an
editor or a chat application. The page at / lists the scenarios, says what to do
with the client in each, and shows results as they arrive. Ending it, by a signal
(Ctrl-C) or on the page, writes the same reports as mcpconform client. A second
signal ends it at once, without reports.`,
		Example: `  mcpconform serve
  mcpconform serve --revision 2025-11-25 --filter tools --junit report.xml`,
		Args: noArguments,
		RunE: func(command *cobra.Command, arguments []string) error {
			return s.serve(command, arguments, listen, over)
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", servedAt, "`ADDR`, HOST:PORT, to serve at; port 0 picks a free one")
	flags.StringVar(
		&s.Revision,
		"revision",
		protocol.Newest(),
		"the `R`evision of the specification that the servers speak",
	)
	flags.StringVar(&over, "transport", protocol.HTTP, "http or sse: the transport over which the servers are reached")
	flags.StringVar(&s.configFile, "config", "", "config `FILE` (default mcpconform.yaml, if there is one)")
	flags.StringVar(&s.Filter, "filter", "", "serve only the scenarios of what matches `EXPR`: "+filterHelp)
	s.addReportFlags(flags, "check")
	flags.StringVar(&s.Transcripts, "transcripts", "", "write the transcript of every connection into `DIR`")
	flags.DurationVar(&s.Timeout, "timeout", 0, "how long one answer of the client may take (default 1m)")
	flags.StringVar(&s.MaxMessage, "max-message", "", "the longest message to accept, such as 4MiB (default 2MiB)")
	flags.BoolVar(&s.Strict, "strict", false, "warned and inconclusive count as failed")
	completes(command, map[string]values{"revision": oneOf(protocol.Released()...), "transport": oneOf(servedOver...)})
	s.completesRun(command)
	return command
}

func (s *settings) serve(command *cobra.Command, arguments []string, listen, over string) error {
	if !slices.Contains(servedOver, over) {
		return usageError("--transport %q is none that serve has%s", over, nearest.Hint(over, servedOver))
	}
	newest := protocol.Newest()
	if over == protocol.SSE {
		newest = protocol.Last(protocol.Handshake)
	}
	if !command.Flags().Changed("revision") {
		s.Revision = newest
	}
	if err := s.complete(command, arguments); err != nil {
		return err
	}
	switch {
	case len(s.revise.Listed) != 1 && command.Flags().Changed("revision"):
		return usageError(
			"--revision %q: serve speaks one revision at a time%s",
			s.Revision,
			nearest.Hint(s.Revision, protocol.Released()),
		)
	case len(s.revise.Listed) != 1:
		s.revise.Listed = []string{newest} // the config file has one for other commands
	}
	if byDefault := !command.Flags().Changed("revision") &&
		s.revise.Listed[0] == newest; byDefault &&
		s.Filter != "" {
		_, revisions, err := plan.ParseFilter(s.role, s.Filter)
		if err != nil {
			return err
		}
		s.revise.Listed = revisions[len(revisions)-1:]
	}
	if revision := s.revise.Listed[0]; !protocol.Carries(over, revision) {
		return usageError("--revision %s is not spoken over --transport %s, which ends with %s", revision, over, newest)
	}
	if s.Timeout == 0 {
		s.Timeout = patience
	}
	options := s.options(nil)
	options.Transports = []string{over}
	options.Rerun = s.serveRerun
	judging, err := runner.NewJudging(options, s.revise.Listed[0])
	if err != nil {
		return err
	}
	found, err := s.serveAt(command.Context(), listen, judging)
	if found == nil {
		return err
	}
	return s.report(found, err)
}

func (s *settings) serveAt(ctx context.Context, listen string, judging *runner.Judging) (*reports.Run, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, usageError("--listen %q must be HOST:PORT, such as %s", listen, servedAt)
	}
	if host == "" {
		host = "127.0.0.1" // only this machine, unless the user names another address
		listen = host + listen
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		if inner, isNet := errors.AsType[*net.OpError](err); isNet {
			err = inner.Err
		}
		return nil, usageError("--listen %s: %s", listen, err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	tell := s.teller(stderr())
	scenarios := fmt.Sprintf("%d scenarios", len(judging.Scenes()))
	if len(judging.Scenes()) == 1 {
		scenarios = "1 scenario"
	}
	tell(scenarios+" at "+judging.Revision(),
		fmt.Sprintf("open http://%s/ in a browser; Ctrl-C ends", net.JoinHostPort(host, port)))
	return serve.Serve(ctx, serve.Options{Judging: judging, Listener: listener, Host: host, Tell: tell})
}

// teller writes what is news of a scenario.
func (s *settings) teller(out io.Writer) func(scenario, found string) {
	if s.quiet {
		out = io.Discard
	}
	var mu sync.Mutex
	told, redactor := map[string]string{}, s.redactor()
	return func(scenario, found string) {
		mu.Lock()
		defer mu.Unlock()
		if told[scenario] != found {
			told[scenario] = found
			_, _ = fmt.Fprintln(out, reports.Visible(scenario+": "+redactor.Redact(found)))
		}
	}
}

// serveRerun is the command that serves the scenario of one check.
func (s *settings) serveRerun(cell check.Cell, filter string) string {
	words := []string{"mcpconform", "serve", "--revision", cell.Revision, "--filter", filter}
	if cell.Transport != protocol.HTTP {
		words = append(words, "--transport", cell.Transport)
	}
	return shellWords(words)
}
