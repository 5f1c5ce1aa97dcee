//go:build linux

package main

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// Flags of runs that must end at their deadline, however much they have to read, redact and
// report. The checks look at what a target declares, lists and answers.
const (
	soon          = "--deadline 15s --workers 2 "
	called        = soon + "--call-tools all --filter tools.call.answered||tools.list.answered||base.json.names-unique||base.meta.name "
	declaring     = soon + "--filter lifecycle.initialize.answered||tools.list.answered||base.meta.name "
	discovering   = soon + "--filter discover||tools.list.answered||base.meta.name "
	manyProcesses = "--deadline 90s --workers 2 " // of a target that starts many processes first
	protected     = "--deadline 15s "
)

// lengthy are servers that send texts too long to be judged in full, or too many values to be
// judged one by one, or that leave many processes behind. Their runs end at the
// deadline, within the memory of all runs, and leave nothing.
var lengthy = []encounter{
	{"stdio long-error tools/call", called, ample, byDeadline, nil, nil},
	{"http long-identity", declaring, ample, byDeadline, nil, nil},
	{"stdio long-capability", declaring, ample, byDeadline, nil, nil},
	{"http long-capability always stateless", discovering, ample, byDeadline, nil, nil},
	{"stdio many-capabilities", declaring, ample, byDeadline, nil, nil},
	{"stdio long-text tools/call", called, ample, byDeadline, nil, nil},
	{"stdio escapes tools/call", called, ample, byDeadline, nil, nil},
	{"http escapes tools/call stateless", called, ample, byDeadline, nil, nil},
	{"stdio credentials tools/call", called, ample, byDeadline, nil, nil},
	{"stdio long-cursor tools/list", called, ample, byDeadline, nil, nil},
	{"http long-cursor tools/list stateless", called, ample, byDeadline, nil, nil},
	{"stdio long-revision", declaring, ample, exitDoesNot, nil, nil},
	{"stdio many-revisions", declaring, ample, exitUnreachable, nil, nil},
	{"http many-revisions always stateless", discovering, ample, exitUnreachable, nil, nil},
	{"stdio many-properties tools/list", called, ample, byDeadline, nil, nil},
	{"http odd-schema tools/list", called, ample, exitConforms, nil, nil},
	{"stdio odd-schema tools/list stateless", called, ample, byDeadline, nil, nil},
	{"stdio long-id tools/list", called, brief, byDeadline, nil, nil},
	{"http long-id tools/list stateless", called, brief, byDeadline, nil, nil},
	{"stdio long-method tools/list", called, ample, byDeadline, nil, nil},
	{"sse long-method tools/list stateless", called, ample, byDeadline, nil, nil},
	{"stdio long-member tools/list", called, ample, byDeadline, nil, nil},
	{"stdio blocks tools/call", called, ample, byDeadline, nil, nil},
	{"http bad-blocks tools/call", called, ample, byDeadline, nil, nil},
	{"stdio bad-blocks tools/call stateless", called, ample, byDeadline, nil, nil},
	{"stdio bad-tools tools/list", called, ample, byDeadline, nil, nil},
	{"http bad-keys tools/list", called, ample, byDeadline, nil, nil},
	{"stdio bad-keys tools/list stateless", called, ample, byDeadline, nil, nil},
	{"stdio surrogate-mob tools/list", called, ample, byDeadline, nil, nil},
	{"http challenge-50k later", called, ample, exitConforms, nil, nil},
	{"http challenge-50k tools/list stateless", called, ample, exitConforms, nil, nil},
	{"http challenges later", called, ample, exitConforms, nil, nil},
	{"http challenge-scope tools/call", called, ample, exitConforms, nil, nil},
	{"http location-900k tools/list", called, ample, exitDoesNot, nil, nil},
	{"http type-900k tools/list", called, ample, exitConforms, nil, nil},
	{"http type-900k tools/list stateless", called, ample, exitConforms, nil, nil},
	{"http allow-900k tools/call", called, ample, byDeadline, nil, nil},
	{"http cookies tools/list", called, ample, byDeadline, nil, nil},
	{"http reason-900k tools/call", called, ample, byDeadline, nil, nil},
	{"stdio forks-300 initialize", manyProcesses + "--filter ping", ample, byDeadline, nil, nil},
	{"stdio forks-300 server/discover stateless", manyProcesses + "--filter tools.list.answered", ample, exitDoesNot, nil, nil},
	{"stdio long-lines tools/call", called, ample, byDeadline, nil, nil},
	{"stdio long-lines initialize", called, ample, exitDoesNot, nil, nil},
}

