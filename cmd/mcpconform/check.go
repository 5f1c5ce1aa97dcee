package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/reports"
)

func newCheck() *cobra.Command {
	s := &settings{}
	command := &cobra.Command{
		Use:   "check [flags] TRANSCRIPT...",
		Short: "Judge recorded transcripts",
		Long: `Check judges transcripts that --transcripts has recorded: files, or directories with
files that end with .jsonl. It applies the rules of a run, starts nothing and needs
no target. Each connection is judged by the revision that it negotiated; where no
message can break a rule, the rule is skipped. What only a check can provoke is not
judged: for that, run mcpconform server or client. With --revision draft those of the
newest revision are judged by the schema of a draft, as in a run.`,
		Example: `  mcpconform check transcripts
  mcpconform check --filter 'server/tools && MUST' -v transcripts/2025-11-25-http
  mcpconform check --junit report.xml session.jsonl
  mcpconform check --revision draft --spec specification --schema schema.json transcripts`,
		RunE: s.check,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // files and directories
		},
	}
	flags := command.Flags()
	flags.StringVar(&s.Filter, "filter", "", "apply only the rules that match `EXPR`: "+filterHelp)
	s.addReportFlags(flags, "rule")
	flags.StringVar(&s.Revision, "revision", "", "draft; default: the `R`evision that each connection negotiated")
	s.addDraftFlags(flags)
	flags.BoolVar(&s.Strict, "strict", false, "warned and inconclusive count as failed")
	completes(command, map[string]values{
		"filter": expressions(protocol.ServerRole, protocol.ClientRole), "junit-warnings": warningValues,
	})
	return command
}

func (s *settings) check(command *cobra.Command, paths []string) error {
	if len(paths) == 0 {
		return usageError(
			"check needs transcripts, files or directories: mcpconform check transcripts; mcpconform server --transcripts transcripts records some",
		)
	}
	if s.Revision != "" && s.Revision != catalogue.Draft {
		return usageError(
			"--revision of check is draft alone: each connection is judged by the revision that it negotiated",
		)
	}
	for _, complete := range []func() error{s.completeDraft, s.completeFilter, s.completeJUnit, s.completeBaseline, s.completeOutputs} {
		if err := complete(); err != nil {
			return err
		}
	}
	files, err := runner.FindTranscripts(paths)
	if err != nil {
		return wrongRecording(err)
	}
	found, err := runner.Recorded(command.Context(), runner.Options{
		Filter:   s.Filter,
		Draft:    s.draft,
		Redactor: s.redactor(),
		Tool:     reports.Tool{Name: "mcpconform", Version: version(), Go: goVersion()},
		Rerun: func(_ check.Cell, filter string) string {
			words := append([]string{"mcpconform", "check"}, s.draftWords()...)
			return shellWords(append(append(words, "--filter", filter, "-v"), paths...))
		},
	}, files)
	if err != nil {
		return wrongRecording(err)
	}
	return s.report(found, nil)
}

// wrongRecording makes wrong usage of what is no transcript.
func wrongRecording(err error) error {
	if _, wrong := errors.AsType[*runner.RecordingError](err); wrong {
		return usageError("%s", err)
	}
	return err
}
