package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/shard"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// settings are the flags of a command that runs checks, before the config file
// is laid under them.
type settings struct {
	config.File
	role          string
	configFile    string
	header, env   []string
	verbose       bool
	quiet         bool
	noColor       bool
	maxMessage    int
	transports    []string
	revise        contact.Revise
	commandGiven  bool
	secretHeaders http.Header
	revealed      []string // secrets that --map puts in
	shardText     string
	shard         shard.Shard
	explore       int
	seed          uint64
	authServer    string // address of a test authorization server; "" for none
	authSeed      string
	start         string
	known         []reports.Deviation // what the baseline says
	since         string
	lastFailed    string // a run whose failures are checked again
	failFast      bool
	repeat        int
	watch         bool
	profile       string
	list          bool // what would be checked, in the place of checking it
	durations     int
	places        map[string]*reports.Place // of what is to be written, by path, before anything ran
	older         *reports.Run              // that since names
	set           *catalogue.Set
	login         string // command, split at spaces
	spec          string // folder of the specification that has the draft
	schema        string // file of the schema of the draft
	draft         *reports.Draft
	draftSchema   []byte
	network       bool // contact all hosts that the target names
}

func newServer() *cobra.Command {
	s := &settings{role: protocol.ServerRole}
	command := &cobra.Command{
		Use:   "server [flags] [--url URL | -- COMMAND ARG...]",
		Short: "Check a server (with neither URL nor command: the embedded reference)",
		Example: `  mcpconform server
  mcpconform server --url http://127.0.0.1:3000/mcp --junit report.xml
  mcpconform server --revision all -- npx -y my-mcp-server
  mcpconform server --filter 'server/tools && MUST' -v -- ./my-server
  mcpconform server --revision draft --spec specification --schema schema.json -- ./my-server`,
		RunE: func(command *cobra.Command, arguments []string) error {
			return s.run(command, arguments)
		},
	}
	flags := command.Flags()
	flags.StringVar(&s.URL, "url", "", "the server's MCP `URL`, for Streamable HTTP")
	s.addFlags(flags)
	flags.StringArrayVar(&s.header, "header", nil, "`\"NAME: VALUE\"` sent with every HTTP request; may be repeated")
	flags.StringVar(
		&s.CallTools,
		"call-tools",
		"",
		"which of the server's tools may be called: none, listed, readonly or all (default readonly)",
	)
	flags.StringVar(
		&s.authServer,
		"auth-server",
		"",
		"run a test authorization server at `ADDR` (no value: a free port), which the server must trust; it issues tokens of every kind",
	)
	flags.Lookup("auth-server").NoOptDefVal = anyAddress
	flags.StringVar(
		&s.authSeed,
		"auth-seed",
		"",
		"a `WORD` that gives the test authorization server the same key each time",
	)
	s.addNetwork(flags)
	flags.StringVar(&s.start, "start", "",
		"`COMMAND` that starts the server at --url, split at spaces; its environment names the --auth-server")
	s.completesRun(command)
	return command
}

func (s *settings) addNetwork(flags *pflag.FlagSet) {
	flags.BoolVar(&s.network, "network", false,
		"contact hosts that the target names; default: only its own origin and this machine")
}

// addFlags adds the flags of a run of either role.
func (s *settings) addFlags(flags *pflag.FlagSet) {
	s.addCommonFlags(flags, "auto (the newest that the "+s.role+" speaks), all, or draft")
	flags.StringVar(
		&s.Transport,
		"transport",
		"",
		"stdio, http or sse; default: what the target allows, of a client without sse",
	)
	flags.IntVar(&s.Workers, "workers", 0, "how many checks run at once (default six times the processors, "+
		"at most 12; twice and 8 where checks start the target)")
	flags.StringArrayVar(&s.env, "env", nil, "`NAME=VALUE` in the environment of the "+s.role+"; may be repeated")
	flags.IntVar(
		&s.explore,
		"explore",
		0,
		"also draw `N` conversations in other legal forms at each revision and transport, and report what breaks",
	)
	s.addDraftFlags(flags)
	flags.Uint64Var(&s.seed, "seed", 0, "seed of the first draw of --explore; default: a random one, which is reported")
}

