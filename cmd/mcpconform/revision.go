package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/nextrevision"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

func newRevision() *cobra.Command {
	command := &cobra.Command{
		Use:   "revision",
		Short: "Begin a new revision, in a checkout of mcpconform",
		Args:  noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return usageError("mcpconform %s --help shows what there is", command.Name())
		},
	}
	command.AddCommand(newRevisionNew())
	return command
}

func newRevisionNew() *cobra.Command {
	var from, directory string
	command := &cobra.Command{
		Use:   "new [flags] DATE",
		Short: "Write what a new revision needs, as a copy of the newest one",
		Long: `New writes into a checkout of mcpconform what a new revision needs: its date, the
spans of its features, its schema and its place in the reference, all as those of the
newest revision. Then tests fail until people have filled in what the revision has
changed: new says which, and where.`,
		Example: "  mcpconform revision new 2027-01-15 --from " + protocol.Newest(),
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usageError("new takes one date: mcpconform revision new 2027-01-15 --from %s", protocol.Newest())
			}
			written, err := nextrevision.Write(directory, arguments[0], from)
			if err != nil {
				return usageError("%s", err)
			}
			return tellRevision(command.OutOrStdout(), arguments[0], from, written)
		},
	}
	command.Flags().
		StringVar(&from, "from", protocol.Newest(), "the newest `REVISION` of the checkout, which is copied")
	command.Flags().StringVar(&directory, "dir", ".", "the checkout is in `DIR`")
	return command
}

// tellRevision says what was written, and what people have to do then.
func tellRevision(w io.Writer, date, from string, written []string) error {
	_, err := fmt.Fprintf(w, `Written, as at %[2]s:
  %[3]s

Next:
  1. internal/protocol/protocol_test.go: an x or a - for each ?, as the specification has it;
     internal/protocol/feature.go: the spans of what %[1]s ends, and the features that it
     begins. Until then TestFeaturesOfReleases fails, and tests of internal/nextrevision do.
  2. schema/%[1]s.json: what the published schema has changed. With MCP_SCHEMA_DIR
     TestAgreesWithPublished compares them; then
     go test ./schema -run TestPublishedFingerprints -update
  3. suites/**/requirements.yaml, checks and faults: what
     go run ./cmd/mcpconform trace --spec DIR --since %[2]s --to %[1]s
     tells. What no key "until" ends goes on standing. TestSinceOfTheReleases counts the sentences
     of MCP_SPEC_DIR.
  4. reference/server, reference/client: what they do at %[1]s, and docs/steps.schema.json: that a
     client can be told to begin with it. Until then go test ./reference/... fails.
  5. go run ./cmd/mcpconform requirements freeze %[1]s --dir fixtures/requirements
  6. README.md, docs and CHANGELOG.md name the revision: go test ./docs ./cmd/mcpconform
`, date, from, strings.Join(written, "\n  "))
	return err
}
