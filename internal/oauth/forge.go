package oauth

import "maps"

// AccessTokenHeader is what the header of an access token has beside the algorithm and the
// key (RFC 9068, section 2.1).
func AccessTokenHeader() map[string]any { return map[string]any{"typ": "at+jwt"} }

// Forge makes the tokens that can be made without the private key: of claims, for the key
// that has this id. The public key, as PEM, is nil where it is not known.
func Forge(claims map[string]any, keyID string, public []byte) (map[Kind]string, error) {
	own, err := NewKey("own", ES256)
	if err != nil {
		return nil, err
	}
	forged := map[Kind]string{}
	var failed error
	add := func(kind Kind, token string, err error) {
		forged[kind] = token
		if failed == nil {
			failed = err
		}
	}
	with := func(more map[string]any) map[string]any {
		all := AccessTokenHeader()
		maps.Copy(all, more)
		return all
	}
	sign := func(kind Kind, more map[string]any) {
		token, err := own.Sign(with(more), claims)
		add(kind, token, err)
	}
	sign(WrongSignature, map[string]any{"kid": keyID})
	sign(UnknownKey, nil)
	sign(OwnKey, map[string]any{"jwk": own.JWK()})
	token, err := WithoutSignature(with(nil), claims)
	add(Unsigned, token, err)
	if public != nil {
		token, err := HMAC(with(map[string]any{"kid": keyID}), claims, public)
		add(ConfusedAlgorithm, token, err)
	}
	return forged, failed
}
