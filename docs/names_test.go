package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// riddles are words that names and comments once used where the field has a word, with that
// word.
var riddles = map[string]string{
	"leg":       "cell",
	"legs":      "cells",
	"lure":      "decoy",
	"lures":     "decoys",
	"errand":    "step",
	"errands":   "steps",
	"hasty":     "short",
	"worn":      "used",
	"poison":    "forbidden",
	"knock":     "request",
	"keeper":    "store",
	"interview": "requests",
	"startled":  "what the peer did",
	"appalled":  "what the peer did",
	"puzzled":   "what the peer did",
	"departure": "exit",
	"crowded":   "over its budget",
	"company":   "concurrent",
}

// Names of the code, and its comments, are words of the field.
func TestNamesAreNoRiddles(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	root := ".."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "bin" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		files := token.NewFileSet()
		source, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		tell := func(at token.Pos, what, text string) {
			for _, word := range words.FindAllString(text, -1) {
				if instead, known := riddles[strings.ToLower(word)]; known {
					t.Errorf("%s: the %s says %q: say %q, or what it is", files.Position(at), what, word, instead)
				}
			}
		}
		for _, group := range file.Comments {
			tell(group.Pos(), "comment", group.Text())
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if name, is := node.(*ast.Ident); is {
				tell(name.Pos(), "name", name.Name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
