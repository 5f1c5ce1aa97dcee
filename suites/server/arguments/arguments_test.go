package arguments

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
)

func TestOfPrompt(t *testing.T) {
	t.Parallel()
	prompt := check.Object{"name": "greet", "arguments": []any{
		check.Object{"name": "who", "required": true},
		check.Object{"name": "how"},
		check.Object{"description": "nameless"},
		"no argument",
	}}
	ref := check.Object{"type": "ref/prompt", "name": "greet"}
	wanted := []Argument{{ref, "who", "", true}, {ref, "how", "", false}}
	if difference := cmp.Diff(wanted, OfPrompt(prompt)); difference != "" {
		t.Error(difference)
	}
	if found := OfPrompt(check.Object{"name": "plain", "arguments": 7}); found != nil {
		t.Errorf("found %v in a prompt without arguments", found)
	}
}

func TestOfTemplate(t *testing.T) {
	t.Parallel()
	for template, names := range map[string][]string{
		"test://a/{b}/{c}": {"b", "c"},
		"test://{+path}":   {"path"},
		"test://plain":     nil,
		"test://{broken":   nil,
	} {
		var found []string
		for _, argument := range OfTemplate(check.Object{"uriTemplate": template}) {
			found = append(found, argument.Name)
			if argument.Ref["uri"] != template || argument.Ref["type"] != "ref/resource" || !argument.Required {
				t.Errorf("%s: %v", template, argument)
			}
		}
		if difference := cmp.Diff(names, found); difference != "" {
			t.Errorf("%s: %s", template, difference)
		}
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	argument := Argument{Ref: check.Object{"type": "ref/prompt", "name": "greet"}, Name: "who"}
	wanted := check.Object{
		"ref": argument.Ref, "argument": check.Object{"name": "who", "value": "A"},
		"context": check.Object{"arguments": map[string]string{"how": "loud"}},
	}
	if difference := cmp.Diff(wanted, argument.Completion("A", map[string]string{"how": "loud"})); difference != "" {
		t.Error(difference)
	}
	if _, there := argument.Completion("", nil)["context"]; there {
		t.Error("a context without arguments is sent")
	}
}

func TestMadeFillsWhatIsRequired(t *testing.T) {
	t.Parallel()
	all := []Argument{{Name: "who", Required: true}, {Name: "how"}}
	if difference := cmp.Diff(map[string]string{"who": "example"}, Made((&session.Environment{Offer: offer.Offer{Scope: &scope.Scope{}}}).Begin(t.Context(), &check.Declaration{}), all)); difference != "" {
		t.Error(difference)
	}
	if difference := cmp.Diff([]Argument{{Name: "who", Required: true}}, Required(all)); difference != "" {
		t.Error(difference)
	}
}
