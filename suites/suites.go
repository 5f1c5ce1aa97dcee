// Package suites is what is checked: one folder for each page of the specification,
// with its requirements, its checks and its rules.
package suites

import (
	"embed"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/suites/authorization"
	"github.com/mcpconform/mcpconform/suites/base"
	"github.com/mcpconform/mcpconform/suites/client/elicitation"
	"github.com/mcpconform/mcpconform/suites/client/roots"
	"github.com/mcpconform/mcpconform/suites/client/sampling"
	authextensions "github.com/mcpconform/mcpconform/suites/extensions/auth"
	tasksextension "github.com/mcpconform/mcpconform/suites/extensions/tasks"
	"github.com/mcpconform/mcpconform/suites/lifecycle"
	"github.com/mcpconform/mcpconform/suites/patterns"
	"github.com/mcpconform/mcpconform/suites/patterns/mrtr"
	"github.com/mcpconform/mcpconform/suites/patterns/subscriptions"
	"github.com/mcpconform/mcpconform/suites/server/caching"
	"github.com/mcpconform/mcpconform/suites/server/completion"
	"github.com/mcpconform/mcpconform/suites/server/discover"
	"github.com/mcpconform/mcpconform/suites/server/logging"
	"github.com/mcpconform/mcpconform/suites/server/pagination"
	"github.com/mcpconform/mcpconform/suites/server/prompts"
	"github.com/mcpconform/mcpconform/suites/server/resources"
	"github.com/mcpconform/mcpconform/suites/server/tools"
	"github.com/mcpconform/mcpconform/suites/transports"
	"github.com/mcpconform/mcpconform/suites/transports/httpsse"
	"github.com/mcpconform/mcpconform/suites/transports/stdio"
	"github.com/mcpconform/mcpconform/suites/transports/streamablehttp"
	"github.com/mcpconform/mcpconform/suites/utilities/cancellation"
	"github.com/mcpconform/mcpconform/suites/utilities/ping"
	"github.com/mcpconform/mcpconform/suites/utilities/progress"
	"github.com/mcpconform/mcpconform/suites/utilities/tasks"
	"github.com/mcpconform/mcpconform/suites/versioning"
)

// Requirements are the catalogue: the requirements.yaml of every page.
//
//go:embed */requirements.yaml */*/requirements.yaml
var Requirements embed.FS

// Catalogue is Requirements, read once in a process. It is read-only.
var Catalogue = sync.OnceValues(func() (*catalogue.Catalogue, error) { return catalogue.Load(Requirements) })

// Checks are those of a role of the target, in the order of the specification. They are
// collected once in a process, and are read-only.
func Checks(role string) []*check.Declaration {
	switch role {
	case protocol.ClientRole:
		return clientChecks()
	case protocol.AuthorizationServerRole:
		return issuerChecks()
	}
	return serverChecks()
}

var (
	serverChecks = sync.OnceValue(func() []*check.Declaration { return check.Collect(declareServerChecks) })
	clientChecks = sync.OnceValue(func() []*check.Declaration { return check.Collect(declareClientChecks) })
	issuerChecks = sync.OnceValue(func() []*check.Declaration { return check.Collect(authorization.IssuerChecks) })
)

func declareServerChecks() {
	base.ServerChecks()
	lifecycle.ServerChecks()
	versioning.ServerChecks()
	transports.ServerChecks()
	mrtr.ServerChecks()
	subscriptions.ServerChecks()
	cancellation.ServerChecks()
	ping.ServerChecks()
	progress.ServerChecks()
	tasks.ServerChecks()
	roots.ServerChecks()
	sampling.ServerChecks()
	elicitation.ServerChecks()
	discover.ServerChecks()
	prompts.ServerChecks()
	resources.ServerChecks()
	tools.ServerChecks()
	completion.ServerChecks()
	logging.ServerChecks()
	pagination.ServerChecks()
	tasksextension.ServerChecks()
	authorization.ServerChecks()
}

func declareClientChecks() {
	base.ClientChecks()
	lifecycle.ClientChecks()
	versioning.ClientChecks()
	stdio.ClientChecks()
	httpsse.ClientChecks()
	streamablehttp.ClientChecks()
	mrtr.ClientChecks()
	cancellation.ClientChecks()
	ping.ClientChecks()
	progress.ClientChecks()
	tasks.ClientChecks()
	roots.ClientChecks()
	sampling.ClientChecks()
	elicitation.ClientChecks()
	prompts.ClientChecks()
	resources.ClientChecks()
	tools.ClientChecks()
	completion.ClientChecks()
	pagination.ClientChecks()
	caching.ClientChecks()
	tasksextension.ClientChecks()
	authorization.ClientChecks()
	authextensions.ClientChecks()
}

// Rules returns the rules that hold for every transcript, in the order of the
// specification.
func Rules() []rules.Rule {
	return slices.Concat(
		base.Rules(),
		lifecycle.Rules(),
		versioning.Rules(),
		transports.Rules(),
		stdio.Rules(),
		httpsse.Rules(),
		streamablehttp.Rules(),
		patterns.Rules(),
		mrtr.Rules(),
		subscriptions.Rules(),
		cancellation.Rules(),
		ping.Rules(),
		progress.Rules(),
		tasks.Rules(),
		roots.Rules(),
		sampling.Rules(),
		elicitation.Rules(),
		prompts.Rules(),
		resources.Rules(),
		tools.Rules(),
		completion.Rules(),
		logging.Rules(),
		pagination.Rules(),
		tasksextension.Rules(),
		caching.Rules(),
	)
}
