package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpconform/mcpconform/internal/files"
)

// completeOutputs makes sure, before anything runs, that what the run is to
// write can be written.
func (s *settings) completeOutputs() error {
	for _, output := range []struct{ flag, path string }{{"--json", s.JSON}, {"--junit", s.JUnit}} {
		if output.path == "" {
			continue
		}
		if err := writable(output.flag, output.path); err != nil {
			return err
		}
	}
	if s.JSON != "" && s.JSON == s.JUnit {
		return usageError("--json and --junit both name %s", s.JSON)
	}
	if s.Transcripts == "" {
		return nil
	}
	if err := os.MkdirAll(s.Transcripts, 0o750); err != nil {
		return usageError("--transcripts %s cannot be created: %s", s.Transcripts, files.Reason(err))
	}
	return writable("--transcripts", filepath.Join(s.Transcripts, "transcript.jsonl"))
}

// writable tries whether a file can be made where path will stand, and leaves
// nothing there.
func writable(flag, path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return usageError("%s %s is a directory; name a file in it", flag, path)
	case err == nil && !info.Mode().IsRegular():
		return nil // a device or a pipe is written to directly
	}
	directory := filepath.Dir(path)
	if _, err := os.Stat(directory); errors.Is(err, fs.ErrNotExist) {
		return usageError(
			"%s %s: there is no directory %s; create it first: mkdir -p %s",
			flag,
			path,
			directory,
			directory,
		)
	}
	file, err := os.CreateTemp(directory, ".mcpconform-*.tmp")
	if err != nil {
		return usageError("%s %s cannot be written: %s", flag, path, files.Reason(err))
	}
	_ = file.Close() // nothing was written
	if err := os.Remove(file.Name()); err != nil {
		return usageError("%s %s: %s", flag, path, files.Reason(err))
	}
	return nil
}
