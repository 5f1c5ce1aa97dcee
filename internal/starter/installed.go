package starter

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/baseline"
)

// BaselineFor names the built-in baseline of the SDK that a server uses which a command
// starts: that of the packages installed beside one of the files that the command names.
// It is "" where there is none, or none for the version that is installed.
func BaselineFor(command []string) string {
	for _, word := range command {
		file, err := filepath.Abs(word)
		if err != nil {
			continue
		}
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if version := installed(filepath.Dir(file), "@modelcontextprotocol/sdk"); version != "" {
			major, rest, _ := strings.Cut(version, ".")
			minor, _, _ := strings.Cut(rest, ".")
			if name := baseline.SDKPrefix + "typescript@" + major + "." + minor; slices.Contains(
				baseline.SDKs(),
				name,
			) {
				return name
			}
		}
	}
	return ""
}

// installed is the version of an npm package that Node.js finds from a directory; "" for none.
func installed(directory, name string) string {
	for {
		file, err := os.Open(filepath.Join(directory, "node_modules", filepath.FromSlash(name), "package.json"))
		if err == nil {
			var manifest struct {
				Version string `json:"version"`
			}
			text, err := io.ReadAll(io.LimitReader(file, maxManifest))
			_ = file.Close() // nothing was written
			if err != nil || json.Unmarshal(text, &manifest) != nil {
				return ""
			}
			return manifest.Version
		}
		above := filepath.Dir(directory)
		if above == directory {
			return ""
		}
		directory = above
	}
}
