package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// client is one that may ask for authorization.
type client struct {
	ID           string   `json:"client_id"`
	Secret       string   `json:"client_secret,omitempty"`
	Name         string   `json:"client_name,omitempty"`
	RedirectURIs []string `json:"redirect_uris"`
	GrantTypes   []string `json:"grant_types,omitempty"`
	AuthMethod   string   `json:"token_endpoint_auth_method,omitempty"`
	Type         string   `json:"application_type,omitempty"`
	Scope        string   `json:"scope,omitempty"`
}

// Add makes a client known that was registered in another way. A secret makes it a
// confidential one.
func (s *Server) Add(id, secret string, redirectURIs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	method := "none"
	if secret != "" {
		method = "client_secret_basic"
	}
	keep(s.clients, id, &client{ID: id, Secret: secret, RedirectURIs: redirectURIs, AuthMethod: method})
}

// register is the registration endpoint (RFC 7591).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var one client
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&one); err != nil {
		wrong("invalid_client_metadata", "the body is not client metadata: %s", err).write(w)
		return
	}
	if refused := s.validMetadata(&one); refused != nil {
		refused.write(w)
		return
	}
	one.ID, one.Secret = secret("client"), ""
	if one.AuthMethod == "" {
		one.AuthMethod = "client_secret_basic" // as RFC 7591 has it
	}
	if len(one.GrantTypes) == 0 {
		one.GrantTypes = []string{"authorization_code"}
	}
	answer := map[string]any{
		"client_id": one.ID, "client_id_issued_at": time.Now().Unix(), "redirect_uris": one.RedirectURIs,
		"token_endpoint_auth_method": one.AuthMethod, "grant_types": one.GrantTypes, "response_types": []string{"code"},
	}
	if one.AuthMethod != "none" {
		one.Secret = secret("secret")
		answer["client_secret"], answer["client_secret_expires_at"] = one.Secret, 0
	}
	for name, value := range map[string]string{"client_name": one.Name, "application_type": one.Type, "scope": one.Scope} {
		if value != "" {
			answer[name] = value
		}
	}
	s.mu.Lock()
	keep(s.clients, one.ID, &one)
	s.mu.Unlock()
	writeJSON(w, http.StatusCreated, answer)
}

func (s *Server) validMetadata(one *client) *oauthError {
	if len(one.RedirectURIs) == 0 {
		return wrong("invalid_redirect_uri", "redirect_uris is missing")
	}
	for _, address := range one.RedirectURIs {
		if flaw := redirectFlaw(address, one.Type); flaw != "" && !s.has("registers-any-redirect-uri") {
			return wrong("invalid_redirect_uri", "the redirect URI %q %s", address, flaw)
		}
	}
	if !slices.Contains([]string{"", "none", "client_secret_basic", "client_secret_post"}, one.AuthMethod) {
		return wrong("invalid_client_metadata", "token_endpoint_auth_method %q is not supported", one.AuthMethod)
	}
	return nil
}

// redirectFlaw says what is wrong with a redirect URI, or "": it is on this machine, or
// uses https, or, of a native application, a scheme of its own (RFC 8252, section 7.1).
func redirectFlaw(address, applicationType string) string {
	parsed, err := url.Parse(address)
	switch {
	case err != nil || parsed.Scheme == "":
		return "is not an absolute URI"
	case strings.Contains(address, "#"):
		return "has a fragment"
	case parsed.Scheme == "https" && parsed.Host != "":
		return ""
	case parsed.Scheme == "http" && oauth.Loopback(parsed.Hostname()):
		return ""
	case applicationType == "native" && strings.Contains(parsed.Scheme, "."):
		return ""
	}
	return "is neither on this machine nor uses https"
}

// redirectFits tells whether a redirect URI is one that was registered, exactly; on a
// loopback address the port may be another (RFC 8252, section 7.3).
func (s *Server) redirectFits(registered []string, asked string) bool {
	return slices.ContainsFunc(registered, func(one string) bool {
		return one == asked || s.has("redirects-anywhere") ||
			s.has("redirects-to-prefixes") && strings.HasPrefix(asked, one) ||
			withoutLoopbackPort(one) != "" && withoutLoopbackPort(one) == withoutLoopbackPort(asked)
	})
}

// withoutLoopbackPort is a URI on a loopback address without its port; "" for others.
func withoutLoopbackPort(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" || parsed.User != nil {
		return ""
	}
	ip, err := netip.ParseAddr(parsed.Hostname())
	if err != nil || !ip.IsLoopback() {
		return ""
	}
	rest := address[strings.Index(address, parsed.Host)+len(parsed.Host):]
	return ip.String() + rest
}

