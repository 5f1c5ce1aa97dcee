package streamablehttp

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	. "github.com/mcpconform/mcpconform/internal/requests"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// rebound is the host of a web page whose name was made to lead here: by DNS rebinding
// its origin and the Host of its requests are one.
const rebound = "stranger.invalid"

// security checks the heading Security Warning.
func security() {
	It("rejects a first POST with a foreign Origin", Verifies("transports.http.origin.validated"), ByBarrier(), func(t *T) {
		server := Connect(t)

		response := server.Post(opening(t, server), ByStranger, WithHeader("Origin", Stranger))

		t.Expect(response).To(BeTurnedAway())
	})

	foreignPosts()

	It("rejects a GET with a foreign Origin", Verifies("transports.http.origin.validated"), AtRevisionsWith(protocol.GETStream), func(t *T) {
		t.Expect(getByStranger(t)).To(BeTurnedAway())
	})

	It("rejects a DELETE with a foreign Origin",
		Verifies("transports.http.origin.validated"), AtRevisionsWith(protocol.Sessions), ByBarrier(), func(t *T) {
			t.Expect(deleteByStranger(t)).To(BeTurnedAway())
		})

	originStatus()

	It("listens on loopback addresses only, if it is reached at one", Verifies("transports.http.loopback", "transports.sse.loopback"), func(t *T) {
		endpoint, err := url.Parse(URL(t))
		if err != nil || !isLoopback(endpoint.Hostname()) {
			t.NotApplicable("the server is not reached at a loopback address")
		}
		Session(t).Barrier() // it is there

		addresses := listeningAt(portOf(endpoint))

		if len(addresses) == 0 {
			t.NotApplicable("this system does not show which addresses a program listens on")
		}
		t.JudgingNothing()
		for _, address := range addresses {
			t.Demand(address.IsLoopback(), "a server that listens at a loopback address only",
				"one that listens at "+address.String()+", where the network can reach it")
		}
	})
}

func foreignPosts() {
	It("rejects a POST with a foreign Origin", Verifies("transports.http.origin.validated"), ByBarrier(), func(t *T) {
		server := Session(t)

		InEachMethod(t, BeTurnedAway(), func(request Harmless) any {
			body := server.Body(request.Method, request.With(nil))
			return server.Post(body, ByStranger, WithHeader("Origin", Stranger))
		})
	})

	It("rejects a notification with a foreign Origin", Verifies("transports.http.origin.validated"), func(t *T) {
		server := Session(t)
		control := server.Post(harmless(t), "")
		if control.Status != http.StatusAccepted || len(control.Body) > 0 {
			t.NotApplicable("the server does not accept the notification without an Origin either")
		}

		response := server.Post(harmless(t), ByStranger, WithHeader("Origin", Stranger))

		t.Expect(response).To(BeTurnedAway())
	})

	It("rejects a POST whose Origin and Host are the same foreign name, if it is reached at a loopback address",
		Verifies("transports.http.origin.validated"), ByBarrier(), func(t *T) {
			endpoint, err := url.Parse(URL(t))
			if err != nil || !isLoopback(endpoint.Hostname()) {
				t.NotApplicable("the server is not reached at a loopback address, the target of DNS rebinding")
			}
			server := Connect(t)

			response := server.Post(opening(t, server), ByStranger, WithHeader("Origin", "http://"+rebound), WithHeader("Host", rebound))

			t.Expect(response).To(BeTurnedAway())
		})
}

func originStatus() {
	It("rejects a foreign Origin with HTTP 403", Verifies("transports.http.origin.forbidden"), ByBarrier(), func(t *T) {
		server, unknown := Session(t), Connect(t)

		request := server.Post(anyRequest(t, server), ByStranger, WithHeader("Origin", Stranger))
		handshake := unknown.Post(opening(t, unknown), ByStranger, WithHeader("Origin", Stranger))

		if request.Status < 300 && handshake.Status < 300 {
			t.NotApplicable("the server does not reject a foreign Origin: see transports.http.origin.validated")
		}
		t.Expect(request).To(HaveStatus(403))
		t.Expect(handshake).To(HaveStatus(403))
	})

	It("rejects a GET with a foreign Origin with HTTP 403",
		Verifies("transports.http.origin.forbidden"), AtRevisionsWith(protocol.GETStream), func(t *T) { judgeForbidden(t, getByStranger(t)) })

	It("rejects a DELETE with a foreign Origin with HTTP 403",
		Verifies("transports.http.origin.forbidden"), AtRevisionsWith(protocol.Sessions), ByBarrier(), func(t *T) {
			judgeForbidden(t, deleteByStranger(t))
		})
}

