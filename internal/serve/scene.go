package serve

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/reports"
)

// scene is a scenario that is being played.
type scene struct {
	runner.Scene
	open func(*scenario.Scenario) *scenario.Playing

	mu       sync.Mutex
	playing  *scenario.Playing
	since    time.Time     // when the last came that is judged
	again    chan struct{} // closed when the scenario starts over
	came     *scenario.Recording
	findings *findings
	over     bool
}

// findings are what was found in a scene so far.
type findings struct {
	Unspoken string // why the client does not speak the revision; "" when it does
	Problem  string // of the harness
	Results  []reports.Result
	Holding  int // rules that hold
	Counts   reports.Counts
}

func newScene(judging *runner.Judging, one runner.Scene) *scene {
	return &scene{Scene: one, open: judging.Open, playing: judging.Open(one.Scenario), again: make(chan struct{})}
}

// ServeHTTP is the endpoint of the scenario.
func (s *scene) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	playing := s.playing
	s.mu.Unlock()
	playing.ServeHTTP(w, r)
}

// next waits until something has come and then nothing more for a moment, and
// returns what came so far. It reports false when the context ended.
func (s *scene) next(ctx context.Context) (*scenario.Playing, *scenario.Recording, bool) {
	for {
		s.mu.Lock()
		playing, since, again := s.playing, s.since, s.again
		s.mu.Unlock()
		resting, stop := context.WithCancel(ctx)
		go func() {
			select {
			case <-again:
				stop()
			case <-resting.Done():
			}
		}()
		last, rested := playing.Rest(resting, since, quiet)
		stop()
		if ctx.Err() != nil {
			return nil, nil, false
		}
		s.mu.Lock()
		same := s.playing == playing
		if same && rested {
			s.since = last
		}
		s.mu.Unlock()
		if same && rested {
			return playing, playing.Recording(), true
		}
	}
}

// judged takes what was found, and returns it in a line for people; "" when the scenario
// has started over since.
func (s *scene) judged(playing *scenario.Playing, came *scenario.Recording, found *reports.Run, err error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.playing != playing {
		return ""
	}
	s.came = came
	if err != nil {
		s.findings = &findings{Problem: err.Error()}
	} else {
		s.findings = s.sort(&found.Cells[0])
	}
	return s.findings.line()
}

// sort picks out what belongs to the scenario.
func (s *scene) sort(cell *reports.Cell) *findings {
	found := &findings{}
	if !cell.Spoken {
		found.Unspoken = cell.Note + "; serve another revision with --revision"
	}
	looking := map[string]bool{}
	for _, check := range s.Checks {
		looking[plan.CheckName(check.Group, check.Text)] = true
	}
	for _, result := range cell.Results {
		isRule := result.Kind == reports.KindRule
		broken := result.Verdict == reports.Failed || result.Verdict == reports.Warned
		switch {
		case isRule && !broken:
			if result.Verdict == reports.Passed {
				found.Holding++
			}
			continue
		case !isRule && !looking[plan.CheckName(result.Group, result.Text)]:
			continue
		}
		found.Results = append(found.Results, result)
		found.Counts.Add(result.Verdict)
	}
	return found
}

func (f *findings) line() string {
	switch {
	case f.Problem != "":
		return "could not be judged: " + f.Problem
	case f.Unspoken != "":
		return f.Unspoken
	}
	return fmt.Sprintf("%d passed, %d failed, %d warned, %d skipped, %d inconclusive",
		f.Counts.Passed+f.Holding, f.Counts.Failed, f.Counts.Warned, f.Counts.Skipped, f.Counts.Inconclusive)
}

// startOver forgets what came.
func (s *scene) startOver() {
	fresh := s.open(s.Scenario)
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		fresh.Close()
		return
	}
	old := s.playing
	s.playing, s.since, s.came, s.findings = fresh, time.Time{}, nil, nil
	close(s.again)
	s.again = make(chan struct{})
	s.mu.Unlock()
	old.Close()
	old.Forget()
}

// end ends what is open, and returns what came.
func (s *scene) end() *scenario.Recording {
	s.mu.Lock()
	s.over = true
	playing := s.playing
	s.mu.Unlock()
	playing.Close()
	return playing.Recording()
}
