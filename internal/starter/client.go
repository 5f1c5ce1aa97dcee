package starter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"

	"github.com/mcpconform/mcpconform/docs/drivers"
)

// maxManifest bounds what is read of a file that lists dependencies.
const maxManifest = 1 << 20

// Found is an SDK that a project depends on.
type Found struct {
	Driver string // the name of the driver for it
	SDK    string // as the project names it
	In     string // the file that says so
}

// SDKs finds the SDKs that a project in a folder depends on.
func SDKs(folder fs.FS) ([]Found, error) {
	var all []Found
	for _, one := range []struct {
		file string
		find func(text []byte) []Found
	}{
		{"package.json", ofNode}, {"go.mod", ofGo}, {"pyproject.toml", ofPython}, {"requirements.txt", ofPython},
	} {
		text, err := manifest(folder, one.file)
		if err != nil {
			return nil, err
		}
		for _, found := range one.find(text) {
			found.In = one.file
			if !slices.ContainsFunc(
				all,
				func(other Found) bool { return other.Driver == found.Driver && other.SDK == found.SDK },
			) {
				all = append(all, found)
			}
		}
	}
	return all, nil
}

// manifest reads a file; one that is missing is empty.
func manifest(folder fs.FS, name string) ([]byte, error) {
	file, err := folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("%s: larger than %d KiB", name, maxManifest>>10)
	}
	return text, err
}

func ofNode(text []byte) []Found {
	var project struct {
		Dependencies, DevDependencies, PeerDependencies map[string]any
	}
	if json.Unmarshal(text, &project) != nil {
		return nil // npm says what is wrong with it
	}
	var all []Found
	for _, sdk := range []struct{ name, driver string }{
		{"@modelcontextprotocol/sdk", "typescript"}, {"@modelcontextprotocol/client", "typescript-2"},
	} {
		for _, dependencies := range []map[string]any{project.Dependencies, project.DevDependencies, project.PeerDependencies} {
			if _, depends := dependencies[sdk.name]; depends {
				all = append(all, Found{Driver: sdk.driver, SDK: sdk.name})
				break
			}
		}
	}
	return all
}

func ofGo(text []byte) []Found {
	const name = "github.com/modelcontextprotocol/go-sdk"
	if !regexp.MustCompile(`(?m)^(?:require\s+|\s+)` + regexp.QuoteMeta(name) + `\s+v`).Match(text) {
		return nil
	}
	return []Found{{Driver: "go", SDK: name}}
}

// ofPython reads requirements, whether each is a line, a string of a list or a key of TOML.
func ofPython(text []byte) []Found {
	if !regexp.MustCompile(`(?m)(?:^|["'])mcp(?:\[[^\]]*\])?[ \t]*(?:["']|[<>=~!;#@]|$)`).Match(text) {
		return nil
	}
	return []Found{{Driver: "python", SDK: "mcp"}}
}

// DriverNamed returns the driver of a name.
func DriverNamed(name string) (drivers.Driver, bool) {
	at := slices.IndexFunc(drivers.All(), func(one drivers.Driver) bool { return one.Name == name })
	if at < 0 {
		return drivers.Driver{}, false
	}
	return drivers.All()[at], true
}

// ClientConfig returns the text of a mcpconform.yaml for a client that a command drives.
func ClientConfig(command []string) ([]byte, error) {
	words, err := json.Marshal(command) // which YAML is, too
	return fmt.Appendf(nil, "# How mcpconform checks this client: mcpconform client\n"+
		"# yaml-language-server: $schema=https://github.com/mcpconform/mcpconform/raw/main/docs/config.schema.json\n"+
		"client: %s\n", words), err
}
