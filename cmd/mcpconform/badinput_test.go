//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestWrongUsageIsOneLineWithTheMend(t *testing.T) {
	t.Chdir(t.TempDir())
	var lines strings.Builder
	lines.WriteString(`{"from":"client","message":{"jsonrpc":"2.0","id":0,"method":"initialize"}}` + "\n")
	for tool := range 6 {
		_, _ = fmt.Fprintf(&lines, `{"from":"client","message":{"jsonrpc":"2.0","id":%[1]d,"method":"tools/call","params":{"name":"t%[1]d"}}}`+"\n", tool+1)
	}
	replayed := writeFile(t, t.TempDir(), "replayed.jsonl", strings.Replace(lines.String(), `"t1"`, `""`, 1))
	for name, one := range map[string]struct {
		arguments []string
		says      []string
	}{
		"unknown command":        {[]string{"servr"}, []string{`unknown command "servr"`, `did you mean "server"?`}},
		"unknown flag":           {[]string{"server", "--revison", "auto"}, []string{"unknown flag --revison", `did you mean "--revision"?`}},
		"flag without a value":   {[]string{"server", "--url"}, []string{"--url", "--help"}},
		"unknown revision":       {[]string{"server", "--revision", "2025-11-26"}, []string{`"2025-11-26"`, `did you mean "2025-11-25"?`}},
		"unknown transport":      {[]string{"server", "--transport", "stdoi"}, []string{`did you mean "stdio"?`}},
		"sse, newest revision":   {[]string{"server", "--transport", "sse", "--revision", "2026-07-28"}, []string{"--revision 2026-07-28 is not spoken over --transport sse, which ends with 2025-11-25"}},
		"sse, newest filter":     {[]string{"server", "--transport", "sse", "--filter", "server/discover"}, []string{"matches something at 2026-07-28 only, which is not spoken over sse"}},
		"sse, command":           {[]string{"server", "--transport", "sse", "--", "true"}, []string{"--transport sse needs --url"}},
		"serve, stdio":           {[]string{"serve", "--transport", "stdio"}, []string{`--transport "stdio" is none that serve has; known are http, sse`}},
		"serve, sse, newest":     {[]string{"serve", "--transport", "sse", "--revision", "2026-07-28"}, []string{"--revision 2026-07-28 is not spoken over --transport sse, which ends with 2025-11-25"}},
		"sse, client, newest":    {[]string{"client", "--transport", "sse", "--revision", "2026-07-28"}, []string{"--revision 2026-07-28 is not spoken over --transport sse, which ends with 2025-11-25"}},
		"sse, client, command":   {[]string{"client", "--transport", "sse", "--", "true", "{server}"}, []string{"--transport sse uses a URL, at {url}"}},
		"unknown tool policy":    {[]string{"server", "--call-tools", "readonyl"}, []string{`did you mean "readonly"?`}},
		"filter of nothing":      {[]string{"server", "--transport", "stdio", "--filter", "pingg"}, []string{`"pingg" is unknown, did you mean "ping"?`}},
		"filter of two words":    {[]string{"server", "--transport", "stdio", "--filter", "MUST && server/tols"}, []string{`"server/tols" is unknown, did you mean "server/tools"?`}},
		"filter that cannot be":  {[]string{"server", "--filter", "client/roots && server/tools"}, []string{"matches no check or rule of a server"}},
		"filter, other revision": {[]string{"server", "--revision", "2026-07-28", "--filter", "ping.answered"}, []string{"matches nothing at 2026-07-28; it does at 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25"}},
		"list, filter":           {[]string{"list", "--filter", "server/tols"}, []string{`did you mean "server/tools"?`}},
		"warnings":               {[]string{"server", "--junit-warnings", "skipped"}, []string{`--junit-warnings "skipped" is unknown, did you mean "skip"?`}},
		"filter that is garbled": {[]string{"server", "--filter", "(ping &&"}, []string{`--filter "(ping &&" cannot be read`}},
		"URL without a scheme":   {[]string{"server", "--url", "localhost:3000"}, []string{"http://"}},
		"URL as an argument":     {[]string{"server", "http://localhost/mcp"}, []string{"--url http://localhost/mcp"}},
		"URL and command":        {[]string{"server", "--url", "http://localhost/mcp", "--", "true"}, []string{"exclude each other"}},
		"command without --":     {[]string{"server", "my-server", "serve"}, []string{"mcpconform server -- my-server serve"}},
		"nothing behind --":      {[]string{"server", "--"}, []string{"no command after --"}},
		"no time":                {[]string{"server", "--timeout", "0s"}, []string{"--timeout 0s must be positive, such as 10s"}},
		"no workers":             {[]string{"server", "--workers", "0"}, []string{"--workers 0 must be positive"}},
		"no faults at once":      {[]string{"selftest", "--workers", "0"}, []string{"--workers 0 must be positive"}},
		"a shard that is lost":   {[]string{"server", "--shard", "1/2"}, []string{"--shard 1/2 needs --json FILE", "mcpconform merge"}},
		"a lost shard of faults": {[]string{"selftest", "--shard", "1/2"}, []string{"--shard 1/2 needs --json FILE"}},
		"an old revision":        {[]string{"server", "--revision", "2024-10-07"}, []string{`--revision "2024-10-07" is unknown, did you mean "2024-11-05"?`}},
		"the draft":              {[]string{"list", "--revision", "draft"}, []string{`--revision "draft" is for mcpconform server and client alone, with --spec and --schema`}},
		"the draft alone":        {[]string{"server", "--revision", "draft", "--schema", "schema.json"}, []string{"--revision draft needs --spec DIR", "--schema FILE"}},
		"the draft and others":   {[]string{"client", "--revision", "2025-11-25,draft"}, []string{"--revision draft excludes others"}},
		"no draft":               {[]string{"client", "--spec", "."}, []string{"--spec and --schema need --revision draft"}},
		"the draft of an issuer": {[]string{"authorization-server", "--revision", "draft"}, []string{`"draft" is for mcpconform server and client alone`}},
		"a draft that is not":    {[]string{"server", "--revision", "draft", "--spec", ".", "--schema", "none.json"}, []string{"--schema none.json: no such file"}},
		"a draft of nothing":     {[]string{"server", "--revision", "draft", "--spec", ".", "--schema", "/dev/null"}, []string{"--schema /dev/null: it is not JSON: EOF"}},
		"a draft and a set":      {[]string{"server", "--revision", "draft", "--requirements", "2026-07-28@1"}, []string{"exclude each other"}},
		"negative time":          {[]string{"server", "--timeout", "-1s"}, []string{"must be positive"}},
		"time without a unit":    {[]string{"server", "--timeout", "5"}, []string{"--timeout"}},
		"size":                   {[]string{"server", "--max-message", "big"}, []string{`"big"`, "16MiB"}},
		"header":                 {[]string{"server", "--url", "http://localhost/mcp", "--header", "secret"}, []string{"NAME: VALUE"}},
		"env":                    {[]string{"server", "--env", "secret", "--", "true"}, []string{"NAME=VALUE"}},
		"config that is missing": {[]string{"server", "--config", "none.yaml"}, []string{"none.yaml: no such file"}},
		"report in no directory": {[]string{"server", "--json", "none/run.json"}, []string{"there is no directory none", "mkdir -p none"}},
		"report as a directory":  {[]string{"server", "--junit", "."}, []string{"is a directory", "name a file in it"}},
		"report not writable":    {[]string{"server", "--json", "/proc/run.json"}, []string{"/proc/run.json cannot be written"}},
		"transcripts in a file":  {[]string{"server", "--transcripts", "/proc/self/status/t"}, []string{"--transcripts", "cannot be created"}},
		"selftest of nothing":    {[]string{"selftest", "--filter", "ping-unanswred"}, []string{"matches no fault", `did you mean "ping-unanswered"?`}},
		"selftest, garbled":      {[]string{"selftest", "--filter", "(ping &&"}, []string{`--filter "(ping &&" cannot be read`}},
		"selftest of a URL":      {[]string{"selftest", "http://localhost/mcp"}, []string{"--peer http://localhost/mcp"}},
		"selftest, no scheme":    {[]string{"selftest", "--peer", "localhost:3000"}, []string{"--peer", "http://"}},
		"selftest of two":        {[]string{"selftest", "--peer", "http://localhost/mcp", "--", "true"}, []string{"exclude each other"}},
		"selftest, matrix":       {[]string{"selftest", "--json", "none/m.json"}, []string{"there is no directory none"}},
		"list, role":             {[]string{"list", "--role", "sever"}, []string{`--role "sever"`, "server"}},
		"serve, address":         {[]string{"serve", "--listen", "7777"}, []string{`--listen "7777" must be HOST:PORT`}},
		"serve, revisions":       {[]string{"serve", "--revision", "all"}, []string{"one revision at a time"}},
		"serve, filter":          {[]string{"serve", "--filter", "no-such-thing"}, []string{`"no-such-thing" is unknown; mcpconform list shows what there is`}},
		"serve, command":         {[]string{"serve", "./client"}, []string{"mcpconform serve --help"}},
		"proxy of nothing":       {[]string{"proxy", "--record", "r"}, []string{"proxy needs either --url URL or -- and the command"}},
		"proxy of two":           {[]string{"proxy", "--record", "r", "--url", "http://localhost/mcp", "--", "true"}, []string{"proxy needs either --url URL or --"}},
		"proxy without --":       {[]string{"proxy", "my-server"}, []string{"mcpconform proxy -- my-server"}},
		"proxy for nobody":       {[]string{"proxy", "--", "true"}, []string{"proxy needs --record DIR, --page ADDR, or a report that is a file"}},
		"proxy, URL":             {[]string{"proxy", "--url", "localhost:3000"}, []string{"http://HOST/PATH"}},
		"proxy, address":         {[]string{"proxy", "--url", "http://localhost/mcp", "--listen", "7777"}, []string{"--listen 7777"}},
		"proxy, size":            {[]string{"proxy", "--part-size", "big", "--", "true"}, []string{"proxy needs --record DIR"}},
		"proxy, part size":       {[]string{"proxy", "--record", "r", "--part-size", "big", "--", "true"}, []string{`--part-size "big" must be a size such as 16MiB`}},
		"proxy, reports":         {[]string{"proxy", "--html", "r.html", "--", "true"}, []string{"--html r.html: both peers are judged", "{role}"}},
		"proxy, a rate":          {[]string{"proxy", "--record", "r", "--rate", "0.5", "--", "true"}, []string{"--rate and --seed need --inject"}},
		"proxy, no rate":         {[]string{"proxy", "--record", "r", "--inject", "ping-unanswered", "--rate", "2", "--", "true"}, []string{"--rate 2 must be from 0 to 1"}},
		"proxy, no fault":        {[]string{"proxy", "--record", "r", "--inject", "ping-unanswred", "--", "true"}, []string{"--inject", `did you mean "ping-unanswered"?`}},
		"proxy, a switch":        {[]string{"proxy", "--record", "r", "--inject", "sse-endpoint-misnamed", "--", "true"}, []string{"is a switch of the reference"}},
		"proxy, recordings":      {[]string{"proxy", "--record", "/proc/self/status/r", "--", "true"}, []string{"--record /proc/self/status/r cannot be created"}},
		"selftest, role":         {[]string{"selftest", "--role", "severs"}, []string{`--role "severs"`, `did you mean "server"?`}},
		"issuer with a query":    {[]string{"authorization-server", "--url", "http://localhost/?a=b"}, []string{"--url is an issuer, which has a query"}},
		"a secret of no client":  {[]string{"authorization-server", "--client-secret", "abcdefgh"}, []string{"--client-secret needs --client-id"}},
		"a redirect to a path":   {[]string{"authorization-server", "--redirect-uri", "/callback"}, []string{`--redirect-uri "/callback" must begin with http://`}},
		"selftest, peer's role":  {[]string{"selftest", "--role", "client", "--", "true"}, []string{"--peer and a command name servers"}},
		"fault of a server":      {[]string{"reference", "client", "--fault", "ping-unanswered", "http://localhost/mcp"}, []string{"mcpconform reference server"}},
		"fault of a client":      {[]string{"reference", "server", "--stdio", "--fault", "initialized-never-sent"}, []string{"mcpconform reference client"}},
		"selftest, flag":         {[]string{"selftest", "--pear", "x"}, []string{`did you mean "--peer"?`}},
		"baseline, missing":      {[]string{"server", "--baseline", "none.yaml"}, []string{"none.yaml: no such file"}},
		"baseline, no SDK":       {[]string{"server", "--baseline", "sdk:typescript@1"}, []string{"sdk:typescript@1: no built-in baseline has this name", "sdk:go@1.8"}},
		"update of nothing":      {[]string{"baseline", "update", "run.json"}, []string{"--baseline baseline.yaml"}},
		"update by nothing":      {[]string{"baseline", "update", "--baseline", "known.yaml"}, []string{"needs one run"}},
		"update by no file":      {[]string{"baseline", "update", "--baseline", "known.yaml", "none.json"}, []string{"none.json: no such file"}},
		"update of an SDK":       {[]string{"baseline", "update", "--baseline", "sdk:go@1.8", "none.json"}, []string{"is built in; include it"}},
		"contract of nothing":    {[]string{"contract", "write"}, []string{"contract write needs a server: --url URL, or the command"}},
		"contract of both":       {[]string{"contract", "write", "wires", "--", "true"}, []string{"of a server or of transcripts, not of both"}},
		"contract of no file":    {[]string{"contract", "write", "none.jsonl"}, []string{"none.jsonl cannot be read"}},
		"contract, revisions":    {[]string{"contract", "write", "--revision", "all", "--", "true"}, []string{"--revision all: a contract is read at one revision"}},
		"contract, revision":     {[]string{"contract", "write", "--revision", "2025-11-24", "--", "true"}, []string{`--revision "2025-11-24"`}},
		"contract in no folder":  {[]string{"contract", "write", "--output", "none/c.yaml", "--", "true"}, []string{"there is no directory none"}},
		"contract that is not":   {[]string{"contract", "check", "--", "true"}, []string{"mcpconform-contract.yaml cannot be read: no such file", "mcpconform contract write"}},
		"contracts, two":         {[]string{"contract", "check", "a", "b", "--", "true"}, []string{"contract diff compares two"}},
		"contract without --":    {[]string{"contract", "check", "a", "--"}, []string{"no command after --"}},
		"contract diff of one":   {[]string{"contract", "diff", "a"}, []string{"mcpconform contract diff OLD NEW"}},
		"contract diff of none":  {[]string{"contract", "diff", "a", "b"}, []string{"a cannot be read: no such file"}},
		"contract, command":      {[]string{"contract", "wrte"}, []string{`did you mean "write"?`}},
		"replay of nothing":      {[]string{"replay"}, []string{"mcpconform proxy --record recordings -- COMMAND"}},
		"replay of no file":      {[]string{"replay", "none.jsonl", "--", "true"}, []string{"none.jsonl cannot be read: no such file"}},
		"replay of no recording": {[]string{"replay", "/dev/null", "--", "true"}, []string{"/dev/null:1: no transcript: the file is empty"}},
		"replay to nobody":       {[]string{"replay", replayed}, []string{"replay needs a server: --url URL, or the command"}},
		"replay, no command":     {[]string{"replay", replayed, "--"}, []string{"no command after --"}},
		"replay to both":         {[]string{"replay", replayed, "--as-server", "--", "true"}, []string{"--as-server", "takes no --url and no command"}},
		"replay, rules":          {[]string{"replay", replayed, "--rules", "none.yaml", "--", "true"}, []string{"--rules none.yaml cannot be read: no such file"}},
		"replay, map":            {[]string{"replay", replayed, "--map", "secret", "--", "true"}, []string{"--map number 1 must have the form OLD=NEW"}},
		"replay, listen":         {[]string{"replay", replayed, "--listen", "127.0.0.1:0", "--", "true"}, []string{"--listen needs --as-server"}},
		"replay, exact":          {[]string{"replay", replayed, "--as-server", "--exact"}, []string{"--exact is for a replay to a server, not for --as-server"}},
		"replay, transport":      {[]string{"replay", replayed, "--as-server", "--transport", "htp"}, []string{`did you mean "http"?`}},
		"replay, address":        {[]string{"replay", replayed, "--as-server", "--transport", "http", "--listen", "nowhere"}, []string{"--listen nowhere:", "missing port"}},
		"replay, stdio":          {[]string{"replay", replayed, "--as-server", "--listen", "127.0.0.1:0"}, []string{"--listen needs --transport http or sse"}},
		"replay, two reports":    {[]string{"replay", replayed, "--json", "a", "--junit", "a", "--", "true"}, []string{"--junit and --json both name a"}},
		"replay, tools":          {[]string{"replay", replayed, "--", "true"}, []string{"calls a tool without a name, t2, t3, t4, t5, and 1 more, which is not said to be read-only", "--call-tools all"}},
		"diff of one":            {[]string{"diff", "run.json"}, []string{"mcpconform diff OLD.json NEW.json"}},
		"diff of no file":        {[]string{"diff", "none.json", "run.json"}, []string{"none.json: no such file"}},
		"page in no directory":   {[]string{"server", "--html", "none/run.html"}, []string{"--html none/run.html: there is no directory none"}},
		"page and JUnit":         {[]string{"server", "--html", "a", "--junit", "a"}, []string{"--junit and --html both name a"}},
		"since without a page":   {[]string{"server", "--since", "run.json"}, []string{"--since needs --html", "mcpconform diff"}},
		"since no file":          {[]string{"server", "--html", "/dev/null", "--since", "none.json"}, []string{"none.json: no such file"}},
		"badge and Markdown":     {[]string{"server", "--badge", "a", "--markdown", "a"}, []string{"--markdown and --badge both name a"}},
		"report of nothing":      {[]string{"report"}, []string{"mcpconform report --html run.html run.json"}},
		"report of no file":      {[]string{"report", "none.json"}, []string{"none.json: no such file"}},
		"failed in no file":      {[]string{"server", "--last-failed", "none.json"}, []string{"none.json: no such file"}},
		"negative durations":     {[]string{"server", "--durations", "-1"}, []string{"--durations -1 must be positive"}},
		"two reports, one file":  {[]string{"server", "--json", "a", "--junit", "a"}, []string{"both name a"}},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, one.arguments, one.says...)
		})
	}
}

