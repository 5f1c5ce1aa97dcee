package transcript

import "io"

// ReadWithin is Read with bounds of its own.
func ReadWithin(r io.Reader, line, events, weight int) (Header, []Event, error) {
	return read(r, limits{line, events, weight})
}
