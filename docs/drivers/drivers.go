// Package drivers has what drives the clients of SDKs through scenarios, to be written beside
// a client: docs/clients.md says what a driver does, and how each was tried.
package drivers

import (
	"bytes"
	"embed"
	"io/fs"
)

//go:embed driver.mjs driver-2.mjs driver.go driver.py
var texts embed.FS

// A Driver is one for the client of an SDK.
type Driver struct {
	Name    string   // of the language, for init --client
	SDK     string   // with the version that it is written for
	File    string   // where it is written to
	Command []string // that starts it
	source  string
}

// All are the drivers that there are.
func All() []Driver {
	return []Driver{
		{
			"typescript",
			"the TypeScript SDK 1 (@modelcontextprotocol/sdk)",
			"mcpconform-driver.mjs",
			[]string{"node", "mcpconform-driver.mjs"},
			"driver.mjs",
		},
		{
			"typescript-2",
			"the TypeScript SDK 2 (@modelcontextprotocol/client)",
			"mcpconform-driver.mjs",
			[]string{"node", "mcpconform-driver.mjs"},
			"driver-2.mjs",
		},
		{
			"go",
			"the Go SDK 1 (github.com/modelcontextprotocol/go-sdk)",
			"mcpconform-driver/main.go",
			[]string{"go", "run", "./mcpconform-driver"},
			"driver.go",
		},
		{
			"python",
			"the Python SDK 2 (mcp)",
			"mcpconform-driver.py",
			[]string{"python3", "mcpconform-driver.py"},
			"driver.py",
		},
	}
}

// Text is the driver, as it is written beside a client.
func (d Driver) Text() ([]byte, error) {
	text, err := fs.ReadFile(texts, d.source)
	return bytes.TrimPrefix(text, []byte("//go:build ignore\n\n")), err // for this repository has no such SDK
}
