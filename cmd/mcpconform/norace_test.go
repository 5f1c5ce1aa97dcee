//go:build !race

package main

// raceDetector tells that the tests run with the race detector.
const raceDetector = false
