package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/starter"
	"github.com/mcpconform/mcpconform/internal/tryout"
	"github.com/mcpconform/mcpconform/reports"
)

// initial are the flags of init.
type initial struct {
	settings
	output string
	ci     string
	force  bool
	client string // whose driver is written; "" for none
}

func newInit() *cobra.Command {
	b := &initial{settings: settings{role: protocol.ServerRole}}
	command := &cobra.Command{
		Use:   "init [flags] --url URL | --client | -- COMMAND ARG...",
		Short: "Look at a server and write a " + config.DefaultFile + " for it, or a driver for a client",
		Long: `Connects to the server at the newest revision that it speaks, and calls its tools: those
annotated readOnlyHint, and the others after a question on the terminal. The config that
it writes says what the tools were seen to do.

With --client it writes a driver for the client of the SDK that package.json, go.mod,
pyproject.toml or requirements.txt names, and the config that starts it.`,
		Example: `  mcpconform init -- npx -y my-mcp-server
  mcpconform init --url http://127.0.0.1:3000/mcp --ci github
  mcpconform init --call-tools all -- ./my-server
  mcpconform init --client`,
		RunE: func(command *cobra.Command, arguments []string) error {
			if b.client != "" {
				return b.writeClient(command.Context(), command.OutOrStdout(), arguments)
			}
			return b.run(command, arguments)
		},
	}
	flags := command.Flags()
	flags.StringVar(&b.URL, "url", "", "the server's MCP `URL`, for Streamable HTTP")
	flags.StringArrayVar(&b.header, "header", nil, "`\"NAME: VALUE\"` sent with every HTTP request; may be repeated")
	flags.StringArrayVar(&b.env, "env", nil, "`NAME=VALUE` in the environment of the server; may be repeated")
	flags.StringVar(&b.start, "start", "", "`COMMAND` that starts the server at --url, split at spaces")
	flags.StringVar(
		&b.CallTools,
		"call-tools",
		"",
		"which of the server's tools may be called: none, listed, readonly or all (default readonly, and a question about the others)",
	)
	flags.DurationVar(&b.Timeout, "timeout", 0, "how long one reply may take (default 5s)")
	flags.StringVar(&b.output, "output", config.DefaultFile, "the `FILE` to write")
	flags.StringVar(&b.ci, "ci", "", "write a file that runs the checks, too: github, gitlab or shell")
	flags.StringVar(
		&b.client,
		"client",
		"",
		"write a driver for the client of an `SDK`: "+strings.Join(
			driverNames(),
			", ",
		)+"; default: the SDK of the project here",
	)
	flags.Lookup("client").NoOptDefVal = foundSDK
	flags.BoolVar(&b.force, "force", false, "overwrite existing files")
	completes(command, map[string]values{
		"call-tools": oneOf(provoke.CallValues()...),
		"ci":         oneOf(systems()...),
		"client":     oneOf(driverNames()...),
	})
	return command
}

func systems() []string {
	var names []string
	for _, one := range starter.Systems() {
		names = append(names, one.Name)
	}
	return names
}

func (b *initial) run(command *cobra.Command, arguments []string) error {
	ci, err := b.complete(command, arguments)
	if err != nil {
		return err
	}
	options := b.options(nil)
	stop, err := b.prepareAuth(command.Context(), &options)
	defer stop()
	if err != nil {
		return b.hide(err)
	}
	look, err := runner.LookAt(command.Context(), options, b.mayCall(command))
	if err != nil {
		return b.hide(err)
	}
	var seen strings.Builder
	b.describe(&seen, look)
	if _, err := io.WriteString(command.OutOrStdout(), b.redactor().Redact(seen.String())); err != nil {
		return err
	}
	return b.write(command, look, ci)
}

// complete makes sure of the flags. The system is nil when no file for one is wanted.
func (b *initial) complete(command *cobra.Command, arguments []string) (*starter.CI, error) {
	if err := b.separateCommand(command, arguments); err != nil {
		return nil, err
	}
	switch {
	case b.URL != "" && len(b.Command) > 0:
		return nil, usageError("--url and a command exclude each other: a server is reached by one of them")
	case b.URL == "" && len(b.Command) == 0:
		return nil, usageError("init needs a server: --url URL, or the command that starts it after --")
	}
	b.Revision = "auto"
	for _, check := range []func() error{
		b.completeURL, b.completeTransport, b.completeRevision, b.completeCalls, b.completeHeader, b.completeAuth, b.completeEnv, b.completeBounds,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	var ci *starter.CI
	if b.ci != "" {
		at := slices.IndexFunc(starter.Systems(), func(one starter.CI) bool { return one.Name == b.ci })
		if at < 0 {
			return nil, usageError("--ci %q is unknown%s", b.ci, nearest.Hint(b.ci, systems()))
		}
		ci = &starter.Systems()[at]
		if err := b.free("--ci", ci.File); err != nil {
			return nil, err
		}
	}
	return ci, b.free("--output", b.output)
}

// free makes sure that nothing is written over unless it is wanted.
func (b *initial) free(flag, path string) error {
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usageError("%s %s: %s", flag, path, files.Reason(err))
	case !b.force:
		return usageError("%s exists already; overwrite it with --force, or remove it", path)
	}
	return b.locate(path)
}

