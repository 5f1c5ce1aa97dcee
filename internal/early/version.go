package early

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Version is that of the module, or of the commit that this program was built from.
func Version() string {
	info, known := debug.ReadBuildInfo()
	if !known || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// VersionText is what the flag and the subcommand show: the version, and the revisions that it
// checks.
func VersionText() string {
	return fmt.Sprintf(
		"mcpconform %s (%s)\nrevisions: %s\n",
		Version(),
		runtime.Version(),
		strings.Join(protocol.Released(), ", "),
	)
}

// tellVersion is this program where it is only asked for that.
func tellVersion([]string) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that is gone is not a failure
	if _, err := os.Stdout.WriteString(VersionText()); err != nil && !errors.Is(err, syscall.EPIPE) {
		complain(err)
		return failed
	}
	return 0
}
