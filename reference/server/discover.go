// Page server/discover: what the server is, and what it can do.

package server

type discoverResult struct {
	SupportedVersions []string `json:"supportedVersions"`
	Capabilities      object   `json:"capabilities"`
	Instructions      string   `json:"instructions"`
	Meta              object   `json:"_meta"`
}

func (c *call) discover(noParams) (discoverResult, error) {
	capabilities := capabilitiesAt(c.revision)
	capabilities["extensions"] = object{tasksExtension: object{}}
	return discoverResult{
		SupportedVersions: c.server.supported(),
		Capabilities:      capabilities,
		Instructions:      instructions,
		Meta:              object{metaServer: serverInfoAt(c.revision)}, // in full, once
	}, nil
}
