package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// strayRounds bounds the search for descendants that fork while they are
	// being killed; a fork bomb is the kernel's to stop.
	strayRounds = 10
	// strayWait bounds the wait for one killed descendant.
	strayWait = time.Second
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
// It returns when they are gone, with the number of the latter.
func killStrays(leader int, mark string, started time.Time) int {
	strays := 0
	for range strayRounds {
		found := false
		for _, pid := range candidates(leader, started) {
			member, marked := belongs(pid, leader, mark)
			if !member && !marked {
				continue
			}
			if !killOne(pid, leader, mark) {
				continue
			}
			found = true
			if !member {
				strays++
			}
		}
		if !found {
			break
		}
	}
	return strays
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

// killOne kills one process and waits for its end. The process is looked at
// again through a handle, since its id may have passed to another.
func killOne(pid, leader int, mark string) bool {
	handle, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) {
		return unix.Kill(pid, unix.SIGKILL) == nil
	}
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(handle) }()
	if member, marked := belongs(pid, leader, mark); !member && !marked {
		return false
	}
	if unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0) != nil {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}} //nolint:gosec // a descriptor fits
	deadline := time.Now().Add(strayWait)
	for {
		_, err := unix.Poll(poll, int(time.Until(deadline).Milliseconds())+1)
		if !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
			return true
		}
	}
}
