package filewatch

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What changes below the root, in directories that are new as well, and the files that
// are named elsewhere are told; hidden ones, node_modules and what is left out are not.
func TestChanged(t *testing.T) {
	t.Parallel()
	root, elsewhere := t.TempDir(), t.TempDir()
	program := filepath.Join(elsewhere, "server")
	for _, path := range []string{"src/a.js", ".git/HEAD", "node_modules/b/b.js", "out/run.json", "run.html"} {
		write(t, filepath.Join(root, path))
	}
	w, err := New(root, []string{program}, []string{filepath.Join(root, "out"), filepath.Join(root, "run.html")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	expect := func(want ...string) {
		t.Helper()
		got, err := w.Changed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, path := range []string{".git/HEAD", ".swap", "node_modules/b/b.js", "out/run.json", "run.html", "src/a.js"} {
		write(t, filepath.Join(root, path))
	}
	write(t, filepath.Join(elsewhere, "another"))
	write(t, program)
	expect(sorted(filepath.Join(root, "src/a.js"), program)...)

	if err := os.Mkdir(filepath.Join(root, "new"), 0o750); err != nil {
		t.Fatal(err)
	}
	expect(filepath.Join(root, "new"))
	write(t, filepath.Join(root, "new/c.js"))
	expect(filepath.Join(root, "new/c.js"))

	if err := os.Remove(filepath.Join(root, "new/c.js")); err != nil {
		t.Fatal(err)
	}
	expect(filepath.Join(root, "new/c.js"))

	write(t, filepath.Join(root, "d.js"))
	if got, err := w.Since(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("since then: %q, %v", got, err)
	}
	if got, err := w.Since(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("since then, again: %q, %v", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := w.Changed(ended); got != nil || err != nil {
		t.Errorf("of a context that has ended: %q, %v", got, err)
	}
}

func sorted(a, b string) []string {
	if a < b {
		return []string{a, b}
	}
	return []string{b, a}
}

// There is a bound, which is told in words.
func TestTooManyDirectories(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range maxDirectories {
		if err := os.Mkdir(filepath.Join(root, strconv.Itoa(i)), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	_, err := New(root, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "has more than 2000 directories to watch") {
		t.Errorf("the error is %v", err)
	}
	if _, err := New(filepath.Join(root, "none"), nil, nil); err == nil || !strings.Contains(err.Error(), "cannot watch") {
		t.Errorf("of no directory the error is %v", err)
	}
}
