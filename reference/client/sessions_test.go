package client_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/client"
)

// begins serves what begins a session over HTTP, and tells whether it did.
func begins(v visit, session string) bool {
	switch {
	case v.is("initialize"):
		v.Header().Set("Mcp-Session-Id", session)
		answer, _ := hello(v.message, client.Revision20251125)
		v.answer(answer["result"])
	case v.is("notifications/initialized"):
		v.WriteHeader(http.StatusAccepted)
	case v.Method == http.MethodDelete:
		v.WriteHeader(http.StatusNoContent)
	case v.Method == http.MethodGet && v.Request.Header.Get("Last-Event-ID") == "":
		v.WriteHeader(http.StatusMethodNotAllowed)
	default:
		return false
	}
	return true
}

func in(s *script) client.Options {
	return client.Options{URL: s.url, Revision: client.Revision20251125}
}

func TestHeadersOfASession(t *testing.T) {
	t.Parallel()
	s := scripted(t, func(v visit) {
		if !begins(v, "s-1") {
			v.answer(object{"tools": []object{}})
		}
	})
	run(t, in(s), `[{"do":"connect"},{"do":"list","of":"tools"},{"do":"close"}]`)
	for _, v := range s.all() {
		head := v.Request.Header
		session, version := head.Get("Mcp-Session-Id"), head.Get("MCP-Protocol-Version")
		if v.is("initialize") && session+version != "" || !v.is("initialize") && (session != "s-1" || version != client.Revision20251125) {
			t.Errorf("%s %v: the session is %q, the version %q", v.Method, v.message["method"], session, version)
		}
		accept := head.Get("Accept")
		if v.Method == http.MethodPost && !strings.Contains(accept, "application/json") || v.Method != http.MethodDelete && !strings.Contains(accept, "text/event-stream") {
			t.Errorf("%s accepts %q", v.Method, accept)
		}
	}
	if methods := s.methods(); !slices.Contains(methods, "DELETE") { // GET is sent beside the others
		t.Errorf("the session is not ended: %v", methods)
	}
}

// A session that is over is replaced by another; a list begins anew there.
func TestSessionIsRenewed(t *testing.T) {
	t.Parallel()
	serve := func() func(v visit) {
		var sessions, pages atomic.Int64
		return func(v visit) {
			session := v.Request.Header.Get("Mcp-Session-Id")
			switch {
			case v.is("initialize") && session != "":
				v.fail(http.StatusBadRequest, object{"code": -32600, "message": "a session in initialize"})
			case begins(v, "s-"+string(rune('0'+sessions.Load()))):
				if v.is("initialize") {
					sessions.Add(1)
				}
			case session == "s-0" && pages.Add(1) > 1:
				v.WriteHeader(http.StatusNotFound)
			case session == "s-0":
				v.answer(object{"tools": []object{{"name": "old"}}, "nextCursor": "more"})
			default:
				v.answer(object{"tools": []object{{"name": "new"}}})
			}
		}
	}
	s := scripted(t, serve())
	outcomes := run(t, in(s), `[{"do":"connect"},{"do":"list","of":"tools"},{"do":"list","of":"tools"},{"do":"close"}]`)
	if found := outcomes[1].done(t); strings.Contains(found, "old") || !strings.Contains(found, "new") {
		t.Errorf("found %s", found)
	}
	if len(s.of("initialize")) != 2 || len(s.of("notifications/initialized")) != 2 {
		t.Errorf("found %v", s.methods())
	}
	bad := in(scripted(t, serve()))
	bad.Defect = "keeps-old-session"
	run(t, bad, `[{"do":"connect"},{"do":"list","of":"tools"}]`)[1].failed(t, "404")

	forgetful := in(scripted(t, serve()))
	forgetful.Defect = "recalls-old-session"
	outcomes = run(t, forgetful, `[{"do":"connect"},{"do":"list","of":"tools"},{"do":"list","of":"tools"}]`)
	outcomes[1].failed(t, "404")
}

// A server that ends every session is left alone at some time.
func TestSessionsAreNotRenewedForEver(t *testing.T) {
	t.Parallel()
	s := scripted(t, func(v visit) {
		if !begins(v, "s-1") {
			v.WriteHeader(http.StatusNotFound)
		}
	})
	outcomes := run(t, in(s), `[{"do":"connect"},{"do":"list","of":"prompts"},{"do":"list","of":"prompts"}]`)
	outcomes[1].failed(t, "404")
	outcomes[2].failed(t, "404")
}

func TestStreamIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	const retry = 30 * time.Millisecond
	serve := func(left *atomic.Int64) func(v visit) {
		return func(v visit) {
			switch {
			case begins(v, ""):
			case v.is("prompts/list"):
				v.stream("id: e-1\nretry: 30\ndata:\n\n")
				left.Store(time.Now().UnixNano())
			default:
				waited := time.Since(time.Unix(0, left.Load()))
				v.stream("id: e-2\n"+event(notice("notifications/message", object{"level": "info", "data": 1})),
					event(to(object{"id": 2}, object{"prompts": []object{{"name": "late", "waited": waited >= retry}}})))
			}
		}
	}
	var left atomic.Int64
	s := scripted(t, serve(&left))
	outcomes := run(t, in(s), `[{"do":"connect"},{"do":"list","of":"prompts"}]`)
	outcomes[1].says(t, `"waited":true`)
	again := s.all()[len(s.all())-1]
	if again.Request.Header.Get("Last-Event-ID") != "e-1" {
		t.Errorf("it comes back with %v", again.Request.Header)
	}
	bad := in(scripted(t, serve(&left)))
	bad.Defect = "never-waits"
	run(t, bad, `[{"do":"connect"},{"do":"list","of":"prompts"}]`)[1].done(t)
}

