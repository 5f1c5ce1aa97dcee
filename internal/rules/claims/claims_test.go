package claims

import (
	"testing"
)

func TestClaimed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, pointer string
		claimed         bool
	}{
		{"tools/call", "/result/content/0/data", true},
		{"tools/call", "/result/content/12/resource/blob", true},
		{"tools/call", "/result/content/0/annotations/audience/1", true},
		{"tools/call", "/result/content/0/resource", false},
		{"tools/call", "/result/content/0/text", false},
		{"prompts/get", "/result/messages/0/content/resource", true},
		{"prompts/get", "/result/messages/0/role", false},
		{"completion/complete", "/result/completion/values", true},
		{"completion/complete", "/result/completion/values/0", false},
		{"notifications/message", "/params/level", true},
		{"logging/setLevel", "/params/level", false},
		{"tools/list", "/result/nextCursor", true},
		{"resources/list", "/result/nextCursor", true},
		{"resources/list", "/result/resources/3/uri", true},
		{"resources/list", "/result/resources/3/name", false},
		{"tasks/list", "/result/nextCursor", false},
	} {
		if got := Claimed(test.method, test.pointer); got != test.claimed {
			t.Errorf("%s %s: claimed is %t", test.method, test.pointer, got)
		}
	}
}
