package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/references"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/reference/authserver"
)

func newReferenceAuthServer() *cobra.Command {
	var listen, issuer string
	attached, documents := false, ""
	options := authserver.Options{RSA: true}
	command := &cobra.Command{
		Use:   "authorization-server --listen ADDR",
		Short: "Run the reference authorization server",
		Long: `The reference authorization server issues a code to anyone at once, by a
redirect without a login page: it is for tests on this machine.`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if listen == "" {
				return usageError("reference authorization-server needs --listen ADDR, such as --listen 127.0.0.1:8080")
			}
			if documents != "" {
				options.Fetch = authserver.FetchFrom(runner.ReferenceDocuments, documents)
			}
			server, listener, err := listenAuthServer(command.Context(), "--listen", listen, issuer, options)
			if err != nil {
				return err
			}
			ctx := command.Context()
			if attached {
				ctx = references.UntilInputEnds(ctx, os.Stdin)
			}
			return serveAuthServer(ctx, command.OutOrStdout(), server, listener)
		},
	}
	flags := command.Flags()
	flags.StringVar(&listen, "listen", "", "serve at `ADDR`, HOST:PORT; port 0 picks a free one")
	flags.StringVar(&issuer, "issuer", "", "its issuer `URL` (default http:// and the address)")
	flags.StringVar(&options.Defect, "defect", "", "give it the defect `WAY`")
	flags.BoolVar(&attached, references.AttachedFlag, false, "end when standard input ends")
	flags.StringVar(&documents, runner.DocumentsFlag, "", "`ADDR` of the client id metadata documents of the harness")
	_ = flags.MarkHidden(references.AttachedFlag) // it stands there, and so does the other
	_ = flags.MarkHidden(runner.DocumentsFlag)
	completes(command, map[string]values{"defect": oneOf(authserver.Defects()...)})
	return command
}

// listenAuthServer makes an authorization server that can be reached at an address. The
// issuer is that address, unless another is given.
func listenAuthServer(
	ctx context.Context,
	flag, address, issuer string,
	options authserver.Options,
) (*authserver.Server, net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return nil, nil, usageError("%s %q must be HOST:PORT, such as 127.0.0.1:8080", flag, address)
	case host == "":
		host = "127.0.0.1"
	case !oauth.Loopback(host):
		return nil, nil, usageError(
			"%s %s is reached from other machines: this server issues tokens to anyone",
			flag,
			address,
		)
	}
	_, port, _ := net.SplitHostPort(address)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, nil, usageError("%s %s: %s", flag, address, err)
	}
	if _, port, err = net.SplitHostPort(listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	if options.Issuer = issuer; issuer == "" {
		options.Issuer = "http://" + net.JoinHostPort(host, port)
	}
	server, err := authserver.New(options)
	if err != nil {
		_ = listener.Close()
		return nil, nil, usageError("%s", err)
	}
	return server, listener, nil
}

// serveAuthServer tells on the first line where it is.
func serveAuthServer(ctx context.Context, out io.Writer, server *authserver.Server, listener net.Listener) error {
	if _, err := fmt.Fprintf(out, "listening on %s\n", server.Issuer()); err != nil {
		return err
	}
	return server.Serve(ctx, listener)
}
