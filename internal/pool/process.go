package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/worker"
)

// stopTimeout is how long a worker may take to stop its targets.
const stopTimeout = 15 * time.Second

// stopGrace is how a worker is stopped: by the end of its input.
var stopGrace = target.Grace{Input: stopTimeout, Terminate: worker.KillTimeout}

// process is a worker, which does what plans say, one after another.
type process struct {
	*target.Process
	writer  *json.Encoder
	reader  *json.Decoder
	planned bool // it had a plan before
}

// hire returns a worker: one that is idle, or another one.
func (d *coordinator) hire() (*process, error) {
	d.mu.Lock()
	idle := d.idle
	d.idle = nil
	d.mu.Unlock()
	if idle != nil {
		return idle, nil
	}
	command := d.job.Command
	command.Orderly = true
	started, err := target.Start(command)
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	reader := json.NewDecoder(started.Stdout)
	reader.UseNumber() // what the target declared is kept as it came
	return &process{Process: started, writer: json.NewEncoder(started.Stdin), reader: reader}, nil
}

// release keeps a worker that is done with its plan for another one, unless there is one already.
func (d *coordinator) release(one *process) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle == nil {
		d.idle = one
		return nil
	}
	return one.stop()
}

// stop ends a worker.
func (p *process) stop() error {
	defer func() { _ = p.Close() }() // it is gone by then
	if _, stuck := p.Shutdown(context.Background(), stopGrace); stuck != nil {
		return fmt.Errorf("stopping a worker: %w", stuck)
	}
	return nil
}

// dismiss ends the worker that is idle.
func (d *coordinator) dismiss() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle != nil {
		_ = d.idle.stop() // it has told everything
		d.idle = nil
	}
}

// service is how the conversation with a worker ended.
type service struct {
	finished bool
	current  map[int]string // by lane: the check that it had claimed and not finished
}

// underWay are the checks that were not finished, sorted.
func (s service) underWay() []string { return slices.Sorted(maps.Values(s.current)) }

// serve speaks with a worker until it is done with a plan, or gone.
func (d *coordinator) serve(ctx context.Context, work worker.Plan, with *process, pass pass) (ended service) {
	ended.current = map[int]string{}
	if with.planned { // what does not change is told once
		work.Catalogue, work.Draft = nil, nil
	}
	with.planned = true
	_ = with.writer.Encode(worker.Order{Plan: &work}) // a worker that cannot be told is gone, or about to end
	for {
		var line worker.Note
		if err := with.reader.Decode(&line); err != nil {
			return ended
		}
		switch {
		case line.Claim != nil:
			answer := worker.Permission{
				Run: ctx.Err() == nil && d.grant(line.Cell, *line.Claim, work.Names[line.Lane], pass),
			}
			if answer.Run {
				ended.current[line.Lane] = line.Claim.Key
				answer = d.results.Permit(line.Cell)
			}
			_ = with.writer.Encode(
				worker.Order{Lane: line.Lane, Permission: &answer},
			) // what it has done is read to the end
		case line.Checked != nil:
			d.take(ended.current[line.Lane], *line.Checked, pass.alone)
			delete(ended.current, line.Lane)
		case line.Connection != nil:
			d.results.Connection(line.Cell, *line.Connection, line.Exit)
		case line.Drawn != nil:
			d.drawn(line.Cell, *line.Drawn)
		case line.Finished:
			ended.finished = true
			return ended
		}
	}
}

// lost records that a worker died, and the checks that were under way in it.
func (d *coordinator) lost(keys []string, ended target.Exit, lastWords []byte) {
	on := "between checks"
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = strconv.Quote(strings.ReplaceAll(key, "\n", " · "))
	}
	switch len(names) {
	case 0:
	case 1:
		on = "on the check " + names[0]
	default:
		on = "on one of the checks " + strings.Join(names, ", ")
	}
	text := fmt.Sprintf("a worker %s %s", ended.Past(), on)
	if words := excerpt.LastLines(string(lastWords)); words != "" {
		text += "; its last output: " + words
	}
	d.results.Failed(errors.New(text))
}