// clientOf finds a client by its id, which may be the URL of its metadata document.
func (s *Server) clientOf(ctx context.Context, id string) (*client, error) {
	s.mu.Lock()
	known := s.clients[id]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if !strings.Contains(id, "://") {
		return nil, errors.New("no client has this client_id")
	}
	if flaw := documentAddressFlaw(id); flaw != "" {
		return nil, errors.New("the client_id " + flaw)
	}
	document, err := s.documentAt(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("the client's metadata document cannot be had: %w", err)
	}
	one := &client{}
	switch err := json.Unmarshal(document.Text, one); {
	case err != nil:
		return nil, fmt.Errorf("the client's metadata document is not JSON: %w", err)
	case !s.has("takes-documents-without-a-name") && (one.ID == "" || one.Name == "" || len(one.RedirectURIs) == 0):
		return nil, errors.New("the client's metadata document lacks client_id, client_name or redirect_uris")
	case one.ID != id && !s.has("does-not-compare-documents"):
		return nil, errors.New("the client's metadata document has another client_id")
	}
	one.ID, one.Secret, one.AuthMethod = id, "", "none"
	return one, nil
}

// documentAddressFlaw says what is wrong with a client_id that is a URL, or "".
func documentAddressFlaw(id string) string {
	parsed, err := url.Parse(id)
	switch {
	case err != nil:
		return "is not a URL"
	case parsed.Scheme != "https":
		return "does not use https"
	case strings.Trim(parsed.Path, "/") == "":
		return "has no path"
	case parsed.User != nil || strings.Contains(id, "#"):
		return "has a user name or a fragment"
	}
	return ""
}

const (
	fetchTimeout  = 5 * time.Second
	longestCached = time.Hour
	maxDocument   = 5 << 10 // as the draft about such documents recommends
)

// A Document is a client id metadata document.
type Document struct {
	Text  []byte
	Fresh time.Time // until when it may be cached
}

// documentAt gets a document, or has it still.
func (s *Server) documentAt(ctx context.Context, address string) (Document, error) {
	s.mu.Lock()
	known, has := s.documents[address]
	s.mu.Unlock()
	if has && !s.has("does-not-cache-documents") && time.Now().Before(known.Fresh) {
		return known, nil
	}
	document, err := s.options.Fetch(ctx, address)
	if err != nil && s.has("fetches-from-anywhere") {
		document, err = fetchOver(ctx, &http.Transport{TLSHandshakeTimeout: fetchTimeout}, address)
	}
	if err == nil {
		s.mu.Lock()
		keep(s.documents, address, document)
		s.mu.Unlock()
	}
	return document, err
}

// FetchFrom gets the documents under a URL from an address on this machine, over http: for
// tests, which have no certificate. Others are got over HTTPS, from public addresses.
func FetchFrom(under, address string) func(context.Context, string) (Document, error) {
	return func(ctx context.Context, wanted string) (Document, error) {
		path, isUnder := strings.CutPrefix(wanted, strings.TrimSuffix(under, "/")+"/")
		if !isUnder {
			return fetchDocument(ctx, wanted)
		}
		return fetchOver(ctx, &http.Transport{}, "http://"+address+"/"+path)
	}
}

// fetchDocument gets a document over HTTPS from a public address; it follows no redirect.
func fetchDocument(ctx context.Context, address string) (Document, error) {
	dialer := &net.Dialer{Timeout: fetchTimeout, Control: onlyPublic}
	return fetchOver(ctx, &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: fetchTimeout}, address)
}

func fetchOver(ctx context.Context, transport *http.Transport, address string) (Document, error) {
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	//nolint:gosec // to public addresses alone: see onlyPublic
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Document{}, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return Document{}, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if response.StatusCode != http.StatusOK {
		return Document{}, fmt.Errorf("HTTP %d", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = fmt.Errorf("longer than %d bytes", maxDocument)
	}
	return Document{text, time.Now().Add(freshFor(response.Header))}, err
}

// freshFor is how long a response may be cached.
func freshFor(header http.Header) time.Duration {
	for directive := range strings.SplitSeq(header.Get("Cache-Control"), ",") {
		seconds, isAge := strings.CutPrefix(strings.TrimSpace(directive), "max-age=")
		if count, err := strconv.Atoi(seconds); isAge && err == nil {
			return min(time.Duration(count)*time.Second, longestCached)
		}
	}
	return 0
}

// onlyPublic refuses connections into this network.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	place, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := place.Addr().Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return fmt.Errorf("%s is no public address", ip)
	}
	return nil
}
