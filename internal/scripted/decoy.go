package scripted

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// decoyTime bounds the wait for a request that has begun.
const decoyTime = 5 * time.Second

// Decoy returns a URL on this machine at which a client may not look by itself. When
// it does, the record of its latest session notes so (transcript.DecoyFetched). It is laid before
// the client comes.
func (s *Server) Decoy() string {
	listener, err := (&net.ListenConfig{}).Listen(s.life, "tcp", "127.0.0.1:0")
	if err != nil {
		s.unready = err
		return ""
	}
	server := &http.Server{ReadHeaderTimeout: decoyTime, Handler: http.HandlerFunc(s.lured)}
	s.working.Go(func() { _ = server.Serve(listener) }) // until it is closed
	context.AfterFunc(s.life, func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

// Unready says why the server cannot be as it was said to be; nil when it can.
func (s *Server) Unready() error { return s.unready }

// lured takes what fell for a decoy. It gets an answer that suits many, so that it
// goes on.
func (s *Server) lured(w http.ResponseWriter, request *http.Request) {
	if all := s.Sessions(); len(all) > 0 {
		all[len(all)-1].log.Append(transcript.Event{
			Kind: transcript.Remark, From: protocol.Client, Incident: transcript.DecoyFetched,
			Note: "fetched the lure: " + request.Method + " " + request.URL.Path,
		})
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{}")) // or the client has left
}
