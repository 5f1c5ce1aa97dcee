// Package target starts, watches and ends the process under test. Even if the process hangs,
// floods, forks or ignores signals, every wait here is bounded and nothing that it started is
// meant to outlive it.
//
// On Unix the process leads a process group of its own, which is killed when
// the leader has exited. On Linux descendants that left the group (setsid) are
// found by a variable in their environment and killed too. What escapes is a
// descendant that left the group and also cleared its environment or changed
// its user; elsewhere than on Linux, one that left the group; on Windows, any
// child of the process.
//
// Where this process itself is killed, on Linux a reaper does the same (Guard).
// Elsewhere processes that are Orderly end what they have started, and what others
// have started lives until it notices that its input has ended.
package target

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mark is the environment variable that tells the descendants of one process
// from everything else that runs on the machine. A value begins with that of
// the process which started this one, so that a process which is killed is
// known for the ancestor of what it leaves behind.
const Mark = "MCPCONFORM_TARGET"

// ReaperCommand is the argument by which a program is a reaper.
const ReaperCommand = "reaper"

// outputGrace bounds the wait for output that is still on its way when the
// process has exited. Only a descendant that escaped can hold a pipe open by
// then, and what was written before the exit is in the pipe already.
const outputGrace = 500 * time.Millisecond

// ErrHeldOpen is what reading standard output ends with when the process has
// exited and a descendant that escaped keeps the pipe open.
var ErrHeldOpen = errors.New("the process exited, but something that it started keeps its standard output open")

// Command says what to start.
type Command struct {
	Args []string // the program and its arguments
	// Program runs within this process in place of Args, which then only name it; Env and Dir mean
	// nothing to it. It takes much less to start than a process of the system. nil for none.
	Program Program  `json:"-"`
	Env     []string // KEY=VALUE, added to the environment of this process
	Dir     string   // working directory; empty for the current one
	// Stderr is given standard error as it comes; it may be nil. It must not block for long: a
	// wait for the end of the process waits for it, too.
	Stderr io.Writer
	// Last is called when the process itself has exited, and what it started is about to be
	// killed. It must not take long, and may be nil.
	Last func() `json:"-"`
	// Orderly says that the process ends by itself when its input does, and has
	// things to put away: where the system can end others with a process that is
	// killed, it leaves this one alone.
	Orderly bool
}

// Process is a started process. Its methods may be called from any goroutine.
type Process struct {
	// Stdin writes to the process. A write blocks while the process does not
	// read; it has a deadline (SetWriteDeadline) where the system offers one.
	Stdin *os.File
	// Stdout reads from the process until io.EOF, or ErrHeldOpen.
	Stdout io.ReadCloser

	leader leader
	name   string
	last   func()
	stderr *stderr
	stdout *output
	exited chan struct{} // the leader is gone; output may remain
	done   chan struct{}

	mu          sync.Mutex
	reaped      bool // its process id may belong to another by now
	over        bool // the watchers are told of the exit
	exit        Exit
	strays      int
	ending      Step
	inputClosed bool // by this package
	watchers    []Watcher
}

// Watcher is told what happens to a process. Functions that are nil are not
// called; the others must not block and may be called from several goroutines.
type Watcher struct {
	// Stderr is told each line of standard error without its newline; a line
	// longer than 8 KiB comes in pieces. The slice must not be kept.
	Stderr func(line []byte)
	// InputClosed is told that this package closed its standard input.
	InputClosed func()
	// Signal is told, by its name, which signal this package sent to it.
	Signal func(name string)
	// Exit is told how the process ended, after its last line of standard error.
	Exit func(exit Exit)
}

