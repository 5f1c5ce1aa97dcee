//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/reports"
)

// What a reply may take in these tests: ample, where the target does something
// that ends the wait, however loaded the machine; brief, where it answers most of
// what it is asked; shortWait, where all that it can do is not to answer in time, of
// which the start of a target may take several.
const (
	ample     = "60s"
	brief     = "1s"
	shortWait = "200ms"
)

// small bounds messages where their size is not the point.
const small = "1MiB"

// hostileProgram builds fixtures/hostile, once, in a directory that is removed
// when all tests are done.
var hostileProgram = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "mcpconform-hostile")
	if err != nil {
		return "", err
	}
	hostileDirectory = directory
	program := filepath.Join(directory, "hostile")
	built, err := exec.Command("go", "build", "-o", program, "../../fixtures/hostile").CombinedOutput()
	if err != nil {
		_, _ = os.Stderr.Write(built)
	}
	return program, err
})

// hostileDirectory has what was built, if anything was.
var hostileDirectory string

// putAway removes what was built. The status is 1 when something of it still
// runs: also what has escaped the harness ends with the pipes that it holds.
func putAway() (status int) {
	if hostileDirectory == "" {
		return 0
	}
	running := func() []string {
		found, _ := filepath.Glob("/proc/[0-9]*/exe")
		return slices.DeleteFunc(found, func(link string) bool {
			program, err := os.Readlink(link)
			return err != nil || !strings.HasPrefix(program, hostileDirectory)
		})
	}
	for deadline := time.Now().Add(settling); len(running()) > 0; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			fmt.Fprintln(os.Stderr, "hostile targets are left:", running())
			status = 1
			break
		}
	}
	if err := os.RemoveAll(hostileDirectory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	return status
}

func hostile(t *testing.T) string {
	t.Helper()
	program, err := hostileProgram()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// bad is the command line of a server over stdio that has a defect, always or
// at some occasion; see fixtures/hostile.
func bad(t *testing.T, defect string, when ...string) []string {
	t.Helper()
	return append([]string{"--", hostile(t), "stdio", defect}, when...)
}

// badURL starts a server over HTTP that has a defect and names its URL. It lasts
// as long as the test.
func badURL(t *testing.T, words ...string) []string {
	t.Helper()
	server := exec.Command(hostile(t), words...)
	input, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = server.Wait()
	})
	line := make([]byte, 100)
	length, err := output.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, output) }()
	return []string{"--url", strings.TrimSpace(string(line[:length]))}
}

// encounter is one hostile target, and what is to come of it.
type encounter struct {
	target string   // transport, defect and occasion; or client, transport and defect
	flags  string   // beside --timeout
	reply  string   // how long one may take
	status int      // of the run, or byDeadline
	says   []string // on either output
	passes []string // the checks that pass; others must not, unless passes is nil
}

var none = []string{}

// byDeadline is the status of a run whose deadline may come before its end, or before first
// contact, where the machine is slow: any but those of wrong usage and of the harness itself.
const byDeadline = -1

// meet runs the command line against the target.
func (e encounter) meet(t *testing.T) {
	t.Helper()
	words := strings.Fields(e.target)
	role := "server"
	var target []string
	switch words[0] {
	case "client":
		role = "client"
		target = args("--transport", words[1], "--", hostile(t), "client", words[2])
	case "issuer":
		role = "authorization-server"
		target = badURL(t, words...)
	case "stdio":
		target = bad(t, words[1], words[2:]...)
	case "http+sse":
		target = append(badURL(t, words...), "--transport", "sse")
	default:
		target = badURL(t, words...)
	}
	directory := t.TempDir()
	begun := time.Now()
	one := watch(t, directory, args(role, "--timeout", e.reply, "--json", "run.json", strings.Fields(e.flags), target)...)
	stop, done := make(chan struct{}), make(chan struct{})
	gauge := &gauge{program: os.Args[0], mark: one.mark, ours: map[int]bool{}}
	go gauge.follow(stop, done)

	ended := one.finish()

	took := time.Since(begun)
	close(stop)
	<-done
	if latest := e.latest(t); took > latest {
		t.Errorf("the run took %s, and was to be over after %s at the latest", took, latest)
	}
	t.Logf("%s\nthe harness took at most %d MiB (%d)", ended, gauge.most>>10, gauge.each)
	if e.status == byDeadline && slices.Contains([]int{exitConforms, exitDoesNot, exitUnreachable}, ended.status) {
		e.status = ended.status
	}
	ended.demand(t, e.status, e.says...)
	ended.shows(t)
	if canMeasure() && gauge.most > memoryBound { // a run of a moment may be over unseen
		t.Errorf("the harness took %d MiB, wanted at most %d", gauge.most>>10, memoryBound>>10)
	}
	if e.status == exitUnreachable {
		ended.judgesNothing(t, directory)
		return
	}
	onlyFiles(t, directory, "run.json")
	for _, result := range results(t, directory) {
		if e.passes != nil && result.Verdict == reports.Passed && result.Kind == reports.KindCheck && !contains(e.passes, result.Text) {
			t.Errorf("passes: %s\n%s", result.Text, ended)
		}
	}
}

