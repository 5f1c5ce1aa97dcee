// Page basic/authorization/authorization-server-discovery: protected resource metadata,
// and the metadata of the authorization server.

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// A source is an authorization server, and the resource that its tokens are for.
type source struct {
	issuer   string
	resource string
	scopes   []string // that the server lists
	metadata serverMetadata
}

// serverMetadata is what an authorization server says of itself.
type serverMetadata struct {
	Issuer       string   `json:"issuer"`
	Authorize    string   `json:"authorization_endpoint"`
	Token        string   `json:"token_endpoint"`
	Register     string   `json:"registration_endpoint"`
	Methods      []string `json:"code_challenge_methods_supported"`
	Documents    bool     `json:"client_id_metadata_document_supported"`
	NamesItself  bool     `json:"authorization_response_iss_parameter_supported"`
	AuthMethods  []string `json:"token_endpoint_auth_methods_supported"`
	Scopes       []string `json:"scopes_supported"`
	openID       bool
	confirmation string // where it was found
}

// resourceMetadata is what a server says of itself.
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// discover finds the authorization server of the server.
func (a *carrier) discover(ctx context.Context, challenge oauth.Challenge) (*source, error) {
	if a.client.part.auth.guessesIssuer != nil {
		return a.client.part.auth.guessesIssuer(a.client.options.URL), nil
	}
	if a.client.opens() == Revision20250326 {
		return a.client.part.auth.discoversOwn(ctx, a)
	}
	said, err := a.resourceMetadata(ctx, challenge)
	if err != nil {
		return nil, err
	}
	if len(said.Issuers) == 0 {
		return nil, errors.New("the protected resource metadata names no authorization server")
	}
	for _, issuer := range said.Issuers {
		metadata, wrong := a.serverMetadata(ctx, issuer)
		if wrong != nil {
			err = errors.Join(err, wrong)
			continue
		}
		if err := a.usable(metadata); err != nil {
			return nil, err
		}
		from := &source{issuer: issuer, resource: said.Resource, scopes: said.Scopes, metadata: *metadata}
		a.client.part.auth.endpoints(ctx, a, from, said)
		return from, nil
	}
	return nil, err
}

// discoverOwn finds the authorization server that the server is itself, at 2025-03-26: by the
// metadata at the root of its host or, where there is none, by the default endpoints there.
func discoverOwn(ctx context.Context, a *carrier) (*source, error) {
	auth := &a.client.part.auth
	base, err := auth.baseURL(a.client.options.URL)
	if err != nil {
		return nil, err
	}
	from := &source{issuer: base, resource: a.client.options.URL} // of which this revision says nothing
	err = a.fetchAt(ctx, base+oauth.ServerPath, auth.namesRevision(Revision20250326), &from.metadata)
	if refusal, refused := errors.AsType[*refusalError](err); refused && refusal.Status == http.StatusNotFound {
		from.metadata, err = auth.ownEndpoints(base)
	}
	if err != nil {
		return nil, err
	}
	for _, endpoint := range []string{from.metadata.Authorize, from.metadata.Token} {
		if err := auth.checksURL(endpoint); err != nil {
			return nil, err
		}
	}
	return from, nil
}

// baseURL is that of the server without its path.
func baseURL(server string) (string, error) {
	parsed, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	return parsed.Scheme + "://" + parsed.Host, nil
}

// ownEndpoints are those of a server without metadata.
func ownEndpoints(base string) (serverMetadata, error) {
	return serverMetadata{
		Issuer: base, Authorize: base + "/authorize", Token: base + "/token", Register: base + "/register",
	}, nil
}

// namesRevision are headers by which a server knows the revision of who asks.
func namesRevision(revision string) http.Header {
	headers := http.Header{}
	headers.Set(versionHeader, revision)
	return headers
}

