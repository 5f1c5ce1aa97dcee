package rulestest

import (
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// Stdio is a server over stdio, of the handshake era.
var Stdio = rules.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.Stdio}

// OverHTTP is a server over Streamable HTTP, of the handshake era.
var OverHTTP = rules.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.HTTP}

// StatelessCell is a server over stdio, of the stateless era.
var StatelessCell = rules.Cell{Role: protocol.ServerRole, Revision: "2026-07-28", Transport: protocol.Stdio}
