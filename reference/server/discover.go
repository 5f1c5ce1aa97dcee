// Page server/discover: what the server is, and what it can do.

package server

func (c *call) discover(noParams) (any, error) {
	capabilities := capabilitiesAt(c.revision)
	capabilities["extensions"] = object{tasksExtension: object{}}
	return object{
		"supportedVersions": c.server.supported(),
		"capabilities":      capabilities,
		"instructions":      instructions,
		"_meta":             object{metaServer: serverInfoAt(c.revision)}, // in full, once
	}, nil
}