func TestLengthyServers(t *testing.T) {
	t.Parallel()
	byHand(t)
	meetAll(t, lengthy)
}

// lengthyClients are such clients.
var lengthyClients = []encounter{
	{"client stdio long-method", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http stateless-long-method", soon + "--filter pagination.operations --revision 2026-07-28", ample, exitDoesNot, nil, nil},
	{"client http long-id", soon + listing, ample, exitDoesNot, nil, nil},
	{"client stdio long-name", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http long-cursor", soon + listing, ample, exitDoesNot, nil, nil},
	{"client stdio stateless-long-cursor", soon + "--filter pagination.operations --revision 2026-07-28", ample, exitDoesNot, nil, nil},
	{"client stdio long-identity", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http long-capability", soon + listing, ample, exitDoesNot, nil, nil},
	{"client stdio long-revision", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http long-error", soon + listing, ample, exitDoesNot, nil, nil},
	{"client stdio bad-keys", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http stateless-bad-keys", soon + "--filter pagination.operations --revision 2026-07-28", ample, byDeadline, nil, nil},
	{"client http long-lines", soon + listing, ample, exitDoesNot, nil, nil},
	{"client stdio long-outcomes", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http forks-300", soon + listing, ample, byDeadline, nil, nil},
	{"client stdio forks-300", soon + listing, ample, byDeadline, nil, nil},
	{"client http headers-900k", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http session-900k", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http version-900k", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http type-900k", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http token-900k", soon + listing, ample, exitDoesNot, nil, nil},
	{"client http query-900k", soon + listing, ample, exitDoesNot, nil, nil},
}

func TestLengthyClients(t *testing.T) {
	t.Parallel()
	byHand(t)
	meetAll(t, lengthyClients)
}

// lengthyIssuers are such authorization servers, or ones that do not answer.
var lengthyIssuers = []encounter{
	{"issuer document-large metadata", protected, ample, exitDoesNot, nil, nil},
	{"issuer document-deep metadata", protected, ample, exitDoesNot, nil, nil},
	{"issuer document-scopes metadata", protected, ample, exitDoesNot, nil, nil},
	{"issuer document-members metadata", protected, ample, exitDoesNot, nil, nil},
	{"issuer document-issuer metadata", protected, ample, exitDoesNot, nil, nil},
	{"issuer document-endpoint metadata", protected, ample, exitDoesNot, nil, nil},
	{"issuer refuses-long register", protected, ample, byDeadline, nil, nil},
	{"issuer refuses-named token", protected, ample, exitDoesNot, nil, nil},
	{"issuer client-long register", protected, ample, exitDoesNot, nil, nil},
	{"issuer token-long token", protected, ample, exitDoesNot, nil, nil},
	{"issuer code-long authorize", protected, ample, exitDoesNot, nil, nil},
	{"issuer challenge-50k token", protected, ample, exitDoesNot, nil, nil},
	{"issuer hangs token", protected, shortWait, exitDoesNot, nil, nil},
	{"issuer hangs metadata", protected, shortWait, exitUnreachable, nil, nil},
	{"issuer half-head authorize", protected, shortWait, exitDoesNot, nil, nil},
	{"issuer headers-endless metadata", protected, ample, exitUnreachable, nil, nil},
	{"issuer endless-body metadata", protected, ample, exitDoesNot, nil, nil},
	{"issuer gzip-bomb token", protected, ample, exitDoesNot, nil, nil},
	{"issuer location-900k authorize", protected, ample, exitDoesNot, nil, nil},
	{"issuer no-http register", protected, ample, exitDoesNot, nil, nil},
	{"issuer upgrades metadata", protected, shortWait, exitDoesNot, nil, nil},
}

func TestLengthyAuthorizationServers(t *testing.T) {
	t.Parallel()
	byHand(t)
	meetAll(t, lengthyIssuers)
}

// byHand skips what takes ten minutes of two processors unless all of it is asked for.
func byHand(t *testing.T) {
	t.Helper()
	if !slowtest.All() {
		t.Skip("minutes of a machine: go test ./cmd/mcpconform -run TestLengthy -all")
	}
}
