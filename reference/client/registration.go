// Page basic/authorization/client-registration: a client id, given beforehand, by a
// document, or by registering.

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// A registration is what one authorization server knows the client by.
type registration struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
	Method string `json:"token_endpoint_auth_method"`
}

// registered returns the registration with an authorization server, and makes one where
// there is none: credentials are good for the issuer that gave them alone.
func (a *carrier) registered(ctx context.Context, from *source) (*registration, error) {
	key := a.client.part.auth.bindsTo(from.issuer)
	if known := a.known[key]; known != nil {
		return known, nil
	}
	made, err := a.client.part.auth.register(ctx, a, from)
	if err != nil {
		return nil, err
	}
	a.known[key] = made
	return made, nil
}

// register uses what was given, else a document, else registers.
func register(ctx context.Context, a *carrier, from *source) (*registration, error) {
	given := a.client.options.Authorization
	switch {
	case given.Credentials.ID != "":
		if bound := given.Credentials.Issuer; bound != "" && bound != from.issuer {
			return nil, fmt.Errorf("the client is registered with %s, and the server names %s", bound, from.issuer)
		}
		return &registration{ID: given.Credentials.ID, Secret: given.Credentials.Secret}, nil
	case given.Document != "" && from.metadata.Documents:
		return &registration{ID: given.Document}, nil
	case from.metadata.Register != "":
		return a.registerAnew(ctx, from)
	}
	return nil, errors.New("the authorization server knows no client_id of this client, and offers no registration")
}

// registerAnew registers with the authorization server.
func (a *carrier) registerAnew(ctx context.Context, from *source) (*registration, error) {
	body, err := json.Marshal(object{
		"client_name":                "mcpconform reference client",
		"redirect_uris":              []any{a.redirectURI()},
		"grant_types":                []any{"authorization_code", "refresh_token"},
		"response_types":             []any{"code"},
		"token_endpoint_auth_method": "none",
		"application_type":           "native",
	})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, from.metadata.Register, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", jsonMedia)
	made := &registration{}
	if err := a.call(request, made); err != nil {
		return nil, fmt.Errorf("the registration was refused: %w", err)
	}
	if made.ID == "" {
		return nil, errors.New("the registration brought no client_id")
	}
	return a.client.part.auth.readsRegistration(made), nil
}
