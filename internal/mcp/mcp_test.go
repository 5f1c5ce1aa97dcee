package mcp

import "testing"

func TestListMember(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{"tools/list": "tools", "resources/templates/list": "resourceTemplates", "resources/list": "resources", "prompts/list": "prompts"} {
		if member := ListMember(method); member != want {
			t.Errorf("%s lists %q", method, member)
		}
	}
}
