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

// queue holds the tasks that are left. It is safe for concurrent use.
type queue struct {
	mu       sync.Mutex
	changed  *sync.Cond
	tasks    []task
	underWay int
}

// take waits for a task, the last of all or the first. There is none when all are done, or the
// context has ended.
func (q *queue) take(ctx context.Context, last bool) (next task, there bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tasks) == 0 && q.underWay > 0 && ctx.Err() == nil {
		q.changed.Wait()
	}
	if len(q.tasks) == 0 || ctx.Err() != nil {
		return task{}, false
	}
	q.underWay++
	if end := len(q.tasks) - 1; last {
		next, q.tasks = q.tasks[end], q.tasks[:end]
	} else {
		next, q.tasks = q.tasks[0], q.tasks[1:]
	}
	return next, true
}

// finish tells a task what came of it, and puts what that leads to before all that is left. It
// tells one at a time, and none when the context has ended.
func (q *queue) finish(ctx context.Context, one task, said done) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.underWay--
	if ctx.Err() == nil {
		if more := one.took(said); len(more) > 0 {
			q.tasks = append(more, q.tasks...)
		}
	}
	q.changed.Broadcast()
}

// do has tasks done, those that cost most first, and what they lead to before the others. Every
// second worker begins at the other end: what costs most waits most, and leaves the processors
// to what costs least.
func (p *pool) do(ctx context.Context, tasks []task) {
	left := &queue{tasks: tasks}
	left.changed = sync.NewCond(&left.mu)
	defer context.AfterFunc(ctx, func() {
		left.mu.Lock()
		defer left.mu.Unlock()
		left.changed.Broadcast()
	})()
	var working sync.WaitGroup
	for i := range p.workers {
		working.Go(func() {
			for {
				next, there := left.take(ctx, i%2 == 1)
				if !there {
					return
				}
				next.Number = int(p.jobs.Add(1))
				said, err := p.one(ctx, i, next.job)
				if err != nil {
					said = done{Errors: []string{err.Error()}}
				}
				left.finish(ctx, next, said)
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
