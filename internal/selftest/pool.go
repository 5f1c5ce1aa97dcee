package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/target"
)

// pool are the workers of a selftest. Each does one job at a time.
type pool struct {
	setup   setup
	workers []*workerProcess // nil where none is at work
	jobs    atomic.Int64
}

// workerProcess does jobs.
type workerProcess struct {
	process *target.Process
	writer  *json.Encoder
	reader  *json.Decoder
}

const (
	// jobTimeout ends a job that should long be over: a defect of the harness.
	jobTimeout = 3 * time.Minute
	// garbage and memory let a worker collect its garbage seldom (debug.SetGCPercent,
	// debug.SetMemoryLimit): it has little that lives, and makes much.
	garbage = 1200
	memory  = "192MiB"
	// stopTimeout is how long a worker may take to stop when there is nothing
	// more to do.
	stopTimeout = 5 * time.Second
)

func newPool(workers int, setup setup) *pool {
	return &pool{setup: setup, workers: make([]*workerProcess, workers)}
}

// task is a job, and what is done about what came of it, which may lead to more tasks.
type task struct {
	job
	took func(done) []task
}

// do has tasks done, which come in order of what they cost: half of the workers begin at the one
// end, the others at the other. What tasks lead to comes first. One took is called at a time.
func (p *pool) do(ctx context.Context, tasks []task) {
	var mu sync.Mutex
	changed := sync.NewCond(&mu)
	defer context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		changed.Broadcast()
	})()
	underWay := 0
	var working sync.WaitGroup
	for i := range p.workers {
		working.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for {
				for len(tasks) == 0 && underWay > 0 && ctx.Err() == nil {
					changed.Wait()
				}
				if len(tasks) == 0 || ctx.Err() != nil {
					return
				}
				next := tasks[0]
				if i%2 == 0 {
					tasks = tasks[1:]
				} else { // what costs most waits most: it leaves the processors to what costs least
					next = tasks[len(tasks)-1]
					tasks = tasks[:len(tasks)-1]
				}
				underWay++
				mu.Unlock()
				next.Number = int(p.jobs.Add(1))
				said, err := p.one(ctx, i, next.job)
				if err != nil {
					said = done{Errors: []string{err.Error()}}
				}
				mu.Lock()
				underWay--
				if ctx.Err() == nil {
					tasks = append(next.took(said), tasks...)
				}
				changed.Broadcast()
			}
		})
	}
	working.Wait()
}

// one has a job done by a worker, which is begun if need be. A worker that dies,
// or does not come to an end, costs its job.
func (p *pool) one(ctx context.Context, i int, next job) (said done, err error) {
	if p.workers[i] == nil {
		if p.workers[i], err = p.begin(); err != nil {
			return said, err
		}
	}
	h := p.workers[i]
	ctx, cancel := context.WithTimeoutCause(ctx, jobTimeout, fmt.Errorf("not done within %s", jobTimeout))
	defer cancel()
	stopped := context.AfterFunc(ctx, func() { _ = h.process.Kill() })
	_ = h.writer.Encode(next) // one that cannot be told is gone
	err = h.reader.Decode(&said)
	if stopped() && err == nil {
		return said, nil
	}
	p.workers[i] = nil
	return done{}, h.lost(ctx)
}

func (p *pool) begin() (*workerProcess, error) {
	process, err := target.Start(target.Command{
		Args:    append(append([]string{}, p.setup.Executable...), WorkerCommand),
		Env:     []string{"GOGC=" + strconv.Itoa(garbage), "GOMEMLIMIT=" + memory},
		Orderly: true,
	})
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	h := &workerProcess{
		process: process,
		writer:  json.NewEncoder(process.Stdin),
		reader:  json.NewDecoder(process.Stdout),
	}
	h.reader.UseNumber()
	_ = h.writer.Encode(p.setup) // one that cannot be told is gone
	return h, nil
}

// lost says why a worker is gone.
func (h *workerProcess) lost(ctx context.Context) error {
	_ = h.process.Close()
	words, _ := h.process.Stderr()
	text := fmt.Sprintf("the worker %s", h.process.Exit())
	if ctx.Err() != nil {
		text = "the worker was ended: " + context.Cause(ctx).Error()
	}
	if len(words) > 0 {
		text += "; its last output: " + string(words)
	}
	return errors.New(text)
}

// dismiss ends all workers: at once when the context has ended.
func (p *pool) dismiss(ctx context.Context) {
	var leaving sync.WaitGroup
	for _, h := range p.workers {
		if h == nil {
			continue
		}
		leaving.Go(func() {
			_, _ = h.process.Shutdown(ctx, target.Grace{Input: stopTimeout, Terminate: stopTimeout})
			_ = h.process.Close() // how it ended does not matter
		})
	}
	leaving.Wait()
}

// partOf says which part of a cell a check belongs to: by its name alone, or that of
// its scenario, so that it is the same for all.
func partOf(name string, parts int) int {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name))          // never fails
	return int(sum.Sum32() % uint32(parts)) //nolint:gosec // a few
}
