package streamablehttp

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// Rules are the rules of Streamable HTTP.
func Rules() []rules.Rule {
	return slices.Concat(responseRules(), streamRules(), listeningRules(), resumptionRules(), sessionRules(), postRules(), mirrorRules())
}
