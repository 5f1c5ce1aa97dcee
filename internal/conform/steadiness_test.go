package conform

import "testing"

func TestClientIsKnownToHaveGonePastAStep(t *testing.T) {
	t.Parallel()
	story := &Story{Told: Steps{ToConnect(), ToList("tools"), ToRead("test://one"), ToList("tools"), ToClose()}}
	silent := &Client{story: story}
	if silent.WentPast(1) {
		t.Error("nobody knows what it did")
	}
	telling := &Client{story: story, told: map[int]StepOutcome{1: {Step: 1, Outcome: "failed"}}}
	if !telling.WentPast(1) || telling.WentPast(2) {
		t.Error("it told of its second step, and of no later one")
	}
	read := conversation(`>{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://one"}}`)
	reading := &Client{story: story, messages: read.Messages}
	if !reading.WentPast(1) || reading.WentPast(2) {
		t.Error("it read what its third step names")
	}
}

func TestStepsThatBringAboutMessages(t *testing.T) {
	t.Parallel()
	told := Steps{ToConnect(), ToList("tools"), ToList("prompts")}
	for method, want := range map[string]int{"tools/list": 1, "prompts/list": 2, "resources/list": -1, "initialize": 0, "tools/call": -1} {
		if at := told.bringing(method); at != want {
			t.Errorf("%s is brought about by step %d, not %d", method, at, want)
		}
	}
}