// addCommonFlags adds those that runs of every role have; which says what --revision may be
// beside a revision.
func (s *settings) addCommonFlags(flags *pflag.FlagSet, which string) {
	flags.StringVar(&s.Revision, "revision", "auto", "`R`[,R] of the specification, "+which)
	flags.StringVar(&s.configFile, "config", "", "config `FILE` (default "+config.DefaultFile+", if there is one)")
	flags.StringVar(&s.Filter, "filter", "", "check only what matches `EXPR`: "+filterHelp)
	flags.StringVar(&s.profile, "profile", "", profileHelp("check"))
	flags.BoolVar(&s.list, "list", false, "list what a run with these flags would check, without starting the target")
	flags.StringVar(
		&s.Requirements,
		"requirements",
		"",
		"judge only by the requirements of the frozen `SET`, such as "+protocol.Newest()+"@1; mcpconform requirements lists them",
	)
	flags.StringVar(&s.shardText, "shard", "", shardHelp)
	s.addReportFlags(flags, "check")
	flags.StringVar(&s.Transcripts, "transcripts", "", "write the transcript of every connection into `DIR`")
	flags.DurationVar(
		&s.Timeout,
		"timeout",
		0,
		"how long one reply may take; the first after a start may take 12 times as long (default 5s)",
	)
	flags.DurationVar(
		&s.Deadline,
		"deadline",
		0,
		"how long the whole run may take; then it reports what was done (default "+inShort(runner.DefaultDeadline)+")",
	)
	flags.StringVar(
		&s.MaxMessage,
		"max-message",
		"",
		"the longest message to accept, such as 64MiB (default 16MiB; more takes more memory)",
	)
	flags.BoolVar(&s.Strict, "strict", false, "warned and inconclusive count as failed")
	flags.StringVar(
		&s.lastFailed,
		"last-failed",
		"",
		"check only what failed or warned in a run that --json has written, `RUN.json`",
	)
	flags.BoolVar(&s.failFast, "fail-fast", false, "end the run when a check fails; what rules find shows at its end")
	flags.IntVar(&s.repeat, "repeat", 1,
		"run `N` times, and report verdicts that differ; a failure in one of them fails all")
	flags.BoolVar(
		&s.watch,
		"watch",
		false,
		"run again when files of the target change, below the working directory or named by its command: first what failed, then everything",
	)
	flags.IntVar(&s.durations, "durations", 0, "list the `N` slowest checks")
}

// addReportFlags adds the flags of what a run is told by: what -v shows every one of.
func (s *settings) addReportFlags(flags *pflag.FlagSet, shown string) {
	flags.StringVar(&s.JUnit, "junit", "", "write a JUnit XML report to `FILE`")
	flags.StringVar(&s.JUnitWarnings, "junit-warnings", "", junitWarningsHelp)
	flags.StringVar(&s.JSON, "json", "", "write the run as JSON to `FILE`")
	flags.StringVar(&s.HTML, "html", "", "write the run as a page for browsers to `FILE`")
	flags.StringVar(&s.since, "since", "", "show on the page what changed since an older run, `OLD.json`")
	flags.StringVar(
		&s.Markdown,
		"markdown",
		"",
		"write a summary as Markdown to `FILE`; written to $GITHUB_STEP_SUMMARY by default",
	)
	flags.StringVar(&s.CodeQuality, "code-quality", "", "write a code quality report of GitLab to `FILE`")
	flags.StringVar(&s.Badge, "badge", "", "write a badge (SVG) for a README to `FILE`")
	flags.StringVar(&s.Baseline, "baseline", "", "known deviations, each with its reason, in `FILE`: they fail no run")
	flags.BoolVarP(&s.verbose, "verbose", "v", false, "show every "+shown)
	flags.BoolVarP(&s.quiet, "quiet", "q", false, "show only the conclusion")
	flags.BoolVar(&s.noColor, "no-color", false, "no colours (also: NO_COLOR in the environment)")
}

const (
	// filterHelp is what a filter may consist of, in short.
	filterHelp = "a page (server/tools), an id or its beginning, MUST or SHOULD, a revision, a transport; with &&, ||, ! and ()"
	// junitWarningsHelp says what the choice is.
	junitWarningsHelp = "what a warned result is in the JUnit report: pass, skip or fail (default skip)"
)

// inShort writes a duration as a flag takes it, without the units that are zero.
func inShort(duration time.Duration) string {
	text := duration.String()
	for _, unit := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, unit) {
			text = text[:len(text)-len(unit)+1]
		}
	}
	return text
}

