// Package early is this program as a relay or a reaper, or where it only tells its version. A run
// starts many of the former, which live for a moment or only wait: what other packages prepare
// when a process starts, those of the checks and their libraries, would be most of what they cost.
// Where this package is imported,
// such a process begins and ends while packages are initialized, before most of those that it
// does not need: Go takes them in the order of their import paths, as far as they do not depend
// on each other (Go specification, "Program initialization"). In another order it would do the
// same.
package early

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/relay"
	"github.com/mcpconform/mcpconform/internal/target"
)

// Exit statuses.
const (
	misused = 2
	failed  = 4 // the harness itself failed
)

// commands are the first arguments by which this program is started so. They return the exit
// status.
var commands = map[string]func(arguments []string) int{
	relay.Command:        serve,
	target.ReaperCommand: reap,
}

func init() { //nolint:gochecknoinits // a call from main would come after all packages
	if len(os.Args) < 2 {
		return
	}
	run, there := commands[os.Args[1]]
	if len(os.Args) == 2 && (os.Args[1] == "version" || os.Args[1] == "--version") {
		run, there = tellVersion, true
	}
	if there {
		debug.SetTraceback("crash") // status 2 means wrong usage
		os.Exit(run(os.Args[2:]))   //nolint:forbidigo // it is this command
	}
}

// serve is the server that a client under test spawns: it says what the harness that started
// the client has it say.
func serve(arguments []string) int {
	if len(arguments) != 1 {
		complain(fmt.Errorf("%s takes the path of a socket", relay.Command))
		return misused
	}
	taken := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	signals := make(chan os.Signal, len(taken))
	signal.Notify(signals, taken...)
	// A closed pipe is an error of a write, and not the end of this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	status, err := relay.Run(context.Background(), arguments[0], os.Stdin, os.Stdout, os.Stderr, signals)
	if err != nil {
		complain(err)
		return failed
	}
	return status
}

// reap ends what a run leaves that is killed.
func reap([]string) int {
	left := target.Reap(os.Stdin)
	if len(left) == 0 {
		return 0
	}
	const most = 8
	count, text := len(left), "%d processes that the target has started could not be ended"
	if count == 1 {
		text = "%d process that the target has started could not be ended"
	}
	if count > most {
		left = append(left[:most:most], "…")
	}
	complain(fmt.Errorf(text+"; end them yourself: %s", count, strings.Join(left, ", ")))
	return 0
}

// complain writes an error to standard error, with everything escaped that could disturb a
// terminal.
func complain(err error) {
	text := strconv.QuoteToGraphic(excerpt.Words(err.Error()))
	unquoted := strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(text[1 : len(text)-1])
	_, _ = fmt.Fprintln(os.Stderr, "mcpconform: "+unquoted)
}
