package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/proxy"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/serve"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

const (
	// lookEvery is how often connections that go on are judged.
	lookEvery = 5 * time.Second
	// idleTime is how long nothing happens in a session over HTTP before it is taken for
	// over: most clients leave without a word.
	idleTime = 30 * time.Minute
	// judgedMemory bounds what all connections that go on take in memory, in bytes.
	judgedMemory = 40 << 20
	// garbageBetween is how much garbage there may be, in percent of what is in use: a proxy
	// lives long beside its peers, unlike a run.
	garbageBetween = 50
	// memoryBetween is how much memory, in bytes, is taken before garbage is collected eagerly.
	memoryBetween = 48 << 20
	// judgedLarge is how many events a connection may have that is judged again while it
	// goes on; a longer one is when it is over.
	judgedLarge = 2000
)

// proxying are the flags of proxy.
type proxying struct {
	*settings

	listen     string
	record     string
	partSize   string
	partAge    time.Duration
	keepSize   string
	keepAge    time.Duration
	serverHost bool
	rewrite    bool
	http2      bool
	forward    bool
	client     []string // that a forward proxy runs
	every      time.Duration
	page       string
	traffic    *serve.Traffic // for the page; nil for none

	inject []string
	rate   float64
	seed   uint64
}

func newProxy() *cobra.Command {
	p := &proxying{settings: &settings{}}
	command := &cobra.Command{
		Use:   "proxy [flags] (--url URL | -- COMMAND ARG... | --forward --url URL [-- CLIENT ARG...])",
		Short: "Stand between a client and a server, record and judge both",
		Long: `Proxy passes everything on between a client and a server that nobody can script,
and changes nothing: it copies bytes, and records and judges a copy of them. Over
stdio the client starts "mcpconform proxy -- COMMAND" in the place of the server's
command; over HTTP it is given the URL that proxy prints. --record keeps every
connection, secrets hidden, for mcpconform check, which judges them again.

A client that checks for which URL its tokens are must know the server by its own:
--forward makes a proxy of the other kind, which the client is told of by HTTP_PROXY
and the like, or which runs it.

Both peers are judged by the rules of the revision that they agreed on. What one
does in answer to something illegal of the other is not held against it.`,
		Example: `  mcpconform proxy --record recordings -- ./my-server --flag
  mcpconform proxy --record recordings --url http://localhost:3000/mcp
  mcpconform proxy --record recordings --forward --url https://example.com/mcp -- ./my-client
  mcpconform check recordings`,
		RunE: p.run,
	}
	flags := command.Flags()
	flags.StringVar(
		&p.URL,
		"url",
		"",
		"stand before the server at this `URL`: its MCP endpoint, or the stream of HTTP with SSE",
	)
	flags.StringVar(
		&p.listen,
		"listen",
		"127.0.0.1:0",
		"`ADDR`, HOST:PORT, for clients over HTTP; port 0 picks a free one",
	)
	flags.StringVar(&p.record, "record", "", "record every connection into `DIR`")
	flags.StringVar(
		&p.partSize,
		"part-size",
		"",
		"begin another file of a connection beyond this `SIZE`, such as 32MiB (the default)",
	)
	flags.DurationVar(&p.partAge, "part-age", 0, "begin another file of a connection after this time")
	flags.StringVar(
		&p.keepSize,
		"keep-size",
		"",
		"remove the oldest files when all take more than this `SIZE`, such as 1GiB",
	)
	flags.DurationVar(&p.keepAge, "keep-age", 0, "remove files this long after their last event")
	flags.BoolVar(
		&p.serverHost,
		"server-host",
		false,
		"name the server, not the proxy, in the Host field of requests; always so over TLS",
	)
	flags.BoolVar(&p.http2, "http2", false, "speak HTTP/2 with a server over TLS, such as one that speaks nothing else")
	flags.BoolVar(
		&p.rewrite,
		"rewrite-metadata",
		false,
		"name the proxy where a client learns what its tokens are for, for a server that takes such tokens",
	)
	flags.BoolVar(
		&p.forward,
		"forward",
		false,
		"be a proxy that the client is told of, and that opens TLS to the server; what follows -- is the client",
	)
	flags.StringVar(
		&p.page,
		"page",
		"",
		"show the traffic, as it passes, on a page at `ADDR`, HOST:PORT, such as 127.0.0.1:0, which picks a free port",
	)
	flags.DurationVar(&p.every, "every", 0, "write the reports that are files again after each such time")
	flags.StringSliceVar(
		&p.inject,
		"inject",
		nil,
		"inject the faults or variations `ID[,ID]` of the fixtures, or of a file by FILE#ID: connections with them are not judged",
	)
	flags.Float64Var(
		&p.rate,
		"rate",
		1,
		"the `PART` of the messages that fit a fault into which it is injected, from 0 to 1",
	)
	flags.Uint64Var(&p.seed, "seed", 0, "the `N`umber that decides which these are: a run tells its own")
	flags.StringVar(&p.Filter, "filter", "", "judge only by the rules that match `EXPR`: "+filterHelp)
	p.addReportFlags(flags, "rule")
	flags.BoolVar(&p.Strict, "strict", false, "warned and inconclusive count as failed")
	completes(command, map[string]values{
		"filter": expressions(protocol.ServerRole, protocol.ClientRole), "junit-warnings": warningValues,
	})
	return command
}

