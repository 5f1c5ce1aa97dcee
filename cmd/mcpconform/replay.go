package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/contract"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/replay"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// replaying are the flags of replay.
type replaying struct {
	settings

	asServer              bool
	listen                string
	replace               []string
	noFlow, exact, strict bool
	rules                 string
	transcripts           string
	files                 comparisonFiles
}

// maxPlayed bounds what is held of recordings, in bytes of messages.
const maxPlayed = 64 << 20

func newReplay() *cobra.Command {
	r := &replaying{settings: settings{role: protocol.ServerRole}}
	command := &cobra.Command{
		Use:   "replay [flags] RECORDING... (--url URL | --as-server | -- COMMAND ARG...)",
		Short: "Play a recorded client to a server, or a recorded server to a client",
		Long: `Replay plays what was recorded again, and tells what comes otherwise. RECORDING is what
mcpconform check takes: transcripts of mcpconform proxy or --transcripts, HAR, and what other
programs record.

The recorded client says to the server at --url, or that COMMAND starts, what it said then, each
message when it has had what it had then. What a server chooses anew is mapped: sessions,
cursors, tasks, the state of requests, and texts that a result brought and an argument took
back. It fails where a client may go by the difference: another outcome or error code, a new
breach of a requirement, a breaking change of what the server offers. Other values are told;
--exact and --rules say which of them fail.

With --as-server the recorded server answers a client: over stdio the client starts this command
in the place of the server's, over HTTP it is given the URL that is printed. What it asks must
stand in the recording, with the same params; anything else is refused, told with the nearest,
and ends in status 1. Nobody else is ever asked.

Exit status: 0 as recorded, 1 not, 2 wrong usage, 3 the server could not be started or reached,
4 the harness itself failed.`,
		Example: `  mcpconform replay recordings -- ./my-server
  mcpconform replay session.jsonl --url http://localhost:3000/mcp --junit replay.xml
  mcpconform replay recordings --as-server --transport http --listen 127.0.0.1:3000`,
		RunE: r.run,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // files and directories
		},
	}
	r.addFlags(command.Flags())
	completes(command, map[string]values{
		"transport": transportValues, "call-tools": callValues,
	})
	return command
}

func (r *replaying) addFlags(flags *pflag.FlagSet) {
	r.addServer(flags)
	flags.BoolVar(&r.asServer, "as-server", false, "play the recorded server to a client")
	flags.StringVar(&r.listen, "listen", "127.0.0.1:0",
		"`ADDR`, HOST:PORT, for clients over HTTP of --as-server; port 0 picks a free one")
	flags.StringVar(&r.CallTools, "call-tools", "", "which recorded calls of tools are played: "+
		strings.Join(provoke.CallValues(), ", ")+" (default readonly); all also of what may destroy something")
	flags.StringArrayVar(&r.replace, "map", nil,
		"`OLD=NEW` replaces a text in what the client says, such as a path; may be repeated")
	flags.BoolVar(&r.noFlow, "no-flow", false,
		"keep texts that a result brought and an argument took back as they were recorded")
	flags.BoolVar(&r.exact, "exact", false, "other values than recorded fail")
	flags.StringVar(&r.rules, "rules", "", "read from `FILE` (YAML) how parts of answers are compared")
	flags.StringVar(&r.transcripts, "transcripts", "", "write what was said into `DIR`, as recordings")
	flags.StringVar(&r.files.junit, "junit", "", "write the replay as JUnit XML to `FILE`")
	flags.StringVar(&r.files.markdown, "markdown", "", "write the replay as Markdown to `FILE`")
	flags.StringVar(&r.files.json, "json", "", "write the replay as JSON to `FILE`")
	flags.BoolVar(&r.strict, "strict", false, "what is warned of counts as failed")
	flags.BoolVarP(&r.verbose, "verbose", "v", false, "show every difference")
	flags.BoolVarP(&r.quiet, "quiet", "q", false, "show only the conclusion")
	flags.BoolVar(&r.noColor, "no-color", false, "no colours (also: NO_COLOR in the environment)")
}