func (s *settings) run(command *cobra.Command, arguments []string) error {
	if err := s.complete(command, arguments); err != nil {
		return err
	}
	if err := firstOf(s.completeRepeat(), s.completeWatch(), s.shardIsWritten()); err != nil {
		return err
	}
	if s.list {
		return s.listPlanned(command.OutOrStdout())
	}
	defer guard()()
	if s.watch {
		return s.watchRuns(command.Context())
	}
	found, err := s.runs(command.Context())
	if _, wrong := errors.AsType[*plan.FilterError](err); wrong || found == nil {
		return s.hide(err)
	}
	return s.report(found, err)
}

// runs is the run, or as many as the user wants, up to the first that did not come to
// its end.
func (s *settings) runs(ctx context.Context) (*reports.Run, error) {
	var all []*reports.Run
	for len(all) < s.repeat {
		found, err := s.once(ctx, len(all)+1)
		if found != nil {
			all = append(all, found)
		}
		switch {
		case len(all) == 0:
			return nil, err
		case err != nil && s.repeat > 1:
			return reports.Repeated(all), fmt.Errorf("run %d of %d: %w", len(all), s.repeat, err)
		case err != nil, found.Interrupted != "":
			return reports.Repeated(all), err
		}
	}
	return reports.Repeated(all), nil
}

func (s *settings) completeRepeat() error {
	if s.repeat > 1 && s.shard.Count > 0 {
		return usageError("--repeat and --shard exclude each other: mcpconform merge takes shards of one run")
	}
	return nil
}

// once is one run of those.
func (s *settings) once(ctx context.Context, number int) (*reports.Run, error) {
	ctx, found := s.untilFailed(ctx)
	progress := s.progress("")
	defer progress.Close()
	options := s.options(progress)
	options.Found = found
	if s.repeat > 1 {
		progress.Prefix(fmt.Sprintf("run %d of %d", number, s.repeat))
		if s.Transcripts != "" {
			options.Transcripts = filepath.Join(s.Transcripts, fmt.Sprintf("run-%d", number))
		}
	}
	if len(s.Start) > 0 {
		progress.Phase("starting the server at --url")
	}
	stop, err := s.prepareAuth(ctx, &options)
	defer stop()
	if err != nil {
		return nil, err
	}
	return runner.Run(ctx, options)
}

