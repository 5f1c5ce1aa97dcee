package scope

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/scripted"
)

func TestContactable(t *testing.T) {
	t.Parallel()
	there := &Scope{Target: scripted.Target{URL: "https://mcp.example/mcp"}}
	for address, want := range map[string]bool{
		"https://mcp.example/metadata":       true,
		"https://MCP.example:443/metadata":   true,
		"http://127.0.0.1:4000/token":        true,
		"http://[::1]:4000/token":            true,
		"http://localhost:4000/token":        true,
		"http://mcp.example/metadata":        false,
		"https://mcp.example:8443/metadata":  false,
		"https://auth.example/token":         false,
		"http://169.254.169.254/latest":      false,
		"http://10.0.0.1/token":              false,
		"https://127.0.0.1.mcp.example/x":    false,
		"https://mcp.example@auth.example/x": false,
		"://":                                false,
	} {
		there.Network = false
		if got := there.Contactable(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
		there.Network = true
		if got := there.Contactable(address); got != (address != "://") {
			t.Errorf("%s with --network: %v", address, got)
		}
	}
}