func (r *replaying) run(command *cobra.Command, arguments []string) error {
	paths, err := r.separate(command, arguments)
	switch {
	case err != nil:
		return err
	case len(paths) == 0:
		return usageError(
			"replay needs a recording, files or directories: mcpconform proxy --record recordings -- COMMAND records some",
		)
	}
	if err := r.completeFiles(&r.files); err != nil {
		return err
	}
	tapes, recorded, notes, err := openTapes(paths, command.InOrStdin())
	if err != nil {
		return err
	}
	if !r.asServer {
		notes = append(notes, notesOf(tapes)...)
	}
	found := &reports.Replay{
		Format: reports.ReplayFormat, Recordings: paths, Strict: r.strict, Notes: notes,
		Steps: []reports.ReplayStep{}, Changes: []reports.Difference{},
	}
	if r.asServer {
		return r.serveRecorded(command, found, tapes)
	}
	return r.play(command, found, tapes, recorded)
}

// openTapes opens all connections of recordings, in the order in which they began. Those that
// cannot be played are told.
func openTapes(paths []string, input io.Reader) (
	tapes []*replay.Tape, recorded []runner.Recorded, notes []string, err error,
) {
	names, err := runner.FindTranscripts(paths)
	if err != nil {
		return nil, nil, nil, wrongRecording(err)
	}
	recordings, err := runner.OpenRecordings(names, input)
	if err != nil {
		return nil, nil, nil, wrongRecording(err)
	}
	held := 0
	err = recordings.Each(func(one runner.Recorded) error {
		for _, event := range one.Events {
			held += len(event.Raw)
		}
		if held > maxPlayed {
			return usageError("these recordings have more than %d MiB of messages; replay fewer at once", maxPlayed>>20)
		}
		recorded = append(recorded, one)
		return nil
	})
	if err != nil {
		return nil, nil, nil, wrongRecording(err)
	}
	slices.SortStableFunc(recorded, func(a, b runner.Recorded) int {
		if len(a.Events) == 0 || len(b.Events) == 0 {
			return len(b.Events) - len(a.Events)
		}
		return a.Events[0].At.Compare(b.Events[0].At)
	})
	var unplayed error // why the first of them cannot be
	for _, one := range recorded {
		tape, err := replay.Open(one.Name, one.Header, one.Events)
		if err != nil {
			if unplayed == nil {
				unplayed = err
			}
			notes = append(notes, "not played: "+err.Error())
			continue
		}
		tapes = append(tapes, tape)
	}
	if len(tapes) == 0 && unplayed != nil {
		return nil, nil, nil, usageError("nothing of these recordings can be played: %s", unplayed)
	}
	if spoken := replay.Spoken(tapes); len(spoken) < len(tapes) {
		tapes = spoken
		notes = append(notes, "not played: what the client tries over Streamable HTTP before it turns to HTTP with SSE")
	}
	return tapes, recorded, notes, nil
}

// notesOf are what will not be as it was when clients are played, each said once.
func notesOf(tapes []*replay.Tape) (notes []string) {
	of := map[string][]string{}
	var texts []string
	for _, tape := range tapes {
		for _, text := range tape.Notes() {
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], tape.Name)
		}
	}
	for _, text := range texts {
		where := of[text][0]
		if more := len(of[text]) - 1; more > 0 {
			where = fmt.Sprintf("%s and %d more", where, more)
		}
		notes = append(notes, where+": "+text)
	}
	if len(tapes) > 1 {
		notes = append(notes, fmt.Sprintf(
			"%d connections are played one after the other, in the order in which they began", len(tapes)))
	}
	return notes
}

