package docs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// vague matches the words of comments that do not say who acts.
var vague = regexp.MustCompile(`(?i)\b(?:nobody|somebody|anybody|whoever|whomever|whatever)\b`)

// Comments name who acts: the harness, the target, the client, the user.
func TestCommentsNameWhoActs(t *testing.T) {
	t.Parallel()
	root, files, looked := os.DirFS(".."), token.NewFileSet(), 0
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "bin" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go" || path == "docs/comments_test.go":
			return nil
		}
		source, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, source, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, comment := range file.Comments {
			looked++
			if found := vague.FindString(strings.ReplaceAll(comment.Text(), "\n", " ")); found != "" {
				t.Errorf("%s: a comment says %q: say who does what", files.Position(comment.Pos()), found)
			}
		}
		return nil
	})
	if err != nil || looked < 10_000 {
		t.Errorf("looked at %d comments: %v", looked, err)
	}
}
