// Command mcpconform checks whether an implementation of the Model Context
// Protocol keeps the specification.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/program"
)

// Exit statuses.
const (
	exitConforms    = program.Conforms
	exitDoesNot     = program.DoesNot
	exitUsage       = program.Misused
	exitUnreachable = program.Unreachable
	exitHarness     = program.Failed
)

// exitError ends the program with a status.
type exitError = program.Error

func usageError(format string, arguments ...any) error {
	return program.UsageError(format, arguments...)
}

func main() { os.Exit(program.WithOwnStatus(func() int { return run(os.Args[1:]) })) }

func run(arguments []string) int {
	return program.Run(func(ctx context.Context) error { return execute(ctx, arguments) }, statusOf)
}

func statusOf(err error) int {
	var exit *exitError
	var unreachable *contact.TargetError
	var filter *plan.FilterError
	switch {
	case errors.As(err, &exit), errors.Is(err, program.ErrInterrupted):
	case errors.As(err, &unreachable):
		return exitUnreachable
	case errors.As(err, &filter):
		return exitUsage
	}
	return program.Status(err)
}
