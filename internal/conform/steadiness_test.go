package conform

import "testing"

func TestStepsThatBringAboutMessages(t *testing.T) {
	t.Parallel()
	told := Steps{ToConnect(), ToList("tools"), ToList("prompts")}
	for method, want := range map[string]int{"tools/list": 1, "prompts/list": 2, "resources/list": -1, "initialize": 0, "tools/call": -1} {
		if at := told.bringing(method); at != want {
			t.Errorf("%s is brought about by step %d, not %d", method, at, want)
		}
	}
}
