package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/issuer"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

func newAuthorizationServer() *cobra.Command {
	s := &settings{role: protocol.AuthorizationServerRole}
	command := &cobra.Command{
		Use:   "authorization-server [flags] [--url ISSUER]",
		Short: "Check an authorization server (without --url: the embedded reference)",
		Long: `Check an authorization server by its issuer: its metadata; with a given client, or
one that registers dynamically, its authorization and token endpoints. Where the
login needs a person, a login command lets a browser log in and consent: it is
started with the authorization URL in place of {url}, or as its last argument, for
each of about twenty logins, and follows the redirect to the redirect URI, where
mcpconform listens, or prints the URL of that redirect.`,
		Example: `  mcpconform authorization-server
  mcpconform authorization-server --url http://localhost:8080
  mcpconform authorization-server --url https://auth.example.com --login './login.sh {url}'
  mcpconform authorization-server --url https://auth.example.com --client-id test --redirect-uri http://127.0.0.1:3000/callback`,
		RunE: func(command *cobra.Command, arguments []string) error { return s.run(command, arguments) },
	}
	flags, target := command.Flags(), &s.AuthorizationServer
	flags.StringVar(&s.URL, "url", "", "the `ISSUER` of the authorization server")
	s.addCommonFlags(flags, "auto (the newest) or all")
	flags.StringArrayVar(&s.header, "header", nil, "`\"NAME: VALUE\"` sent with every HTTP request; may be repeated")
	flags.StringVar(&target.ClientID, "client-id", "", "the `ID` of a client; default: one that registers dynamically")
	flags.StringVar(&target.ClientSecret, "client-secret", "", "the `SECRET` of that client; default: it is public")
	flags.StringVar(&target.RedirectURI, "redirect-uri", "",
		"the redirect `URI` of that client (default "+issuer.DefaultRedirect+")")
	flags.StringVar(&target.Resource, "resource", "", "the `URL` of the server to request access tokens for")
	flags.StringVar(&target.Scope, "scope", "", "the `SCOPES` to request, separated by spaces")
	flags.StringVar(&target.Documents, "documents", "",
		"https `URL` that leads to --documents-listen, for client id metadata documents")
	flags.StringVar(&target.DocumentsListen, "documents-listen", "127.0.0.1:0", "serve those at `ADDR`, HOST:PORT")
	s.addNetwork(flags)
	flags.StringVar(&s.login, "login", "", "`COMMAND` that logs in and consents at {url}, split at spaces")
	s.completesRun(command)
	return command
}

// completeRegistration makes sure of what there is to be a client with.
func (s *settings) completeRegistration() error {
	if s.role != protocol.AuthorizationServerRole {
		return nil
	}
	if s.login != "" {
		s.AuthorizationServer.Login = strings.Fields(s.login)
	}
	given := s.AuthorizationServer
	switch {
	case given.ClientID == "" && given.ClientSecret != "":
		return usageError("--client-secret needs --client-id")
	case s.URL != "" && oauth.IssuerFlaw(s.URL) != "":
		return usageError("--url is an issuer, which %s", oauth.IssuerFlaw(s.URL))
	}
	for flag, address := range map[string]string{"--redirect-uri": given.RedirectURI, "--resource": given.Resource, "--documents": given.Documents} {
		if address == "" {
			continue
		}
		if err := program.CheckURL(flag, address); err != nil {
			return err
		}
	}
	return nil
}

// registration is what the checks of an authorization server need to be a client.
func (s *settings) registration() issuer.Registration {
	given := s.AuthorizationServer
	return issuer.Registration{
		ClientID: given.ClientID, ClientSecret: given.ClientSecret, RedirectURI: given.RedirectURI,
		Resource: given.Resource, Scope: given.Scope, Login: given.Login,
		Documents: given.Documents, DocumentsListen: cmp.Or(given.DocumentsListen, anyAddress),
	}
}

// registrationWords are the flags that say so again.
func (s *settings) registrationWords() []string {
	if s.role != protocol.AuthorizationServerRole {
		return nil
	}
	given := s.AuthorizationServer
	var words []string
	for _, flag := range [][2]string{
		{"--client-id", given.ClientID},
		{"--client-secret", strings.Repeat("*", min(3, len(given.ClientSecret)))},
		{"--redirect-uri", given.RedirectURI},
		{"--resource", given.Resource},
		{"--scope", given.Scope},
		{"--documents", given.Documents},
		{"--documents-listen", map[bool]string{true: given.DocumentsListen}[given.Documents != ""]},
		{"--login", strings.Join(given.Login, " ")},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return words
}
