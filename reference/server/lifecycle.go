// Page basic/lifecycle: version and capability negotiation.

package server

import (
	"encoding/json"
	"slices"
)

// Name and version that the server gives as its own.
const (
	serverName    = "mcpconform-reference-server"
	serverVersion = "1.0.0"
)

// instructions are for the model of the client.
const instructions = "A reference server for learning and testing the protocol: it has something of everything, and does nothing of consequence."

type initializeParams struct {
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    clientCapabilities `json:"capabilities"`
	ClientInfo      implementation     `json:"clientInfo"`
}

type implementation struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Version     string   `json:"version"`
	Description string   `json:"description,omitempty"` // from 2025-11-25
	Icons       []object `json:"icons,omitempty"`       // from 2025-11-25
	WebsiteURL  string   `json:"websiteUrl,omitempty"`  // from 2025-11-25
}

// declared is a capability without further settings.
type declared struct{}

// clientCapabilities is what the client has declared. A nil pointer is a
// capability that it does not have, and that must not be used.
type clientCapabilities struct {
	Roots    *declared `json:"roots,omitempty"`
	Sampling *struct {
		Tools *declared `json:"tools,omitempty"` // from 2025-11-25
	} `json:"sampling,omitempty"`
	Elicitation *struct {
		Form *declared `json:"form,omitempty"` // from 2025-11-25
		URL  *declared `json:"url,omitempty"`  // from 2025-11-25
	} `json:"elicitation,omitempty"`
	Tasks *struct { // at 2025-11-25
		Cancel   *declared                    `json:"cancel,omitempty"`
		Requests map[string]map[string]object `json:"requests,omitempty"` // as sampling/createMessage
	} `json:"tasks,omitempty"`
	Extensions *struct { // from 2026-07-28
		Tasks *declared `json:"io.modelcontextprotocol/tasks,omitempty"`
	} `json:"extensions,omitempty"`
}

// newest is the newest revision that the server speaks in sessions.
func (s *Server) newest() string {
	if len(s.handshake) == 0 {
		return s.stateless.revisions[0] // there will be no session, but errors have a revision, too
	}
	return s.handshake[len(s.handshake)-1]
}

// supports tells whether the server speaks a revision in sessions.
func (s *Server) supports(revision string) bool {
	return slices.Contains(s.handshake, revision)
}

// initialize negotiates the revision: the one that the client asks for, or
// else the newest, which the client may then refuse by leaving.
func (c *call) initialize(params initializeParams) (any, error) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision != "" {
		return nil, invalidRequest("the session is already initialized")
	}
	s.revision = s.server.newest()
	if s.server.supports(params.ProtocolVersion) {
		s.revision = params.ProtocolVersion
	}
	s.client = params.Capabilities
	s.features = featuresOf(s.revision, s.server.options.MoreTools, s.announce)
	s.logf("client %q version %q asks for %q and gets %s",
		params.ClientInfo.Name, params.ClientInfo.Version, params.ProtocolVersion, s.revision)
	return object{
		"protocolVersion": s.revision,
		"capabilities":    capabilitiesAt(s.revision),
		"serverInfo":      serverInfoAt(s.revision),
		"instructions":    instructions,
	}, nil
}

// capabilitiesAt is what the server declares at a revision.
func capabilitiesAt(revision string) object {
	capabilities := object{
		"tools":     object{"listChanged": true},
		"resources": object{"listChanged": true, "subscribe": true},
		"prompts":   object{"listChanged": true},
		"logging":   object{},
	}
	if revision >= Revision20250326 {
		capabilities["completions"] = object{}
	}
	if revision == Revision20251125 {
		capabilities["tasks"] = object{
			"list":     object{},
			"cancel":   object{},
			"requests": object{"tools": object{"call": object{}}},
		}
	}
	return capabilities
}

func serverInfoAt(revision string) implementation {
	info := implementation{Name: serverName, Version: serverVersion}
	if revision >= Revision20250618 {
		info.Title = "mcpconform reference server"
	}
	if revision >= Revision20251125 {
		info.Description = "A minimal MCP server that has something of everything"
		info.Icons = icons
		info.WebsiteURL = "https://github.com/mcpconform/mcpconform"
	}
	return info
}

// initialized opens the operation phase: from now on the server may ask.
func (s *session) initialized(json.RawMessage) {
	s.mu.Lock()
	first := s.revision != "" && !s.ready
	s.ready = s.ready || first
	s.mu.Unlock()
	if first {
		s.keepPinging()
	}
}
