package fault

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcpconform/mcpconform/internal/nearest"
)

// Find reads one fault or variation by name: its id, when it is in a .yaml file
// below the root of fsys, or FILE#ID. The error for an unknown id names the
// nearest one.
func Find(fsys fs.FS, name string) (*Fault, error) {
	file, id, ownFile := strings.Cut(name, "#")
	if ownFile {
		return findIn(file, id)
	}
	var found *Fault
	err := fs.WalkDir(fsys, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".yaml" {
			return err
		}
		text, err := readBounded(fsys, file)
		if err != nil || !bytes.Contains(text, []byte(name)) { // most need not be parsed
			return err
		}
		faults, err := Parse(file, text)
		if err != nil {
			return err
		}
		if found, _ = pick(faults, name); found != nil {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || found != nil {
		return found, err
	}
	all, err := Load(fsys)
	if err != nil {
		return nil, err
	}
	return pick(all, name)
}

func findIn(file, id string) (*Fault, error) {
	text, err := readBounded(os.DirFS(filepath.Dir(file)), filepath.Base(file))
	if err != nil {
		return nil, err
	}
	faults, err := Parse(file, text)
	if err != nil {
		return nil, err
	}
	return pick(faults, id)
}

// pick returns the one with an id.
func pick(faults []*Fault, id string) (*Fault, error) {
	var ids []string
	for _, one := range faults {
		if ids = append(ids, one.ID); one.ID == id {
			return one, nil
		}
	}
	if near := nearest.Word(id, ids); near != "" {
		return nil, fmt.Errorf("there is no fault or variation %q, did you mean %q?", id, near)
	}
	return nil, fmt.Errorf("there is no fault or variation %q among %d", id, len(faults))
}
