//go:build linux

package main

import "testing"

// Some checks that are run where any will do: what they have in common is that a
// target has to answer. They are run by several workers, or by one.
const (
	some   = "--filter ping||tools&&MUST --workers 2 "
	within = "--filter ping||tools&&MUST --workers 1 "
)

// dead are servers that break down when the handshake is done. They pass nothing
// that they would have to answer for.
var dead = []encounter{
	// They end, or close.
	{"stdio nothing after-initialize", some, ample, exitDoesNot, []string{"ENDED   the server exits by itself after initialize", "exited with status 0", " 0 failed"}, none},
	{"stdio nothing later", some, ample, exitDoesNot, []string{"exited with status 0"}, none},
	{"stdio panics after-initialize", some, ample, exitDoesNot, []string{"ENDED   the server exits by itself after initialize", "exited with status 7", "panic: out of luck", " 0 failed"}, none},
	{"stdio killed after-initialize", some, ample, exitDoesNot, []string{"ENDED   the server exits by itself after initialize", "was killed by SIGKILL", " 0 failed"}, none},
	{"stdio cut later", some, ample, exitDoesNot, []string{"exited with status 0"}, none},
	{"stdio closes-input initialize", some, shortWait, exitDoesNot, []string{"the server has closed it"}, none},
	{"stdio closes-output after-initialize", some, ample, exitDoesNot, []string{"the server closed its standard output"}, none},
	{"stdio closes-both after-initialize", some, ample, exitDoesNot, []string{"the connection ended"}, none},
	{"http closes later", within, ample, exitDoesNot, []string{"the server closed the connection without an answer"}, none},
	{"http resets later", within, ample, exitDoesNot, []string{"the server closed the connection without an answer"}, none},
	{"http half-closes later", within, ample, exitDoesNot, []string{"the server closed the connection without an answer"}, none},
	{"http cut-head later", within, ample, exitDoesNot, []string{"in the middle of the response's head, after 27 bytes of it"}, none},
	{"http cut-body later", within, ample, exitDoesNot, []string{"the connection ended in the middle, after 18 bytes of the body"}, none},
	{"http stream-cut later", within, ample, exitDoesNot, []string{"the connection ended in the middle, after 24 bytes of the event stream"}, none},
	{"http stream-empty later", within, ample, exitDoesNot, []string{"ended without the answer: HTTP 200 came, and nothing of its body"}, none},
	{"http polls later", within, ample, exitDoesNot, []string{"ended without the answer"}, none},

	// They go over to another protocol.
	{"http upgrades later", within, ample, exitDoesNot, []string{"HTTP 101"}, none},
	{"http upgrades-floods later", within, ample, exitDoesNot, []string{"HTTP 101"}, none},

	// They do not answer, or not to its end.
	{"stdio silent later", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"stdio hangs after-initialize", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"stdio deaf later", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"stdio half later", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"stdio drips later", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"stdio restarts later", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http silent later", within, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http half-head later", within, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http half-body later", within, shortWait, exitDoesNot, []string{"ping was not answered within", "18 bytes of its body"}, none},
	{"http drips later", within, shortWait, exitDoesNot, []string{"ping was not answered within", "of its body"}, none},
	{"http stream-hangs later", within, shortWait, exitDoesNot, []string{"ping was not answered within", "HTTP 200 came, and nothing of its body"}, none},
	{"http comments later", within, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http chunk-long later", within, ample, exitDoesNot, []string{"invalid HTTP framing"}, none},

	// They say something else.
	{"stdio errors later", some, ample, exitDoesNot, []string{"nothing works today"}, none},
	{"stdio others-ids later", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"stdio empty-object later", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"stdio garbled later", some, ample, exitDoesNot, []string{`\xff\xfe\x80`}, []string{"answers ping with _meta in its params"}}, // with a result
	{"stdio binary later", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"stdio noise later", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http errors later", within, ample, exitDoesNot, []string{"nothing works today"}, none},
	{"http others-ids later", within, ample, exitDoesNot, []string{"of somebody else"}, none},
	{"http no-http later", within, ample, exitDoesNot, []string{"the answer is not HTTP"}, none},
	{"http broken later", within, ample, exitDoesNot, []string{"HTTP 500 with the body oh no"}, none},
	{"http html later", within, ample, exitDoesNot, []string{"<html>Welcome</html>"}, none},
	{"http circle later", within, ample, exitDoesNot, []string{"HTTP 308"}, none},

	// They say too much.
	{"stdio flood notifications/initialized", "--filter ping --workers 2", ample, exitDoesNot, []string{"sent more than the harness keeps"}, none},
	{"stdio asks notifications/initialized", some, shortWait, exitDoesNot, []string{"then stopped reading"}, none},
	{"stdio gigabyte later", some, ample, exitDoesNot, []string{"a line is longer than the limit"}, none},
	{"stdio endless-line later", some, ample, exitDoesNot, []string{"a line is longer than the limit"}, none},
	{"stdio chatty after-initialize", some, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http gzip-bomb later", within, ample, exitDoesNot, []string{"the body is longer than the limit"}, none},
	{"http event-flood later", "--filter ping --workers 1", ample, exitDoesNot, []string{"sent more than the harness keeps"}, none},
	{"http headers-endless later", within, ample, exitDoesNot, []string{"the head of the response is longer than the limit of 1 MiB"}, none},

	// They do so over HTTP with SSE: on the stream, or in what answers a POST.
	{"http+sse dies later", within, brief, exitDoesNot, []string{"ENDED   the server no longer answers initialize", "connection refused"}, none},
	{"http+sse closes later", within, ample, exitDoesNot, []string{"the server closed the connection without an answer"}, none},
	{"http+sse closes after-initialize", within, ample, exitDoesNot, []string{"the server ended the stream"}, none},
	{"http+sse cut-body later", within, ample, exitDoesNot, []string{"the connection ended in the middle"}, none},
	{"http+sse half-closes-late initialize", within, ample, exitDoesNot, []string{"the server ended the stream"}, none},
	{"http+sse hangs later", within, shortWait, exitDoesNot, []string{"ping was not answered within", "nothing of a response's head"}, none},
	{"http+sse drips-head later", within, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http+sse silent later", within, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http+sse stream-drips later", within, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http+sse comments later", within, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http+sse errors later", within, ample, exitDoesNot, []string{"nothing works today"}, none},
	{"http+sse others-ids later", within, shortWait, exitDoesNot, []string{"ping was not answered within"}, none},
	{"http+sse broken later", within, ample, exitDoesNot, []string{"HTTP 500 with the body oh no"}, none},
	{"http+sse gzip-bomb later", within, ample, exitDoesNot, []string{"the body is longer than the limit"}, none},
	{"http+sse headers-endless later", within, ample, exitDoesNot, []string{"the head of the response is longer than the limit of 1 MiB"}, none},
	{"http+sse gigabyte later", within, ample, exitDoesNot, []string{"an event is longer than the limit"}, none},
	{"http+sse event-endless later", within, ample, exitDoesNot, []string{"an event is longer than the limit"}, none},
	{"http+sse event-flood later", "--filter ping --workers 1", ample, exitDoesNot, []string{"sent more than the harness keeps"}, none},
}

// deadStateless are such servers of the stateless era, which break down when they are
// known.
var deadStateless = []encounter{
	{"stdio nothing later stateless", some, ample, exitDoesNot, []string{"exited with status 0"}, none},
	{"stdio panics tools/list stateless", some, ample, exitDoesNot, []string{"exited with status 7"}, none},
	{"stdio cut later stateless", some, ample, exitDoesNot, []string{"exited with status 0"}, none},
	{"stdio silent later stateless", some, shortWait, exitDoesNot, []string{"tools/list was not answered within"}, none},
	{"stdio hangs tools/list stateless", some, shortWait, exitDoesNot, []string{"was not answered within"}, none},
	{"stdio others-ids later stateless", some, shortWait, exitDoesNot, []string{"in place of the answer"}, none},
	{"stdio flood tools/list stateless", some, ample, exitDoesNot, []string{"sent more than the harness keeps"}, none},
	{"stdio gigabyte later stateless", some, ample, exitDoesNot, []string{"a line is longer than the limit"}, none},
	{"http closes later stateless", within, ample, exitDoesNot, []string{"the server closed the connection without an answer"}, none},
	{"http cut-body later stateless", within, ample, exitDoesNot, []string{"the connection ended in the middle"}, none},
	{"http stream-cut later stateless", within, ample, exitDoesNot, []string{"the connection ended in the middle"}, none},
	{"http stream-empty later stateless", within, ample, exitDoesNot, []string{"ended without the answer: HTTP 200 came, and nothing of its body"}, none},
	{"http polls later stateless", within, ample, exitDoesNot, []string{"ended without the answer"}, none}, // this era has no resumption
	{"http silent later stateless", within, shortWait, exitDoesNot, []string{"was not answered within"}, none},
	{"http stream-hangs later stateless", within, shortWait, exitDoesNot, []string{"was not answered within"}, none},
	{"http comments later stateless", within, shortWait, exitDoesNot, []string{"was not answered within"}, none},
	{"http others-ids later stateless", within, ample, exitDoesNot, []string{"of somebody else"}, none},
	{"http errors later stateless", within, ample, exitDoesNot, []string{"nothing works today"}, none},
	{"http gzip-bomb later stateless", within, ample, exitDoesNot, []string{"the body is longer than the limit"}, none},
	{"http event-flood later stateless", within, ample, exitDoesNot, []string{"sent more than the harness keeps"}, none},
}

func TestDeadTargetsOfTheStatelessEraPassNothing(t *testing.T) {
	t.Parallel()
	meetAll(t, deadStateless)
}

func TestDeadTargetsPassNothing(t *testing.T) {
	t.Parallel()
	meetAll(t, dead)
}

// odd are servers that have a defect and yet can be judged, or are only not what
// one expects.
var odd = []encounter{
	{"stdio none", "--filter ping --workers 2", ample, exitConforms, []string{"No failure found in", "at 2025-11-25 (--filter ping)"}, nil},
	{"http none", "--filter ping --workers 1", ample, exitConforms, []string{"No failure found in", "at 2025-11-25 (--filter ping)"}, nil},
	{"sse none", "--filter ping --workers 1", ample, exitConforms, []string{"No failure found in", "at 2025-11-25 (--filter ping)"}, nil},
	{"http+sse none", "--filter ping --workers 1", ample, exitConforms, []string{"No failure found in", "at 2025-11-25 (--filter ping)"}, nil},
	{"http+sse older-only", "--filter ping --workers 1", ample, exitConforms, []string{"No failure found in", "at 2024-11-05 (--filter ping)"}, nil},
	{"stdio refuses-newest initialize", "--filter ping --workers 2", ample, exitConforms, []string{"No failure found in", "at 2025-06-18 (--filter ping)"}, nil},
	{"http refuses-newest initialize", "--filter ping --workers 1", ample, exitConforms, []string{"No failure found in", "at 2025-06-18 (--filter ping)"}, nil},
	{"stdio older-only", "--filter ping --revision 2025-11-25 --workers 2", ample, exitDoesNot, []string{"Does not speak 2025-11-25", "also speaks 2024-11-05"}, nil},
	{"stdio older-only", "--filter ping --workers 2", ample, exitConforms, []string{"No failure found in", "at 2024-11-05 (--filter ping)"}, nil},
	{"http older-only", "--filter ping --workers 1", ample, exitConforms, []string{"No failure found in", "at 2024-11-05 (--filter ping)"}, nil},
	{"stdio stateless", "--filter ping --revision 2025-11-25 --workers 2", ample, exitDoesNot, []string{"Does not speak 2025-11-25", "failed: error -32004"}, nil},
	{"stdio panics tools/list", "--filter ping||tools||base.requests.answered -v --workers 2", ample, exitDoesNot, []string{"answers ping", "exited with status 7"}, nil},
	{"http dies tools/call", "--filter ping||client/sampling --workers 1", brief, exitDoesNot, []string{"ENDED   the server no longer answers", "after   tools/call look"}, none},
	{"http restarts tools/list", "--filter ping||tools -v --workers 1", ample, exitDoesNot, []string{"answers ping", "HTTP 404 with the body no such session"}, nil},

	// What is fair conforms.
	{"stdio forks initialize", "--filter ping --workers 2", ample, exitConforms, nil, nil},
	{"stdio forks-stay initialize", "--filter ping --workers 2", ample, exitConforms, nil, nil},
	{"stdio forks-away initialize", "--filter ping --workers 2", ample, exitConforms, nil, nil},
	{"stdio commands", "--filter ping --workers 2", ample, exitConforms, nil, nil},
	{"stdio escapes initialize", "--filter ping --workers 2", ample, exitConforms, nil, nil},
	{"stdio forks-often initialize", "--filter ping --workers 2", ample, exitConforms, nil, nil},
	{"stdio notifications ping", "--filter ping --workers 2", ample, exitConforms, nil, nil},
	{"http notifications ping", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"stdio numbers tools/list", "--filter ping||tools --workers 2", ample, exitConforms, nil, nil},
	{"stdio echoes", "--filter ping --workers 2", ample, exitConforms, nil, nil},
	{"stdio numbers-all", "--filter ping||tools.list.answered||tools.call.answered||base.components.required --call-tools all --workers 2", ample, exitConforms, nil, nil},
	{"http numbers-all", "--filter ping||tools.list.answered||tools.call.answered --call-tools all --workers 1", ample, exitConforms, nil, nil},
	{"stdio numbers-all always stateless", "--filter tools.list.answered||tools.call.answered --call-tools all --workers 2", ample, exitConforms, nil, nil},
	{"http half-closes-late", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"http half-closes-read", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"http chunk-crumbs", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"http gzip", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"http headers-900k", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"http session-900k initialize", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"sse line-ends", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"sse stream-crumbs", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"sse stream-stays initialize", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"http+sse line-ends later", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"http+sse notifications ping", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"http+sse half-closes-read later", "--filter ping --workers 1", ample, exitConforms, nil, nil},
	{"http+sse numbers-all", "--filter ping||tools.list.answered||tools.call.answered --call-tools all --workers 1", ample, exitConforms, nil, nil},

	// What is not is judged.
	{"stdio debugs initialize", "--workers 2", ample, exitDoesNot, []string{`the line "DEBUG: starting up"`}, nil},
	{"stdio duplicates later", "--filter ping||base --workers 2", ample, exitDoesNot, []string{"twice"}, nil},
	{"stdio surrogates later", "--filter ping||base --workers 2", ample, exitDoesNot, []string{"surrogate"}, nil},
	{"stdio invalid-utf8 later", "--filter ping||transports --workers 2", ample, exitDoesNot, []string{"UTF-8"}, nil},
	{"stdio bom later", "--filter ping||base --workers 2", ample, exitConforms, []string{"byte order mark"}, nil},
	{"stdio nul later", "--filter ping||base --workers 2", shortWait, exitDoesNot, []string{"ping was not answered within", `"odd":"a\x00b"`}, nil},
	{"stdio endless-pages tools/list", "--filter ping||pagination --workers 2", ample, exitConforms, nil, nil},
}

func TestTargetsThatAreJudged(t *testing.T) {
	t.Parallel()
	meetAll(t, odd)
}
