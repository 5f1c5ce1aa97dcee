package starter_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpconform/mcpconform/internal/starter"
)

func TestBaselineFor(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	put := func(text string, path ...string) string {
		t.Helper()
		name := filepath.Join(append([]string{directory}, path...)...)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	manifest := func(project, text string) {
		put(text, project, "node_modules", "@modelcontextprotocol", "sdk", "package.json")
	}
	manifest("known", `{"version": "1.32.2"}`)
	manifest("other", `{"version": "1.2.0"}`)
	manifest("spoilt", `{`)
	for want, command := range map[string][]string{
		"sdk:typescript@1.32": {"node", "--enable-source-maps", put("", "known", "dist", "index.js"), "stdio"},
	} {
		if got := starter.BaselineFor(command); got != want {
			t.Errorf("%q: %q", command, got)
		}
	}
	for _, command := range [][]string{
		{"npx", "-y", "my-server"},
		{"node", put("", "other", "index.js")},
		{"node", put("", "spoilt", "index.js")},
		{put("", "binary")},
		{filepath.Join(directory, "known")},
	} {
		if got := starter.BaselineFor(command); got != "" {
			t.Errorf("%q: %q", command, got)
		}
	}
}
