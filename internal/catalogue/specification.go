package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Pages are the pages of the specification whose normative sentences the
// catalogue states, as coverage counts them.
var Pages = []string{
	"basic/index",
	"basic/messages",
	"basic/lifecycle",
	"basic/versioning",
	"basic/patterns/index",
	"basic/patterns/mrtr",
	"basic/patterns/subscriptions",
	"basic/patterns/cancellation",
	"basic/patterns/progress",
	"basic/transports",
	"basic/transports/index",
	"basic/transports/stdio",
	"basic/transports/streamable-http",
	"basic/utilities/ping",
	"basic/utilities/progress",
	"basic/utilities/cancellation",
	"basic/utilities/tasks",
	"server/index",
	"server/discover",
	"server/tools",
	"server/resources",
	"server/prompts",
	"server/utilities/completion",
	"server/utilities/logging",
	"server/utilities/pagination",
	"server/utilities/caching",
	"client/roots",
	"client/sampling",
	"client/elicitation",
	tasksExtension,
	credentialsExtension,
	managedExtension,
	"basic/authorization",
	"basic/authorization/index",
	"basic/authorization/authorization-server-discovery",
	"basic/authorization/client-registration",
	"basic/authorization/security-considerations",
	practicesPage,
	practicesTutorial,
}

// The security best practices: a page of the specification once, a tutorial since.
const (
	practicesPage     = "basic/security_best_practices"
	practicesTutorial = "tutorials/security/security_best_practices"
)

// guides are the pages that advise: of them, only what a peer can see is catalogued. What
// rests on them never fails a run.
var guides = []string{practicesPage, practicesTutorial}

const (
	// maxPage bounds one page of the specification, in bytes. The largest, the
	// schema reference, has less than a megabyte.
	maxPage = 4 << 20
	// schemaPage is the reference that is generated from the schema. It counts
	// as a place, but what it says is not told from its sentences.
	schemaPage = "schema"
)

// A Specification is a checkout of the specification.
type Specification struct {
	revisions map[string]map[string]func() *Page // parsed when asked for
}

// ReadSpecification reads the pages of every known revision that fsys has. It
// finds the folders of the revisions at the root of fsys, or where the
// repository of the specification keeps them (docs/specification).
func ReadSpecification(fsys fs.FS) (*Specification, error) {
	root := ""
	for _, candidate := range []string{".", "specification", "docs/specification"} {
		if slices.ContainsFunc(protocol.Released(), func(revision string) bool {
			info, err := fs.Stat(fsys, path.Join(candidate, revision))
			return err == nil && info.IsDir()
		}) {
			root = candidate
			break
		}
	}
	if root == "" {
		return nil, fmt.Errorf("no folder %s: expected a checkout of the specification, with a folder per revision",
			strings.Join(protocol.Released(), " or "))
	}
	spec := &Specification{revisions: map[string]map[string]func() *Page{}}
	for _, revision := range append(protocol.Released(), Draft) {
		pages, err := readRevision(fsys, path.Join(root, revision))
		if err != nil {
			return nil, fmt.Errorf("reading revision %s of the specification: %w", revision, err)
		}
		if pages != nil {
			spec.revisions[revision] = pages
		}
	}
	if err := spec.readExtensions(fsys, root); err != nil {
		return nil, fmt.Errorf("reading the extensions of the specification: %w", err)
	}
	return spec, nil
}

func readRevision(fsys fs.FS, dir string) (map[string]func() *Page, error) {
	if _, err := fs.Stat(fsys, dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	pages := map[string]func() *Page{}
	err := fs.WalkDir(fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".mdx" {
			return err
		}
		source, err := readBounded(fsys, name, maxPage)
		if err != nil {
			return err
		}
		page := strings.TrimSuffix(strings.TrimPrefix(name, dir+"/"), ".mdx")
		pages[page] = sync.OnceValue(func() *Page { return ParsePage(page, source) })
		return nil
	})
	return pages, err
}

// readBounded reads a whole file, or fails if it is larger than limit bytes.
func readBounded(fsys fs.FS, name string, limit int64) (source []byte, err error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	source, err = io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(source)) > limit {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, limit)
	}
	return source, err
}

// Page returns a page at a revision, or nil where there is none.
func (s *Specification) Page(revision, page string) *Page {
	if parsed := s.revisions[revision][page]; parsed != nil {
		return parsed()
	}
	return nil
}

// pages returns the names of the pages of a revision, sorted.
func (s *Specification) pages(revision string) []string {
	return slices.Sorted(maps.Keys(s.revisions[revision]))
}

// A SharedSentence is a sentence with the revisions in which it stands.
type SharedSentence struct {
	Sentence           // as in the last of the revisions
	Revisions []string // oldest first
}

// Shared merges the sentences of a page over the revisions: one with the same
// fingerprint is listed once. They are sorted by line.
func (s *Specification) Shared(page string, revisions []string) []SharedSentence {
	var shared []*SharedSentence
	known := map[string]*SharedSentence{}
	for _, revision := range revisions {
		p := s.Page(revision, page)
		if p == nil {
			continue
		}
		for _, sentence := range p.Sentences {
			entry := known[sentence.Fingerprint]
			if entry == nil {
				entry = &SharedSentence{}
				known[sentence.Fingerprint] = entry
				shared = append(shared, entry)
			}
			if slices.Contains(entry.Revisions, revision) {
				continue // the page says it twice
			}
			entry.Sentence = sentence
			entry.Revisions = append(entry.Revisions, revision)
		}
	}
	slices.SortStableFunc(shared, func(a, b *SharedSentence) int { return cmp.Compare(a.Line, b.Line) })
	out := make([]SharedSentence, len(shared))
	for i, entry := range shared {
		out[i] = *entry
	}
	return out
}

// WriteSentences lists the sentences of a page with their fingerprints, for
// those who write the catalogue: revisions, fingerprint, keywords, place, text.
func (s *Specification) WriteSentences(w io.Writer, page string, revisions []string) error {
	shared := s.Shared(page, revisions)
	if len(shared) == 0 {
		var pages []string
		for _, revision := range revisions {
			pages = append(pages, s.pages(revision)...)
		}
		return fmt.Errorf("no page %q at %s%s", page, strings.Join(revisions, ", "), suggest(page, pages))
	}
	revisionWidth := len(strings.Join(revisions, " "))
	keywordWidth := 0
	for _, sentence := range shared {
		keywordWidth = max(keywordWidth, len(strings.Join(sentence.Keywords, ", ")))
	}
	heading := "\x00"
	for _, sentence := range shared {
		if sentence.Anchor != heading {
			heading = sentence.Anchor
			if _, err := fmt.Fprintf(w, "\n%s\n", place{page, heading}); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, "  %-*s  %s  %-*s  %4d  %s\n",
			revisionWidth, strings.Join(sentence.Revisions, " "), sentence.Fingerprint,
			keywordWidth, strings.Join(sentence.Keywords, ", "), sentence.Line, sentence.Text)
		if err != nil {
			return err
		}
	}
	return nil
}
