package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"strings"
)

// The signature algorithms of the keys that the harness has.
const (
	ES256 = "ES256"
	RS256 = "RS256"
)

// rsaBits is the smallest size that RS256 may have (RFC 7518, section 3.3).
const rsaBits = 2048

// A Key signs tokens.
type Key struct {
	ID      string
	Alg     string
	private crypto.Signer
}

// NewKey makes a key for ES256 or RS256.
func NewKey(id, alg string) (*Key, error) {
	switch alg {
	case ES256:
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		return &Key{id, alg, private}, err
	case RS256:
		private, err := rsa.GenerateKey(rand.Reader, rsaBits)
		return &Key{id, alg, private}, err
	}
	return nil, errors.New("no algorithm " + alg)
}

// KeyFromSeed makes the same ES256 key from the same seed, so that a server which was told
// the key once trusts it the next time, too.
func KeyFromSeed(id, seed string) (*Key, error) {
	const attempts = 256 // one in 2^32 digests is no key
	for i := range attempts {
		digest := sha256.Sum256([]byte(id + "\x00" + seed + "\x00" + string(rune(i))))
		if private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), digest[:]); err == nil {
			return &Key{id, ES256, private}, nil
		}
	}
	return nil, errors.New("no key comes of the seed")
}

// JWK returns the public half, as an element of a JWK set.
func (k *Key) JWK() map[string]any {
	jwk := map[string]any{"kid": k.ID, "alg": k.Alg, "use": "sig"}
	switch public := k.private.Public().(type) {
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, X, Y
		if err != nil {
			panic("oauth: a P-256 key without bytes: " + err.Error())
		}
		jwk["kty"], jwk["crv"] = "EC", "P-256"
		jwk["x"], jwk["y"] = encoded(point[1:33]), encoded(point[33:])
	case *rsa.PublicKey:
		jwk["kty"] = "RSA"
		jwk["n"], jwk["e"] = encoded(public.N.Bytes()), encoded(big.NewInt(int64(public.E)).Bytes())
	}
	return jwk
}

// PublicPEM returns the public half as a PEM block, as an attacker has it who makes it the
// secret of a HMAC.
func (k *Key) PublicPEM() []byte {
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	if err != nil {
		panic("oauth: a public key without PKIX form: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// Sign returns a signed token. Its header has alg and kid of the key unless it names others.
func (k *Key) Sign(header, claims map[string]any) (string, error) {
	full := map[string]any{"alg": k.Alg, "kid": k.ID}
	maps.Copy(full, header)
	input, err := signingInput(full, claims)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(input))
	switch private := k.private.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
		if err != nil {
			return "", err
		}
		const half = 32
		signature := make([]byte, 2*half)
		r.FillBytes(signature[:half])
		s.FillBytes(signature[half:])
		return input + "." + encoded(signature), nil
	case *rsa.PrivateKey:
		signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, digest[:])
		return input + "." + encoded(signature), err
	}
	return "", errors.New("no key to sign with")
}

// Verifies tells whether the key has signed a token.
func (k *Key) Verifies(token string) bool {
	end := strings.LastIndexByte(token, '.')
	jwt, isJWT := Decode(token)
	if !isJWT || jwt.Header["alg"] != k.Alg {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(jwt.Signature)
	if err != nil {
		return false
	}
	digest := sha256.Sum256([]byte(token[:end]))
	switch public := k.private.Public().(type) {
	case *ecdsa.PublicKey:
		const half = 32
		return len(signature) == 2*half && ecdsa.Verify(public, digest[:],
			new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:]))
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], signature) == nil
	}
	return false
}

// WithoutSignature returns a token with the algorithm none.
func WithoutSignature(header, claims map[string]any) (string, error) {
	full := map[string]any{"alg": "none"}
	maps.Copy(full, header)
	input, err := signingInput(full, claims)
	return input + ".", err
}

// HMAC returns a token with the algorithm HS256.
func HMAC(header, claims map[string]any, secret []byte) (string, error) {
	full := map[string]any{"alg": "HS256"}
	maps.Copy(full, header)
	input, err := signingInput(full, claims)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(input))
	return input + "." + encoded(mac.Sum(nil)), nil
}

func signingInput(header, claims map[string]any) (string, error) {
	h, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	c, err := json.Marshal(claims)
	return encoded(h) + "." + encoded(c), err
}

func encoded(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }

// maxToken bounds the tokens that are taken apart, in bytes.
const maxToken = 64 << 10

// A JWT is a token that was taken apart; nothing of it was verified.
type JWT struct {
	Header, Claims map[string]any
	Signature      string // as it was encoded
}

// Decode takes a signed token apart. Opaque tokens, encrypted ones, and what is no token at
// all give false.
func Decode(token string) (JWT, bool) {
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 {
		return JWT{}, false
	}
	jwt := JWT{Signature: parts[2]}
	for i, into := range []*map[string]any{&jwt.Header, &jwt.Claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(text, into) != nil || *into == nil {
			return JWT{}, false
		}
	}
	return jwt, true
}

// Encode puts a token together again with the signature that it had.
func (t JWT) Encode() (string, error) {
	input, err := signingInput(t.Header, t.Claims)
	return input + "." + t.Signature, err
}