// What the server says of itself comes over a stream of its own, which is taken
// up again when it ends.
func TestServerIsHeard(t *testing.T) {
	t.Parallel()
	s := scripted(t, func(v visit) {
		switch {
		case v.Method == http.MethodGet && v.Request.Header.Get("Last-Event-ID") == "":
			v.stream("id: g-1\nretry: 1\ndata:\n\n")
		case v.Method == http.MethodGet:
			v.stream(event(ask("q", "ping", nil)), event(notice("notifications/message", object{"level": "info", "data": 1})))
			<-v.Context().Done()
		case begins(v, "s-1"):
		default:
			v.WriteHeader(http.StatusAccepted)
		}
	})
	run(t, in(s), `[{"do":"connect"},{"do":"wait-for","method":"ping"},{"do":"wait-for","method":"notifications/message"},{"do":"close"}]`)
	if !slices.Contains(s.methods(), "response") {
		t.Errorf("the ping is not answered: %v", s.methods())
	}
}

// A server of the older transport is spoken to over that, whether that is found out or known.
func TestOlderTransport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		known     bool
		begin     string
		elsewhere string
	}{
		"good":      {},
		"elsewhere": {elsewhere: "http://192.0.2.1"},
		"known":     {known: true},
		"beginning": {known: true, begin: "\ufeff: a comment\n\nretry: 1\n\nevent: ping\ndata: 1\n\nid: 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := make(chan string, 8)
			s := scripted(t, func(v visit) {
				switch {
				case v.Method == http.MethodGet:
					v.stream(test.begin + "event: endpoint\r\ndata: " + test.elsewhere + "/messages?of=1\r\n\r\n")
					for {
						select {
						case one := <-answers:
							v.stream("event: message\n" + one)
						case <-v.Context().Done():
							return
						}
					}
				case v.URL.Path != "/messages" || v.URL.RawQuery != "of=1":
					if test.known {
						t.Errorf("a POST to %s", v.URL)
					}
					v.WriteHeader(http.StatusMethodNotAllowed)
				case v.is("notifications/initialized"):
					v.WriteHeader(http.StatusAccepted)
				case v.is("initialize"):
					answer, _ := hello(v.message, client.Revision20250618)
					answers <- event(answer)
					v.WriteHeader(http.StatusAccepted)
				default:
					answers <- event(to(v.message, object{"prompts": []object{{"name": "old"}}}))
					v.WriteHeader(http.StatusAccepted)
				}
			})
			options := in(s)
			options.SSE = test.known
			outcomes, err := tryRun(t, options, `[{"do":"connect"},{"do":"list","of":"prompts"},{"do":"close"}]`)
			if test.elsewhere != "" {
				if err == nil || !strings.Contains(err.Error(), "on another server") {
					t.Errorf("found %v", err)
				}
				return
			}
			outcomes[1].says(t, "old")
		})
	}
}

func TestUnknownVersionIsLeft(t *testing.T) {
	t.Parallel()
	s, options := talking(t, func(m object, say func(any)) error {
		if m["method"] == "initialize" {
			say(to(m, object{"protocolVersion": "1999-12-31", "capabilities": everything, "serverInfo": object{"name": "old", "version": "0"}}))
		}
		return nil
	})
	options.Revision = client.Revision20251125
	outcomes, err := tryRun(t, options, `[{"do":"connect"},{"do":"close"}]`)
	if err == nil || len(s.of("notifications/initialized")) > 0 {
		t.Errorf("found %v, %v", err, s.methods())
	}
	outcomes[0].failed(t, `"1999-12-31"`)
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	for _, revision := range handshake {
		s, options := talking(t, func(m object, say func(any)) error {
			if answer, opens := hello(m, revision); opens {
				say(answer)
			} else if m["method"] == "ping" {
				say(to(m, object{}))
			}
			return nil
		})
		options.Revision = revision
		run(t, options, `[{"do":"connect"},{"do":"ping"},{"do":"close"}]`)
		if found := strings.Join(s.methods(), " "); found != "initialize notifications/initialized ping" {
			t.Errorf("found %s", found)
		}
	}
}

// A server that lets no new session begin is no reason to wait.
func TestNoNewSession(t *testing.T) {
	t.Parallel()
	var began atomic.Bool
	s := scripted(t, func(v visit) {
		if v.is("initialize") && !began.CompareAndSwap(false, true) || !begins(v, "s-1") {
			v.WriteHeader(http.StatusNotFound)
		}
	})
	outcomes := run(t, in(s), `[{"do":"connect"},{"do":"list","of":"prompts"},{"do":"list","of":"prompts"},{"do":"close"}]`)
	outcomes[1].failed(t, "no new one began")
	outcomes[2].failed(t, "no new one began")
}