func (p *proxying) run(command *cobra.Command, arguments []string) error {
	starts := command.ArgsLenAtDash() == 0 && len(arguments) > 0
	if p.forward {
		if err := p.completeForward(starts, arguments); err != nil {
			return err
		}
		arguments, starts = nil, false
	}
	switch {
	case len(arguments) > 0 && !starts:
		return usageError(
			"proxy takes no argument %q; a command follows --: mcpconform proxy -- %s",
			arguments[0],
			strings.Join(arguments, " "),
		)
	case starts == (p.URL != ""):
		return usageError(
			"proxy needs either --url URL or -- and the command that starts the server; with --forward, --url URL and -- and the client",
		)
	case starts && p.record == "" && p.page == "" && !p.reportsFiles():
		return usageError(
			"proxy needs --record DIR, --page ADDR, or a report that is a file, such as --html {role}.html: standard output is the server's",
		)
	}
	p.Command = arguments
	recorder, err := p.recorder()
	if err != nil {
		return err
	}
	for _, complete := range []func() error{p.completeFilter, p.completeJUnit, p.completeBaseline, p.completeRoles} {
		if err := complete(); err != nil {
			return err
		}
	}
	if p.http2 && (!strings.HasPrefix(strings.ToLower(p.URL), "https://") || len(p.inject) > 0) {
		return usageError("--http2 is for a server at a --url that begins with https://, without --inject")
	}
	if p.rewrite && (starts || len(p.inject) > 0) {
		return usageError("--rewrite-metadata is for a server at a --url, without --inject")
	}
	injecting, err := p.injecting()
	if err != nil {
		return err
	}
	debug.SetGCPercent(garbageBetween)
	switch {
	case starts:
		return p.overStdio(arguments, recorder, injecting)
	case injecting != nil:
		return p.injectOverHTTP(command.Context(), recorder, injecting)
	}
	return p.overHTTP(command.Context(), recorder)
}

func (p *proxying) reportsFiles() bool {
	for _, one := range p.outputs() {
		if one.path != "" {
			return true
		}
	}
	return false
}

// completeRoles makes sure that each report that is a file can be written, of both peers.
func (p *proxying) completeRoles() error {
	for _, role := range []string{protocol.ServerRole, protocol.ClientRole} {
		of, err := p.ofRole(role, true)
		if err != nil {
			return err
		}
		if err := of.completeOutputs(); err != nil {
			return err
		}
	}
	return nil
}