// complete lays the config file under the flags and makes sure of the values.
func (s *settings) complete(command *cobra.Command, arguments []string) error {
	if err := s.separateCommand(command, arguments); err != nil {
		return err
	}
	if err := s.readConfig(command); err != nil {
		return err
	}
	if s.URL != "" && len(s.Command) > 0 {
		return usageError("--url and a command exclude each other: a server is reached by one of them")
	}
	checks := []func() error{
		s.completeURL,
		s.completeTransport,
		func() error { return s.completeRequirements(command) },
		func() error { return s.completeLastFailed(s.set != nil || command.Flags().Changed("revision")) },
		s.completeDraft,
		s.completeRevision,
		s.completeFilter,
		func() error { return knownProfile(s.profile) },
		s.completeShard,
		s.completeCalls,
		s.completeHeader,
		s.completeAuth,
		s.completeRegistration,
		s.completeEnv,
		s.completeBounds,
		s.completeJUnit,
		s.completeBaseline,
		s.completeOutputs,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) separateCommand(command *cobra.Command, arguments []string) error {
	dash := command.ArgsLenAtDash()
	switch {
	case len(arguments) == 0 && dash < 0:
		return nil
	case dash == 0 && len(arguments) > 0:
		s.Command, s.commandGiven = arguments, true
		return nil
	case dash >= 0 && len(arguments) == dash:
		return usageError("no command after --; name the command that starts the %s", s.role)
	case s.role == protocol.ServerRole && webAddress.MatchString(arguments[0]):
		flag := "--url"
		if command.Flags().Lookup("peer") != nil {
			flag = "--peer"
		}
		address := reports.NewRedactor(reports.URLSecrets(arguments[0])...).Redact(arguments[0])
		return usageError("a URL is given with %s: mcpconform %s %s %s", flag, command.Name(), flag, address)
	}
	return usageError("unexpected argument %q; the command that starts the %s goes after --: mcpconform %s -- %s",
		arguments[0], s.role, command.Name(), strings.Join(arguments, " "))
}

var webAddress = regexp.MustCompile(`^https?://`)

// readConfig reads the config file; what a flag says wins.
func (s *settings) readConfig(command *cobra.Command) error {
	path := s.configFile
	if path == "" {
		if _, err := os.Stat(config.DefaultFile); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		path = config.DefaultFile
	}
	file, err := config.Load(path)
	if err != nil {
		return usageError("%s", err)
	}
	given := command.Flags().Changed
	switch s.role {
	case protocol.ClientRole:
		file.Command, file.URL = file.Client, ""
	case protocol.AuthorizationServerRole:
		file.Command, file.URL = nil, file.AuthorizationServer.URL
		file.Transport, file.Header, file.Env, file.Start = "", nil, nil, nil // of the server
	}
	if s.commandGiven || given("url") {
		file.Command, file.URL = s.Command, s.URL
	}
	take := map[string]func(){
		"revision":         func() { file.Revision = s.Revision },
		"transport":        func() { file.Transport = s.Transport },
		"filter":           func() { file.Filter = s.Filter },
		"requirements":     func() { file.Requirements = s.Requirements },
		"junit":            func() { file.JUnit = s.JUnit },
		"junit-warnings":   func() { file.JUnitWarnings = s.JUnitWarnings },
		"json":             func() { file.JSON = s.JSON },
		"transcripts":      func() { file.Transcripts = s.Transcripts },
		"baseline":         func() { file.Baseline = s.Baseline },
		"html":             func() { file.HTML = s.HTML },
		"markdown":         func() { file.Markdown = s.Markdown },
		"code-quality":     func() { file.CodeQuality = s.CodeQuality },
		"badge":            func() { file.Badge = s.Badge },
		"workers":          func() { file.Workers = s.Workers },
		"timeout":          func() { file.Timeout = s.Timeout },
		"deadline":         func() { file.Deadline = s.Deadline },
		"max-message":      func() { file.MaxMessage = s.MaxMessage },
		"call-tools":       func() { file.CallTools = s.CallTools },
		"strict":           func() { file.Strict = s.Strict },
		"client-id":        func() { file.AuthorizationServer.ClientID = s.AuthorizationServer.ClientID },
		"client-secret":    func() { file.AuthorizationServer.ClientSecret = s.AuthorizationServer.ClientSecret },
		"redirect-uri":     func() { file.AuthorizationServer.RedirectURI = s.AuthorizationServer.RedirectURI },
		"resource":         func() { file.AuthorizationServer.Resource = s.AuthorizationServer.Resource },
		"documents":        func() { file.AuthorizationServer.Documents = s.AuthorizationServer.Documents },
		"documents-listen": func() { file.AuthorizationServer.DocumentsListen = s.AuthorizationServer.DocumentsListen },
		"scope":            func() { file.AuthorizationServer.Scope = s.AuthorizationServer.Scope },
	}
	for name, keep := range take {
		if given(name) {
			keep()
		}
	}
	if file.Revision == "" {
		file.Revision = s.Revision
	}
	s.File = file
	return nil
}

func (s *settings) completeURL() error {
	if s.URL == "" {
		return nil
	}
	return program.CheckURL("--url", s.URL)
}

func (s *settings) completeTransport() error {
	known := protocol.Transports()
	switch {
	case s.Transport == "":
		return nil
	case !slices.Contains(known, s.Transport):
		return usageError("--transport %q is unknown%s", s.Transport, nearest.Hint(s.Transport, known))
	case s.URL != "" && s.Transport == protocol.Stdio:
		return usageError("--transport stdio needs a command that starts the server, not --url")
	case s.role == protocol.ClientRole:
		if s.Transport != protocol.Stdio && scenario.TakesServer(s.Command) {
			return usageError(
				"%s in the command is for a server over stdio; --transport %s uses a URL, at %s or after the command",
				scenario.ServerPlace,
				s.Transport,
				scenario.URLPlace,
			)
		}
	case len(s.Command) > 0 && s.Transport != protocol.Stdio:
		return usageError("--transport %s needs --url: start the server by itself, and give its endpoint", s.Transport)
	}
	s.transports = []string{s.Transport}
	return nil
}

func (s *settings) completeRevision() error {
	switch s.Revision {
	case "auto":
		s.revise = contact.Revise{Auto: true}
		return nil
	case "all":
		s.revise = contact.Revise{All: true}
		return nil
	}
	for revision := range strings.SplitSeq(s.Revision, ",") {
		if s.draft != nil {
			revision = s.draft.As
		}
		if !slices.Contains(protocol.Released(), revision) {
			return usageError(
				"--revision %q %s",
				revision,
				filter.UnknownRevision(revision, append(protocol.Released(), "auto", "all")),
			)
		}
		if !protocol.Carries(s.Transport, revision) {
			return usageError("--revision %s is not spoken over --transport %s, which ends with %s",
				revision, s.Transport, protocol.Last(protocol.Handshake))
		}
		if !slices.Contains(s.revise.Listed, revision) {
			s.revise.Listed = append(s.revise.Listed, revision)
		}
	}
	return nil
}

func (s *settings) completeFilter() error {
	if s.Filter == "" {
		return nil
	}
	if _, err := filter.Parse(s.Filter); err != nil {
		return usageError("--filter %q cannot be read: %s", s.Filter, err)
	}
	return nil
}

func (s *settings) completeJUnit() error {
	known := reports.JUnitWarnings()
	switch {
	case s.JUnitWarnings == "":
		return nil
	case !slices.Contains(known, s.JUnitWarnings):
		return usageError("--junit-warnings %q is unknown%s", s.JUnitWarnings, nearest.Hint(s.JUnitWarnings, known))
	}
	return nil
}

func (s *settings) completeCalls() error {
	known := provoke.CallValues()
	if s.CallTools == "" {
		s.CallTools = string(provoke.CallReadOnly)
	}
	if !slices.Contains(known, s.CallTools) {
		return usageError("--call-tools %q is unknown%s", s.CallTools, nearest.Hint(s.CallTools, known))
	}
	return nil
}

func (s *settings) completeHeader() error {
	s.secretHeaders = http.Header{}
	for name, value := range s.File.Header {
		s.secretHeaders.Set(name, value)
	}
	for i, line := range s.header {
		name, value, found := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \t") {
			return usageError(
				"--header number %d must have the form \"NAME: VALUE\"",
				i+1,
			) // it may be a secret
		}
		s.secretHeaders.Set(name, strings.TrimSpace(value))
	}
	if s.role == protocol.ServerRole && len(s.secretHeaders) > 0 && len(s.Command) > 0 {
		return usageError("--header is for servers that are reached by --url")
	}
	return nil
}

