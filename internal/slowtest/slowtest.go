// Package slowtest keeps out of a plain go test what takes minutes: tests that run whole
// programs again and again, or meet every one of many targets. They run with -all.
package slowtest

import (
	"flag"
	"testing"
)

var all = flag.Bool("all", false, "run what takes minutes, too: whole programs, every fault, every hostile target")

// All tells whether tests take their time.
func All() bool { return *all }

// Skip skips a test that runs whole programs, unless tests take their time.
func Skip(t *testing.T) {
	t.Helper()
	if !*all {
		t.Skip("it takes long: go test -all runs it")
	}
}
