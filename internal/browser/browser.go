// Package browser is a browser without a window: clients under test open it, and it goes
// where a user would be sent, whose login needs nothing of them. It tells the harness what
// it was told to open.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// Command is the subcommand that a client under test opens as the browser of its user, and
// Variable where it tells what it was told to open.
const (
	Command  = "browser"
	Variable = "MCPCONFORM_BROWSER"
)

const (
	// most bounds how long one visit takes.
	most = 20 * time.Second
	// redirects bounds how often it is sent on: what real login pages need, and more.
	redirects = 10
)

// Open tells the harness, at a URL, of the arguments of a browser, and visits the address
// among them. Only addresses on this machine are visited.
func Open(ctx context.Context, tell string, arguments []string) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	output, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, tell, bytes.NewReader(output))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("telling the harness: %w", err)
	}
	_ = response.Body.Close()
	for _, argument := range arguments {
		if local(argument) {
			return visit(ctx, argument)
		}
	}
	return errors.New("there is no address on this machine to visit")
}

func local(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && strings.HasPrefix(parsed.Scheme, "http") && oauth.Loopback(parsed.Hostname())
}

func visit(ctx context.Context, address string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) > redirects || !local(next.URL.String()) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
