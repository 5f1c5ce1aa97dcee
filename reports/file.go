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

// WriteFile writes a file whole or not at all: write fills a new file beside
// path, which takes the place of path when it is safely on the disk. If anything
// fails, path is as it was and nothing else is left. A file behind a symbolic
// link is replaced, the link stays; a device or pipe (/dev/stdout) is written to
// directly. The file may be read by all whom the umask does not bar.
func WriteFile(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("cannot write %s: it is a directory, name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		return writeDirectly(path, write)
	case err == nil:
		if actual, err := filepath.EvalSymlinks(path); err == nil {
			path = actual
		}
	}
	file, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		// Both fail when all went well, and tell nothing new otherwise.
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	buffered := bufio.NewWriter(file)
	for _, step := range []func() error{
		func() error { return write(buffered) },
		buffered.Flush,
		file.Sync,
		file.Close,
		func() error { return os.Rename(file.Name(), path) },
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

// createBeside creates a file of a new name in the directory of path.
// os.CreateTemp would do, if its files could be read by others.
func createBeside(path string) (*os.File, error) {
	directory, base := filepath.Split(path)
	name := directory + "." + base + "." + rand.Text()[:8] + ".tmp"
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a report is for everyone
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf(
			"cannot write %s: there is no directory %s, create it first: mkdir -p %s",
			path,
			filepath.Dir(path),
			filepath.Dir(path),
		)
	case err != nil:
		return nil, fmt.Errorf("cannot write %s: %w", path, files.Reason(err))
	}
	return file, nil
}
