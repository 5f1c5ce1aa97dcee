package rulestest

import (
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

var Stdio = rules.Leg{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.Stdio}

var OverHTTP = rules.Leg{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.HTTP}

var StatelessLeg = rules.Leg{Role: protocol.ServerRole, Revision: "2026-07-28", Transport: protocol.Stdio}
