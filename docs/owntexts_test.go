package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// foreign are texts that the program writes, too, and looks for in something else, with what
// that is.
var foreign = map[string]string{
	" NOT":                             "a level of a requirement",
	" breaks:":                         "a file of faults",
	"Bearer ":                          "a header",
	"c ":                               "a conversation that a test has written",
	"s ":                               "a conversation that a test has written",
	"mcpconform: ":                     "the standard error of a process",
	"round 1":                          "the state of a request",
	"server response headers exceeded": "an error of net/http",
}

// What the program writes for people it does not read back: what it has to know is a value
// beside the text, which may then be worded anew.
func TestOwnTextIsNotReadBack(t *testing.T) {
	t.Parallel()
	root := os.DirFS("..")
	files := token.NewFileSet()
	read := map[string][]token.Pos{} // what is looked for, and where
	var written []*ast.BasicLit
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		sought := map[ast.Node]bool{}
		ast.Inspect(file, func(node ast.Node) bool {
			for _, one := range lookedFor(node) {
				if text, _ := literal(one); phrase.MatchString(text) {
					read[text] = append(read[text], one.Pos())
				}
				sought[one] = true
			}
			if text, is := node.(*ast.BasicLit); is && !sought[text] {
				written = append(written, text)
			}
			return true
		})
		return nil
	})
	if err != nil || len(written) < 10_000 {
		t.Fatalf("looked at %d texts: %v", len(written), err)
	}
	for text := range foreign {
		if read[text] == nil {
			t.Errorf("nothing looks for %q: it is no exception", text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(read)) {
		at := slices.IndexFunc(written, func(one *ast.BasicLit) bool {
			whole, _ := literal(one)
			return strings.Contains(whole, text)
		})
		if _, known := foreign[text]; at >= 0 && !known {
			t.Errorf("%s: looks for %q, which %s writes: make it a value",
				files.Position(read[text][0]), text, files.Position(written[at].Pos()))
		}
	}
}

// phrase matches a part of a sentence; signs and words alone are those of formats.
var phrase = regexp.MustCompile(`[a-zA-Z].* | .*[a-zA-Z]`)

// searches are the functions that look for a text in another.
var searches = []string{
	"Contains", "Count", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "HasPrefix", "HasSuffix", "Index", "LastIndex",
	"Replace", "ReplaceAll", "Split", "SplitN", "SplitSeq", "TrimPrefix", "TrimSuffix",
}

// lookedFor are the texts with which a node compares another.
func lookedFor(node ast.Node) []ast.Expr {
	switch one := node.(type) {
	case *ast.BinaryExpr:
		if one.Op == token.EQL || one.Op == token.NEQ {
			return []ast.Expr{one.X, one.Y}
		}
	case *ast.CaseClause:
		return one.List
	case *ast.CallExpr:
		function, is := one.Fun.(*ast.SelectorExpr)
		if !is || len(one.Args) < 2 {
			return nil
		}
		of, _ := function.X.(*ast.Ident)
		if of != nil && (of.Name == "strings" || of.Name == "bytes") && slices.Contains(searches, function.Sel.Name) {
			return one.Args[1:2]
		}
	}
	return nil
}
