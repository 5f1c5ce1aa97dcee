package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, and the revisions that it checks",
		Args:  noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(command.OutOrStdout(), versionText())
			return err
		},
	}
}

// versionText is what the subcommand and the flag show.
func versionText() string {
	return fmt.Sprintf(
		"mcpconform %s (%s)\nrevisions: %s\n",
		version(),
		goVersion(),
		strings.Join(protocol.Released(), ", "),
	)
}

// version is that of the module, or of the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

func goVersion() string { return runtime.Version() }