// Start starts a command in a process group of its own. An error says in words
// for people what is wrong with the command; see ErrNotFound and its siblings.
// The process must be ended with Shutdown or Kill, and Close.
func Start(command Command) (*Process, error) {
	var pipes pipes
	stdinChild, stdin := pipes.open()
	stdout, stdoutChild := pipes.open()
	stderrFile, stderrChild := pipes.open()
	if pipes.err != nil {
		pipes.close()
		return nil, pipes.err
	}
	leader, err := lead(command, streams{stdinChild, stdoutChild, stderrChild})
	if err != nil {
		pipes.close()
		return nil, err
	}

	p := &Process{
		Stdin:  stdin,
		leader: leader,
		name:   strings.Join(command.Args, " "),
		last:   command.Last,
		stderr: newStderr(stderrFile, command.Stderr),
		exited: make(chan struct{}),
		done:   make(chan struct{}),
		ending: Exited,
	}
	p.stdout = &output{file: stdout, exited: p.exited}
	p.Stdout = p.stdout
	go p.stderr.read()
	go p.wait()
	return p, nil
}

// inherited is what a process is told of the environment of this one: all but where the files
// are in which a step of a workflow of GitHub says what later steps find in their environment
// and path, or in its outputs and summary.
func inherited(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(commandFiles(), name)
	})
}

// commandFiles are the variables that name those files.
func commandFiles() []string {
	return []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"}
}

// wait sees the process out: the leader, its group, descendants that left the
// group, and the rest of standard error.
func (p *Process) wait() {
	p.reap()
	strays := p.leader.killStrays()

	p.mu.Lock()
	p.strays = strays
	p.mu.Unlock()
	close(p.exited)
	p.stdout.limit()
	p.stderr.finish(outputGrace)

	p.mu.Lock()
	watchers, exit := p.watchers, p.exit
	p.over = true
	p.mu.Unlock()
	for _, watcher := range watchers {
		if watcher.Exit != nil {
			watcher.Exit(exit)
		}
	}
	close(p.done)
}

