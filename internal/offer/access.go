package offer

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/survey"
)

// Access is what the harness has to get into a server with that asks for authorization.
type Access struct {
	Tokens map[oauth.Kind]string // by kind; values are secrets
	Scoped []ScopedTool
}

// ScopedTool is a tool that needs more than the token oauth.Limited has.
type ScopedTool struct {
	Tool      string
	Arguments map[string]any
	Needs     []string // its scopes; nil when they are not known
}

// Hints of the rungs: what a user can give for more to be seen.
const (
	hintToken  = "give an access token with --header"
	hintServer = "let the server trust a test authorization server: --auth-server, with --start COMMAND if its environment configures it; " +
		"or name tokens in mcpconform.yaml, under auth"
	needsMinted = "this needs tokens of a test authorization server"
)

// configured are the kinds of tokens that a config can name, by their keys in it.
var configured = map[string]oauth.Kind{
	"valid": oauth.Good, "limited": oauth.Limited, "full": oauth.Full, "other-user": oauth.OtherUser,
	"expired": oauth.Expired, "foreign": oauth.OtherAudience, "revoked": oauth.Revoked, "broader": oauth.Broader,
}

// ConfiguredTokens are the kinds of tokens that a config can name, by their keys in it.
func ConfiguredTokens() map[string]oauth.Kind { return configured }

// admits says why a check cannot run for want of authorization; its ending is "" when
// it can.
func (o *Offer) admits(declared *Declaration) Outcome {
	if o.Role != protocol.ServerRole || o.Survey == nil {
		return Outcome{}
	}
	if declared.Guarded && o.guarded() == "" {
		return Outcome{Ending: Skipped, Reason: "the server does not ask for authorization"}
	}
	if locked := lookUp[string](o, survey.WhyLocked); !declared.Guarded && locked != "" {
		return Outcome{Ending: Inconclusion, Reason: locked, Hint: hintToken}
	}
	lacks := func(kind oauth.Kind) bool { return o.token(kind) == "" }
	switch {
	case !slices.ContainsFunc(declared.Tokens, lacks):
		return Outcome{}
	case slices.Contains(declared.Tokens, oauth.Good) && lacks(oauth.Good):
		return Outcome{Ending: Inconclusion, Reason: survey.NoToken, Hint: hintToken}
	}
	return Outcome{Ending: Inconclusion, Reason: needsMinted, Hint: hintServer}
}

// token of a kind; "" for none.
func (o *Offer) token(kind oauth.Kind) string {
	if o.Access == nil {
		return ""
	}
	return o.Access.Tokens[kind]
}

// GuardedMethod is that of a request that the server guards; "" where it asks for no
// authorization.
func GuardedMethod(t *T) string { return of(t).guarded() }

func (o *Offer) guarded() string { return lookUp[string](o, survey.WhatIsGuarded) }

// Token returns the access token of a kind; "" where there is none.
func Token(t *T, kind oauth.Kind) string { return of(t).token(kind) }

// ScopedTools are tools of the target that need more scopes than others.
func ScopedTools(t *T) []ScopedTool {
	if of(t).Access == nil {
		return nil
	}
	return of(t).Access.Scoped
}