func (p *proxying) recorder() (*proxy.Recorder, error) {
	options := proxy.RecorderOptions{
		Directory: p.record, PartAge: p.partAge, KeepAge: p.keepAge, Redactor: p.redactor(),
		Harness: transcript.Harness{Name: "mcpconform", Version: version()},
	}
	if p.page != "" {
		p.traffic = serve.NewTraffic()
		options.Watch = p.traffic.See
	}
	for _, one := range []struct {
		flag, text string
		size       *int64
	}{{"part-size", p.partSize, &options.PartSize}, {"keep-size", p.keepSize, &options.KeepSize}} {
		if one.text == "" {
			continue
		}
		size, right := sizeOf(one.text)
		if !right {
			return nil, usageError("--%s %q must be a size such as 16MiB", one.flag, one.text)
		}
		*one.size = int64(size)
	}
	recorder, err := proxy.NewRecorder(options)
	if err != nil {
		return nil, usageError("--record %s", err)
	}
	return recorder, nil
}

func (p *proxying) judging() runner.Options {
	return runner.Options{
		Filter: p.Filter, Redactor: p.redactor(),
		Tool: reports.Tool{Name: "mcpconform", Version: version(), Go: goVersion()},
		Rerun: func(cell check.Cell, filter string) string {
			if p.record == "" {
				return ""
			}
			return shellWords([]string{"mcpconform", "check", "--filter", filter, "-v", "--role", cell.Role, p.record})
		},
	}
}

// overStdio stands between this process's standard streams and a server. All that is said
// of it goes into files.
func (p *proxying) overStdio(server []string, recorder *proxy.Recorder, injecting *injecting) error {
	stand := func() (target.Exit, *proxy.Connection, error) {
		return proxy.Stdio(server, proxy.StandardStreams(), program.TakeSignals(passedOn()), recorder)
	}
	if injecting != nil {
		stand = func() (target.Exit, *proxy.Connection, error) {
			return proxy.StdioWithFaults(server, program.TakeSignals(program.Ending()), recorder, injecting.Injection)
		}
	}
	hide, err := p.showWhile(recorder)
	if err != nil {
		return err
	}
	exit, recorded, err := stand()
	hide()
	if err != nil {
		return notStarted(server[0], err)
	}
	if p.reportsFiles() {
		live, err := runner.NewLive(p.judging())
		if err == nil {
			live.Take(recorded.Header, recorded.Events, recorded.Name)
			err = p.write(live)
		}
		if err != nil {
			_, _ = fmt.Fprintf(stderr(), "mcpconform: %s\n", err) // how the server ended counts
		}
	}
	return endLike(exit)
}

// Exit statuses of a shell for a command that it cannot start.
const (
	exitNotRunnable = 126
	exitNotFound    = 127
)

// notStarted ends the program as a shell does in whose place it stands.
func notStarted(command string, err error) error {
	status := exitNotRunnable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		status = exitNotFound
	}
	return &exitError{Status: status, Message: fmt.Sprintf("cannot start %s: %s", command, files.Reason(err))}
}

// overHTTP stands before the server at the URL until the context ends.
func (p *proxying) overHTTP(ctx context.Context, recorder *proxy.Recorder) error {
	live, err := runner.NewLive(p.judging())
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(memoryBetween)
	ended := make(chan *proxy.Connection, 4096)
	told := &telling{quiet: p.quiet}
	relay, err := proxy.NewRelay(p.URL, proxy.RelayOptions{
		ServerHost:      p.serverHost,
		RewriteMetadata: p.rewrite,
		HTTP2:           p.http2,
		Forward:         p.forward,
		Recorder:        recorder,
		Tell:            told.tell,
		Budget:          transcript.NewMemoryBudget(judgedMemory),
		Ended:           func(connection *proxy.Connection) { ended <- connection },
	})
	if err != nil {
		return usageError("--url %s", err)
	}
	listener, hide, err := p.listening(ctx, relay.Grade(), live)
	if err != nil {
		relay.Close()
		return err
	}
	defer hide()
	ctx, stop := context.WithCancelCause(ctx)
	wait, forget := func() error { return nil }, func() {}
	if p.forward {
		if wait, forget, err = p.toldOf(ctx, listener.Addr().String(), relay.Authority(), stop); err != nil {
			_ = listener.Close()
			relay.Close()
			return err
		}
	}
	defer forget()
	go func() { stop(relay.Serve(listener)) }()
	p.watch(ctx, recorder, live, ended, func() { relay.Tidy(idleTime) })
	failed := wait()
	_ = listener.Close()
	go func() {
		relay.Close()
		close(ended)
	}()
	for connection := range ended {
		p.take(live, connection)
	}
	if found := p.writeAndPrint(live); found != nil {
		return found
	}
	return failed
}

