package proxy

import "io"

// NewRehoster returns what names a server to it by its own name.
func NewRehoster(to io.Writer, host string) io.Writer { return &rehoster{to: to, host: host} }
