package record

import (
	"errors"
	"slices"
)

// passLine does the steps that take the place of a line, and those that waited for
// it. The error is that of writing this way.
func (s *stdio) passLine(way Direction, line []byte) error {
	for _, step := range s.stepsOf(Passage{Direction: way, Raw: line[:len(line)-len(newline)], Carried: onStdio}) {
		if err := s.doSoon(way, step); err != nil {
			return err
		}
	}
	return nil
}

// stepsOf returns what is to be done now that a message passes.
func (s *stdio) stepsOf(passage Passage) []Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	var now []Step
	for _, step := range s.changes.Message(passage) {
		if step.Wait.Until == nil {
			now = append(now, step)
		} else {
			s.held = append(s.held, step)
		}
	}
	s.held = slices.DeleteFunc(s.held, func(step Step) bool {
		free := isClosed(step.Wait.Until)
		if free {
			step.Wait.Until = nil
			now = append(now, step)
		}
		return free
	})
	return now
}

// doSoon does a step at once if it says something this way, else as soon as the
// other way is clear, or when its time has come.
func (s *stdio) doSoon(way Direction, step Step) error {
	lane := s.lanes[step.Direction]
	switch {
	case !step.Wait.none():
		lane.beside(func() {
			if step.Wait.done(s.ctx) == nil {
				_ = s.do(step) // the next message that is passed on fails the same way
			}
		})
	case step.Direction == way:
		lane.clear() // what was begun before comes first
		return s.do(step)
	default: // the receiver may read only when this way is clear
		lane.awaitRoom()
		lane.inOrder(func() { _ = s.do(step) })
	}
	return nil
}

// do does one step. The error is that of writing its message.
func (s *stdio) do(step Step) (err error) {
	if s.isHung() || s.over() {
		return nil
	}
	if step.Message != nil {
		end := newline
		if step.End != nil {
			end = *step.End
		}
		err = s.lanes[step.Direction].write(append(slices.Clip(step.Message), end...), step.Chunk)
	}
	if step.Text != nil && step.Stderr {
		_, _ = s.peer.Err.Write(step.Text) // the parent process may not read it
	} else if step.Text != nil {
		err = errors.Join(err, s.lanes[step.Direction].write(step.Text, step.Chunk))
	}
	if step.Exit != nil || step.Hang || step.Cut || step.Close {
		s.finish(step)
	}
	return err
}

// finish does what a step says of the end, once the other side has what the target
// said before.
func (s *stdio) finish(step Step) {
	from := s.lanes[s.changes.Changed()]
	if step.Direction != s.changes.Changed() {
		s.await(from.barrier())
	}
	switch {
	case step.Exit != nil:
		s.end(&ExitError{Status: *step.Exit})
	case step.Hang:
		s.hang()
	default:
		from.close()
	}
}
