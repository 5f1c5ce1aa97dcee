package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Why a command could not be started; errors.Is tells them apart.
var (
	ErrNoCommand     = errors.New("no command")
	ErrNotFound      = errors.New("command not found")
	ErrNotExecutable = errors.New("command not executable")
	ErrDirectory     = errors.New("no working directory")
)

// startError is a sentence for people over a kind and a cause for programs.
type startError struct {
	sentence string
	kind     error
	cause    error
}

func (e *startError) Error() string { return e.sentence }

func (e *startError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// prepare finds the program. A name with a separator is relative to the
// working directory of the command; one without is looked up in PATH.
func prepare(command Command) (*exec.Cmd, error) {
	if len(command.Args) == 0 || command.Args[0] == "" {
		return nil, &startError{sentence: "no command was given to start the target with", kind: ErrNoCommand}
	}
	if err := checkDirectory(command.Dir); err != nil {
		return nil, err
	}
	name := command.Args[0]
	path := name
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			absolute, err := filepath.Abs(filepath.Join(command.Dir, name))
			if err != nil {
				return nil, fmt.Errorf("finding command %q: %w", name, err)
			}
			path = absolute
		}
		if _, err := exec.LookPath(path); err != nil {
			return nil, unusable(name, path, err)
		}
	} else {
		found, err := exec.LookPath(name)
		if err != nil {
			return nil, notInPath(name, command.Dir, err)
		}
		path = found
	}
	return &exec.Cmd{Path: path, Args: command.Args, Dir: command.Dir}, nil
}

func checkDirectory(directory string) error {
	if directory == "" {
		return nil
	}
	info, err := os.Stat(directory)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &startError{fmt.Sprintf("working directory %q does not exist", directory), ErrDirectory, err}
	case err != nil:
		return &startError{fmt.Sprintf("working directory %q: %v", directory, err), ErrDirectory, err}
	case !info.IsDir():
		return &startError{fmt.Sprintf("working directory %q is a file", directory), ErrDirectory, nil}
	}
	return nil
}

func notInPath(name, directory string, err error) error {
	sentence := fmt.Sprintf("command %q not found in PATH", name)
	local := filepath.Join(directory, name)
	if info, statErr := os.Stat(local); statErr == nil && !info.IsDir() {
		sentence += fmt.Sprintf("; did you mean %q?", "."+string(filepath.Separator)+name)
	} else if strings.ContainsRune(name, ' ') {
		sentence += "; give the program and its arguments as separate words"
	}
	return &startError{sentence, ErrNotFound, err}
}

func unusable(name, path string, err error) error {
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		return &startError{fmt.Sprintf("command %q does not exist (looked at %s)", name, path), ErrNotFound, err}
	case statErr == nil && info.IsDir():
		return &startError{fmt.Sprintf("command %q is a directory", name), ErrNotExecutable, err}
	case statErr != nil:
		return &startError{fmt.Sprintf("command %q: %v", name, statErr), ErrNotExecutable, err}
	}
	return &startError{fmt.Sprintf("command %q is not executable; chmod +x %s, or start it with its interpreter",
		name, path), ErrNotExecutable, err}
}

// explain says why the system refused to start a program that is there.
func explain(cmd *exec.Cmd, err error) error {
	name := cmd.Args[0]
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return &startError{fmt.Sprintf("command %q is no program that this system can run; "+
			"a script needs #! and its interpreter as its first line", name), ErrNotExecutable, err}
	case errors.Is(err, fs.ErrNotExist):
		return &startError{fmt.Sprintf("command %q is there, but the interpreter or loader that it names is not",
			name), ErrNotExecutable, err}
	case errors.Is(err, fs.ErrPermission):
		return &startError{
			fmt.Sprintf("command %q may not be executed here (permissions, or a file system mounted noexec)",
				name),
			ErrNotExecutable,
			err,
		}
	}
	return fmt.Errorf("starting command %q: %w", name, err)
}
