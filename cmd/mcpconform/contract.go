package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/contract"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/reports"
)

// contractFile is the file of a contract where no other is named.
const contractFile = "mcpconform-contract.yaml"

// contracting are the flags of the commands for contracts.
type contracting struct {
	settings
	revision string
	output   string
	files    comparisonFiles
	strict   bool
}

func newContract() *cobra.Command {
	command := &cobra.Command{
		Use:   "contract",
		Short: "Pin what a server offers, and find what breaks its clients",
		Long: `A contract is a file with what a server offers: revisions, capabilities, tools with their
schemas and annotations, prompts, resources and templates. Kept beside the source, it shows
each change in review, and fails a build that breaks clients.`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newContractWrite(), newContractCheck(), newContractDiff())
	return command
}

func newContractWrite() *cobra.Command {
	c := &contracting{settings: settings{role: protocol.ServerRole}}
	command := &cobra.Command{
		Use:   "write [flags] [--url URL | TRANSCRIPT... | -- COMMAND ARG...]",
		Short: "Write what a server offers to a file",
		Long: `Write surveys a server and writes what it offers. The same offer gives the same bytes, in
whatever order the server lists it. It calls no tool.

Of transcripts, as --transcripts and mcpconform proxy record them, the file has what was seen
there, and says so: a list that was not recorded to its end is left out.`,
		Example: `  mcpconform contract write -- ./my-server
  mcpconform contract write --url http://127.0.0.1:3000/mcp --output contract.yaml
  mcpconform contract write transcripts`,
		RunE: c.write,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // files and directories
		},
	}
	flags := command.Flags()
	c.addTarget(flags, "the newest that the server speaks")
	flags.StringVar(&c.output, "output", contractFile, "the `FILE` to write")
	completes(command, map[string]values{"revision": oneOf(protocol.Released()...), "transport": transportValues})
	return command
}

func newContractCheck() *cobra.Command {
	c := &contracting{settings: settings{role: protocol.ServerRole}}
	command := &cobra.Command{
		Use:   "check [flags] [FILE] [--url URL | -- COMMAND ARG...]",
		Short: "Compare what a server offers with a file",
		Long: `Check surveys a server and compares what it offers with FILE, by default
` + contractFile + `. ` + impacts + `

Exit status: 0 nothing is breaking, 1 something is, 2 wrong usage, 3 the server could not be
started or reached, 4 the harness itself failed.`,
		Example: `  mcpconform contract check -- ./my-server
  mcpconform contract check contract.yaml --url http://127.0.0.1:3000/mcp --junit contract.xml`,
		RunE:              c.check,
		ValidArgsFunction: contractNames,
	}
	flags := command.Flags()
	c.addTarget(flags, "that of the file, if the server still speaks it")
	c.addOutputs(flags)
	completes(command, map[string]values{"revision": oneOf(protocol.Released()...), "transport": transportValues})
	return command
}

func newContractDiff() *cobra.Command {
	c := &contracting{}
	command := &cobra.Command{
		Use:   "diff [flags] OLD NEW",
		Short: "Compare two files",
		Long: `Diff compares two contracts. ` + impacts + `

Exit status: 0 nothing is breaking, 1 something is, 2 wrong usage.`,
		Example:           `  mcpconform contract diff --markdown diff.md old.yaml new.yaml`,
		RunE:              c.diff,
		ValidArgsFunction: contractNames,
	}
	c.addOutputs(command.Flags())
	return command
}

// impacts says what the kinds of changes are.
const impacts = `A change is breaking (a tool is gone, an argument
newly required, an output no longer promised, a call less safe), compatible, or one of text;
whether one is breaking that cannot be decided is unclear, and fails with --strict.`

func contractNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// addTarget adds the flags that say which server it is about.
func (c *contracting) addTarget(flags *pflag.FlagSet, revision string) {
	c.addServer(flags)
	flags.StringVar(&c.revision, "revision", "", "the `R`evision to read it at; default: "+revision)
}

