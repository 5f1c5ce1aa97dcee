package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManual is the hidden subcommand that a release is packed with: it writes a man page
// for each command into DIRECTORY/man, and what completes commands in shells into
// DIRECTORY/completions. The environment variable SOURCE_DATE_EPOCH dates the pages.
func newManual() *cobra.Command {
	return &cobra.Command{
		Use:    "manual DIRECTORY",
		Short:  "Write man pages, and completions for shells",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			root := command.Root()
			root.DisableAutoGenTag = true // it would say the day
			root.InitDefaultCompletionCmd()
			if err := writeManPages(root, filepath.Join(arguments[0], "man")); err != nil {
				return err
			}
			return writeCompletions(root, filepath.Join(arguments[0], "completions"))
		},
	}
}

func writeManPages(root *cobra.Command, directory string) error {
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return err
	}
	return doc.GenManTree(root, &doc.GenManHeader{Source: "mcpconform", Manual: "mcpconform"}, directory)
}

func writeCompletions(root *cobra.Command, directory string) error {
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return err
	}
	const described = true // a shell shows what a value means
	for name, write := range map[string]func(file string) error{
		"mcpconform.bash": func(file string) error { return root.GenBashCompletionFileV2(file, described) },
		"_mcpconform":     root.GenZshCompletionFile,
		"mcpconform.fish": func(file string) error { return root.GenFishCompletionFile(file, described) },
		"mcpconform.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := write(filepath.Join(directory, name)); err != nil {
			return err
		}
	}
	return nil
}
