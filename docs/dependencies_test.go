package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// CONTRIBUTING.md says of each direct dependency what it is for, and of no other.
func TestDependenciesHaveReasons(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## 8. What it is built on")
	named := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*`) \\| ").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("[^`, ]+").FindAllString(row[1], -1) {
			named[name] = true
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(module), -1) {
		name := strings.TrimPrefix(line[1], "github.com/")
		if !named[name] {
			t.Errorf("CONTRIBUTING.md does not say what %s is for", name)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("CONTRIBUTING.md explains %s, which go.mod does not name", name)
	}
}
