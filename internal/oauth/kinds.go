package oauth

// Kind names an access token by what it is for in a test: what is wrong with it, or what
// is unusual.
type Kind string

// Tokens that a server has to take.
const (
	Good            Kind = "good"
	ManyAudiences   Kind = "many-audiences"
	CapitalAudience Kind = "capital-audience"
	Opaque          Kind = "opaque"
	SignedByRSA     Kind = "rs256"
	UnknownClaims   Kind = "unknown-claims"
	Rotated         Kind = "rotated" // of the same user, issued later
)

// Tokens that a server must not take.
const (
	OtherAudience     Kind = "other-audience"
	ClientAudience    Kind = "client-audience"
	NoAudience        Kind = "no-audience"
	LongerAudience    Kind = "longer-audience"
	OtherAudiences    Kind = "other-audiences"
	OtherIssuer       Kind = "other-issuer"
	Expired           Kind = "expired"
	ExpiredNoScope    Kind = "expired-no-scope"
	NotYet            Kind = "not-yet"
	WrongSignature    Kind = "wrong-signature"
	Unsigned          Kind = "unsigned"
	ConfusedAlgorithm Kind = "confused-algorithm"
	UnknownKey        Kind = "unknown-key"
	OwnKey            Kind = "own-key"
	Revoked           Kind = "revoked"
	IDToken           Kind = "id-token"
	RefreshToken      Kind = "refresh-token"
)

// Tokens that servers may take or not: clocks differ, and issuers are compared in more
// than one way.
const (
	IssuerSlash Kind = "issuer-slash"
	JustExpired Kind = "just-expired"
	IssuedLater Kind = "issued-later"
)

// Good tokens that do not allow all.
const (
	NoScope   Kind = "no-scope"
	Limited   Kind = "limited"    // not what a tool of the target needs
	Full      Kind = "full"       // exactly that
	Broader   Kind = "broader"    // a scope that implies it
	OtherUser Kind = "other-user" // allows the same to another user
)

// kinds are what each is, for people.
var kinds = []struct {
	kind Kind
	says string
}{
	{Good, "a valid access token"},
	{ManyAudiences, "a valid one, whose aud names other servers, too"},
	{CapitalAudience, "a valid one, whose aud has the host in upper case"},
	{Opaque, "a valid opaque one, for introspection"},
	{SignedByRSA, "a valid one, signed by RS256"},
	{UnknownClaims, "a valid one with unknown claims"},
	{Rotated, "a valid one that replaces another"},
	{OtherAudience, "a token for another server of the same authorization server"},
	{ClientAudience, "a token whose aud is the client"},
	{NoAudience, "a token without aud"},
	{LongerAudience, "a token for a server whose URL begins with this one's"},
	{OtherAudiences, "a token whose aud is a list of other servers"},
	{OtherIssuer, "a token that names another issuer"},
	{Expired, "a token that expired five minutes ago"},
	{ExpiredNoScope, "a token that expired five minutes ago, and has no scope"},
	{NotYet, "a token that is valid in ten minutes"},
	{WrongSignature, "a token with a wrong signature"},
	{Unsigned, "a token with the algorithm none"},
	{ConfusedAlgorithm, "a token signed by HS256 with the public key as secret"},
	{UnknownKey, "a token signed by an unknown key"},
	{OwnKey, "a token that contains the key that signed it"},
	{Revoked, "a token that was revoked"},
	{IDToken, "an ID token"},
	{RefreshToken, "a refresh token"},
	{IssuerSlash, "a token whose issuer has an extra slash"},
	{JustExpired, "a token that expired five seconds ago"},
	{IssuedLater, "a token whose iat is in an hour"},
	{NoScope, "a token without scope"},
	{Limited, "a token without the scope that a tool needs"},
	{Full, "a token with exactly the scopes that a tool needs"},
	{Broader, "a token with a scope that implies the one that a tool needs"},
	{OtherUser, "a valid token of another user"},
}

// Kinds lists all kinds of tokens.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, one := range kinds {
		all[i] = one.kind
	}
	return all
}

// Says tells what a token of the kind is.
func (k Kind) Says() string {
	for _, one := range kinds {
		if one.kind == k {
			return one.says
		}
	}
	return string(k)
}
