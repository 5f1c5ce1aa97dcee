//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memoryBound is what all processes of a run may take together, in KiB.
const memoryBound = 256 << 10

// sampling is how often memory is looked at: what is large takes longer to be
// read and judged.
const sampling = 20 * time.Millisecond

// canMeasure tells whether memory can be measured here: the race detector takes
// memory of its own.
func canMeasure() bool {
	_, err := os.Stat("/proc/self/smaps_rollup")
	return err == nil && !raceDetector
}

// gauge follows what the processes of the harness take together.
type gauge struct {
	program string       // that they all are
	mark    string       // in the environment of each
	ours    map[int]bool // by process, once that is known
	most    int          // KiB; the whole program counts while that is within the bound
	each    []int        // MiB, when it was most and out of the bound
}

// follow looks until it is stopped; pages that processes share count once.
func (g *gauge) follow(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		g.look()
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

func (g *gauge) look() {
	var ours []int
	atMost := programSize(g.program) // is all that the processes share
	for _, pid := range recent() {
		if g.harness(pid) {
			ours = append(ours, pid)
			atMost += ownOf(pid)
		}
	}
	if atMost <= memoryBound {
		g.most = max(g.most, atMost)
		return
	}
	together := 0
	var each []int
	for _, pid := range ours {
		one := proportional(pid)
		together += one
		each = append(each, one>>10)
	}
	if together > g.most {
		g.most, g.each = together, each
	}
}

// recent are the processes that there were half a sampling ago at the earliest: many tests ask at
// once, and each listing has the system prepare all of them.
func recent() []int {
	latest.Lock()
	defer latest.Unlock()
	if time.Since(latest.at) > sampling/2 {
		latest.pids, latest.at = living(), time.Now()
	}
	return latest.pids
}

var latest struct {
	sync.Mutex
	at   time.Time
	pids []int
}

// living are all processes.
func living() (pids []int) {
	directory, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := directory.Readdirnames(-1)
	_ = directory.Close()
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// harness tells whether a process is one of the run's, and no target.
func (g *gauge) harness(pid int) bool {
	if ours, known := g.ours[pid]; known {
		return ours
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(line) == 0 { // gone, not begun, or the kernel's, which has no program
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
			g.ours[pid] = false
		}
		return false
	}
	if program, _, _ := strings.Cut(string(line), "\x00"); program != g.program {
		g.ours[pid] = false
		return false
	}
	if parent, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", parentOf(pid))); bytes.Equal(parent, line) {
		return false // on its way to another program, until when it has the memory of its parent
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(environment) == 0 {
		return false
	}
	g.ours[pid] = bytes.Contains(environment, []byte(g.mark))
	return g.ours[pid]
}

// parentOf is the process that started another; 0 when that is gone.
func parentOf(pid int) (parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	var state string
	_, _ = fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent)
	return parent
}

// programSize is the size of a program, in KiB.
func programSize(program string) int {
	file, err := os.Stat(program)
	if err != nil {
		panic(err)
	}
	return int(file.Size() >> 10)
}

// ownOf is the memory of a process that is no part of a file, in KiB. It is known at once,
// where its share of common pages takes the system a walk through all of them.
func ownOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident, shared int
	_, _ = fmt.Sscan(string(text), &size, &resident, &shared)
	return (resident - shared) * (os.Getpagesize() >> 10)
}

// proportional is the memory of a process, in KiB, its share of common pages
// included.
func proportional(pid int) (kilobytes int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nPss:")
	_, _ = fmt.Sscan(rest, &kilobytes)
	return kilobytes
}
