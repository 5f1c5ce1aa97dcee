package transport

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// plainPause is waited where a server does not say for how long.
	plainPause = time.Second
	// longestPause is the longest that is waited for, well within what a reply may take.
	longestPause = 3 * time.Second
	// mostPauses bounds all waiting of a process for a server that takes nothing more.
	mostPauses = time.Minute
	// mostTries is how many times one request is sent at most.
	mostTries = 3
)

// Pace heeds a server that limits the rate of requests: what it turns away with HTTP 429
// (RFC 6585, section 4) is sent again when it says so, and nothing else is sent until then.
// Connections share it. It is safe for concurrent use; nil heeds nothing.
type Pace struct {
	mu     sync.Mutex
	next   time.Time // nothing is sent before
	paused time.Duration
}

// wait waits until a request may be sent, or until the context ends.
func (p *Pace) wait(ctx context.Context) {
	if p == nil {
		return
	}
	p.mu.Lock()
	pause := time.Until(p.next)
	p.mu.Unlock()
	if pause <= 0 {
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// heeds tells whether a response turns a request away that is to be sent again, and for
// how long nothing is sent.
func (p *Pace) heeds(response *http.Response) (pause time.Duration, again bool) {
	if p == nil || response.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	pause = retryAfter(response.Header, time.Now())
	p.mu.Lock()
	defer p.mu.Unlock()
	if pause > longestPause || p.paused+pause > mostPauses {
		return 0, false
	}
	if next := time.Now().Add(pause); next.After(p.next) {
		p.next, p.paused = next, p.paused+pause
	}
	return pause, true
}

// retryAfter reads how long a server wants to be left in peace, in seconds or until a date
// (RFC 9110, section 10.2.3).
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return max(time.Duration(seconds)*time.Second, plainPause)
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(date.Sub(now), plainPause)
	}
	return plainPause
}