// addOutputs adds those of what a comparison is told by.
func (c *contracting) addOutputs(flags *pflag.FlagSet) {
	flags.BoolVar(&c.strict, "strict", false, "changes of which it is unclear whether they break count as breaking")
	flags.StringVar(&c.files.junit, "junit", "", "write the comparison as JUnit XML to `FILE`")
	flags.StringVar(&c.files.markdown, "markdown", "", "write the changes as Markdown to `FILE`")
	flags.StringVar(&c.files.json, "json", "", "write the changes as JSON to `FILE`")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "show every change")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "show only the conclusion")
	flags.BoolVar(&c.noColor, "no-color", false, "no colours (also: NO_COLOR in the environment)")
}

// complete makes sure of the flags that name a server.
func (c *contracting) complete(command *cobra.Command) error {
	if err := c.completeServer(command, "contract "+command.Name()); err != nil {
		return err
	}
	c.Revision = "auto"
	if c.revision != "" {
		c.Revision = c.revision
	}
	if c.Revision == "all" || strings.Contains(c.Revision, ",") {
		return usageError(
			"--revision %s: a contract is read at one revision; it names all that the server speaks",
			c.Revision,
		)
	}
	for _, check := range []func() error{
		c.completeURL, c.completeTransport, c.completeRevision, c.completeHeader, c.completeAuth, c.completeEnv,
		c.completeBounds,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// survey reads what the server offers, at a revision if it speaks that.
func (c *contracting) survey(command *cobra.Command, preferred string) (*contract.Contract, []string, error) {
	defer guard()()
	options := c.options(nil)
	stop, err := c.prepareAuth(command.Context(), &options)
	defer stop()
	if err != nil {
		return nil, nil, c.hide(err)
	}
	newest := contact.Revise{Auto: true, Among: protocol.Released()}
	if c.revision == "" {
		options.Revisions = newest
		if slices.Contains(protocol.Released(), preferred) {
			options.Revisions = contact.Revise{Listed: []string{preferred}}
		}
	}
	offered, err := runner.DeclaredBy(command.Context(), options)
	if refused, is := errors.AsType[*contact.TargetError](err); is && refused.Unspoken && c.revision == "" {
		options.Revisions = newest
		offered, err = runner.DeclaredBy(command.Context(), options)
	}
	if err != nil {
		return nil, nil, c.hide(err)
	}
	found, notes := contractOf(offered)
	return reports.RedactAll(c.redactor(), found), reports.RedactAll(c.redactor(), notes), nil
}

// contractOf makes a contract of what a server declares and lists, with a line for each list that is not in it.
func contractOf(offered *runner.Declared) (found *contract.Contract, notes []string) {
	of := offered.Survey
	found = &contract.Contract{Revision: offered.Revision, Revisions: offered.Speaks}
	found.Server, _ = of.ServerInfo["name"].(string)
	if !of.Inferred {
		found.Capabilities = of.Capabilities
	}
	into := map[string]*[]map[string]any{
		"tools/list": &found.Tools, "prompts/list": &found.Prompts,
		"resources/list": &found.Resources, "resources/templates/list": &found.Templates,
	}
	for _, list := range of.Listed() {
		reason := of.Unlisted(list.Method)
		if reason == "" && slices.Contains(of.Cut, list.Method) {
			reason = list.Method + " is longer than is kept"
		}
		if reason == "" {
			*into[list.Method] = *list.Into
			continue
		}
		found.Unlisted = append(found.Unlisted, list.Method)
		notes = append(notes, reason)
	}
	return found.Normal(), notes
}

func (c *contracting) write(command *cobra.Command, arguments []string) error {
	paths, err := c.separate(command, arguments)
	if err != nil {
		return err
	}
	if err := writable("--output", c.output); err != nil {
		return err
	}
	if err := c.locate(c.output); err != nil {
		return err
	}
	place := c.places[c.output]
	var found *contract.Contract
	var notes []string
	switch {
	case len(paths) > 0 && (c.URL != "" || c.commandGiven):
		return usageError("a contract is written of a server or of transcripts, not of both")
	case len(paths) > 0:
		found, notes, err = recordedContract(paths, command.InOrStdin())
	default:
		if err := c.complete(command); err != nil {
			return err
		}
		found, notes, err = c.survey(command, "")
	}
	if err != nil {
		return err
	}
	if err := place.Write(found.Write); err != nil {
		return err
	}
	var told strings.Builder
	from := "speaks " + reports.Series(found.Revisions)
	if found.Recorded {
		from = "was recorded at " + reports.Series(found.Revisions)
	}
	_, _ = fmt.Fprintf(&told, "Wrote %s: %s, %s, %s and %s at %s, of a server that %s.\n", c.output,
		count(len(found.Tools), "tool"), count(len(found.Prompts), "prompt"), count(len(found.Resources), "resource"),
		count(len(found.Templates), "template"), found.Revision, from)
	for _, note := range notes {
		_, _ = fmt.Fprintf(&told, "Left out: %s\n", note)
	}
	_, err = io.WriteString(command.OutOrStdout(), reports.Visible(told.String()))
	return err
}

// recordedContract makes a contract of transcripts.
func recordedContract(paths []string, input io.Reader) (*contract.Contract, []string, error) {
	names, err := runner.FindTranscripts(paths)
	if err != nil {
		return nil, nil, wrongRecording(err)
	}
	recordings, err := runner.OpenRecordings(names, input)
	if err != nil {
		return nil, nil, wrongRecording(err)
	}
	offered, err := recordings.Declared()
	if err != nil {
		return nil, nil, wrongRecording(err)
	}
	found, notes := contractOf(offered)
	found.Recorded = true
	return found, notes, nil
}

func readContract(path string) (*contract.Contract, error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, usageError(
			"%s cannot be read: %s; write a contract with mcpconform contract write",
			path,
			files.Reason(err),
		)
	}
	defer func() { _ = file.Close() }() // it was only read
	found, err := contract.Read(path, file)
	if err != nil {
		return nil, usageError("%s", err)
	}
	return found, nil
}

func (c *contracting) check(command *cobra.Command, arguments []string) error {
	paths, err := c.separate(command, arguments)
	if err != nil {
		return err
	}
	path := contractFile
	switch {
	case len(paths) > 1:
		return usageError("contract check compares with one file; contract diff compares two")
	case len(paths) == 1:
		path = paths[0]
	}
	before, err := readContract(path)
	if err != nil {
		return err
	}
	if err := c.complete(command); err != nil {
		return err
	}
	if err := c.completeFiles(&c.files); err != nil {
		return err
	}
	after, notes, err := c.survey(command, before.Revision)
	if err != nil {
		return err
	}
	found := contract.Compare(before, after)
	found.Notes = append(found.Notes, notes...)
	found.Old, found.New, found.Accept = path, "the server", c.redactor().Redact(c.accept(path))
	return c.compared(found)
}

// accept is the command that writes the contract again.
func (c *contracting) accept(path string) string {
	words := []string{"mcpconform", "contract", "write"}
	if path != contractFile {
		words = append(words, "--output", path)
	}
	if c.revision != "" {
		words = append(words, "--revision", c.revision)
	}
	if c.configFile != "" {
		words = append(words, "--config", c.configFile)
	}
	return shellWords(c.naming(words))
}

func (c *contracting) diff(_ *cobra.Command, paths []string) error {
	if len(paths) != 2 {
		return usageError("contract diff needs two contracts: mcpconform contract diff OLD NEW")
	}
	before, err := readContract(paths[0])
	if err != nil {
		return err
	}
	after, err := readContract(paths[1])
	if err != nil {
		return err
	}
	if err := c.completeFiles(&c.files); err != nil {
		return err
	}
	found := contract.Compare(before, after)
	found.Old, found.New = paths[0], paths[1]
	return c.compared(found)
}

// compared writes a comparison, and prints it.
func (c *contracting) compared(found *reports.ContractDiff) error {
	found.Strict = c.strict
	if err := writeFiles(c.files.outputs(found), nil); err != nil {
		return err
	}
	if err := program.UnlessUnread(found.Terminal(stdout(), reports.TerminalOptions{
		Width: terminalWidth(os.Stdout), Color: c.color(), Verbose: c.verbose, Quiet: c.quiet,
	})); err != nil {
		return err
	}
	return exitOf("", nil, !found.Broken())
}
