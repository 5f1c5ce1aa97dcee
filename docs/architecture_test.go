package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page names every package below internal/, and none that is not there.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var named, there []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(internal/[^`]+)` \\|").FindAllSubmatch(page, -1) {
		named = append(named, string(row[1]))
	}
	root := os.DirFS("..")
	err = fs.WalkDir(root, "internal", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		if folder := filepath.ToSlash(filepath.Dir(name)); !slices.Contains(there, folder) {
			there = append(there, folder)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range there {
		if !slices.Contains(named, folder) {
			t.Errorf("architecture.md has no row for %s", folder)
		}
	}
	for _, row := range named {
		if !slices.Contains(there, row) {
			t.Errorf("architecture.md has a row for %s, which is no package", row)
		}
	}
}
