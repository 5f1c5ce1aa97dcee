package reports

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// text is a write function for WriteFile.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// entries lists the names in a directory.
func entries(t *testing.T, directory string) string {
	t.Helper()
	list, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path := filepath.Join(directory, "run.json")
	for _, want := range []string{"first", "second, longer", "3"} {
		if err := WriteFile(path, text(want)); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, path); got != want {
			t.Errorf("%q, wanted %q", got, want)
		}
	}
	if got := entries(t, directory); got != "run.json" {
		t.Errorf("left behind: %s", got)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && (mode&0o600 != 0o600 || mode&^0o644 != 0) {
		t.Errorf("permissions %o, wanted 644 less the umask", mode)
	}
}

func TestWriteFileLeavesNothingHalfWritten(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path := filepath.Join(directory, "run.json")
	if err := WriteFile(path, text("before")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken on purpose")
	err := WriteFile(path, func(w io.Writer) error {
		if err := text(strings.Repeat("half", 1<<16))(w); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, wanted the one of the writer", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic of the writer is swallowed")
			}
		}()
		_ = WriteFile(path, func(io.Writer) error { panic("on purpose") })
	}()
	if got := contents(t, path); got != "before" {
		t.Errorf("the file has %d bytes, wanted what was there before", len(got))
	}
	if got := entries(t, directory); got != "run.json" {
		t.Errorf("left behind: %s", got)
	}
}

func TestWriteFileErrors(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(directory, "missing", "run.json"), "create it first: mkdir -p " + filepath.Join(directory, "missing")},
		{directory, "it is a directory, name a file in it"},
	} {
		err := WriteFile(c.path, text("x"))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, wanted one line with %q", c.path, err, c.want)
		}
	}
	if got := entries(t, directory); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

func TestWriteFileFollowsLinks(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path, link := filepath.Join(directory, "run.json"), filepath.Join(directory, "link.json")
	if err := WriteFile(path, text("before")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.json", link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if err := WriteFile(link, text("after")); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, path); got != "after" {
		t.Errorf("the file behind the link has %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is replaced: %v, %v", info, err)
	}
}

func TestWriteFileToADevice(t *testing.T) {
	t.Parallel()
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Skipf("no %s here", os.DevNull)
	}
	if err := WriteFile(os.DevNull, text("gone")); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(os.DevNull)
	if err != nil || after.Mode() != before.Mode() {
		t.Errorf("%s is no longer what it was: %v, %v", os.DevNull, after, err)
	}
}
