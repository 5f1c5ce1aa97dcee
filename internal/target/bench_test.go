package target_test

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/target"
)

// BenchmarkStart is the whole life of the smallest process.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		process, err := target.Start(target.Command{Args: []string{"true"}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := process.Shutdown(b.Context(), target.DefaultGrace); err != nil {
			b.Fatal(err)
		}
		if err := process.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
