package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/reports"
)

func newDiff() *cobra.Command {
	s := &settings{}
	var markdown, page string
	command := &cobra.Command{
		Use:   "diff [flags] OLD.json NEW.json",
		Short: "Compare two runs",
		Long: `Diff compares two runs of a target, as --json writes them: what newly fails,
what was fixed, and which checks are new or gone. A known deviation counts as
broken in both.

Exit status: 0 nothing is worse, 1 something fails that did not before, 2 wrong usage.`,
		Example: `  mcpconform diff main.json run.json
  mcpconform diff --markdown diff.md main.json run.json
  mcpconform diff --html diff.html main.json run.json`,
		RunE: func(_ *cobra.Command, paths []string) error { return s.diff(paths, markdown, page) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := command.Flags()
	flags.StringVar(&markdown, "markdown", "", "write the changes as Markdown to `FILE`")
	flags.StringVar(&page, "html", "", "write the newer run as a page for browsers, with what has changed, to `FILE`")
	flags.BoolVarP(&s.verbose, "verbose", "v", false, "show more of each exchange")
	flags.BoolVarP(&s.quiet, "quiet", "q", false, "show only the conclusion")
	flags.BoolVar(&s.noColor, "no-color", false, "no colours (also: NO_COLOR in the environment)")
	return command
}

func (s *settings) diff(paths []string, markdown, page string) error {
	if len(paths) != 2 {
		return usageError("diff needs two runs, as --json writes them: mcpconform diff OLD.json NEW.json")
	}
	before, err := readRunFile(paths[0])
	if err != nil {
		return err
	}
	after, err := readRunFile(paths[1])
	if err != nil {
		return err
	}
	if was, is := before.Target.Role, after.Target.Role; was != is {
		return usageError("%s is the run of a %s and %s that of a %s", paths[0], was, paths[1], is)
	}
	found := reports.Compare(before, after)
	outputs := []output{
		{
			flag:  "--markdown",
			path:  markdown,
			write: func(_ *reports.Run, w io.Writer) error { return found.Markdown(w) },
		},
		{flag: "--html", path: page, write: func(run *reports.Run, w io.Writer) error {
			return run.HTML(w, reports.HTMLOptions{Since: before})
		}},
	}
	if err := allWritable(outputs); err != nil {
		return err
	}
	if err := writeFiles(outputs, after); err != nil {
		return err
	}
	if err := program.UnlessUnread(found.Terminal(stdout(), reports.TerminalOptions{
		Width: terminalWidth(os.Stdout), Color: s.color(), Verbose: s.verbose, Quiet: s.quiet,
	})); err != nil {
		return err
	}
	return exitOf("", nil, !found.Worse())
}
