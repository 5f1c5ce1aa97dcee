package oauth

import (
	"net/netip"
	"net/url"
	"strings"
)

// Loopback tells whether a host, without a port, is this machine by its name or number.
func Loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// SameOrigin tells whether two addresses have the same scheme, host and port.
func SameOrigin(a, b string) bool {
	first, err := absolute(a)
	if err != nil {
		return false
	}
	second, err := absolute(b)
	return err == nil && origin(first) == origin(second)
}

func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
