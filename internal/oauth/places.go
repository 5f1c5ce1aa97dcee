package oauth

import (
	"errors"
	"net/url"
	"strings"
)

// The well-known paths of metadata documents.
const (
	ResourcePath = "/.well-known/oauth-protected-resource"   // RFC 9728
	ServerPath   = "/.well-known/oauth-authorization-server" // RFC 8414
	OpenIDPath   = "/.well-known/openid-configuration"       // OpenID Connect Discovery
)

// ResourcePlaces returns where the metadata of a protected resource stands by its URL, in
// the order in which clients look: below the well-known path, then at the root.
func ResourcePlaces(resource string) ([]string, error) {
	u, err := absolute(resource)
	if err != nil {
		return nil, err
	}
	root := at(u, ResourcePath)
	// RFC 9728, section 3.1: a terminating slash goes before the path is inserted.
	if path := strings.TrimSuffix(u.EscapedPath(), "/"); path != "" {
		return []string{at(u, ResourcePath+path), root}, nil
	}
	return []string{root}, nil
}

// IssuerPlaces returns where the metadata of an authorization server stands by its issuer,
// in the order in which clients of MCP look: with a path OAuth inserted, OpenID inserted
// and OpenID appended; without one OAuth, then OpenID.
func IssuerPlaces(issuer string) ([]string, error) {
	u, err := absolute(issuer)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{at(u, ServerPath+path), at(u, OpenIDPath+path)}
	if path != "" {
		places = append(places, at(u, path+OpenIDPath))
	}
	return places, nil
}

// at returns an address at the origin of another.
func at(u *url.URL, path string) string { return u.Scheme + "://" + u.Host + path }

func absolute(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("is not a URL")
	}
	if u.Scheme == "" || u.Host == "" {
		return nil, errors.New("is not an absolute URL")
	}
	return u, nil
}

// Canonical returns the canonical form of a resource indicator: scheme and host in lower
// case, no fragment, and no slash where the path is nothing else.
func Canonical(resource string) (string, error) {
	u, err := absolute(resource)
	if err != nil {
		return "", err
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "/" {
		u.Path, u.RawPath = "", ""
	}
	return u.String(), nil
}

// SameResource tells whether two resource indicators have the same canonical form.
func SameResource(a, b string) bool {
	canonicalA, errA := Canonical(a)
	canonicalB, errB := Canonical(b)
	return errA == nil && errB == nil && canonicalA == canonicalB
}

// ResourceFlaw says what is wrong with a resource indicator (RFC 8707, section 2), or "".
func ResourceFlaw(resource string) string {
	u, err := absolute(resource)
	switch {
	case err != nil:
		return err.Error()
	case strings.Contains(resource, "#"):
		return "has a fragment"
	case u.User != nil:
		return "has a user name"
	}
	return ""
}

// IssuerFlaw says what is wrong with an issuer identifier, other than its scheme (RFC 8414,
// section 2), or "".
func IssuerFlaw(issuer string) string {
	u, err := absolute(issuer)
	switch {
	case err != nil:
		return err.Error()
	case strings.Contains(issuer, "#"):
		return "has a fragment"
	case strings.Contains(issuer, "?"):
		return "has a query"
	case u.User != nil:
		return "has a user name"
	}
	return ""
}

// Insecure tells whether an address is reached without TLS over a network: OAuth 2.1,
// section 1.5, exempts loopback.
func Insecure(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.EqualFold(u.Scheme, "http") && !Loopback(u.Hostname())
}
