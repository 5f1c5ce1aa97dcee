package scope

import "testing"

func TestPageLabels(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"basic/index": "base", "extensions/tasks": "tasks-extension", "basic/utilities/ping": "ping", "server/tools": "tools", "basic/patterns/index": "patterns",
		"basic/transports/index": "transports", "basic/transports/streamable-http": "transports",
	} {
		if label := pageLabel(page); label != want {
			t.Errorf("%s has the label %q, wanted %q", page, label, want)
		}
	}
}
