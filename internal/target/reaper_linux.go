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
	// reaperTime bounds how long the reaper tries to end what a run has left.
	reaperTime = 30 * time.Second
	// releaseTimeout bounds how long a run waits for that; the reaper goes on alone.
	releaseTimeout = 2 * time.Second
)

// Guard starts a reaper, which is a program that calls Reap when its argument is
// [ReaperCommand]: when this process is killed, it kills all that Start has started here
// or in descendants of it, and what these have started. It must be called before Start,
// and by one process of a run: the one that others descend from. Without the reaper
// everything works but that.
//
// At the end of a run, too, the reaper ends what is left, and stays until nothing is: it
// writes to the standard error of this process what it could not end.
//
// One for all costs the start of one process: one for each target would cost that of
// a hundred in a run.
func Guard(program string) (release func(), err error) {
	ours := os.Getenv(Mark) + "/" + rand.Text()
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // the reaper has its own copy
	reaper := &exec.Cmd{
		Path: program, Args: []string{program, ReaperCommand}, Dir: "/", Stdin: reader, Stderr: os.Stderr,
		Env: append(os.Environ(), ReaperVariable+"="+Mark+"="+ours+"/"),
		// A group of its own: a terminal sends its signals to all of one.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := reaper.Start(); err != nil {
		_ = writer.Close() // the reaper that would read it did not start
		return nil, fmt.Errorf("starting the reaper: %w", err)
	}
	if err := os.Setenv(Mark, ours); err != nil {
		return nil, err
	}
	return func() {
		_, _ = writer.Write([]byte{0}) // which says that this process comes to its end by itself
		_ = writer.Close()
		over := make(chan struct{})
		go func() {
			defer close(over)
			_ = reaper.Wait()
		}()
		late := time.NewTimer(releaseTimeout)
		defer late.Stop()
		select {
		case <-over:
		case <-late.C:
		}
	}, nil
}

// Reap is the life of a reaper: it waits until the input ends, or brings a byte, when the
// run came to its end by itself. It returns what of the run it could not end, in words.
func Reap(in io.Reader) (left []string) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	mark := os.Getenv(ReaperVariable)
	if mark == "" {
		return nil
	}
	count, _ := in.Read(make([]byte, 1))
	if killed := count == 0; killed {
		for deadline := time.Now().Add(reaperPatience); reapOthers(mark) && time.Now().Before(deadline); {
			time.Sleep(reaperPause) //nolint:forbidigo // nothing tells of the end of others' children
		}
	}
	all := func(int) bool { return true }
	killAll(reaperTime, noLeader, mark, func() []int { return marked(mark, all) })
	for _, pid := range marked(mark, all) {
		left = append(left, fmt.Sprintf("%d (%s)", pid, nameOf(pid)))
	}
	return left
}

// nameOf is the name of a process.
func nameOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "gone by now"
	}
	return strings.TrimSpace(string(text))
}

// reapOthers kills marked processes of other programs. It reports whether there are
// some of this one.
func reapOthers(mark string) (left bool) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return false
	}
	killAll(reaperPatience, noLeader, mark, func() []int {
		return marked(mark, func(pid int) bool {
			program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			left = left || err == nil && program == self
			return err == nil && program != self
		})
	})
	return left
}

// marked lists those of the living processes with a mark that are chosen, but not this
// one, which knows the mark by another variable.
func marked(mark string, chosen func(pid int) bool) (found []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, path := range paths {
		pid, err := strconv.Atoi(strings.TrimPrefix(path, "/proc/"))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if _, has := belongs(pid, noLeader, mark); has && chosen(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// noLeader is the id of no process.
const noLeader = -1
