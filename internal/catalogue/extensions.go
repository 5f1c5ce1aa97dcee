package catalogue

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// tasksExtension is the page of the tasks extension.
const tasksExtension = "extensions/tasks"

// A proposal is what specifies an extension: it became final, and is kept
// beside the folders of the revisions.
type proposal struct {
	name     string   // the name of its file, and of its page on the site
	since    string   // the first revision that has it
	sections []string // those that state obligations; the others explain them
}

// extensions are the proposals by the names that their pages have here.
var extensions = map[string]proposal{
	tasksExtension: {
		name:     "2663-tasks-extension",
		since:    "2026-07-28",
		sections: []string{"Specification", "Backward Compatibility", "Security Implications"},
	},
}

// readExtensions adds the pages of extensions to the revisions that have them.
func (s *Specification) readExtensions(fsys fs.FS, root string) error {
	for page, proposal := range extensions {
		file := path.Join(root, "seps", proposal.name+".mdx")
		source, err := readBounded(fsys, file, maxPage)
		if errors.Is(err, fs.ErrNotExist) {
			// The repository of the specification keeps them above the revisions.
			file = path.Join(path.Dir(root), "seps", proposal.name+".mdx")
			source, err = readBounded(fsys, file, maxPage)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		parsed := sync.OnceValue(func() *Page { return ParsePage(page, onlySections(source, proposal.sections)) })
		for revision, pages := range s.revisions {
			if revision >= proposal.since {
				pages[page] = parsed
			}
		}
	}
	return nil
}

// onlySections empties all lines that stand outside of the sections of the
// second level with these titles. The others keep their numbers.
func onlySections(mdx []byte, titles []string) []byte {
	var out bytes.Buffer
	inside, fenced := false, false
	for line := range bytes.Lines(mdx) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("```")) {
			fenced = !fenced
		}
		if title, ok := strings.CutPrefix(string(line), "## "); ok && !fenced {
			inside = slices.Contains(titles, strings.TrimSpace(title))
		}
		if !inside {
			line = []byte("\n")
		}
		out.Write(line)
	}
	return out.Bytes()
}
