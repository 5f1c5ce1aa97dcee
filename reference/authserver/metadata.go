package authserver

import "net/http"

// metadata is the same document for OAuth and for OpenID Connect Discovery.
func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	document := map[string]any{
		"issuer":                                s.options.Issuer,
		"authorization_endpoint":                s.at("authorize"),
		"token_endpoint":                        s.at("token"),
		"registration_endpoint":                 s.at("register"),
		"introspection_endpoint":                s.at("introspect"),
		"jwks_uri":                              s.at("jwks"),
		"response_types_supported":              []string{"code"},
		"response_modes_supported":              []string{"query"},
		"grant_types_supported":                 []string{"authorization_code", "refresh_token"},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "client_secret_post"},
		"scopes_supported":                      s.options.Scopes,
		"client_id_metadata_document_supported": true,
		// OpenID Connect Discovery demands these.
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{s.key.Alg},
	}
	if s.has("names-another-issuer") {
		document["issuer"] = anotherIssuer
	}
	if !s.has("does-not-advertise-iss") {
		document["authorization_response_iss_parameter_supported"] = true
	}
	if !s.has("does-not-advertise-s256") {
		document["code_challenge_methods_supported"] = []string{"S256"}
	}
	writeJSON(w, http.StatusOK, document)
}

// jwks is the set of its public keys.
func (s *Server) jwks(w http.ResponseWriter, _ *http.Request) {
	keys := []map[string]any{s.key.JWK()}
	if s.rsa != nil {
		keys = append(keys, s.rsa.JWK())
	}
	writeJSON(w, http.StatusOK, map[string]any{"keys": keys})
}
