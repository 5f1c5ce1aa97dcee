package survey_test

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/survey"
)

// A survey differs in the questions that concern what has changed, and in no
// other.
func TestQuestions(t *testing.T) {
	t.Parallel()
	known := func() *survey.Survey {
		return &survey.Survey{
			Capabilities: map[string]any{"tools": map[string]any{"listChanged": true}},
			Tools:        []map[string]any{{"name": "echo"}},
			Resources:    []map[string]any{{"uri": "a:b"}},
		}
	}
	all := []survey.Question{
		survey.WhetherDeclares("tools"), survey.WhetherDeclares("tools.listChanged"), survey.WhetherDeclares("prompts"),
		survey.WhetherOffers("echo", nil), survey.WhetherOffers("slow", map[string]any{"a": 1}),
		survey.AllTools, survey.AllResources, survey.AllTemplates, survey.AllPrompts, survey.WhyNoBarrier,
		survey.Agreed, survey.WhyUnlisted("tools/list"), survey.BarrierBy, survey.IfInferred,
	}
	for name, one := range map[string]struct {
		change  func(*survey.Survey)
		differs []survey.Question
	}{
		"nothing":          {func(*survey.Survey) {}, nil},
		"serverInfo":       {func(s *survey.Survey) { s.ServerInfo = map[string]any{"name": "x"} }, nil},
		"a declaration":    {func(s *survey.Survey) { s.Capabilities = map[string]any{"tools": map[string]any{}} }, []survey.Question{all[1]}},
		"declared instead": {func(s *survey.Survey) { s.Capabilities = map[string]any{"prompts": map[string]any{}} }, all[:3]},
		"another tool":     {func(s *survey.Survey) { s.Tools = append(s.Tools, map[string]any{"name": "slow"}) }, []survey.Question{all[4], survey.AllTools}},
		"a tool's text":    {func(s *survey.Survey) { s.Tools[0]["title"] = "Echo" }, []survey.Question{survey.AllTools}},
		"resources":        {func(s *survey.Survey) { s.Resources = nil }, []survey.Question{survey.AllResources}},
		"templates":        {func(s *survey.Survey) { s.Templates = s.Resources }, []survey.Question{survey.AllTemplates}},
		"prompts":          {func(s *survey.Survey) { s.Prompts = s.Tools }, []survey.Question{survey.AllPrompts}},
		"another barrier":  {func(s *survey.Survey) { s.Barrier = "tools/list" }, []survey.Question{survey.BarrierBy}},
		"inferred":         {func(s *survey.Survey) { s.Inferred = true }, []survey.Question{survey.IfInferred}},
		"handshakes":       {func(s *survey.Survey) { s.Handshakes = []string{"2025-11-25"} }, []survey.Question{survey.Agreed}},
		"no list":          {func(s *survey.Survey) { s.Failed = map[string]string{"tools/list": "no answer"} }, []survey.Question{survey.WhyUnlisted("tools/list")}},
		"closed":           {func(s *survey.Survey) { s.Closed = "no answer" }, []survey.Question{survey.WhyUnlisted("tools/list")}},
		"no barrier":       {func(s *survey.Survey) { s.NoBarrier = "no answer" }, []survey.Question{survey.WhyNoBarrier}},
	} {
		other := known()
		one.change(other)
		want := map[survey.Question]bool{}
		for _, question := range one.differs {
			want[question] = true
		}
		for _, question := range all {
			if found := known().Differs(other, question); found != want[question] {
				t.Errorf("%s: %q differs %t", name, question, found)
			}
		}
	}
	if known().Answer("what?") != nil {
		t.Error("what is no question has an answer")
	}
}
