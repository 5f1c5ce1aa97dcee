// Page basic/utilities/ping: is the other side still there?

package server

import "time"

type noParams struct{}

func (c *call) ping(noParams) (any, error) { return object{}, nil }

// keepPinging pings the client now and then, and logs when it does not answer.
func (s *session) keepPinging() {
	if s.server.options.PingInterval < 0 {
		return
	}
	s.spawn(func() {
		ticker := time.NewTicker(s.server.options.PingInterval)
		defer ticker.Stop()
		for {
			select {
			case <-s.ctx.Done():
				return
			case <-ticker.C:
			}
			if !s.listening() {
				continue
			}
			if _, err := s.request(s.ctx, s.unrelated.send, "ping", nil); err != nil && s.ctx.Err() == nil {
				s.logf("ping: %v", err)
			}
		}
	})
}
