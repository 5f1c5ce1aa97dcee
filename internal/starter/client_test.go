package starter_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/starter"
)

func TestSDKs(t *testing.T) {
	t.Parallel()
	of := func(driver, sdk, in string) starter.Found { return starter.Found{Driver: driver, SDK: sdk, In: in} }
	const goSDK = "github.com/modelcontextprotocol/go-sdk"
	for name, one := range map[string]struct {
		files map[string]string
		want  []starter.Found
	}{
		"nothing":      {nil, nil},
		"node":         {map[string]string{"package.json": `{"dependencies":{"@modelcontextprotocol/sdk":"^1.32.0","zod":"4"}}`}, []starter.Found{of("typescript", "@modelcontextprotocol/sdk", "package.json")}},
		"node, later":  {map[string]string{"package.json": `{"devDependencies":{"@modelcontextprotocol/client":"2.0.0"}}`}, []starter.Found{of("typescript-2", "@modelcontextprotocol/client", "package.json")}},
		"no SDK":       {map[string]string{"package.json": `{"dependencies":{"express":"5"}}`, "go.mod": "module x\n", "requirements.txt": "mcpadapt==1\nrequests\n"}, nil},
		"broken":       {map[string]string{"package.json": `{`}, nil},
		"go":           {map[string]string{"go.mod": "module x\n\nrequire (\n\t" + goSDK + " v1.8.0\n)\n"}, []starter.Found{of("go", goSDK, "go.mod")}},
		"go, one line": {map[string]string{"go.mod": "module x\nrequire " + goSDK + " v1.8.0\n"}, []starter.Found{of("go", goSDK, "go.mod")}},
		"the SDK":      {map[string]string{"go.mod": "module " + goSDK + "\n"}, nil},
		"pyproject":    {map[string]string{"pyproject.toml": "[project]\nname = \"mcp-thing\"\ndependencies = [\n  \"mcp[cli]>=2\",\n]\n"}, []starter.Found{of("python", "mcp", "pyproject.toml")}},
		"a list":       {map[string]string{"pyproject.toml": `dependencies = ["httpx", "mcp"]`}, []starter.Found{of("python", "mcp", "pyproject.toml")}},
		"poetry":       {map[string]string{"pyproject.toml": "[tool.poetry.dependencies]\nmcp = \"^2.0\"\n"}, []starter.Found{of("python", "mcp", "pyproject.toml")}},
		"requirements": {map[string]string{"requirements.txt": "httpx\nmcp==2.0.1\n"}, []starter.Found{of("python", "mcp", "requirements.txt")}},
		"twice":        {map[string]string{"pyproject.toml": `dependencies = ["mcp"]`, "requirements.txt": "mcp\n"}, []starter.Found{of("python", "mcp", "pyproject.toml")}},
	} {
		folder := fstest.MapFS{}
		for file, text := range one.files {
			folder[file] = &fstest.MapFile{Data: []byte(text)}
		}
		found, err := starter.SDKs(folder)
		if diff := cmp.Diff(one.want, found); err != nil || diff != "" {
			t.Errorf("%s: %v, wanted - found +\n%s", name, err, diff)
		}
	}
	if _, err := starter.SDKs(fstest.MapFS{"go.mod": {Data: make([]byte, 2<<20)}}); err == nil {
		t.Error("it reads files of any size")
	}
}

func TestClientConfig(t *testing.T) {
	t.Parallel()
	text, err := starter.ClientConfig([]string{"node", "a b.mjs"})
	if err != nil {
		t.Fatal(err)
	}
	read, err := config.Parse("mcpconform.yaml", text)
	if diff := cmp.Diff([]string{"node", "a b.mjs"}, read.Client); err != nil || diff != "" {
		t.Errorf("%v, wanted - found +\n%s\n%s", err, diff, text)
	}
}