// getByStranger asks for the stream of a session from a foreign page, where others get one.
func getByStranger(t *T) *Response {
	friend, server := FreshSession(t), FreshSession(t)
	mustListen(t, friend)
	return server.Get(ByStranger, WithHeader("Origin", Stranger))
}

// deleteByStranger ends a session from a foreign page, where others can: else nothing shows
// what a refusal is for.
func deleteByStranger(t *T) *Response {
	mustEnd(t, FreshSession(t))
	return FreshSession(t).Delete(ByStranger, WithHeader("Origin", Stranger))
}

// judgeForbidden demands the status for a foreign Origin where the server refuses that.
func judgeForbidden(t *T, response *Response) {
	if response.Status < 300 {
		t.NotApplicable("the server does not reject a foreign Origin: see transports.http.origin.validated")
	}
	t.Expect(response).To(HaveStatus(403))
}

// opening is the body of a request that a client can begin with.
func opening(t *T, server *Server) []byte {
	if !t.Has(protocol.Handshake) {
		return anyRequest(t, server)
	}
	return jsonrpc.NewRequest(server.NextID(), "initialize", Hello(t, t.Revision()))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func portOf(endpoint *url.URL) uint16 {
	if port, err := strconv.ParseUint(endpoint.Port(), 10, 16); err == nil {
		return uint16(port)
	}
	if endpoint.Scheme == "https" {
		return 443
	}
	return 80
}

// socketTables are where Linux tells which sockets listen. Nothing is sent to
// find out: other addresses than the one that the user named are none of a
// harness's business.
var socketTables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// listeningAt returns the addresses of this machine at which a program listens
// on a port, as far as the system tells. When several programs share the port,
// one of them at a loopback address, that one is taken for the server.
func listeningAt(port uint16) []netip.Addr {
	var all []netip.Addr
	for _, table := range socketTables {
		file, err := os.Open(table)
		if err != nil {
			continue
		}
		all = append(all, listeners(file, port)...)
		_ = file.Close() // nothing was written
	}
	if loopback := slices.DeleteFunc(slices.Clone(all), func(address netip.Addr) bool { return !address.IsLoopback() }); len(loopback) > 0 {
		return loopback
	}
	return all
}

// stateListen is how a socket table writes that a socket listens.
const stateListen = "0A"

// listeners reads a socket table of Linux: in each line, after a number, stand
// the local address and port in hexadecimal, the remote one, and the state. Sockets
// that listen come first; the thousands of others are left unread.
func listeners(table io.Reader, port uint16) []netip.Addr {
	var found []netip.Addr
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasSuffix(fields[0], ":") {
			continue // the heading
		}
		if fields[3] != stateListen {
			break
		}
		address, at, _ := strings.Cut(fields[1], ":")
		if number, err := strconv.ParseUint(at, 16, 16); err != nil || uint16(number) != port {
			continue
		}
		if ip, ok := addressOf(address); ok {
			found = append(found, ip)
		}
	}
	return found
}

// addressOf reads an address that is written as words of four bytes, each in
// the order of the machine.
func addressOf(hexadecimal string) (netip.Addr, bool) {
	raw, err := hex.DecodeString(hexadecimal)
	if err != nil || len(raw)%4 != 0 {
		return netip.Addr{}, false
	}
	for at := 0; at < len(raw); at += 4 {
		binary.BigEndian.PutUint32(raw[at:], binary.NativeEndian.Uint32(raw[at:]))
	}
	address, ok := netip.AddrFromSlice(raw)
	return address.Unmap(), ok
}
