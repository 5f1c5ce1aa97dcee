package resources

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/forms"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/requests"
)

// inForms is a check of the same request with other optional members.
func inForms() {
	It("returns the same resources in each legal form of params and _meta",
		Verifies("resources.list.answered"), NeedsCapability("resources"), func(t *T) {
			InEachForm(t, Harmless{Method: "resources/list"}, FormsOf(t, forms.Params, forms.Meta, forms.Token))
		})
}
