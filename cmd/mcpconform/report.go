package main

import "github.com/spf13/cobra"

func newReport() *cobra.Command {
	s := &settings{}
	command := &cobra.Command{
		Use:   "report [flags] RUN.json",
		Short: "Write other reports of a run",
		Long: `Report reads a run that --json has written, and writes it as other reports. What it
prints, and its exit status, are those of the run.`,
		Example: `  mcpconform report --html run.html --since main.json run.json
  mcpconform report --badge conformance.svg -q run.json`,
		RunE: func(_ *cobra.Command, paths []string) error { return s.again(paths) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	s.addReportFlags(command.Flags(), "check")
	completes(command, map[string]values{"junit-warnings": warningValues})
	return command
}

// again tells a run that was told before.
func (s *settings) again(paths []string) error {
	if len(paths) != 1 {
		return usageError("report needs one run, as --json writes it: mcpconform report --html run.html run.json")
	}
	for _, check := range []func() error{s.completeJUnit, s.completeBaseline, s.completeOutputs} {
		if err := check(); err != nil {
			return err
		}
	}
	found, err := readRunFile(paths[0])
	if err != nil {
		return err
	}
	s.Strict = found.Strict
	if err := s.applyBaseline(found); err != nil {
		return err
	}
	return s.tell(found)
}
