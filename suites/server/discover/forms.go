package discover

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/forms"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/requests"
)

// inForms is a check of the same request in other spellings, heads and pieces.
func inForms() {
	It("answers server/discover in each legal form of its JSON, HTTP headers and framing", Verifies("discover.implemented"), func(t *T) {
		InEachForm(t, Harmless{Method: "server/discover"}, FormsOf(t, forms.Spelling, forms.Head, forms.Framing))
	})
}
