package proxy

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// RecorderOptions say where connections are recorded, and how much of them.
type RecorderOptions struct {
	// Directory has a file for each connection, or for each part of one; "" for none. It is
	// made when it is not there.
	Directory string
	// PartSize and PartAge bound one file: what comes then goes into the next. Zero is
	// DefaultPartSize, and no bound of the age.
	PartSize int64
	PartAge  time.Duration
	// KeepSize bounds what all files of this recorder take together, in bytes, and KeepAge how old one gets
	// after its last event: beyond them the oldest files that are complete are removed.
	// Zero is no bound.
	KeepSize int64
	KeepAge  time.Duration
	// Redactor hides secrets before anything is written; nil hides nothing.
	Redactor *reports.Redactor
	// Harness names the program in the files.
	Harness transcript.Harness
	// Watch is called with each event, secrets hidden, and the header without what the peers declare;
	// it must not wait for anything. It may be nil.
	Watch func(transcript.Header, transcript.Event)
}

// DefaultPartSize is that of RecorderOptions: what check reads in one piece.
const DefaultPartSize = 32 << 20

// leastPartSize keeps a part from being a header alone.
const leastPartSize = 64 << 10

// Recorder writes connections down while they live. What fails is told once for each
// connection, in the record as soon as something can be written again. It is safe for
// concurrent use.
type Recorder struct {
	options RecorderOptions
	begun   string       // names the files of this recorder among those of others
	files   atomic.Int32 // that are open

	mu     sync.Mutex
	count  int
	open   []*track   // that are not over
	kept   []keptFile // that are complete, the oldest first
	total  int64
	tools  map[string]map[string]any // that the server has listed to any client, by name
	offers transcript.Agreement
}

type keptFile struct {
	path string
	size int64
	last time.Time
}

// NewRecorder makes the directory, if need be.
func NewRecorder(options RecorderOptions) (*Recorder, error) {
	if options.PartSize == 0 {
		options.PartSize = DefaultPartSize
	}
	options.PartSize = max(options.PartSize, leastPartSize)
	if options.Directory != "" {
		if err := os.MkdirAll(options.Directory, 0o700); err != nil {
			return nil, fmt.Errorf("%s cannot be created: %w", options.Directory, files.Reason(err))
		}
	}
	return &Recorder{
		options: options,
		begun:   time.Now().UTC().Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:4]),
		tools:   map[string]map[string]any{},
	}, nil
}

// track is the record of one connection, kept in memory for who judges it, and on the disk.
type track struct {
	recorder *Recorder
	header   transcript.Header
	name     string
	log      *transcript.Log
	known    agreements

	mu sync.Mutex // of the header, which who judges reads

	file    *os.File // nil while there is none
	counted *countingWriter
	writer  *transcript.Writer
	opened  time.Time
	lost    int // events that could not be written
	last    time.Time
	failed  string // why nothing can be written
}

// begin begins the record of a connection. What is appended to its log is written.
func (r *Recorder) begin(header transcript.Header, budget *transcript.MemoryBudget) *track {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	name := fmt.Sprintf("%s-%d", r.begun, r.count)
	header.Harness, header.Recording, header.Part = r.options.Harness, name, 1
	t := &track{
		recorder: r, header: header, name: name, log: transcript.NewLogIn(budget, name),
		known: agreements{asked: map[jsonrpc.ID]jsonrpc.Message{}, listed: map[string]bool{}},
	}
	t.log.Tell(t.write)
	r.open = append(r.open, t)
	return t
}

// Open returns what is known of the connections that are not over.
func (r *Recorder) Open() []*Connection {
	r.mu.Lock()
	open := slices.Clone(r.open)
	r.mu.Unlock()
	all := make([]*Connection, len(open))
	for i, one := range open {
		all[i] = one.connection()
	}
	return all
}

// write writes an event. It is called by one goroutine at a time, as events are appended.
func (t *track) write(event transcript.Event) {
	later := t.known.see(event, t.recorder)
	t.last = event.At
	t.mu.Lock()
	t.header.Agreement = t.header.With(later)
	t.mu.Unlock()
	options := t.recorder.options
	if options.Directory == "" && options.Watch == nil {
		return
	}
	event = reports.RedactAll(options.Redactor, event)
	if options.Watch != nil {
		header := t.header
		header.Agreement = transcript.Agreement{Revision: reports.RedactAll(options.Redactor, header.Revision)}
		options.Watch(header, event)
	}
	if options.Directory == "" {
		return
	}
	later = reports.RedactAll(options.Redactor, later)
	if t.full(event.At) {
		t.turn()
	}
	err := t.open(event.At)
	if err == nil && t.lost > 0 {
		note := fmt.Sprintf("%d events could not be written: %s", t.lost, t.failed)
		lost := gap(0, note)
		lost.Connection, lost.Sequence, lost.At = event.Connection, event.Sequence-1, event.At
		if err = t.writer.Event(lost); err == nil {
			t.lost = 0
		}
	}
	if err == nil {
		err = t.writer.Event(event)
	}
	if err == nil && !empty(later) {
		err = t.writer.Agree(later)
	}
	if err != nil {
		t.fail(err)
	}
	if t.recorder.files.Load() > maxOpenFiles {
		t.rest()
	}
}

