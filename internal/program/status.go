// Package program is what each process of this program has in common: the statuses that it exits
// with, the signals that end it, how its errors are told, and how much garbage it may have.
package program

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/mcpconform/mcpconform/reports"
)

// Exit statuses.
const (
	Conforms    = 0
	DoesNot     = 1 // the target does not conform, or was not judged to the end
	Misused     = 2 // wrong usage or config
	Unreachable = 3 // the target could not be started or reached
	Failed      = 4 // the harness itself failed
)

// Error ends the program with a status; Message may be empty when everything is said.
type Error struct {
	Status  int
	Message string
}

func (e *Error) Error() string { return e.Message }

// UsageError is about a command line or a file that does not do.
func UsageError(format string, arguments ...any) error {
	return &Error{Status: Misused, Message: fmt.Sprintf(format, arguments...)}
}

// ErrInterrupted is the cause of a context that a signal cancelled: the user wants the work to
// stop, and what was done until then to be reported.
var ErrInterrupted = errors.New("interrupt")

// Status is what an error of this package ends the program with, and [Failed] for another.
func Status(err error) int {
	if exit, is := errors.AsType[*Error](err); is {
		return exit.Status
	}
	if errors.Is(err, ErrInterrupted) {
		return DoesNot
	}
	return Failed
}

// CheckURL tells what is wrong with a URL that a flag or a command names.
func CheckURL(flag, text string) error {
	parsed, err := url.Parse(text)
	text = reports.NewRedactor(reports.URLSecrets(text)...).Redact(text)
	reason, _ := errors.AsType[*url.Error](err)
	switch {
	case reason != nil:
		return UsageError("%s %q is not a URL: %s", flag, text, reason.Err)
	case err != nil:
		return UsageError("%s %q is not a URL", flag, text)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return UsageError("%s %q must begin with http:// or https://", flag, text)
	case parsed.Host == "":
		return UsageError("%s %q names no host", flag, text)
	}
	return nil
}
