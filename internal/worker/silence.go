package worker

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// silenceJudges are the pages whose checks are made for a target that answers
// nothing, and say so.
var silenceJudges = []string{"lifecycle", "ping", "discover"}

func judgesSilence(labels []string) bool {
	return slices.ContainsFunc(silenceJudges, func(page string) bool { return slices.Contains(labels, page) }) ||
		slices.ContainsFunc(labels, func(label string) bool { return strings.Contains(label, openingOfSSE) })
}

// openingOfSSE are the requirements of a stream, without which nothing can be asked.
const openingOfSSE = "transports.sse."

// unmuting says what to do about a target that leaves unanswered what it is asked.
var unmuting = map[string]string{
	protocol.ServerRole:              "fix the failures under lifecycle and ping first",
	protocol.AuthorizationServerRole: "make sure that the authorization server answers, then run again",
	protocol.ClientRole:              "make sure that the command does the steps of MCPCONFORM_STEPS, then run again",
}
