package protocol

// Feature is something that a revision has or lacks, and that code depends on.
type Feature string

// How a connection begins, and what a request says of itself.
const (
	// Handshake: initialize and notifications/initialized come before all else, and
	// settle revision and capabilities for the connection.
	Handshake Feature = "handshake"
	// Discovery: server/discover tells revisions and capabilities, at any time.
	Discovery Feature = "discovery"
	// Statelessness: each request stands for itself, independent of earlier requests and of
	// the connection.
	Statelessness Feature = "statelessness"
	// PerRequestMeta: the _meta of each request names the client, its capabilities, and
	// the revision of the request.
	PerRequestMeta Feature = "per-request metadata"
	// Extensions: capabilities have extensions, such as tasks.
	Extensions Feature = "extensions"
)

// Who asks whom, and how.
const (
	// Ping: either party asks whether the other is there.
	Ping Feature = "ping"
	// ServerRequests: servers send requests of their own, which clients answer with
	// responses.
	ServerRequests Feature = "server requests"
	// InputRequests: what a server asks stands in a result, and the answer in the
	// params of the request when it is made again.
	InputRequests Feature = "input requests"
	// ResultTypes: each result says what it is in resultType.
	ResultTypes Feature = "result types"
	// Subscriptions: subscriptions/listen opens the stream on which changes are told, to
	// those who subscribed to them.
	Subscriptions Feature = "subscriptions"
	// LogLevelInMeta: the log level is asked for in the _meta of each request, not once
	// with logging/setLevel.
	LogLevelInMeta Feature = "log level in _meta"
	// RootsListChanged: clients tell with notifications/roots/list_changed that their
	// roots changed.
	RootsListChanged Feature = "roots/list_changed"
	// Batches: several messages may come as one array.
	Batches Feature = "batches"
	// EmptyCursors: an empty nextCursor is a cursor like any other.
	EmptyCursors Feature = "empty cursors"
	// Caching: lists and resources say in ttlMs and cacheScope how long they stay fresh.
	Caching Feature = "caching"
)

// What is special to HTTP.
const (
	// HTTPSSE: the transport of two endpoints that came before Streamable HTTP.
	HTTPSSE Feature = "HTTP with SSE"
	// Sessions: servers assign an Mcp-Session-Id, and a DELETE ends it.
	Sessions Feature = "sessions"
	// GETStream: a GET opens a stream for messages that answer nothing.
	GETStream Feature = "GET stream"
	// Resumption: a client takes up an interrupted stream with Last-Event-ID.
	Resumption Feature = "resumption"
	// Polling: servers may close the connection of a stream that is not over, after an
	// event that primes the client to come back.
	Polling Feature = "polling"
	// VersionHeader: requests name their revision in MCP-Protocol-Version.
	VersionHeader Feature = "version header"
	// MirroredHeaders: Mcp-Method, Mcp-Name and Mcp-Param-* repeat what the body says.
	MirroredHeaders Feature = "mirrored headers"
	// ClosingCancels: a request is cancelled by closing the stream of its answer.
	ClosingCancels Feature = "closing cancels"
	// Unbuffered: servers tell proxies with X-Accel-Buffering to hold back no event.
	Unbuffered Feature = "unbuffered streams"
	// UnknownMethodStatus: a request with an unknown method is answered with 404.
	UnknownMethodStatus Feature = "status of unknown methods"
	// Authorization: servers over HTTP may ask for access tokens.
	Authorization Feature = "authorization"
	// OwnAuthorization: a server is its own authorization server, whose metadata is at the
	// root of its host, or which has default endpoints there.
	OwnAuthorization Feature = "own authorization"
	// OpenIDDiscovery: an OpenID configuration does as metadata of an authorization server.
	OpenIDDiscovery Feature = "OpenID discovery"
)

// What messages look like.
const (
	// SchemaDialect: a schema without $schema is one of JSON Schema 2020-12.
	SchemaDialect Feature = "schema dialect"
	// InputErrorsInResults: arguments that a tool finds invalid are told in its result,
	// not as a protocol error.
	InputErrorsInResults Feature = "input errors in results"
	// Completions: servers declare that they complete arguments.
	Completions Feature = "completions"
	// CompletionContext: a client may name the arguments that are known already.
	CompletionContext Feature = "completion context"
	// ToolAnnotations: tools have annotations, which hint at what they do.
	ToolAnnotations Feature = "tool annotations"
	// Titles: implementations, and what they offer, have a title beside their name.
	Titles Feature = "titles"
	// StructuredContent: tools have an outputSchema, and their results structuredContent.
	StructuredContent Feature = "structured content"
	// AudioContent: content of tools, prompts and sampling may be audio.
	AudioContent Feature = "audio content"
	// ResourceLinks: tools and prompts may link to resources.
	ResourceLinks Feature = "resource links"
	// Elicitation: servers ask users by elicitation/create.
	Elicitation Feature = "elicitation"
	// StructuredValues: structuredContent is any JSON value, not only an object.
	StructuredValues Feature = "structured values"
	// ResourceNotFoundCode: an unknown resource has the error code -32002, not -32602.
	ResourceNotFoundCode Feature = "resource not found code"
	// URLElicitation: elicitation has the mode url, and capabilities name the modes.
	URLElicitation Feature = "URL elicitation"
	// Icons: implementations and what they offer have icons; implementations also tell
	// their website and describe themselves.
	Icons Feature = "icons"
	// SamplingTools: sampling may lend the client tools.
	SamplingTools Feature = "sampling tools"
	// Tasks: a request may be made as a task, by the member task of its params.
	Tasks Feature = "tasks"
	// ElicitationIDs: an elicitation in mode url has an elicitationId, which
	// notifications/elicitation/complete and the error -32042 name.
	ElicitationIDs Feature = "elicitation ids"
)

// Known tells whether there is such a feature.
func (f Feature) Known() bool {
	first, _ := f.find()
	return first != ""
}

// span returns the first and the last release with the feature.
func (f Feature) span() (first, last string) {
	first, last = f.find()
	if first == "" {
		panic("protocol: no such feature: " + string(f))
	}
	return first, last
}

// find returns the first and the last release with the feature; "" when there is none.
func (f Feature) find() (first, last string) {
	switch f {
	case HTTPSSE:
		return nov2024, nov2024
	case Handshake, Ping, ServerRequests, RootsListChanged, ResourceNotFoundCode:
		return nov2024, nov2025
	case Batches, OwnAuthorization:
		return mar2025, mar2025
	case Sessions, GETStream, Resumption:
		return mar2025, nov2025
	case Completions, AudioContent, ToolAnnotations, Authorization:
		return mar2025, jul2026
	case VersionHeader, CompletionContext, ResourceLinks, Elicitation, Titles, StructuredContent:
		return jun2025, jul2026
	case Polling, Tasks, ElicitationIDs:
		return nov2025, nov2025
	case SchemaDialect, InputErrorsInResults, URLElicitation, Icons, SamplingTools, OpenIDDiscovery:
		return nov2025, jul2026
	case Discovery, Statelessness, PerRequestMeta, Extensions, InputRequests, ResultTypes, Subscriptions,
		LogLevelInMeta, EmptyCursors, Caching, MirroredHeaders, ClosingCancels, Unbuffered, UnknownMethodStatus,
		StructuredValues:
		return jul2026, jul2026
	}
	return "", ""
}
