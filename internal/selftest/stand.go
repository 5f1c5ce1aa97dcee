package selftest

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/reference/server"
)

// stand is a target with something laid over its wire.
type stand struct {
	target scripted.Target
	stops  []func() // the last first
}

func (s *stand) close() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
}

// laying is what a job lays over the wire.
func (w *worker) laying(next job, watch *watch) (fault.Laying, error) {
	laying := fault.Laying{Matched: watch.matched}
	if next.Lay != "" {
		one, known := w.layers[next.Lay]
		if !known {
			return laying, fmt.Errorf("there is no fault or variation %q", next.Lay)
		}
		laying.Faults = []*fault.Fault{one}
	}
	for _, id := range next.Watch {
		laying.Watched = append(laying.Watched, w.layers[id])
	}
	return laying, nil
}

// stand makes ready what a job runs against.
func (w *worker) stand(next job, watch *watch) (*stand, error) {
	laying, err := w.laying(next, watch)
	if err != nil {
		return nil, err
	}
	s := &stand{target: scripted.Target{Transport: next.Leg.Transport, Reply: next.Reply}}
	if next.Leg.Transport != conform.HTTP {
		return nil, fmt.Errorf("nothing can be laid over %s yet", next.Leg.Transport)
	}
	upstream := w.Peer.URL
	if upstream == "" {
		upstream, err = s.reference(laying)
	}
	if err == nil {
		err = s.front(upstream, laying)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// reference starts a reference server over HTTP.
func (s *stand) reference(laying fault.Laying) (string, error) {
	options := server.Options{}
	reference, err := server.New(options)
	if err != nil {
		return "", err
	}
	s.stops = append(s.stops, reference.Close)
	address, err := s.serve(reference.Handler())
	return "http://" + address + "/mcp", err
}

// front puts a middleman before a server and takes its place.
func (s *stand) front(upstream string, laying fault.Laying) error {
	middleman, err := fault.NewHTTP(upstream, fault.HTTPOptions{Laying: laying})
	if err != nil {
		return err
	}
	s.stops = append(s.stops, middleman.Close)
	address, err := s.serve(middleman)
	if err != nil {
		return err
	}
	place, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	place.Scheme, place.Host = "http", address
	s.target.URL = place.String()
	return nil
}

// headerTimeout bounds the wait for a request that has begun.
const headerTimeout = 10 * time.Second

// serve lets a handler listen on the loopback interface.
func (s *stand) serve(handler http.Handler) (address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it takes no time
	if err != nil {
		return "", fmt.Errorf("listening on the loopback interface: %w", err)
	}
	front := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	s.stops = append(s.stops, func() { _ = front.Close() }) // what is open is broken
	go func() { _ = front.Serve(listener) }()               // until it is closed
	return listener.Addr().String(), nil
}
