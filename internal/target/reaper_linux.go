package target

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ReaperVariable names the mark of what a reaper is there for.
const ReaperVariable = "MCPCONFORM_REAPER"

const (
	// reaperPatience is how long processes of this program, which put away what they
	// started, have for that when their parent is killed.
	reaperPatience = 2 * time.Second
	// reaperPause is how often the reaper looks whether they are done.
	reaperPause = 20 * time.Millisecond
	// releaseTimeout bounds the wait for a reaper that has nothing to do.
	releaseTimeout = time.Second
)

// Guard starts a reaper, which is this program with other arguments: when this
// process is killed, it kills all that Start has started here or in descendants of
// it, and what these have started. It must be called before Start, and by one
// process of a run: the one that others descend from. Without the reaper everything
// works but that.
//
// One for all costs the start of one process: one for each target would cost that of
// a hundred in a run.
func Guard(arguments []string) (release func(), err error) {
	ours := os.Getenv(Mark) + "/" + rand.Text()
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // the reaper has its own copy
	reaper := &exec.Cmd{
		Path: arguments[0], Args: arguments, Dir: "/", Stdin: reader,
		Env: append(os.Environ(), ReaperVariable+"="+Mark+"="+ours+"/"),
		// A group of its own: a terminal sends its signals to all of one.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := reaper.Start(); err != nil {
		_ = writer.Close() // nobody reads it
		return nil, fmt.Errorf("starting the reaper: %w", err)
	}
	if err := os.Setenv(Mark, ours); err != nil {
		return nil, err
	}
	return func() {
		_, _ = writer.Write([]byte{0}) // which says that all is well
		_ = writer.Close()
		late := time.AfterFunc(releaseTimeout, func() { _ = reaper.Process.Kill() })
		_ = reaper.Wait()
		late.Stop()
	}, nil
}

// Reap is the life of a reaper: it waits until the input ends, or brings a byte, which
// is what it does when there is nothing to do.
func Reap(in io.Reader) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	mark := os.Getenv(ReaperVariable)
	if mark == "" {
		return
	}
	if count, _ := in.Read(make([]byte, 1)); count > 0 {
		return
	}
	for deadline := time.Now().Add(reaperPatience); reapOthers(mark) && time.Now().Before(deadline); {
		time.Sleep(reaperPause) //nolint:forbidigo // nothing tells of the end of processes that are not its children
	}
	killMarked(mark, func(int) bool { return true })
}

// reapOthers kills marked processes of other programs. It reports whether there are
// some of this one.
func reapOthers(mark string) (left bool) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return false
	}
	killMarked(mark, func(pid int) bool {
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		left = left || err == nil && program == self
		return err == nil && program != self
	})
	return left
}

// killMarked kills those of the processes with a mark that are chosen, as often as
// new ones come.
func killMarked(mark string, chosen func(pid int) bool) {
	for range strayRounds {
		found := false
		paths, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
		for _, path := range paths {
			pid, err := strconv.Atoi(strings.TrimPrefix(path, "/proc/"))
			if err == nil && hasMark(pid, mark) && chosen(pid) {
				found = killOne(pid, noLeader, mark) || found
			}
		}
		if !found {
			return
		}
	}
}

// noLeader is the id of no process.
const noLeader = -1
