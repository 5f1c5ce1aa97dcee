// Page server/utilities/logging: log messages for the client.

package server

import "slices"

// logLevels are the severities of RFC 5424, least severe first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// defaultLogLevel is in force until the client sets one: info.
const defaultLogLevel = 1

type setLevelParams struct {
	Level string `json:"level"`
}

func (c *call) setLevel(params setLevelParams) (any, error) {
	level := slices.Index(logLevels, params.Level)
	if level < 0 {
		return nil, invalidParams("params.level must be one of %v, but is %q", logLevels, params.Level)
	}
	c.session.mu.Lock()
	c.session.level = level
	c.session.mu.Unlock()
	return object{}, nil
}

// logsFrom is the level that the client has set.
func (s *session) logsFrom() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// log sends a log message, unless the client wants only more severe ones.
func (c *call) log(level string, data any) {
	if slices.Index(logLevels, level) < c.era.logsFrom() {
		return
	}
	c.notify("notifications/message", object{"level": level, "logger": "reference", "data": data})
}
