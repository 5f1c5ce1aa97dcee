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

// The pages of extensions.
const (
	tasksExtension       = "extensions/tasks"
	credentialsExtension = "extensions/oauth-client-credentials"
	managedExtension     = "extensions/enterprise-managed-authorization"
)

// A document is what specifies an extension. It is kept beside the folders of the
// revisions.
type document struct {
	path     string   // of its file, without ending, and of its page on the site
	since    string   // the first revision that has it
	sections []string // those that state obligations; the others explain them. None: all do
}

// extensions are the documents by the names that their pages have here.
var extensions = map[string]document{
	tasksExtension: {
		path:     "seps/2663-tasks-extension",
		since:    "2026-07-28",
		sections: []string{"Specification", "Backward Compatibility", "Security Implications"},
	},
	credentialsExtension: {
		path: "extensions/auth/oauth-client-credentials", since: "2026-07-28",
	},
	managedExtension: {
		path: "extensions/auth/enterprise-managed-authorization", since: "2026-07-28",
	},
}

// readExtensions adds the pages of extensions to the revisions that have them.
func (s *Specification) readExtensions(fsys fs.FS, root string) error {
	for page, document := range extensions {
		file := path.Join(root, document.path+".mdx")
		source, err := readBounded(fsys, file, maxPage)
		if errors.Is(err, fs.ErrNotExist) {
			// The repository of the specification keeps them above the revisions.
			file = path.Join(path.Dir(root), document.path+".mdx")
			source, err = readBounded(fsys, file, maxPage)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if len(document.sections) > 0 {
			source = onlySections(source, document.sections)
		}
		parsed := sync.OnceValue(func() *Page { return ParsePage(page, source) })
		for revision, pages := range s.revisions {
			if revision >= document.since {
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
