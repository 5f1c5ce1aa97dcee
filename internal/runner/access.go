package runner

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// gainAccess finds the tokens for a target, and sends the good one with every request. Of a
// server that refuses the good one that was minted for it, nothing is known but that.
func (r *run) gainAccess(ctx context.Context, to *scripted.Target) (*offer.Access, error) {
	if to.Transport != protocol.HTTP {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	access := &offer.Access{Tokens: map[oauth.Kind]string{}}
	if r.options.Mint != nil {
		minted, err := r.options.Mint(contact.ResourceOf(ctx, *to, r.budget))
		if err != nil {
			return nil, err
		}
		access.Scoped = minted.Scoped
		maps.Copy(access.Tokens, minted.Tokens)
		names := map[string]string{}
		for kind, token := range minted.Tokens {
			names[token] = kind.Says()
		}
		r.options.Redactor = r.options.Redactor.Naming(names)
	}
	if given := r.options.Access; given != nil {
		maps.Copy(access.Tokens, given.Tokens)
		access.Scoped = append(slices.Clone(given.Scoped), access.Scoped...)
	}
	scheme, token, _ := strings.Cut(to.Header.Get("Authorization"), " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		access.Tokens[oauth.Good] = strings.TrimSpace(token)
	case access.Tokens[oauth.Good] != "":
		to.Header = to.Header.Clone()
		if to.Header == nil {
			to.Header = http.Header{}
		}
		to.Header.Set("Authorization", oauth.Bearing(access.Tokens[oauth.Good]))
	}
	return access, nil
}