// slack is how much longer than its deadline a run may take where tests share a slow
// machine: far less than what a run takes that its deadline does not reach.
const slack = 40 * time.Second

// latest is how long a run may take, even if the target hangs: slack more than its deadline,
// if it has one.
func (e encounter) latest(t *testing.T) time.Duration {
	t.Helper()
	words := strings.Fields(e.flags)
	at := slices.Index(words, "--deadline")
	if at < 0 {
		return testDeadline
	}
	deadline, err := time.ParseDuration(words[at+1])
	if err != nil {
		t.Fatal(err)
	}
	return deadline + slack
}

func contains(parts []string, text string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// shows fails the test when something came through that a terminal or a CI system obeys.
func (o outcome) shows(t *testing.T) {
	t.Helper()
	if text := o.stdout + o.stderr; reports.Visible(text) != text {
		t.Errorf("what the target sent reaches the terminal as it is\n%q", o)
	}
	o.commandsNothing(t)
}

// judgesNothing fails the test unless a run said in one line why there is
// nothing to judge, and its reports say the same; what stands indented below is the
// target's standard error.
func (o outcome) judgesNothing(t *testing.T, directory string) {
	t.Helper()
	onlyFiles(t, directory, "run.json")
	first, rest, _ := strings.Cut(o.stderr, "\n")
	if run := readRun(t, filepath.Join(directory, "run.json")); len(run.Cells) > 0 || len(run.Errors) != 1 ||
		!strings.HasPrefix("mcpconform: "+reports.Visible(excerpt.Words(run.Errors[0])), first) {
		t.Errorf("the report says %q of %d cells\n%s", run.Errors, len(run.Cells), o)
	}
	if o.stdout != "" || !strings.HasPrefix(first, "mcpconform: ") {
		t.Errorf("want one line on standard error and nothing else\n%s", o)
	}
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "    ") && line != "its standard error ended with:\n" {
			t.Errorf("a line more: %q\n%s", line, o)
		}
	}
}

func results(t *testing.T, directory string) []reports.Result {
	t.Helper()
	var all []reports.Result
	for _, cell := range readRun(t, filepath.Join(directory, "run.json")).Cells {
		all = append(all, cell.Results...)
	}
	return all
}

// Every defect of fixtures/hostile is met by some test; one that messages have is
// the same over either transport.
func TestEveryHostileTargetIsMet(t *testing.T) {
	t.Parallel()
	listed, err := exec.Command(hostile(t), "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for _, one := range slices.Concat(withoutHandshake, withoutHTTP, dead, odd, large, lengthy, lengthyIssuers) {
		met[strings.Fields(one.target)[1]] = true
	}
	for defect := range strings.FieldsSeq(string(listed)) {
		if !met[defect] {
			t.Errorf("no test meets %s", defect)
		}
	}
}

func meetAll(t *testing.T, encounters []encounter) {
	t.Helper()
	wholePrograms(t)
	for place, one := range encounters {
		if !chosen(place, oneHostileOf) {
			continue
		}
		t.Run(one.target, func(t *testing.T) {
			t.Parallel()
			one.meet(t)
		})
	}
}