// resourceMetadata asks for it where the challenge says, or else at the well-known URIs.
func (a *carrier) resourceMetadata(ctx context.Context, challenge oauth.Challenge) (*resourceMetadata, error) {
	server := a.client.options.URL
	places, err := a.client.part.auth.resourcePlaces(server, challenge)
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		said := &resourceMetadata{}
		if err = a.fetch(ctx, place, said); err != nil {
			continue
		}
		if !a.client.part.auth.fitsResource(said.Resource, server) {
			return nil, fmt.Errorf("the metadata at %s is of another resource, %q", place, said.Resource)
		}
		return said, nil
	}
	return nil, fmt.Errorf("no protected resource metadata: %w", err)
}

// resourcePlaces are where the metadata may stand, in order.
func resourcePlaces(server string, challenge oauth.Challenge) ([]string, error) {
	if named, there := challenge.Get("resource_metadata"); there {
		return []string{named}, nil
	}
	return oauth.ResourcePlaces(server)
}

// fitsResource tells whether metadata is of the server: of its URL, or of its origin.
func fitsResource(resource, server string) bool {
	return oauth.SameResource(resource, server) || oauth.SameOrigin(resource, server) && atRoot(resource)
}

func atRoot(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && strings.Trim(parsed.Path, "/") == ""
}

// serverMetadata asks for it at all places where it may stand, until it is found.
func (a *carrier) serverMetadata(ctx context.Context, issuer string) (*serverMetadata, error) {
	places, err := a.client.part.auth.serverPlaces(issuer)
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		said := &serverMetadata{confirmation: place, openID: strings.Contains(place, oauth.OpenIDPath)}
		if wrong := a.fetch(ctx, place, said); wrong != nil {
			err = wrong
			continue
		}
		if !a.client.part.auth.fitsIssuer(said.Issuer, issuer) {
			err = fmt.Errorf("the metadata at %s is of another issuer, %q", place, said.Issuer)
			continue
		}
		return said, nil
	}
	return nil, fmt.Errorf("no metadata of the authorization server %s: %w", issuer, err)
}

// usable tells what keeps the client from using an authorization server.
func (a *carrier) usable(metadata *serverMetadata) error {
	if err := a.client.part.auth.provesPKCE(metadata); err != nil {
		return err
	}
	for _, endpoint := range []string{metadata.Authorize, metadata.Token} {
		if err := a.client.part.auth.checksURL(endpoint); err != nil {
			return err
		}
	}
	return nil
}

// provesPKCE wants S256 among what the metadata has.
func provesPKCE(metadata *serverMetadata) error {
	if !slices.Contains(metadata.Methods, "S256") {
		return errors.New("the authorization server does not say that it supports PKCE with S256")
	}
	return nil
}

// opens wants an address that is safe to go to.
func opens(address string) error {
	if oauth.Insecure(address) {
		return fmt.Errorf("the URL %q is not reached by TLS", address)
	}
	return opensPlain(address)
}

// opensPlain wants an address of a page.
func opensPlain(address string) error {
	parsed, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("the URL %q cannot be read", address)
	case parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "":
		return fmt.Errorf("the URL %q is neither https nor http", address)
	}
	return nil
}

// fetch gets a JSON document.
func (a *carrier) fetch(ctx context.Context, address string, into any) error {
	return a.fetchAt(ctx, address, nil, into)
}

// fetchAt does so with further headers.
func (a *carrier) fetchAt(ctx context.Context, address string, headers http.Header, into any) error {
	if err := opens(address); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	maps.Copy(request.Header, headers)
	request.Header.Set("Accept", jsonMedia)
	return a.call(request, into)
}

// call sends a request and reads the JSON that comes back.
func (a *carrier) call(request *http.Request, into any) error {
	response, err := a.plain.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, bodyLimit))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		refusal := &refusalError{Status: response.StatusCode}
		_ = json.Unmarshal(body, refusal) // or it says nothing more
		return refusal
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("what came from %s is not JSON: %w", request.URL, err)
	}
	return nil
}

// A refusalError is the answer of an authorization server that refuses.
type refusalError struct {
	Status      int    `json:"-"`
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (e *refusalError) Error() string {
	text := fmt.Sprintf("HTTP status %d", e.Status)
	if e.Code != "" {
		text += ": " + e.Code
	}
	if e.Description != "" {
		text += ": " + e.Description
	}
	return text
}
