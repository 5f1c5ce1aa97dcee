package base

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// Rules are the rules of the page basic/index.
func Rules() []rules.Rule {
	return slices.Concat(messageRules(), batchRules(), fieldRules(), resultRules(), errorRules(), schemaRules(), metaRules(), traceRules(), iconRules())
}