// refused demands that a command line is refused with one line, by what main calls and in this
// process: a program for each takes a hundred times as long.
func refused(t *testing.T, arguments []string, says ...string) {
	t.Helper()
	err := execute(t.Context(), arguments)
	if statusOf(err) != exitUsage {
		t.Fatalf("want status %d, of %v", exitUsage, err)
	}
	outcome{status: exitUsage, stderr: err.Error() + "\n"}.demand(t, exitUsage, says...)
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("want one line\n%s", err)
	}
}

func TestWrongConfigNamesFileAndLine(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		text string
		says []string
	}{
		"unknown key": {"strict: true\nreversion: auto\n", []string{"mcpconform.yaml:2:", `"reversion"`, `did you mean "revision"?`}},
		"wrong type":  {"workers: many\n", []string{"mcpconform.yaml:1:"}},
		"no workers":  {"strict: true\nworkers: 0\n", []string{"mcpconform.yaml:2: workers: 0 must be positive"}},
		"no time":     {"timeout: 0s\n", []string{"mcpconform.yaml:1: timeout: 0s must be positive, such as 10s"}},
		"no YAML":     {"strict: [\n", []string{"mcpconform.yaml:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			writeFile(t, directory, "mcpconform.yaml", one.text)
			found := mcpconformIn(t, directory, "server")
			found.demand(t, exitUsage, one.says...)
			found.oneLine(t)
		})
	}
}