// complete makes sure of the flags about a live server.
func (r *replaying) complete(command *cobra.Command) error {
	if err := r.completeServer(command, "replay"); err != nil {
		return err
	}
	for _, check := range []func() error{
		r.completeURL, r.completeTransport, r.completeCalls, r.completeHeader, r.completeAuth, r.completeEnv,
		r.completeBounds,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// replacements are the pairs of --map.
func (r *replaying) replacements() (pairs [][2]string, err error) {
	for position, text := range r.replace {
		before, after, found := strings.Cut(text, "=")
		if !found || before == "" {
			return nil, usageError("--map number %d must have the form OLD=NEW", position+1) // it may be a secret
		}
		if front, back, secret := strings.Cut(before, replay.Hidden); secret {
			r.revealed = append(r.revealed, strings.TrimSuffix(strings.TrimPrefix(after, front), back))
		}
		pairs = append(pairs, [2]string{before, after})
	}
	return pairs, nil
}

func (r *replaying) readRules() ([]replay.Rule, error) {
	if r.rules == "" {
		return nil, nil
	}
	const most = 1 << 20
	file, err := os.Open(filepath.Clean(r.rules))
	if err != nil {
		return nil, usageError("--rules %s cannot be read: %s", r.rules, files.Reason(err))
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, usageError("--rules %s cannot be read: %s", r.rules, files.Reason(err))
	case len(text) > most:
		return nil, usageError("--rules %s has more than %d MiB", r.rules, most>>20)
	}
	rules, err := replay.ReadRules(r.rules, text)
	if err != nil {
		return nil, usageError("%s", err)
	}
	return rules, nil
}

// play plays recorded clients to a server.
func (r *replaying) play(
	command *cobra.Command,
	found *reports.Replay,
	tapes []*replay.Tape,
	recorded []runner.Recorded,
) error {
	if command.Flags().Changed("listen") {
		return usageError("--listen needs --as-server")
	}
	if err := r.complete(command); err != nil {
		return err
	}
	pairs, err := r.replacements()
	if err != nil {
		return err
	}
	rules, err := r.readRules()
	if err != nil {
		return err
	}
	options := r.options(nil)
	for _, tape := range tapes {
		if names := tape.Forbidden(options.MayCall); len(names) > 0 {
			return usageError(
				"%s calls %s, which is not said to be read-only and may destroy something: --call-tools all plays it",
				tape.Name, someOf(names),
			)
		}
		if messages := tape.FromServer(); messages > replay.MaxMessages {
			return usageError("%s has %d messages of the server, and a connection is played up to %d",
				tape.Name, messages, replay.MaxMessages)
		}
	}
	if r.transcripts != "" {
		if err := os.MkdirAll(r.transcripts, 0o750); err != nil {
			return usageError("--transcripts %s cannot be created: %s", r.transcripts, files.Reason(err))
		}
	}
	r.tellBefore(found)
	defer guard()()
	deadline := cmp.Or(r.Deadline, runner.DefaultDeadline)
	ctx, cancel := context.WithTimeoutCause(command.Context(), deadline, fmt.Errorf("deadline of %s reached", deadline))
	defer cancel()
	stop, err := r.prepareAuth(ctx, &options)
	defer stop()
	if err != nil {
		return r.hide(err)
	}
	to, err := runner.Reach(options, r.over(tapes))
	if err != nil {
		return err
	}
	found.Target = cmp.Or(r.URL, shellWords(r.Command))
	told := len(found.Notes)
	played, err := replay.Play(ctx, tapes, replay.Options{
		Target: to, Replace: pairs, NoFlow: r.noFlow, Exact: r.exact, Rules: rules, Begin: transcript.NewLog,
	})
	if err != nil {
		return r.hide(unreached(err))
	}
	found.Steps, found.Carried, found.Changes = played.Steps, played.Carried, played.Changes
	found.Notes = append(found.Notes, played.Notes...)
	live := make([]runner.Recorded, len(played.Connections))
	for position, one := range played.Connections {
		live[position] = runner.Recorded{Name: one.Name, Header: one.Header, Events: one.Events}
	}
	if err := r.judge(found, recorded, live); err != nil {
		return err
	}
	compareOffers(found, recorded, live)
	if ctx.Err() != nil {
		found.Changes = append(found.Changes, reports.Difference{
			Impact: reports.Failing, Item: "the replay",
			Says: "it was ended before all was played: " + context.Cause(ctx).Error(),
		})
	}
	return errors.Join(r.writeTranscripts(live), r.finish(found, told))
}

// someOf lists names, which may be many and long.
func someOf(names []string) string {
	const most = 5
	shown := make([]string, 0, most+1)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, cmp.Or(excerpt.OneLine(excerpt.Short([]byte(name))), "a tool without a name"))
	}
	if more := len(names) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

// tellBefore says what will not be as it was, before anything is played.
func (r *replaying) tellBefore(found *reports.Replay) {
	if r.quiet {
		return
	}
	for _, note := range found.Notes {
		_, _ = fmt.Fprintln(stderr(), reports.Visible(r.redactor().Redact(note)))
	}
}

// over is the transport to play over.
func (r *replaying) over(tapes []*replay.Tape) string {
	switch {
	case r.Transport != "":
		return r.Transport
	case len(r.Command) > 0:
		return protocol.Stdio
	case tapes[0].Transport == protocol.SSE:
		return protocol.SSE
	}
	return protocol.HTTP
}

// unreached tells of a server that could not be started or reached.
func unreached(err error) error {
	if _, is := errors.AsType[*contact.TargetError](err); is {
		return err
	}
	return &contact.TargetError{Reason: err.Error()}
}

// judge judges the server in what was recorded and in what came of it: what breaks a
// requirement now and did not then fails.
func (r *replaying) judge(found *reports.Replay, recorded, live []runner.Recorded) error {
	broken := func(connections []runner.Recorded) (map[string]runner.Breach, error) {
		judging, err := runner.NewLive(runner.Options{Redactor: r.redactor()})
		if err != nil {
			return nil, err
		}
		all := map[string]runner.Breach{}
		for _, one := range connections {
			for _, breach := range judging.Look(one.Header, one.Events, one.Name) {
				if breach.Role == protocol.ServerRole {
					all[breach.Text] = breach
				}
			}
		}
		return all, nil
	}
	before, err := broken(recorded)
	if err != nil {
		return err
	}
	after, err := broken(live)
	if err != nil {
		return err
	}
	impacts := map[reports.Verdict]reports.Impact{reports.Failed: reports.Failing, reports.Warned: reports.Warning}
	for _, text := range slices.Sorted(maps.Keys(after)) {
		if _, then := before[text]; !then {
			breach := after[text]
			found.Changes = append(found.Changes, reports.Difference{
				Impact: impacts[breach.Verdict], Item: breach.Requirement, Where: breach.Mismatch.Where,
				Says: breach.Text + ": broken now", Was: breach.Mismatch.Wanted, Is: breach.Mismatch.Found,
			})
		}
	}
	for _, text := range slices.Sorted(maps.Keys(before)) {
		if _, still := after[text]; !still {
			found.Changes = append(found.Changes, reports.Difference{
				Impact: reports.Telling, Item: before[text].Requirement, Says: text + ": broken then, and not now",
			})
		}
	}
	return nil
}

// compareOffers compares what the server offers with what the recorded one did.
func compareOffers(found *reports.Replay, recorded, live []runner.Recorded) {
	then, err := runner.DeclaredIn(recorded)
	if err != nil {
		return // nothing of it was recorded
	}
	now, err := runner.DeclaredIn(live)
	if err != nil {
		return // which the steps tell
	}
	before, _ := contractOf(then)
	after, _ := contractOf(now)
	before.Revisions, after.Revisions = nil, nil // the steps tell
	compared := contract.Compare(before, after)
	impacts := map[reports.Impact]reports.Impact{reports.Breaking: reports.Failing, reports.Unclear: reports.Warning}
	for _, change := range compared.Changes {
		change.Impact = cmp.Or(impacts[change.Impact], reports.Telling)
		found.Changes = append(found.Changes, change)
	}
	found.Offered = compared.Items
}

// writeTranscripts writes what was said, without secrets.
func (r *replaying) writeTranscripts(live []runner.Recorded) (err error) {
	if r.transcripts == "" {
		return nil
	}
	redactor := r.redactor()
	for position, one := range live {
		for at := range one.Events {
			one.Events[at] = reports.RedactAll(redactor, one.Events[at])
		}
		one.Header.Agreement = reports.RedactAll(redactor, one.Header.Agreement)
		one.Header.Harness = transcript.Harness{Name: "mcpconform", Version: version()}
		path := filepath.Join(r.transcripts, fmt.Sprintf("replay-%d.jsonl", position+1))
		err = errors.Join(err, reports.WriteFile(path, func(w io.Writer) error {
			return transcript.Write(w, one.Header, one.Events)
		}))
	}
	return err
}

// finish writes and prints the replay, but for the notes that were told before.
func (r *replaying) finish(found *reports.Replay, told int) error {
	found = reports.RedactAll(r.redactor(), found)
	if err := writeFiles(r.files.outputs(found), nil); err != nil {
		return err
	}
	shown := *found
	shown.Notes = found.Notes[told:]
	out := stdout()
	if r.asServer {
		out = stderr() // standard output is the client's
	}
	if err := program.UnlessUnread(shown.Terminal(out, reports.TerminalOptions{
		Width: terminalWidth(os.Stdout), Color: r.color(), Verbose: r.verbose, Quiet: r.quiet,
	})); err != nil {
		return err
	}
	return exitOf("", nil, !found.Failed())
}

// ofAsServer are the flags that do something with --as-server.
var ofAsServer = []string{
	"as-server", "config", "json", "junit", "listen", "markdown", "no-color", "quiet", "transport", "verbose",
}

// serveRecorded plays recorded servers to clients.
func (r *replaying) serveRecorded(command *cobra.Command, found *reports.Replay, tapes []*replay.Tape) error {
	over := cmp.Or(r.Transport, tapes[0].Transport)
	useless := ""
	command.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(ofAsServer, flag.Name) {
			useless = cmp.Or(useless, flag.Name)
		}
	})
	switch {
	case r.URL != "" || r.commandGiven:
		return usageError("--as-server plays the server of the recording: it takes no --url and no command")
	case useless != "":
		return usageError("--%s is for a replay to a server, not for --as-server", useless)
	case !slices.Contains(protocol.Transports(), over):
		return usageError("--transport %q is unknown%s", over, nearest.Hint(over, protocol.Transports()))
	case command.Flags().Changed("listen") && over == protocol.Stdio:
		return usageError("--listen needs --transport http or sse: over stdio the client starts mcpconform replay")
	}
	serve := replayStdio
	if over != protocol.Stdio {
		listener, err := (&net.ListenConfig{}).Listen(command.Context(), "tcp", r.listen)
		if err != nil {
			return usageError("--listen %s: %s", r.listen, files.Reason(err))
		}
		serve = func(ctx context.Context, mock *replay.Mock) error {
			return replayHTTP(ctx, listener, mock, protocol.Over(over))
		}
	}
	r.tellBefore(found)
	told := len(found.Notes)
	mock := replay.NewMock(tapes, func(text string) {
		if !r.quiet {
			_, _ = fmt.Fprintln(stderr(), reports.Visible(r.redactor().Redact(text)))
		}
	})
	found.Target = "a client over " + over
	if err := serve(command.Context(), mock); err != nil {
		return err
	}
	played, missing := mock.Played()
	found.Notes = append(found.Notes, fmt.Sprintf("%d of %d recorded requests were made", played, played+len(missing)))
	of := map[string]int{}
	for _, step := range missing {
		of[step]++
	}
	for _, step := range missing {
		switch times := of[step]; {
		case times > 1:
			found.Notes = append(found.Notes, fmt.Sprintf("not asked: %s (%d times)", step, times))
		case times == 1:
			found.Notes = append(found.Notes, "not asked: "+step)
		}
		delete(of, step)
	}
	for _, text := range mock.Unmatched() {
		found.Changes = append(found.Changes, reports.Difference{
			Impact: reports.Failing, Item: "what the client asks", Says: text,
		})
	}
	found.Steps = append(found.Steps, mock.Steps()...)
	return r.finish(found, told)
}

func replayStdio(ctx context.Context, mock *replay.Mock) error {
	ended := make(chan error, 1)
	go func() { ended <- mock.OverStdio(ctx, os.Stdin, os.Stdout) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

func replayHTTP(ctx context.Context, listener net.Listener, mock *replay.Mock, over protocol.Transport) error {
	const headTime = 10 * time.Second
	server := &http.Server{Handler: mock.Handler(over.SharesStream()), ReadHeaderTimeout: headTime}
	_, _ = fmt.Fprintf(stderr(), "Listening at http://%s%s. Ctrl-C ends it.\n",
		listener.Addr(), scripted.PathOver(over))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}
