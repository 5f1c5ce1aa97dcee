package record

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// headerTime bounds the wait for a request that has begun.
const headerTime = 10 * time.Second

// keptConnections to the server in this process are as many as clients use at once, at the most.
const keptConnections = 32

// ServeHTTP stands between the clients that come to a listener, which it closes,
// and a server in this process, until the context or the server ends. serve serves
// on a listener of its own. An *ExitError says with which status this process is to
// exit.
func ServeHTTP(
	ctx context.Context,
	listener net.Listener,
	serve func(context.Context, net.Listener) error,
	changes func() Changes,
) error {
	inner, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	exits := make(chan int, 1)
	middleman, err := NewHTTP("http://"+inner.Addr().String(), HTTPOptions{
		Changes: changes, Keep: keptConnections,
		Exit: func(status int) {
			select {
			case exits <- status:
			default: // it exits already
			}
		},
	})
	if err != nil {
		return errors.Join(err, inner.Close(), listener.Close())
	}
	front := &http.Server{Handler: middleman, ReadHeaderTimeout: headerTime}
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	ended := make(chan error, 2)
	working.Go(func() { ended <- serve(ctx, inner) })
	working.Go(func() { ended <- front.Serve(listener) })
	select {
	case err = <-ended:
	case status := <-exits:
		err = &ExitError{Status: status}
	}
	cancel()
	_ = front.Close() // what is open is broken
	middleman.Close()
	working.Wait()
	return err
}
