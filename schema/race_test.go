//go:build race

package schema

// raceDetector tells that the tests run with the race detector.
const raceDetector = true
