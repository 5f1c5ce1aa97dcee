package oauth

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// Grant types and token types of extensions for authorization.
//
//nolint:gosec // they are names
const (
	GrantClientCredentials = "client_credentials"
	GrantJWTBearer         = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	GrantTokenExchange     = "urn:ietf:params:oauth:grant-type:token-exchange"

	ClientAssertionJWT = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	TokenTypeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
	TokenTypeIDToken   = "urn:ietf:params:oauth:token-type:id_token"
)

// PrivatePEM returns the private half as a PEM block in PKCS #8.
func (k *Key) PrivatePEM() []byte {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		panic("oauth: a private key without PKCS #8 form: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// clockSkew is how much clocks may differ.
const clockSkew = 5 * time.Minute

// AssertionFlaw says what is wrong with an assertion by which a client authenticates (RFC
// 7523, section 3) to one of the audiences; "" for nothing.
func (k *Key) AssertionFlaw(assertion, client string, audiences []string, now time.Time) string {
	jwt, is := Decode(assertion)
	switch {
	case !is:
		return "that is not a JWT"
	case !k.Verifies(assertion):
		return "that the key of the client has not signed with " + k.Alg
	case jwt.Claims["iss"] != client:
		return "whose iss is not the client_id"
	case jwt.Claims["sub"] != client:
		return "whose sub is not the client_id"
	case !slices.ContainsFunc(Audiences(jwt.Claims), func(one string) bool { return slices.Contains(audiences, one) }):
		return "whose aud is not the authorization server"
	}
	switch expires, has := jwt.Claims["exp"].(float64); {
	case !has:
		return "without exp"
	case time.Unix(int64(expires), 0).Add(clockSkew).Before(now):
		return "that has expired"
	}
	return ""
}

// Audiences are the values of the claim aud, which is a text or a list.
func Audiences(claims map[string]any) []string {
	switch aud := claims["aud"].(type) {
	case string:
		return []string{aud}
	case []any:
		var all []string
		for _, one := range aud {
			text, _ := one.(string)
			all = append(all, text)
		}
		return all
	}
	return nil
}