// listening listens for clients, and says where they are to come. What is judged is shown,
// where that is asked for, until hide is called.
func (p *proxying) listening(
	ctx context.Context,
	grade transcript.Grade,
	live *runner.Live,
) (listener net.Listener, hide func(), err error) {
	listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", p.listen)
	if err != nil {
		return nil, nil, usageError("--listen %s: %s", p.listen, files.Reason(err))
	}
	hide, where, err := p.show(live)
	if err != nil {
		_ = listener.Close()
		return nil, nil, err
	}
	if p.forward {
		_, _ = fmt.Fprintf(
			stderr(), "Proxy at http://%s for clients of %s, grade %s. Ctrl-C ends it.\n",
			listener.Addr(), p.redactor().Redact(p.URL), grade,
		)
		return listener, hide, nil
	}
	place, _ := url.Parse(p.URL) // who stands before it has read it
	place.Scheme, place.Host, place.User = "http", listener.Addr().String(), nil
	_, _ = fmt.Fprintf(
		stderr(),
		"Listening at %s for %s, grade %s. Ctrl-C ends it.\n%s",
		place,
		p.redactor().Redact(p.URL),
		grade,
		where,
	)
	return listener, hide, nil
}

// take judges a connection that is over.
func (p *proxying) take(live *runner.Live, connection *proxy.Connection) {
	p.announce(live.Take(connection.Header, connection.Events, connection.Name))
	connection.Release()
}

// watch judges the connections that go on and those that are over, until the context ends.
func (p *proxying) watch(
	ctx context.Context,
	recorder *proxy.Recorder,
	live *runner.Live,
	ended <-chan *proxy.Connection,
	tidy func(),
) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var again <-chan time.Time
	if p.every > 0 {
		ticker := time.NewTicker(p.every)
		defer ticker.Stop()
		again = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case connection := <-ended:
			p.take(live, connection)
		case <-again:
			if err := p.write(live); err != nil {
				_, _ = fmt.Fprintf(stderr(), "mcpconform: %s\n", err) // it may work the next time
			}
		case <-look.C:
			tidy()
			for _, open := range recorder.Open() {
				if len(open.Events) > judgedLarge {
					continue
				}
				p.announce(live.Look(open.Header, open.Events, open.Name))
			}
		}
	}
}

// announce prints who broke what, when it is first seen.
func (p *proxying) announce(breaches []runner.Breach) {
	for _, breach := range breaches {
		if p.quiet || len(p.Command) > 0 { // standard error is the server's
			return
		}
		where := ""
		if breach.Mismatch.Where != "" {
			where = " at " + breach.Mismatch.Where
		}
		_, _ = fmt.Fprintln(stderr(), reports.Visible(excerpt.OneLine(fmt.Sprintf(
			"%s %s %s %s: %s: wanted %s, found %s%s (%s)",
			time.Now().Format(time.TimeOnly), breach.Role, strings.ToUpper(string(breach.Verdict)), breach.Requirement,
			breach.Text, breach.Mismatch.Wanted, breach.Mismatch.Found, where, breach.Connection,
		))))
	}
}

// write writes the reports that are files.
func (p *proxying) write(live *runner.Live) (err error) {
	for _, found := range live.Reports() {
		of, wrong := p.ofRole(found.Target.Role, true)
		if wrong == nil {
			found.Strict = p.Strict
			wrong = of.leave(reports.RedactAll(p.redactor(), found))
		}
		err = errors.Join(err, wrong)
	}
	return err
}

// writeAndPrint ends with the reports of both peers.
func (p *proxying) writeAndPrint(live *runner.Live) (worst error) {
	all := live.Reports()
	if len(all) == 0 {
		_, _ = fmt.Fprintln(stderr(), "No connection was seen that can be judged.")
	}
	for _, found := range all {
		of, err := p.ofRole(found.Target.Role, true)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(stdout()) // what follows would fail, too
		worst = worse(worst, of.report(found, nil))
	}
	return worst
}
