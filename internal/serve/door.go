package serve

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/mcpconform/mcpconform/internal/scripted"
)

// handler leads to the page and to the endpoints. A request that a page of another site makes by
// way of a browser is rejected.
func (s *stage) handler() http.Handler {
	page := http.NewServeMux()
	page.HandleFunc("GET /{$}", s.showPage)
	page.HandleFunc("POST /scenarios/{name}/again", s.startOver)
	page.HandleFunc("POST /finish", s.finishOnPage)
	guarded := http.NewCrossOriginProtection().Handler(page)

	all := http.NewServeMux()
	all.Handle("/", guarded)
	paths := []string{s.path()}
	if s.path() == scripted.StreamPath {
		paths = append(paths, scripted.MessagesPath)
	}
	for _, path := range paths {
		all.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.endpoint(w, r, s.scenes[0]) })
		all.HandleFunc("/scenarios/{name}"+path, func(w http.ResponseWriter, r *http.Request) {
			if one := s.scene(r.PathValue("name")); one != nil {
				s.endpoint(w, r, one)
				return
			}
			http.Error(w, "no scenario has this name; the page at / lists them", http.StatusNotFound)
		})
	}
	return s.guard(all)
}

// door knows the names by which clients may reach the server.
type door struct {
	host string // one beside addresses and localhost; "" for none
}

// guard turns away who comes by another name.
func (d door) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.known(r.Host) {
			http.Error(w, "this Host is not allowed here; use an address, such as 127.0.0.1", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// known tells whether a host, perhaps with a port, is an address, localhost, or the
// name that the user gave: a site whose name leads here is none of these.
func (d door) known(host string) bool {
	name := hostName(host)
	_, err := netip.ParseAddr(name)
	return err == nil || d.local(name)
}

// hostName is the name in a host, which may have a port.
func hostName(host string) string {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	return strings.ToLower(strings.Trim(name, "[]"))
}

// local tells whether a name leads to this machine for every client: a loopback address, localhost,
// or what the user named.
func (d door) local(name string) bool {
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback() || name == "localhost" ||
		strings.HasSuffix(name, ".localhost") || d.host != "" && name == strings.ToLower(d.host)
}

// endpoint passes a request on to a scripted server, unless it comes from a web site
// elsewhere (basic/transports: servers validate the Origin header).
func (s *stage) endpoint(w http.ResponseWriter, r *http.Request, one *scene) {
	for _, origin := range r.Header.Values("Origin") {
		if !s.allows(origin, r.Host) {
			http.Error(w, "this Origin is not allowed here", http.StatusForbidden)
			return
		}
	}
	body := s.bodies.of(r)
	defer body.release()
	r.Body = body
	one.ServeHTTP(w, r)
}

// allows tells whether an Origin may talk to the scripted servers: a page that this machine or the
// host itself serves, or an application with a scheme of its own, which no web site has. "null",
// the Origin of a sandboxed page, may not.
func (d door) allows(origin, host string) bool {
	parsed, err := url.Parse(origin)
	if err != nil || !strings.Contains(origin, "://") {
		return false
	}
	web := parsed.Scheme == "http" || parsed.Scheme == "https"
	return !web || strings.EqualFold(parsed.Host, host) || d.local(hostName(parsed.Host))
}

func (s *stage) scene(name string) *scene {
	for _, one := range s.scenes {
		if one.Scenario.Name == name {
			return one
		}
	}
	return nil
}

// maxBodies bounds the bodies of all requests that are under way, in bytes.
const maxBodies = 32 << 20

// bodies counts what the bodies of requests that are under way take.
type bodies struct{ left atomic.Int64 }

// body is that of one request.
type body struct {
	io.ReadCloser
	all  *bodies
	took int64
}

func (b *bodies) of(r *http.Request) *body { return &body{ReadCloser: r.Body, all: b} }

var errBodies = errors.New("too many requests at once")

func (b *body) Read(target []byte) (int, error) {
	count, err := b.ReadCloser.Read(target)
	b.took += int64(count)
	if b.all.left.Add(-int64(count)) < 0 {
		return count, errBodies
	}
	return count, err
}

func (b *body) release() { b.all.left.Add(b.took) }
