package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/early"
)

// newVersion is for its help: where nothing more is asked for, the package early has answered.
func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, and the revisions that it checks",
		Args:  noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(command.OutOrStdout(), early.VersionText())
			return err
		},
	}
}

// version is that of this program.
func version() string { return early.Version() }

func goVersion() string { return runtime.Version() }
