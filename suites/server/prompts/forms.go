package prompts

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/forms"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/requests"
)

// inForms is a check of the same request with other optional members.
func inForms() {
	It("returns the same prompts in each legal form of params and _meta", Verifies("prompts.list.answered"), NeedsCapability("prompts"), func(t *T) {
		InEachForm(t, Harmless{Method: "prompts/list"}, FormsOf(t, forms.Params, forms.Meta, forms.Token))
	})
}
