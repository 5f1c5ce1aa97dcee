package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/proxy"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/serve"
	"github.com/mcpconform/mcpconform/reports"
)

// show shows the page that --page asks for, if it does, until hide is called, and returns what
// says where it is.
func (p *proxying) show(live *runner.Live) (hide func(), where string, err error) {
	if p.traffic == nil {
		return func() {}, "", nil
	}
	host, port, err := net.SplitHostPort(p.page)
	if err != nil {
		return nil, "", usageError("--page %q must be HOST:PORT, such as 127.0.0.1:0", p.page)
	}
	if host == "" {
		host = "127.0.0.1" // only this machine, unless the user names another address
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, "", usageError("--page %s: %s", p.page, files.Reason(err))
	}
	page := serve.NewTrafficPage(p.traffic, host, func() []*reports.Run {
		return reports.RedactAll(p.redactor(), live.Reports())
	})
	_, port, _ = net.SplitHostPort(listener.Addr().String()) // it has one
	where = fmt.Sprintf("The traffic is shown at http://%s%s\n", net.JoinHostPort(host, port), page.Path())
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := page.Serve(ctx, listener); err != nil {
			_, _ = fmt.Fprintf(stderr(), "mcpconform: %s\n", err) // what passes goes on
		}
	})
	return func() {
		stop()
		serving.Wait()
	}, where, nil
}

// showWhile shows the page, if it is asked for, and judges for it what is recorded, until hide
// is called.
func (p *proxying) showWhile(recorder *proxy.Recorder) (hide func(), err error) {
	if p.traffic == nil {
		return func() {}, nil
	}
	live, err := runner.NewLive(p.judging())
	if err != nil {
		return nil, err
	}
	hidePage, where, err := p.show(live)
	if err != nil {
		return nil, err
	}
	_, _ = io.WriteString(stderr(), where)
	ctx, stop := context.WithCancel(context.Background())
	var judging sync.WaitGroup
	judging.Go(func() { p.watch(ctx, recorder, live, nil, func() {}) })
	return func() {
		stop()
		judging.Wait()
		hidePage()
	}, nil
}
