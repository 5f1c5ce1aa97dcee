// Package filewatch tells when the files of a target change.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxDirectories bounds what the kernel is asked to watch: its own bound is for all
	// programs of a user, and a project's own sources have a few hundred.
	maxDirectories = 2000
	// pending bounds the changes that the caller has not taken yet.
	pending = 1000
	// quiet is how long nothing may change until what has changed is told: editors and
	// compilers write in several steps.
	quiet = 200 * time.Millisecond
)

// A Watcher watches a directory with all below it, and single files elsewhere. Hidden
// files and directories, and node_modules, are not looked at. It is for one goroutine.
type Watcher struct {
	notify *fsnotify.Watcher
	root   string
	files  []string // beside those below the root
	paths  chan string
	failed chan error

	left map[string]bool // what is not looked at, with all below it

	mu    sync.Mutex
	count int // of directories
}

// New watches the root and the files, except what is left out. All are absolute paths.
func New(root string, files, leftOut []string) (*Watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("cannot watch files: %w", err)
	}
	w := &Watcher{
		notify: notify, root: root, files: files, left: map[string]bool{},
		paths: make(chan string, pending), failed: make(chan error, 1),
	}
	for _, path := range leftOut {
		w.left[path] = true
	}
	err = w.add(root)
	for _, file := range files {
		if err == nil && !w.below(file) {
			err = w.watch(filepath.Dir(file))
		}
	}
	if err != nil {
		return nil, errors.Join(err, notify.Close())
	}
	go w.pump()
	return w, nil
}

// Close ends the watching.
func (w *Watcher) Close() error { return w.notify.Close() }

// pump takes the events of the kernel, which drops those that are not read, until the
// watching ends.
func (w *Watcher) pump() {
	for {
		var err error
		path := ""
		select {
		case event, open := <-w.notify.Events:
			if !open {
				return
			}
			path, err = w.take(event)
		case failure, open := <-w.notify.Errors:
			if !open {
				return
			}
			err = fmt.Errorf("cannot watch files: %w", failure)
		}
		if err != nil {
			select {
			case w.failed <- err:
			default: // one is enough
			}
		}
		if path != "" {
			select {
			case w.paths <- path:
			default: // so many that one more makes no difference
			}
		}
	}
}

// Changed waits until something has changed, and then nothing for a while. It returns what
// has, sorted; nothing when the context ends before.
func (w *Watcher) Changed(ctx context.Context) ([]string, error) { return w.collect(ctx, nil) }

// Since returns what has changed and was not told yet, sorted.
func (w *Watcher) Since(ctx context.Context) ([]string, error) {
	return w.collect(ctx, time.After(quiet))
}

// collect gathers what has changed until it has been still for a while.
func (w *Watcher) collect(ctx context.Context, still <-chan time.Time) ([]string, error) {
	var changed []string
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-still:
			slices.Sort(changed)
			return slices.Compact(changed), nil
		case err := <-w.failed:
			return nil, err
		case path := <-w.paths:
			changed = append(changed, path)
			still = time.After(quiet)
		}
	}
}

// take returns the path that an event is about, "" for one that is not looked at.
// Directories that are new are watched, too.
func (w *Watcher) take(event fsnotify.Event) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	path := event.Name
	looked := slices.Contains(w.files, path)
	if w.below(path) {
		looked = !w.leavesOut(path)
	}
	if event.Op == fsnotify.Chmod || !looked {
		return "", nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if event.Has(fsnotify.Create) {
			return path, w.add(path)
		}
		return "", nil
	}
	return path, nil
}

func (w *Watcher) below(path string) bool {
	relative, err := filepath.Rel(w.root, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// leavesOut tells whether a path below the root, or a directory that it is in, is not
// looked at.
func (w *Watcher) leavesOut(path string) bool {
	for path != w.root && w.below(path) {
		name := filepath.Base(path)
		if strings.HasPrefix(name, ".") || name == "node_modules" || w.left[path] {
			return true
		}
		path = filepath.Dir(path)
	}
	return false
}

// add watches a directory with all below it. What is gone by then, or closed to this user,
// is passed over.
func (w *Watcher) add(directory string) error {
	return filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == w.root:
			return fmt.Errorf("cannot watch %s: %w", path, err)
		case err != nil:
			return fs.SkipDir
		case !entry.IsDir():
			return nil
		case w.leavesOut(path):
			return fs.SkipDir
		}
		return w.watch(path)
	})
}

func (w *Watcher) watch(directory string) error {
	if w.count++; w.count > maxDirectories {
		return fmt.Errorf("%s has more than %d directories to watch: run mcpconform in the directory of the target",
			w.root, maxDirectories)
	}
	if err := w.notify.Add(directory); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot watch %s: %w", directory, err)
	}
	return nil
}