// No number and no duration that a flag is given may be zero.
func TestNumbersArePositive(t *testing.T) {
	t.Parallel()
	numbers := 0
	for _, command := range commandsBelow(newRoot()) {
		command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			zero := map[string]string{"int": "0", "duration": "0s"}[flag.Value.Type()]
			if zero == "" {
				return
			}
			numbers++
			if err := command.ParseFlags([]string{"--" + flag.Name, zero}); err != nil {
				t.Fatal(err)
			}
			if err := positiveNumbers(command.Flags()); statusOf(err) != exitUsage {
				t.Errorf("%s --%s %s: %v", command.CommandPath(), flag.Name, zero, err)
			}
		})
	}
	if numbers < 10 {
		t.Errorf("only %d flags take numbers", numbers)
	}
}

// A reader that closes the pipe early changes no verdict.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		arguments []string
		status    int
	}{
		"list":        {[]string{"list"}, exitConforms},
		"explain":     {[]string{"explain", "tools"}, exitConforms},
		"help":        {[]string{"help"}, exitConforms},
		"a good run":  {[]string{"server", "--transport", "stdio", "--revision", "2025-11-25", "--filter", "ping"}, exitConforms},
		"a bad run":   {args("server", "--revision", "2025-11-25", "--filter", "ping", "--", os.Args[0], "reference", "server", "--stdio", "--fault", "ping-unknown"), exitDoesNot},
		"wrong usage": {[]string{"list", "--role", "sever"}, exitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			_ = read.Close() // each write fails with EPIPE
			execution := prepare(t, t.TempDir(), nil, one.arguments...)
			execution.command.Stdout = write
			execution.start()
			_ = write.Close()
			found := execution.wait()
			if found.demand(t, one.status); strings.Contains(found.stderr, "pipe") {
				t.Errorf("it complains\n%s", found)
			}
		})
	}
}

func TestReportsAndTranscriptsAreWritten(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()

	found := mcpconformIn(t, directory, args("server", "--filter", "ping", "--json", "run.json", "--junit", "run.xml", "--transcripts", "new/transcripts", bad(t, "none"))...)

	found.demand(t, exitConforms)
	onlyFiles(t, directory, "new", "run.json", "run.xml")
	written, err := filepath.Glob(filepath.Join(directory, "new/transcripts/*/*.jsonl"))
	if err != nil || len(written) == 0 {
		t.Errorf("no transcript was written: %v\n%s", err, found)
	}
}
