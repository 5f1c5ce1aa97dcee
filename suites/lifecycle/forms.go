package lifecycle

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/forms"
	. "github.com/mcpconform/mcpconform/internal/requests"
)

// inForms are checks of openings that look otherwise than in all other checks.
func inForms() {
	It("answers initialize in each legal form of capabilities and clientInfo",
		Verifies("lifecycle.initialize.answered"), func(t *T) { InEachHello(t, forms.HelloAt(t.Revision(), t.Cell.Transport)) })
}
