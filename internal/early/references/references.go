// Package references is this program as a reference server or client, which runs and tests start
// many of: it begins and ends while packages are initialized, as package early says, before those
// of the checks and most of their libraries.
package references

import (
	"context"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/references"
)

func init() { //nolint:gochecknoinits // a call from main would come after all packages
	if len(os.Args) < 3 || os.Args[1] != "reference" {
		return
	}
	if run := command(os.Args[2], os.Args[3:]); run != nil {
		status := program.WithOwnStatus(func() int { return program.Run(run, program.Status) })
		os.Exit(status) //nolint:forbidigo // it is this command
	}
}

// command is what a reference does; nil where its flags are not plain, as when help is asked for:
// main knows more of them.
func command(name string, arguments []string) func(context.Context) error {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	switch name {
	case "server":
		server := &references.Server{}
		server.Add(flags)
		if flags.Parse(arguments) != nil || flags.NArg() > 0 {
			return nil
		}
		return func(ctx context.Context) error { return server.Run(ctx, program.Stdout()) }
	case "client":
		client := &references.Client{}
		client.Add(flags)
		if flags.Parse(arguments) != nil {
			return nil
		}
		return func(ctx context.Context) error { return client.Run(ctx, flags.Args(), program.Stdout()) }
	}
	return nil
}
