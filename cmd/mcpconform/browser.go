package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/browser"
)

// newBrowser is the browser that a client under test opens to let its user log in. It
// exits with 0 even after an error: a client opens another browser if one fails.
func newBrowser() *cobra.Command {
	return &cobra.Command{
		Use:                browser.Command + " URL",
		Short:              "Be the browser that a client under test opens",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := browser.Open(command.Context(), os.Getenv(browser.Variable), arguments); err != nil {
				command.PrintErrln("mcpconform browser:", err)
			}
			return nil
		},
	}
}
