package proxy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

func recorderIn(t *testing.T, options RecorderOptions) *Recorder {
	t.Helper()
	if options.Directory == "" {
		options.Directory = t.TempDir()
	}
	recorder, err := NewRecorder(options)
	if err != nil {
		t.Fatal(err)
	}
	return recorder
}

func message(text string) transcript.Event {
	return transcript.Event{Kind: transcript.Message, From: protocol.Client, Raw: []byte(text)}
}

// written are the files of a recorder, each read whole.
func written(t *testing.T, directory string) (headers []transcript.Header, events [][]transcript.Event) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		header, read, err := transcript.Read(file)
		_ = file.Close()
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		headers, events = append(headers, header), append(events, read)
	}
	return headers, events
}

// A connection that is too much for one file goes on in the next, which knows what was
// agreed; together they have every event once.
func TestParts(t *testing.T) {
	t.Parallel()
	recorder := recorderIn(t, RecorderOptions{PartSize: leastPartSize})
	track := recorder.begin(transcript.Header{Transport: protocol.Stdio}, nil)
	track.log.Append(message(`{"id":1,"method":"initialize","params":{"capabilities":{"roots":{}}}}`))
	answer := message(`{"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}`)
	answer.From = protocol.Server
	track.log.Append(answer)
	for range 300 {
		track.log.Append(message(strings.Repeat("x", 1000)))
	}
	track.close()
	headers, events := written(t, recorder.options.Directory)
	if len(headers) < 4 {
		t.Fatalf("%d parts", len(headers))
	}
	next := 0
	for position, header := range headers {
		if header.Part != position+1 || header.Recording != headers[0].Recording || position > 0 && header.Revision != "2025-06-18" {
			t.Errorf("part %d: %+v", position+1, header)
		}
		for _, event := range events[position] {
			if event.Sequence != next {
				t.Fatalf("the event %d follows on %d", event.Sequence, next-1)
			}
			next++
		}
	}
	if next != 303 {
		t.Errorf("%d events", next)
	}
}

// The oldest files go when all are too much, or too old.
func TestKeptFiles(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]RecorderOptions{
		"size": {KeepSize: 5000}, "age": {KeepAge: time.Hour},
	} {
		recorder := recorderIn(t, options)
		for number := range 20 {
			track := recorder.begin(transcript.Header{Transport: protocol.Stdio}, nil)
			event := message(strings.Repeat("x", 800))
			event.At = time.Date(2026, 1, 2, number, 0, 0, 0, time.UTC)
			track.log.Append(event)
			track.last = event.At
			track.release()
		}
		headers, _ := written(t, recorder.options.Directory)
		newest := recorder.begun + "-20"
		if len(headers) < 2 || len(headers) > 5 || !slices.ContainsFunc(headers, func(one transcript.Header) bool { return one.Recording == newest }) {
			t.Errorf("%s: %d files are left", name, len(headers))
		}
	}
}

// A clock that is set while a connection goes on takes nothing from the record, nor its order.
func TestRecordWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	recorder := recorderIn(t, RecorderOptions{PartAge: time.Hour})
	track := recorder.begin(transcript.Header{Transport: protocol.Stdio}, nil)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for position, jump := range []int{0, -10, 10, 0, -10} {
		event := message(strconv.Itoa(position))
		event.At = at.AddDate(jump, 0, 0)
		track.log.Append(event)
	}
	track.close()
	_, events := written(t, recorder.options.Directory)
	var told []string
	for _, event := range slices.Concat(events...) {
		told = append(told, string(event.Raw))
	}
	if want := []string{"0", "1", "2", "3", "4", ""}; !slices.Equal(told, want) {
		t.Errorf("written %q", told)
	}
}

// However many connections go on, few files are open, and each has all of its connection.
func TestOpenFilesAreBounded(t *testing.T) {
	t.Parallel()
	recorder := recorderIn(t, RecorderOptions{})
	var tracks []*track
	for range 3 * maxOpenFiles {
		tracks = append(tracks, recorder.begin(transcript.Header{Transport: protocol.Stdio}, nil))
	}
	for range 3 {
		for _, one := range tracks {
			one.log.Append(message("x"))
			if open := recorder.files.Load(); open > maxOpenFiles {
				t.Fatalf("%d files are open", open)
			}
		}
	}
	for _, one := range tracks {
		one.close()
	}
	if open := recorder.files.Load(); open != 0 {
		t.Errorf("%d files are open in the end", open)
	}
	_, events := written(t, recorder.options.Directory)
	for _, one := range events {
		if len(one) != 4 {
			t.Errorf("a file has %d events", len(one))
		}
	}
	if len(events) != len(tracks) {
		t.Errorf("%d files", len(events))
	}
}