// maxOpenFiles bounds the files that are open at a time: a session that says nothing for a
// while is no reason to run out of them.
const maxOpenFiles = 128

func empty(a transcript.Agreement) bool {
	return a.Revision == "" && a.Capabilities.Client == nil && a.Capabilities.Server == nil && a.Tools == nil
}

// full tells whether the file has as much as it may.
func (t *track) full(now time.Time) bool {
	if t.counted == nil {
		return false
	}
	age := t.recorder.options.PartAge
	return t.counted.whole > t.recorder.options.PartSize || age > 0 && now.Sub(t.opened) > age
}

// open opens the file of the part, unless it is open.
func (t *track) open(now time.Time) error {
	if t.file != nil {
		return nil
	}
	if t.counted != nil { // it rests
		file, err := os.OpenFile(t.path(), os.O_WRONLY|os.O_APPEND, 0o600)
		if err == nil {
			t.hold(file)
			t.counted.file = file
		}
		return err
	}
	file, err := os.OpenFile(t.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // it could be made, and not be written
		file, err = os.OpenFile(t.path(), os.O_WRONLY|os.O_TRUNC, 0o600)
	}
	if err != nil {
		return err
	}
	counted := &countingWriter{file: file}
	header := t.header
	header.Agreement = reports.RedactAll(t.recorder.options.Redactor, header.Agreement)
	writer, err := transcript.NewWriter(counted, header)
	if err != nil {
		_ = file.Close() // nothing in it is of use
		return err
	}
	t.hold(file)
	t.counted, t.writer, t.opened = counted, writer, now
	return nil
}

func (t *track) hold(file *os.File) {
	t.file = file
	t.recorder.files.Add(1)
}

func (t *track) path() string {
	return filepath.Join(t.recorder.options.Directory, fmt.Sprintf("%s.%d.jsonl", t.name, t.header.Part))
}

// turn ends the part and begins the next.
func (t *track) turn() {
	t.release()
	t.mu.Lock()
	t.header.Part++
	t.mu.Unlock()
}

// fail takes away what was written in part, so that what follows can be read.
func (t *track) fail(err error) {
	t.lost++
	t.failed = files.Reason(err).Error()
	if t.file == nil {
		return
	}
	if err := t.file.Truncate(t.counted.whole); err == nil {
		_, err = t.file.Seek(t.counted.whole, 0)
		if err == nil {
			return
		}
	}
	t.turn() // the line that is broken ends the part
}

// release closes the file, which is complete.
func (t *track) release() {
	if t.counted == nil {
		return
	}
	t.rest()
	t.recorder.keep(keptFile{t.path(), t.counted.whole, t.last})
	t.counted = nil
}

// rest closes the file until more comes.
func (t *track) rest() {
	if t.file != nil {
		_ = t.file.Close() // what could not be written was told
		t.file = nil
		t.recorder.files.Add(-1)
	}
}

// close ends the record.
func (t *track) close() {
	t.log.Append(transcript.Event{Kind: transcript.Close, From: protocol.Client})
	t.release()
	t.recorder.mu.Lock()
	defer t.recorder.mu.Unlock()
	t.recorder.open = slices.DeleteFunc(t.recorder.open, func(one *track) bool { return one == t })
}

// Connection is what is known of a connection by now.
type Connection struct {
	Header transcript.Header // with what was agreed
	Name   string
	Events []transcript.Event // as far as there is room in memory for them

	log *transcript.Log
}

// Release gives back the memory of a connection that is over, once it was judged.
func (c *Connection) Release() { c.log.Release() }

// connection is the connection, with what was recorded so far.
func (t *track) connection() *Connection {
	t.mu.Lock()
	header := t.header
	t.mu.Unlock()
	header.Part = 0
	header.Dropped = t.log.Dropped() > 0
	return &Connection{header, t.name, t.log.Events(), t.log}
}

// keep takes a complete file, and removes the oldest beyond the bounds.
func (r *Recorder) keep(file keptFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept, r.total = append(r.kept, file), r.total+file.size
	beyond := func(oldest keptFile) bool {
		options := r.options
		return options.KeepSize > 0 && r.total > options.KeepSize ||
			options.KeepAge > 0 && file.last.Sub(oldest.last) > options.KeepAge
	}
	for len(r.kept) > 1 && beyond(r.kept[0]) {
		_ = os.Remove(r.kept[0].path) // fails if another process has removed it
		r.total -= r.kept[0].size
		r.kept = r.kept[1:]
	}
}

// countingWriter counts the bytes of whole lines.
type countingWriter struct {
	file  *os.File
	whole int64
}

func (w *countingWriter) Write(line []byte) (int, error) {
	n, err := w.file.Write(line)
	if err == nil {
		w.whole += int64(n)
	}
	return n, err
}