// mayCall asks the user whether to call tools that are not annotated as read-only. Without a
// terminal they are not called.
func (b *initial) mayCall(command *cobra.Command) func([]string) bool {
	return func(tools []string) bool {
		input, isFile := command.InOrStdin().(*os.File)
		if b.CallTools != string(provoke.CallReadOnly) || !isFile || !term.IsTerminal(int(input.Fd())) {
			return false
		}
		out := command.OutOrStdout()
		_, _ = fmt.Fprintf(out, "Not annotated readOnlyHint: %s\nCall them, with generated arguments? [y/N] ",
			b.redactor().Redact(reports.Visible(strings.Join(tools, ", "))))
		answer, _ := bufio.NewReader(input).ReadString('\n')
		yes := slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
		if yes {
			b.CallTools = string(provoke.CallAll)
		}
		return yes
	}
}

// describe tells what was seen, a line for each tool.
func (b *initial) describe(out io.Writer, look *runner.Look) {
	name, _ := look.Survey.ServerInfo["name"].(string)
	version, _ := look.Survey.ServerInfo["version"].(string)
	also := ""
	if len(look.AlsoSpeaks) > 0 {
		also = " (also " + strings.Join(look.AlsoSpeaks, ", ") + ")"
	}
	_, _ = fmt.Fprintf(out, "%s speaks %s%s over %s and lists %s.\n\n",
		reports.Visible(strings.TrimSpace(cmp.Or(name, "The server")+" "+version)),
		look.Revision, also, look.Transport, count(len(look.Survey.Tools), "tool"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(tool, outcome, shows string) {
		text := "  " + reports.Visible(tool) + "\t" + outcome
		if shows != "" {
			text += "\t" + shows
		}
		_, _ = fmt.Fprintln(table, text)
	}
	for _, tool := range look.Tried.Tools {
		row(tool.Tool, shortly(tool), strings.Join(tool.Kinds, ", "))
	}
	for _, remark := range []struct {
		tools []string
		says  string
	}{
		{look.Known, "known, and not tried"},
		{look.Unmade, "not tried: no arguments could be generated"},
		{look.Tried.Left, "not tried: there was no time left"},
		{look.Uncalled, "not tried: not annotated readOnlyHint"},
	} {
		for _, tool := range remark.tools {
			row(tool, remark.says, "")
		}
	}
	_ = table.Flush()
	_, _ = fmt.Fprintln(out)
}

func shortly(tool tryout.Tool) string {
	if tool.Outcome == tryout.Answered {
		if tool.Slow {
			return fmt.Sprintf("%s in %s", tool.Outcome, tool.Took.Round(time.Second/10))
		}
		return string(tool.Outcome)
	}
	return reports.Visible(excerpt.OneLine(string(tool.Outcome) + ": " + tool.Says))
}

func count(number int, what string) string {
	if number == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", number, what)
}

// write writes the config, and the file of the system that runs the checks.
func (b *initial) write(command *cobra.Command, look *runner.Look, ci *starter.CI) error {
	server := starter.Server{
		URL: b.URL, Command: b.Command, Start: b.Start, Calls: provoke.Calls(b.CallTools),
		Baseline: starter.BaselineFor(slices.Concat(b.Command, b.Start)),
	}
	if len(b.header) > 0 {
		server.Secrets = append(server.Secrets, "--header")
	}
	if len(b.env) > 0 {
		server.Secrets = append(server.Secrets, "--env")
	}
	text, err := starter.Config(server, look)
	if err != nil {
		return err
	}
	written := []string{b.output}
	if err := b.put(command.Context(), b.output, text, 0o644); err != nil {
		return err
	}
	if ci != nil {
		text, err := starter.Pipeline(*ci, starter.Use{
			URL: b.URL != "", Config: b.byConfig(), SDK: server.Baseline, Version: version(),
		})
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if ci.Name == "shell" {
			mode = 0o755
		}
		if err := b.put(command.Context(), ci.File, text, mode); err != nil {
			return err
		}
		written = append(written, ci.File)
	}
	next := "mcpconform server" + b.byConfig()
	_, err = fmt.Fprintf(command.OutOrStdout(), "Wrote %s. Read %s, then run: %s\n",
		strings.Join(written, " and "), b.output, next)
	return err
}

// put writes a file whole, with the directories above it.
func (b *initial) put(ctx context.Context, path string, text []byte, mode fs.FileMode) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
	}
	write := func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	}
	if place := b.places[path]; place != nil {
		return place.Write(write)
	}
	if err := reports.WriteFile(path, write); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