// When nothing can be written, the record says so as soon as something can.
func TestDiskThatFails(t *testing.T) {
	t.Parallel()
	recorder := recorderIn(t, RecorderOptions{})
	track := recorder.begin(transcript.Header{Transport: protocol.Stdio}, nil)
	track.log.Append(message("one"))
	good := track.file
	readOnly, err := os.Open(good.Name())
	if err != nil {
		t.Fatal(err)
	}
	track.file, track.counted.file = readOnly, readOnly
	track.log.Append(message("two"))
	track.log.Append(message("three"))
	track.log.Append(message("four"))
	track.close()
	_ = good.Close()
	_, events := written(t, recorder.options.Directory)
	all := slices.Concat(events...)
	var told []string
	for _, event := range all {
		told = append(told, string(event.Kind)+" "+string(event.Raw)+event.Note)
	}
	text := strings.Join(told, ", ")
	if !strings.Contains(text, "gap ") || !strings.Contains(text, "could not be written") || !strings.Contains(text, "message one") || !strings.Contains(text, "message four") {
		t.Errorf("written %s", text)
	}
}

// No secret reaches the disk.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	const secret = "verysecretvalue"
	recorder := recorderIn(t, RecorderOptions{Redactor: reports.NewRedactor(reports.Secret{Key: "KEY", Value: secret})})
	track := recorder.begin(transcript.Header{Transport: protocol.Stdio}, nil)
	track.log.Append(message(`{"id":1,"method":"initialize","params":{"capabilities":{"experimental":{"k":"` + secret + `"}}}}`))
	answer := message(`{"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"experimental":{"k":"` + secret + `"}}}}`)
	answer.From = protocol.Server
	track.log.Append(answer)
	track.log.Append(transcript.Event{Kind: transcript.Head, HTTP: &transcript.HTTP{
		Method: "POST", URL: "/mcp?key=" + secret, Header: map[string][]string{"Authorization": {"Bearer abcdefghijk"}},
	}})
	track.turn()
	track.log.Append(message("x"))
	track.close()
	paths, _ := filepath.Glob(filepath.Join(recorder.options.Directory, "*"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), secret) || strings.Contains(string(text), "abcdefghijk") {
			t.Errorf("%s has a secret:\n%s", path, text)
		}
	}
	if len(paths) != 2 {
		t.Errorf("%d files", len(paths))
	}
}

// Who watches sees each event, secrets hidden, whether or not anything is written.
func TestWatched(t *testing.T) {
	t.Parallel()
	const secret = "verysecretvalue"
	for _, directory := range []string{"", t.TempDir()} {
		var seen []string
		recorder, err := NewRecorder(RecorderOptions{
			Directory: directory, Redactor: reports.NewRedactor(reports.Secret{Key: "KEY", Value: secret}),
			Watch: func(header transcript.Header, event transcript.Event) {
				seen = append(seen, fmt.Sprintf("%s %s %s %v", event.Connection, header.Revision, event.Raw, header.Capabilities))
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		track := recorder.begin(transcript.Header{Transport: protocol.Stdio}, nil)
		track.log.Append(message(`{"id":1,"method":"initialize","params":{"capabilities":{},"k":"` + secret + `"}}`))
		answer := message(`{"id":1,"result":{"protocolVersion":"` + secret + `","capabilities":{"experimental":{"k":"` + secret + `"}}}}`)
		answer.From = protocol.Server
		track.log.Append(answer)
		if open := recorder.Open(); len(open) != 1 || open[0].Name != track.name || len(open[0].Events) != 2 {
			t.Errorf("open is %+v", open)
		}
		track.close()
		if open := recorder.Open(); len(open) > 0 {
			t.Errorf("open is %+v", open)
		}
		all := strings.Join(seen, "\n")
		if len(seen) != 3 || !strings.HasPrefix(seen[1], track.name+" ") || strings.Contains(all, secret) || strings.Contains(all, "experimental:") {
			t.Errorf("seen\n%s", all)
		}
	}
}

// What the recorder cannot follow is left out of the record, which says so; a recorder that
// breaks leaves the traffic alone.
func TestGaps(t *testing.T) {
	t.Parallel()
	recorder := recorderIn(t, RecorderOptions{})
	track := recorder.begin(transcript.Header{Transport: protocol.Stdio}, nil)
	queue := newQueue()
	blocked := make(chan struct{})
	queue.put(0, func() { <-blocked })
	side := lineSide(queue, track, protocol.Client)
	side.pass([]byte("first\nbeg"))
	big := make([]byte, queueSize)
	side.pass(big) // for which there is no room
	side.pass([]byte("inning lost\nsecond\n"))
	side.over(nil)
	broken := lineSide(queue, track, protocol.Server)
	broken.take = func([]byte) { panic(errors.New("a defect")) }
	broken.pass([]byte("x\n"))
	broken.pass([]byte("y\n"))
	queue.put(0, track.close)
	close(blocked)
	queue.close()
	_, events := written(t, recorder.options.Directory)
	var told []string
	for _, event := range slices.Concat(events...) {
		told = append(told, fmt.Sprintf("%s %s%s %d", event.Kind, event.Raw, event.Note, event.Size))
	}
	want := []string{
		"message first 0", fmt.Sprintf("gap the recorder could not follow %d", queueSize), "message second 0",
		"gap the recorder failed 0", "close  0",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%s\nwanted\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	if queue.put(1, func() {}) {
		t.Error("a queue that is closed takes more")
	}
}