func (s *settings) completeEnv() error {
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	for i, pair := range s.env {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return usageError("--env number %d must have the form NAME=VALUE", i+1) // it may be a secret
		}
		s.Env[name] = value
	}
	if len(s.Env) > 0 && s.URL != "" {
		return usageError("--env is for servers that a command starts; with --url the server is already running")
	}
	return nil
}

var sizeUnits = map[string]int{
	"":    1,
	"B":   1,
	"KIB": 1 << 10,
	"MIB": 1 << 20,
	"GIB": 1 << 30,
	"KB":  1000,
	"MB":  1000_000,
	"GB":  1000_000_000,
}

func (s *settings) completeBounds() error {
	switch {
	case s.explore == 0 && s.seed != 0:
		return usageError("--seed needs --explore")
	case s.explore > 0 && s.seed == 0:
		s.seed = 1 + rand.Uint64N(maxSeed) //nolint:gosec // a seed, not a secret
	}
	if s.MaxMessage == "" {
		return nil
	}
	size, right := sizeOf(s.MaxMessage)
	if !right {
		return usageError("--max-message %q must be a size such as 16MiB", s.MaxMessage)
	}
	s.maxMessage = size
	return nil
}

// sizeOf reads a size such as 16MiB, in bytes.
func sizeOf(text string) (size int, right bool) {
	digits := strings.TrimRight(text, "KMGiBkmgb ")
	unit, known := sizeUnits[strings.ToUpper(strings.TrimSpace(text[len(digits):]))]
	number, err := strconv.Atoi(digits)
	if err != nil || !known || number <= 0 || number > (1<<40)/unit {
		return 0, false
	}
	return number * unit, true
}

