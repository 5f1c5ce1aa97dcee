// Page basic/versioning: which revision, and of which era, a request is of.

package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// isStateless tells whether a message is of the stateless era: when it says so
// in its metadata or, over HTTP, in a header that is not that of a session, or
// when there is no other era.
func (s *Server) isStateless(m message, headers http.Header) bool {
	switch {
	case len(s.stateless.revisions) == 0:
		return false
	case len(s.handshake) == 0,
		headers.Get(versionHeader) >= Revision20260728 && headers.Get(sessionHeader) == "":
		return true
	}
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(m.params, &params) != nil {
		return false
	}
	given := func(key string) bool { return params.Meta[key] != nil }
	return slices.ContainsFunc([]string{metaVersion, metaClient, metaCapabilities, metaLogLevel}, given)
}

// supported is what the server speaks in either era, newest first.
func (s *Server) supported() []string {
	all := slices.Clone(s.options.Revisions)
	slices.Reverse(all)
	return all
}

// unsupportedVersion is the error of a request of a revision that the server
// does not speak, or not in this era.
func (s *Server) unsupportedVersion(requested string) *rpcError {
	return &rpcError{
		Code: codeUnsupportedVersion,
		Message: fmt.Sprintf("Unsupported protocol version %q: a request can be of %s",
			requested, strings.Join(s.stateless.revisions, " or ")),
		Data:   object{"supported": s.supported(), "requested": requested},
		status: http.StatusBadRequest,
	}
}

// unopened is the error of a request that is of neither era: it says nothing of
// itself, and no session was begun.
func (s *Server) unopened(method string) *rpcError {
	if len(s.stateless.revisions) == 0 {
		return invalidRequest("send initialize before %s", method)
	}
	return invalidParams("params._meta.%s is missing, and initialize was not sent before %s", metaVersion, method)
}

// noHandshake is the error of initialize where no revision has it. Old clients
// show it to their users, so that it says what would be understood.
func (s *Server) noHandshake() *rpcError {
	err := unknownMethod("initialize")
	err.Message += ": this server speaks only " + strings.Join(s.stateless.revisions, " and ") +
		", which begins without"
	err.Data = object{"supported": s.supported()}
	return err
}
