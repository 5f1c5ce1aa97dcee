package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// strayTime bounds the search for descendants that fork while they are being killed;
	// what is left then, the reaper goes on with.
	strayTime = 3 * time.Second
	// strayWait bounds the wait for killed descendants before they are searched for again.
	strayWait = time.Second
	// maxHandles bounds how many processes are held at once: each takes a descriptor.
	maxHandles = 256
	// environmentSize is the most that Linux takes by default.
	environmentSize = 2 << 20
	// longLife is how long process ids are trusted to grow only: at a thousand
	// forks a second, the smallest pid_max in use lasts half of it.
	longLife = 15 * time.Second
)

// endWithParent has a process killed when this one is killed. The kernel does so
// at the end of the thread that started it; threads of Go last as long as the
// process, unless a goroutine ends that is locked to one, and none is.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }

// awaitExit waits until a child has exited and leaves it to be reaped, so that
// its id stays its own meanwhile. It reports whether the system can do that.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// killStrays kills what the leader, which has exited, left behind: members of
// its group that are still dying, and processes elsewhere that carry its mark.
// It returns when they are gone, or the time for that is over, with the number of the
// latter.
func killStrays(leader int, mark string, started time.Time) int {
	strays := map[int]bool{}
	killAll(strayTime, leader, mark, func() []int {
		var found []int
		for _, pid := range candidates(leader, started) {
			member, marked := belongs(pid, leader, mark)
			if member || marked {
				found = append(found, pid)
			}
			if !member && marked {
				strays[pid] = true
			}
		}
		return found
	})
	return len(strays)
}

// killAll kills what a search finds, until it finds nothing more or the time is over. All
// are sent the signal before any is waited for: they die side by side, and those that
// fork meanwhile are found by the next search.
func killAll(most time.Duration, leader int, mark string, find func() []int) {
	inVain := 0 // searches of which no process could be killed, or all have just gone
	for deadline := time.Now().Add(most); inVain < 2 && time.Now().Before(deadline); {
		found := find()
		if len(found) == 0 {
			return
		}
		inVain++
		for some := range slices.Chunk(found, maxHandles) {
			if killSome(some, leader, mark) {
				inVain = 0
			}
		}
	}
}

// candidates lists the processes that may descend from the leader. Ids grow
// until they wrap around, so those below its own are left out if they can be.
func candidates(leader int, started time.Time) []int {
	directory, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, err := directory.Readdirnames(-1)
	_ = directory.Close() // only read
	if err != nil {
		return nil
	}
	all := time.Since(started) > longLife || newestProcess() < leader
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err == nil && pid != leader && (all || pid > leader) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// newestProcess returns the process id given last, or 0.
func newestProcess() int {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) == 0 {
		return 0
	}
	pid, err := strconv.Atoi(string(fields[len(fields)-1]))
	if err != nil {
		return 0
	}
	return pid
}

// belongs tells whether a living process is a member of the leader's group,
// or else carries its mark.
func belongs(pid, leader int, mark string) (member, marked bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false, false
	}
	// pid (name) state ppid pgrp …: the name may contain anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 3 || bytes.ContainsAny(fields[0], "ZX") {
		return false, false
	}
	if string(fields[2]) == strconv.Itoa(leader) {
		return true, false
	}
	return false, hasMark(pid, mark)
}

func hasMark(pid int, mark string) bool {
	file, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	environment, err := io.ReadAll(io.LimitReader(file, environmentSize))
	_ = file.Close() // only read
	return err == nil && bytes.Contains(environment, []byte(mark))
}

// killSome kills some processes and waits for their ends, for a while. It reports whether
// any could be sent the signal. Each is looked at again through a handle, since its id may
// have passed to another.
func killSome(pids []int, leader int, mark string) (sent bool) {
	var dying []unix.PollFd
	for _, pid := range pids {
		handle, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ENOSYS) {
			sent = unix.Kill(pid, unix.SIGKILL) == nil || sent
			continue
		}
		if err != nil {
			continue
		}
		if member, marked := belongs(pid, leader, mark); !member && !marked ||
			unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0) != nil {
			_ = unix.Close(handle)
			continue
		}
		dying = append(dying, unix.PollFd{Fd: int32(handle), Events: unix.POLLIN}) //nolint:gosec // a descriptor fits
	}
	sent = sent || len(dying) > 0
	for deadline := time.Now().Add(strayWait); len(dying) > 0 && time.Now().Before(deadline); {
		_, _ = unix.Poll(dying, int(time.Until(deadline).Milliseconds())+1) // an interrupted one is repeated
		dying = slices.DeleteFunc(dying, func(one unix.PollFd) bool {
			return one.Revents != 0 && unix.Close(int(one.Fd)) == nil
		})
	}
	for _, left := range dying {
		_ = unix.Close(int(left.Fd)) // the next search finds it again
	}
	return sent
}
