package reports

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpconform/mcpconform/internal/files"
)

// WriteFile writes a file whole or not at all: write fills a new file beside path, which is
// renamed to path after it was synced. If anything fails, path is as it was and no other file
// is left. WriteFile does not follow a symbolic link at path, which the target may have created.
// The mode of the file is 0644, less the umask.
func WriteFile(path string, write func(io.Writer) error) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return fmt.Errorf("cannot write %s: it is a directory, name a file in it", path)
	}
	directory := filepath.Dir(path)
	root, err := os.OpenRoot(directory)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf(
			"cannot write %s: there is no directory %s, create it first: mkdir -p %s", path, directory, directory)
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
	}
	defer func() { _ = root.Close() }() // it only led there
	return writeIn(root, filepath.Base(path), path, write)
}

// WriteIn is [WriteFile] at a path below a directory that was opened before: no link on the way
// leads out of it. Directories that are missing are created.
func WriteIn(root *os.Root, path string, write func(io.Writer) error) error {
	if err := root.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(root.Name(), path), files.Reason(err))
	}
	return writeIn(root, path, filepath.Join(root.Name(), path), write)
}

// Place is where a file is to be written later, as the user means it now: what is laid there in
// between, by the target of a run, leads nowhere else.
type Place struct {
	named     string // by the user
	directory string // without links
	base      string // in the directory
	direct    bool   // a device or pipe (/dev/stdout), which is written to
}

// Locate finds the place that a path names. A file behind a symbolic link is replaced, the link
// stays.
func Locate(path string) (*Place, error) {
	place := &Place{named: path}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("cannot write %s: it is a directory, name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		place.direct = true
		return place, nil
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", place.named, files.Reason(err))
		}
	}
	place.base = filepath.Base(path)
	place.directory, err = filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil {
		place.directory, err = filepath.Abs(place.directory)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", place.named, files.Reason(err))
	}
	return place, nil
}

// Write is [WriteFile] at the place.
func (p *Place) Write(write func(io.Writer) error) error {
	if p.direct {
		return writeDirectly(p.named, write)
	}
	if actual, err := filepath.EvalSymlinks(p.directory); err == nil && actual != p.directory {
		return fmt.Errorf("cannot write %s: %s has become a link to %s in the meantime", p.named, p.directory, actual)
	}
	return WriteFile(filepath.Join(p.directory, p.base), write)
}

// writeIn writes a file in an open directory; path is how others name it.
func writeIn(root *os.Root, name, path string, write func(io.Writer) error) error {
	// os.CreateTemp would do, if its files could be read by others.
	temporary := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text()[:8]+".tmp")
	file, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // a report is for everyone
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
	}
	defer func() {
		// Both fail when all went well, and tell nothing new otherwise.
		_ = file.Close()
		_ = root.Remove(temporary)
	}()
	buffered := bufio.NewWriter(file)
	for _, step := range []func() error{
		func() error { return write(buffered) },
		buffered.Flush,
		file.Sync,
		file.Close,
		func() error { return root.Rename(temporary, name) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
		}
	}
	return nil
}

func writeDirectly(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
	}
	buffered := bufio.NewWriter(NoCommands(file)) // it may be a log
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
	}
	return nil
}
