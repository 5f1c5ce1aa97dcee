package session

import (
	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
)

const (
	// Stranger is an origin that nobody can have told a server to trust: the domain
	// invalid is reserved (RFC 2606).
	Stranger = "https://stranger.invalid"
	// ByStranger is why a request from there is illegal on purpose.
	ByStranger = "comes from a web page of another site"
)

// BeTurnedAway matches a response with an error status.
func BeTurnedAway() types.GomegaMatcher {
	return Be("an HTTP error status", func(actual any) bool {
		response, isResponse := actual.(*Response)
		return isResponse && response.Status >= 400
	})
}
