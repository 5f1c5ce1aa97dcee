package contact

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Issuer makes first contact with an authorization server, which speaks no revision of MCP: it
// makes sure that the first place of metadata is answered over HTTP, with any status. The
// error is a *TargetError.
func Issuer(ctx context.Context, to scripted.Target, budget *transcript.MemoryBudget) error {
	places, err := oauth.IssuerPlaces(to.URL)
	if err != nil {
		return &TargetError{Reason: to.URL + " " + err.Error()}
	}
	connection, err := scripted.Dial(to, transcript.NewLogIn(budget, "contact"))
	if err != nil {
		return &TargetError{Reason: err.Error()}
	}
	defer closeAll(ctx, &visit{connection: connection})
	ctx, cancel := wait.WithTimeout(ctx, to.Reply)
	defer cancel()
	delivery := connection.HTTP.Exchange(transport.Request{Method: "GET", URL: places[0]})
	select {
	case <-delivery.Done():
		err = delivery.Err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if delivery.Status == 0 {
		if late := context.Cause(ctx); late != nil && errors.Is(err, late) {
			return &TargetError{Reason: fmt.Sprintf("%s did not answer GET %s within %s", to.URL, places[0], to.Reply)}
		}
		return &TargetError{Reason: fmt.Sprintf("cannot connect to %s: %s", to.URL, err)}
	}
	return nil
}