func (s *settings) options(progress *reports.Progress) runner.Options {
	environment := make([]string, 0, len(s.Env))
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		environment = append(environment, name+"="+s.Env[name])
	}
	return runner.Options{
		Role:         s.role,
		URL:          s.URL,
		Command:      target.Command{Args: s.Command, Env: environment},
		Transports:   s.transports,
		Header:       s.secretHeaders,
		Access:       s.access(),
		Registration: s.registration(),
		Network:      s.network,
		Revisions:    s.revise,
		Filter:       s.Filter,
		Profile:      s.profile,
		Requirements: s.set,
		Draft:        s.draft,
		DraftSchema:  s.draftSchema,
		Shard:        s.shard,
		Policy: provoke.Policy{
			Calls: provoke.Calls(s.CallTools), Arguments: s.Arguments, Provocations: s.Provocations,
			Never: provoke.Never{Names: s.Never, By: filepath.Base(cmp.Or(s.configFile, config.DefaultFile))},
		},
		Workers:    s.Workers,
		Timeout:    s.Timeout,
		Deadline:   s.Deadline,
		MaxMessage: s.maxMessage,
		Tool: reports.Tool{
			Name:    "mcpconform",
			Version: version(),
			Go:      goVersion(),
		},
		Transcripts: s.Transcripts,
		Exchanges:   s.shown(),
		Redactor:    s.redactor(),
		Progress:    progress,
		Rerun:       s.rerun,
		Explore:     s.explore,
		Seed:        s.seed,
		Redraw:      s.redraw,
	}
}

// shown says whose exchanges the reports of a run show.
func (s *settings) shown() worker.Shown {
	switch {
	case s.HTML != "" || s.shard.Count > 0: // of shards, another command makes the page
		return worker.OfAll
	case s.JSON != "":
		return worker.OfUnproven
	}
	return worker.OfFailures
}

// hide hides in an error what may stand in no report.
func (s *settings) hide(err error) error {
	if err == nil {
		return nil
	}
	text := s.redactor().Redact(err.Error())
	if text == err.Error() {
		return err
	}
	return &exitError{Status: statusOf(err), Message: text}
}

// redactor hides the values that may stand in no report: those that were given as secrets, and
// those that the environment and the command have that look like some.
func (s *settings) redactor() *reports.Redactor {
	secrets := slices.Concat(reports.URLSecrets(s.URL), reports.GuessedInURL(s.URL),
		reports.ArgumentSecrets(s.Command), reports.ArgumentSecrets(s.Start), reports.EnvironmentSecrets(os.Environ()))
	for name, values := range s.secretHeaders {
		for _, value := range values {
			secrets = append(secrets, reports.Secret{Key: name, Value: value})
		}
	}
	secrets = append(secrets, reports.Secret{Key: "client_secret", Value: s.AuthorizationServer.ClientSecret})
	for _, token := range s.Auth.Tokens {
		secrets = append(secrets, reports.Secret{Value: token})
	}
	for name, value := range s.Env {
		secrets = append(secrets, reports.Secret{Key: name, Value: value})
	}
	for _, value := range s.revealed {
		secrets = append(secrets, reports.Secret{Value: value})
	}
	return reports.NewRedactor(secrets...)
}

// redraw is the command that makes a draw of --explore again.
func (s *settings) redraw(cell check.Cell, seed uint64) string {
	once := *s
	once.explore, once.seed = 1, seed
	return once.rerun(cell, "")
}

// rerun is the command that repeats what a filter chooses, or all of a cell.
func (s *settings) rerun(cell check.Cell, filter string) string {
	words := []string{"mcpconform", cell.Role, "--revision", cell.Revision}
	switch {
	case s.set != nil:
		words = []string{"mcpconform", cell.Role, "--requirements", s.set.Name()}
	case s.draft != nil:
		words = append([]string{"mcpconform", cell.Role}, s.draftWords()...)
	}
	if filter != "" {
		words = append(words, "--filter", filter)
	}
	words = append(words, "-v")
	words = append(words, s.registrationWords()...)
	if s.role == protocol.ClientRole && !scenario.TakesServer(s.Command) ||
		s.role != protocol.AuthorizationServerRole && s.URL == "" && len(s.Command) == 0 ||
		cell.Transport == protocol.SSE { // a server may answer a POST to the same URL at another time
		words = append(words, "--transport", cell.Transport)
	}
	if filter == "" && s.explore == 1 {
		words = append(words, "--explore", "1", "--seed", strconv.FormatUint(s.seed, 10))
	}
	if s.configFile != "" {
		words = append(words, "--config", s.configFile)
	}
	if s.role == protocol.ServerRole && s.CallTools != string(provoke.CallReadOnly) {
		words = append(words, "--call-tools", s.CallTools)
	}
	if s.authServer != "" {
		words = append(words, "--auth-server="+s.authServer)
	}
	if s.start != "" {
		words = append(words, "--start", s.start)
	}
	if s.network {
		words = append(words, "--network")
	}
	return shellWords(s.naming(words))
}

