package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/importer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/reports"
)

func newCheck() *cobra.Command {
	s := &settings{}
	var archive *string
	command := &cobra.Command{
		Use:   "check [flags] RECORDING...",
		Short: "Judge recorded transcripts",
		Long: `Check judges transcripts that --transcripts or mcpconform proxy has recorded, and what
other programs have: HAR 1.2 with its event streams, exports of the Inspector, JSON lines with a
message and a direction such as those of mcpsnoop, and the mcp-server-*.log of Claude Desktop. It
takes files, directories with files that end with .jsonl, .ndjson or .har, and - for standard
input, and knows a file by what it holds. A rule that needs what a recording lacks, such as the
bytes of messages or the heads of HTTP, is skipped, and the report says why. It applies the rules of a run, starts nothing and needs
no target. Each connection is judged by the revision that it negotiated; where no
message can break a rule, the rule is skipped. What only a check can provoke is not
judged: for that, run mcpconform server or client. With --revision draft those of the
newest revision are judged by the schema of a draft, as in a run.`,
		Example: `  mcpconform check transcripts
  mcpconform check --filter 'server/tools && MUST' -v transcripts/2025-11-25-http
  mcpconform check --junit report.xml session.jsonl
  mcpconform check --role server session.har
  mcpconform check --revision draft --spec specification --schema schema.json transcripts`,
		RunE: func(command *cobra.Command, paths []string) error { return s.check(command, paths, *archive) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // files and directories
		},
	}
	flags := command.Flags()
	flags.StringVar(
		&s.role,
		"role",
		"",
		"judge only the `ROLE` server or client of what was recorded between two peers",
	)
	archive = flags.String("har", "", "write what went over HTTP to `FILE` as HAR 1.2, with the events of streams")
	flags.StringVar(&s.Filter, "filter", "", "apply only the rules that match `EXPR`: "+filterHelp)
	s.addReportFlags(flags, "rule")
	flags.StringVar(&s.Revision, "revision", "", "draft; default: the `R`evision that each connection negotiated")
	s.addDraftFlags(flags)
	flags.BoolVar(&s.Strict, "strict", false, "warned and inconclusive count as failed")
	completes(command, map[string]values{
		"role":   oneOf(protocol.ServerRole, protocol.ClientRole),
		"filter": expressions(protocol.ServerRole, protocol.ClientRole), "junit-warnings": warningValues,
	})
	return command
}

func (s *settings) check(command *cobra.Command, paths []string, archive string) error {
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
	for _, complete := range []func() error{s.completeDraft, s.completeFilter, s.completeJUnit, s.completeBaseline} {
		if err := complete(); err != nil {
			return err
		}
	}
	files, err := runner.FindTranscripts(paths)
	if err != nil {
		return wrongRecording(err)
	}
	recordings, err := runner.OpenRecordings(files, command.InOrStdin())
	if err != nil {
		return wrongRecording(err)
	}
	roles, err := s.rolesOf(recordings)
	if err != nil {
		return err
	}
	targets := make([]*settings, len(roles))
	for position, role := range roles {
		if targets[position], err = s.ofRole(role, len(roles) > 1); err != nil {
			return err
		}
		if err := targets[position].completeOutputs(); err != nil {
			return err
		}
	}
	if archive != "" {
		if err := writable("--har", archive); err != nil {
			return err
		}
	}
	var worst error
	for position, of := range targets {
		found, err := recordings.Judge(command.Context(), runner.Options{
			Role:     of.role,
			Filter:   s.Filter,
			Draft:    s.draft,
			Redactor: s.redactor(),
			Tool:     reports.Tool{Name: "mcpconform", Version: version(), Go: goVersion()},
			Rerun: func(_ check.Cell, filter string) string {
				words := append([]string{"mcpconform", "check"}, s.draftWords()...)
				words = append(words, "--filter", filter, "-v")
				if len(recordings.Roles) > 1 {
					words = append(words, "--role", of.role)
				}
				return shellWords(append(words, paths...))
			},
		})
		if err != nil {
			return wrongRecording(err)
		}
		if position > 0 {
			_, _ = fmt.Fprintln(stdout()) // the report that follows fails, too
		}
		worst = worse(worst, of.report(found, nil))
	}
	if archive != "" {
		if err := s.writeArchive(archive, recordings); err != nil {
			return worse(worst, err)
		}
	}
	return worst
}

// writeArchive writes a HAR of all that went over HTTP, without secrets.
func (s *settings) writeArchive(path string, recordings *runner.Recordings) error {
	redactor, written := s.redactor(), 0
	err := reports.WriteFile(path, func(w io.Writer) error {
		writer, err := importer.NewWriter(w, version())
		if err != nil {
			return err
		}
		err = recordings.Each(func(one runner.Recorded) error {
			for position := range one.Events {
				one.Events[position] = reports.RedactAll(redactor, one.Events[position])
			}
			one.Header.Agreement = reports.RedactAll(redactor, one.Header.Agreement)
			return writer.Connection(one.Header, one.Events)
		})
		written = writer.Written()
		return cmp.Or(err, writer.Close())
	})
	if err != nil {
		return err
	}
	if written == 0 {
		return usageError("--har %s: it is empty, as nothing of these recordings went over HTTP", path)
	}
	return nil
}

// rolesOf are the roles to judge: of what was recorded between two peers, both.
func (s *settings) rolesOf(recordings *runner.Recordings) ([]string, error) {
	if s.role == "" {
		return recordings.Roles, nil
	}
	if !slices.Contains(recordings.Roles, s.role) {
		return nil, usageError("--role %s: these transcripts are of a %s", s.role, recordings.Roles[0])
	}
	return []string{s.role}, nil
}

// worse is the error with the higher exit status.
func worse(one, other error) error {
	if other == nil || one != nil && statusOf(one) >= statusOf(other) {
		return one
	}
	return other
}

// wrongRecording makes wrong usage of what is no transcript.
func wrongRecording(err error) error {
	if _, wrong := errors.AsType[*runner.RecordingError](err); wrong {
		return usageError("%s", err)
	}
	return err
}