// reap kills the group and reaps its leader.
func (p *Process) reap() {
	p.leader.await()
	if p.last != nil {
		p.last()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exit = p.leader.reap()
	p.reaped = true
}

// Watch tells a watcher what happens from now on, and first what is known:
// the end of standard error that is kept, and the exit.
func (p *Process) Watch(watcher Watcher) {
	if watcher.Stderr != nil {
		p.stderr.follow(watcher.Stderr)
	}
	p.mu.Lock()
	p.watchers = append(p.watchers, watcher)
	exit, over := p.exit, p.over
	p.mu.Unlock()
	if over && watcher.Exit != nil {
		watcher.Exit(exit)
	}
}

func (p *Process) tell(what func(Watcher)) {
	p.mu.Lock()
	watchers := p.watchers
	p.mu.Unlock()
	for _, watcher := range watchers {
		what(watcher)
	}
}

// PID is the process id of the leader, which is also the id of its group; that of this process
// where a Program runs within it.
func (p *Process) PID() int { return p.leader.pid() }

// String returns the command line.
func (p *Process) String() string { return p.name }

// Done is closed when the process has exited, its group is killed, its standard
// error is read and the watchers are told. Standard output may still hold bytes to read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit tells how the process ended. It is zero before Done is closed.
func (p *Process) Exit() Exit {
	if !isClosed(p.done) {
		return Exit{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// Stderr returns the end of standard error (at most 64 KiB) and how many bytes
// there were in all.
func (p *Process) Stderr() (tail []byte, total int64) { return p.stderr.tail() }

// Close kills the process if it still runs and closes this end of its pipes;
// output not read by then is lost. Only Close frees what a Process holds.
func (p *Process) Close() error {
	err := p.Kill()
	_ = p.Stdin.Close() // may be closed already
	_ = p.stdout.Close()
	p.stderr.close()
	return err
}

// output is standard output, whose end does not depend on descendants that
// keep the pipe open.
type output struct {
	file   *os.File
	exited <-chan struct{}
}

func (o *output) Read(buffer []byte) (int, error) {
	if isClosed(o.exited) {
		o.limit()
	}
	n, err := o.file.Read(buffer)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, ErrHeldOpen
	case errors.Is(err, os.ErrClosed):
		return n, io.EOF
	}
	return n, err
}

func (o *output) Close() error { return o.file.Close() }

// limit gives the next read, or the one that is under way, its last chance.
func (o *output) limit() { limitRead(o.file, outputGrace) }

// limitRead makes a read of a pipe end after a while, also where the system
// has no deadlines for pipes.
func limitRead(file *os.File, grace time.Duration) {
	if err := file.SetReadDeadline(time.Now().Add(grace)); errors.Is(err, os.ErrNoDeadline) {
		time.AfterFunc(grace, func() { _ = file.Close() })
	}
}

// pipes opens pipes until one fails.
type pipes struct {
	files []*os.File
	err   error
}

func (p *pipes) open() (reader, writer *os.File) {
	if p.err != nil {
		return nil, nil
	}
	reader, writer, p.err = os.Pipe()
	if p.err == nil {
		p.files = append(p.files, reader, writer)
	}
	return reader, writer
}

func (p *pipes) close() {
	for _, file := range p.files {
		_ = file.Close() // nothing was written
	}
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// Bounds of standard error, which a process may write without end.
const (
	keptStderr     = 64 << 10 // enough for the stack trace that says why it died
	longStderrLine = 8 << 10  // a longer line is delivered in pieces
)

// stderr reads standard error, always, so that the process never blocks on it.
type stderr struct {
	file *os.File
	copy io.Writer // nil for none
	over chan struct{}

	mu        sync.Mutex
	kept      []byte // the last bytes, complete lines and the open one
	open      []byte // the line that has not ended yet
	total     int64
	followers []func([]byte)
}

func newStderr(file *os.File, copied io.Writer) *stderr {
	return &stderr{file: file, copy: copied, over: make(chan struct{})}
}

func (s *stderr) read() {
	defer close(s.over)
	buffer := make([]byte, longStderrLine)
	for {
		n, err := s.file.Read(buffer)
		if s.copy != nil && n > 0 {
			_, _ = s.copy.Write(buffer[:n]) // a copy that fails does not keep the text from being read
		}
		s.append(buffer[:n])
		if err != nil {
			s.flush()
			_ = s.file.Close() // nothing was written
			return
		}
	}
}

func (s *stderr) append(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(len(text))
	s.kept = append(s.kept, text...)
	if excess := len(s.kept) - keptStderr; excess > 0 {
		s.kept = append(s.kept[:0], s.kept[excess:]...)
	}
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		budget := longStderrLine - len(s.open)
		if len(line) > budget {
			line, rest, ended = text[:budget], text[budget:], true
		}
		s.open = append(s.open, line...)
		if ended {
			s.deliver(s.open)
			s.open = s.open[:0]
		}
		text = rest
	}
}

func (s *stderr) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > 0 {
		s.deliver(s.open)
		s.open = nil
	}
}

func (s *stderr) deliver(line []byte) {
	for _, follower := range s.followers {
		follower(line)
	}
}

// follow delivers the complete lines that are kept, then each new one.
func (s *stderr) follow(follower func([]byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	past := s.kept[:max(0, len(s.kept)-len(s.open))]
	for len(past) > 0 {
		var line []byte
		line, past, _ = bytes.Cut(past, []byte("\n"))
		for len(line) > longStderrLine {
			follower(line[:longStderrLine])
			line = line[longStderrLine:]
		}
		follower(line)
	}
	s.followers = append(s.followers, follower)
}

// finish waits until all is read, at most for a while.
func (s *stderr) finish(grace time.Duration) {
	limitRead(s.file, grace)
	<-s.over
}

func (s *stderr) close() {
	_ = s.file.Close() // ends the reader, when it has not ended by itself
	<-s.over
}

func (s *stderr) tail() ([]byte, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total > int64(len(s.kept)) {
		return append(
			[]byte("…"),
			s.kept[len("…"):]...), s.total // what hides secrets later finds the rest of one there
	}
	return bytes.Clone(s.kept), s.total
}