// naming adds to the words of a command those that name the target, without its secrets.
func (s *settings) naming(words []string) []string {
	for _, name := range slices.Sorted(maps.Keys(s.secretHeaders)) {
		words = append(words, "--header", name+": ***")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		words = append(words, "--env", name+"=***")
	}
	if s.URL != "" {
		words = append(words, "--url", s.URL)
	}
	if len(s.Command) > 0 {
		words = append(append(words, "--"), s.Command...)
	}
	return words
}

// shellWords writes a command as a shell reads it.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
	}
	return strings.Join(quoted, " ")
}

// shellWord quotes a word so that a shell reads it as one.
func shellWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (s *settings) color() bool {
	return !s.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" &&
		term.IsTerminal(int(os.Stdout.Fd()))
}

func (s *settings) progress(noun string) *reports.Progress {
	live := term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("CI") == ""
	return reports.NewProgress(stderr(), reports.ProgressOptions{
		Live: live, Quiet: s.quiet, Color: s.color(), Width: func() int { return terminalWidth(os.Stderr) },
		Noun: noun,
	})
}

// maxSeed keeps seeds short enough to be typed.
const maxSeed = 1_000_000_000

// defaultWidth is that of a terminal which does not tell, and of a pipe.
const defaultWidth = 80

// maxWidth keeps lines readable on a wide screen.
const maxWidth = 120

func terminalWidth(file *os.File) int {
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		return defaultWidth
	}
	return min(width, maxWidth)
}

// report writes the files of a run, and prints it. Where an error left nothing to
// judge it stands in the files, and is all that is printed.
func (s *settings) report(found *reports.Run, failure error) error {
	found.Strict = s.Strict
	found.Command = append([]string{"mcpconform"}, os.Args[1:]...)
	redactor := s.redactor()
	if err := s.applyBaseline(found); err != nil {
		found.Errors = append(found.Errors, err.Error())
	}
	if failure != nil {
		found.Errors = append(found.Errors, failure.Error())
		failure = &exitError{Status: statusOf(failure), Message: redactor.Redact(failure.Error())}
	}
	found = reports.RedactAll(redactor, found) // the door of all that leaves
	if failure != nil && len(found.Cells) == 0 {
		return errors.Join(failure, s.leave(found))
	}
	err := s.tell(found)
	if exit, is := errors.AsType[*exitError](err); is && failure != nil && exit.Status == exitHarness {
		return &exitError{Status: statusOf(failure)}
	}
	return err
}

// leave writes the files of a run, and where GitHub looks for them.
func (s *settings) leave(found *reports.Run) error {
	outputs := s.outputs()
	return errors.Join(writeFiles(outputs, found), appendTo("GITHUB_OUTPUT", func(w io.Writer) error {
		return writeStepOutputs(w, outputs, found)
	}))
}

// tell writes the files of a run and prints it.
func (s *settings) tell(found *reports.Run) error {
	err := s.leave(found)
	err = errors.Join(err, program.UnlessUnread(found.Terminal(stdout(), reports.TerminalOptions{
		Width: terminalWidth(os.Stdout), Color: s.color(), Verbose: s.verbose, Quiet: s.quiet,
		Slowest: s.durations,
	})), program.UnlessUnread(tellGitHub(found)))
	if err != nil {
		return err
	}
	return exitOf(found.Interrupted, found.Errors, found.Conforms(s.Strict))
}

// exitOf is the exit of what was interrupted, had errors of the harness, or was good.
func exitOf(interrupted string, failures []string, good bool) error {
	switch {
	case interrupted != "":
		return &exitError{Status: exitDoesNot}
	case len(failures) > 0:
		return &exitError{Status: exitHarness}
	case !good:
		return &exitError{Status: exitDoesNot}
	}
	return nil
}
