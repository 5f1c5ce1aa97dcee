package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// roundabout are phrases that describe around a thing, with what names it. None may come
// back in any text that a user meets.
func roundabout() map[string]string {
	return map[string]string{
		"or are told above":              "or already reported",
		"or is told above":               "or already reported",
		"tool is known that":             "no known tool …",
		"connection brings nothing":      "the server no longer answers initialize",
		"what it waited for":             "timed out",
		"did not come in time":           "timed out",
		"the target went away":           "exited, or stopped answering",
		"be read to its end":             "failed:",
		"be followed to its end":         "failed:",
		"was refused with error":         "failed: error",
		"what only reads":                "read-only tools",
		"annotate them readOnlyHint":     "annotate read-only tools",
		"what may be called in":          "name callable tools in",
		"nothing shows what the refusal": "cannot tell why it was refused",
		"may be asked for in order":      "no valid call may be made to compare",
		"with arguments that are right":  "valid arguments",
		"never given out":                "never issued",
		"cursor that it never":           "a cursor it never issued",
		"what shows so far":              "results are live",
		"the same defect as another":     "consequences are counted under their cause",
		"what the peer of each sends":    "what a real peer would send",
		"green pipeline it is":           "one more command sets up CI",
		"missing from its catalogue":     "the catalogue has every normative sentence",
		"has to be told what to do":      "needs a short driver",
		"none of the 2 tools":            "neither tool",

		"nobody knows whether":      "it is unknown whether",
		"nobody knows which":        "it is unknown which",
		"members that nobody knows": "unknown members",
		"a member that nobody":      "an unknown member",
		"see the check of":          "see the result of",
		"see the checks of":         "see the results of",
		"asked for nothing more":    "sent no further request",
		"said nothing more":         "sent nothing more",
		"had nothing to ask":        "sent no further request",
		"had to be ended":           "had to be terminated",
		"come to an end;":           "was not finished;",
		"brought no reply":          "got no reply",
		"another answer each time":  "is answered differently each time",
		"whatever it is told":       "regardless of the steps",
		"only where it is told to":  "only if the steps ask for it",
		"is told as failed":         "is reported as failed",
		"is told as done":           "is reported as done",
		"its last words":            "its last output",
		"text that is no json":      "text that is not JSON",
		"json that is no message":   "JSON that is not a message",
		"that is no object":         "that is not an object",
		"that is no string":         "that is not a string",
		"which is no revision":      "which is not a revision",
		"tool that may be called":   "callable tool",
		"which another check":       "reported by another check",
		"give it longer with":       "raise --timeout",
		"a slash more":              "an extra slash",
		"a comma too many":          "an extra comma",
	}
}

func TestTextsNameWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	looked := 0
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "node_modules", "fixtures/peers"}, path):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		texts, err := textsOf(root, path)
		if err != nil {
			return err
		}
		looked += len(texts)
		for _, text := range texts {
			plain := strings.ToLower(strings.Join(strings.Fields(text), " "))
			for phrase, better := range roundabout() {
				if strings.Contains(plain, strings.ToLower(phrase)) {
					t.Errorf("%s says %q: say %q", path, phrase, better)
				}
			}
		}
		return nil
	})
	if err != nil || looked < 10_000 {
		t.Errorf("looked at %d texts: %v", looked, err)
	}
}

// textsOf are the texts of a file that a user may meet: all of a document, the string
// literals of a program, whose parts are put together.
func textsOf(root fs.FS, path string) ([]string, error) {
	switch filepath.Ext(path) {
	case ".md", ".html", ".yaml", ".yml", ".json", ".txt", ".xml", ".js":
		if strings.HasPrefix(path, ".") || path == "CHANGELOG.md" {
			return nil, nil // tells what was
		}
		text, err := fs.ReadFile(root, path)
		return []string{string(text)}, err
	case ".go":
		if strings.HasSuffix(path, "_test.go") {
			return nil, nil
		}
	default:
		return nil, nil
	}
	source, err := fs.ReadFile(root, path)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var texts []string
	ast.Inspect(file, func(node ast.Node) bool {
		expression, is := node.(ast.Expr)
		if !is {
			return true
		}
		text, whole := literal(expression)
		if text != "" {
			texts = append(texts, text)
		}
		return !whole
	})
	return texts, nil
}

// literal is the text of a string literal, or of a sum in which literals are; whole tells
// that there is nothing else to look at in it.
func literal(expression ast.Expr) (text string, whole bool) {
	switch one := expression.(type) {
	case *ast.BasicLit:
		if one.Kind != token.STRING {
			return "", true
		}
		text, _ = strconv.Unquote(one.Value) // the parser has read it
		return text, true
	case *ast.BinaryExpr:
		left, leftWhole := literal(one.X)
		right, rightWhole := literal(one.Y)
		return left + right, leftWhole && rightWhole
	}
	return "", false
}
