// The outcomes of steps, one line of JSON each.

package client

import (
	"fmt"
	"io"
	"sync"
)

// A report tells how steps went.
type report struct {
	to io.Writer

	mu  sync.Mutex
	err error // the first line that could not be written
}

// An outcome is how a step went.
type outcome struct {
	Step    int    `json:"step"`
	Outcome string `json:"outcome"`
	Result  any    `json:"result,omitempty"`
	Error   string `json:"error,omitempty"`
}

func (r *report) tell(step int, result any, err error) {
	if r.to == nil {
		return
	}
	line := outcome{Step: step, Outcome: "done", Result: result}
	if err != nil {
		line = outcome{Step: step, Outcome: "failed", Error: err.Error()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.to.Write(append(encode(line), '\n')); err != nil && r.err == nil {
		r.err = fmt.Errorf("cannot tell how the steps went: %w", err)
	}
}
