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

// A link that the user has laid before a run is followed; one that was laid later is replaced.
func TestLinks(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path, link := filepath.Join(directory, "run.json"), filepath.Join(directory, "link.json")
	if err := WriteFile(path, text("before")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.json", link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	place, err := Locate(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Write(text("after")); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, path); got != "after" {
		t.Errorf("the file behind the link has %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is replaced: %v, %v", info, err)
	}
	if err := WriteFile(link, text("another")); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, path) + " " + contents(t, link); got != "after another" {
		t.Errorf("a link was followed that nobody knows: %s", got)
	}
}

// What a target lays where a report is to stand leads nowhere: a link to a file, in the place of
// the directory, or in that of one above it.
func TestNobodyDivertsAReport(t *testing.T) {
	t.Parallel()
	for name, lay := range map[string]func(t *testing.T, directory, elsewhere string) error{
		"a link to a file": func(_ *testing.T, directory, elsewhere string) error {
			return os.Symlink(filepath.Join(elsewhere, "kept"), filepath.Join(directory, "a/b/run.json"))
		},
		"a link to a new file": func(_ *testing.T, directory, elsewhere string) error {
			return os.Symlink(filepath.Join(elsewhere, "new"), filepath.Join(directory, "a/b/run.json"))
		},
		"a link for the directory": func(t *testing.T, directory, elsewhere string) error {
			return divert(t, filepath.Join(directory, "a/b"), elsewhere)
		},
		"a link for one above": func(t *testing.T, directory, elsewhere string) error {
			return divert(t, filepath.Join(directory, "a"), elsewhere)
		},
		"the directory made again": func(_ *testing.T, directory, _ string) error {
			return errors.Join(os.RemoveAll(filepath.Join(directory, "a")), os.MkdirAll(filepath.Join(directory, "a/b"), 0o700))
		},
	} {
		directory, elsewhere := t.TempDir(), t.TempDir()
		for _, one := range []string{filepath.Join(directory, "a/b"), filepath.Join(elsewhere, "b")} {
			if err := os.MkdirAll(one, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(elsewhere, "kept"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		place, err := Locate(filepath.Join(directory, "a/b/run.json"))
		if err != nil {
			t.Fatal(err)
		}
		transcripts, err := os.OpenRoot(filepath.Join(directory, "a"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = transcripts.Close() }()
		if err := lay(t, directory, elsewhere); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}

		_ = place.Write(text("report")) // it may be refused
		_ = WriteIn(transcripts, "b/wire.jsonl", text("transcript"))

		if got := entries(t, elsewhere) + " " + contents(t, filepath.Join(elsewhere, "kept")) + " " + entries(t, filepath.Join(elsewhere, "b")); got != "b kept mine " {
			t.Errorf("%s: written elsewhere: %s", name, got)
		}
		if actual := filepath.Join(directory, "a/b/run.json"); name == "the directory made again" && contents(t, actual) != "report" {
			t.Errorf("%s: the report is not there", name)
		}
	}
}

// divert puts a link in the place of a directory.
func divert(t *testing.T, directory, elsewhere string) error {
	t.Helper()
	return errors.Join(os.Rename(directory, directory+".was"), os.Symlink(elsewhere, directory))
}

func TestWriteFileToADevice(t *testing.T) {
	t.Parallel()
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Skipf("no %s here", os.DevNull)
	}
	place, err := Locate(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Write(text("gone")); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(os.DevNull)
	if err != nil || after.Mode() != before.Mode() {
		t.Errorf("%s is no longer what it was: %v, %v", os.DevNull, after, err)
	}
}
