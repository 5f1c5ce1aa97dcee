package streamablehttp

import (
	"bufio"
	"context"
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
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// stranger is an origin that nobody can have told a server to trust: the
// domain invalid is reserved (RFC 2606).
const stranger = "https://stranger.invalid"

// rebound is the host of a web page whose name was made to lead here: by DNS rebinding
// its origin and the Host of its requests are one.
const rebound = "stranger.invalid"

const byStranger = "comes from a web page of another site"

// security checks the heading Security Warning.
func security() {
	It("rejects a first POST with a foreign Origin", Verifies("transports.http.origin.validated"), ByBarrier(),
		func(ctx SpecContext) {
			server := Connect(ctx)

			response := server.Post(ctx, opening(server), byStranger, WithHeader("Origin", stranger))

			Expect(response).To(beRefused())
		})

	It("rejects a POST with a foreign Origin", Verifies("transports.http.origin.validated"), ByBarrier(),
		func(ctx SpecContext) {
			server := Session(ctx)

			InEachMethod(ctx, beRefused(), func(request Harmless) any {
				body := server.Body(request.Method, request.With(nil))
				return server.Post(ctx, body, byStranger, WithHeader("Origin", stranger))
			})
		})

	It("rejects a notification with a foreign Origin", Verifies("transports.http.origin.validated"),
		func(ctx SpecContext) {
			server := Session(ctx)
			control := server.Post(ctx, harmless(), "")
			if control.Status != http.StatusAccepted || len(control.Body) > 0 {
				NotApplicable("the server does not accept the notification without an Origin either")
			}

			response := server.Post(ctx, harmless(), byStranger, WithHeader("Origin", stranger))

			Expect(response).To(beRefused())
		})

	It(
		"rejects a POST whose Origin and Host are the same foreign name, if it is reached at a loopback address",
		Verifies("transports.http.origin.validated"),
		ByBarrier(),
		func(ctx SpecContext) {
			endpoint, err := url.Parse(URL())
			if err != nil || !isLoopback(endpoint.Hostname()) {
				NotApplicable("the server is not reached at a loopback address, the target of DNS rebinding")
			}
			server := Connect(ctx)

			response := server.Post(ctx, opening(server), byStranger,
				WithHeader("Origin", "http://"+rebound), WithHeader("Host", rebound))

			Expect(response).To(beRefused())
		},
	)

	It(
		"rejects a GET with a foreign Origin",
		Verifies("transports.http.origin.validated"),
		AtRevisionsWith(protocol.GETStream),
		func(ctx SpecContext) {
			Expect(getByStranger(ctx)).To(beRefused())
		},
	)

	It(
		"rejects a DELETE with a foreign Origin",
		Verifies("transports.http.origin.validated"),
		AtRevisionsWith(protocol.Sessions),
		ByBarrier(),
		func(ctx SpecContext) {
			Expect(deleteByStranger(ctx)).To(beRefused())
		},
	)

	It("rejects a foreign Origin with HTTP 403", Verifies("transports.http.origin.forbidden"), ByBarrier(),
		func(ctx SpecContext) {
			server, unknown := Session(ctx), Connect(ctx)

			request := server.Post(ctx, anyRequest(server), byStranger, WithHeader("Origin", stranger))
			handshake := unknown.Post(ctx, opening(unknown), byStranger, WithHeader("Origin", stranger))

			if request.Status < 300 && handshake.Status < 300 {
				NotApplicable(
					"the server does not reject a foreign Origin: see transports.http.origin.validated",
				)
			}
			Expect(request).To(HaveStatus(403))
			Expect(handshake).To(HaveStatus(403))
		})

	It(
		"rejects a GET with a foreign Origin with HTTP 403",
		Verifies("transports.http.origin.forbidden"),
		AtRevisionsWith(protocol.GETStream),
		func(ctx SpecContext) {
			judgeForbidden(getByStranger(ctx))
		},
	)

	It(
		"rejects a DELETE with a foreign Origin with HTTP 403",
		Verifies("transports.http.origin.forbidden"),
		AtRevisionsWith(protocol.Sessions),
		ByBarrier(),
		func(ctx SpecContext) {
			judgeForbidden(deleteByStranger(ctx))
		},
	)

	It("listens on loopback addresses only, if it is reached at one", Verifies("transports.http.loopback"),
		func(ctx SpecContext) {
			endpoint, err := url.Parse(URL())
			if err != nil || !isLoopback(endpoint.Hostname()) {
				NotApplicable("the server is not reached at a loopback address")
			}
			Session(ctx).Barrier(ctx) // it is there

			addresses := listeningAt(portOf(endpoint))

			if len(addresses) == 0 {
				NotApplicable("this system does not show which addresses a program listens on")
			}
			JudgingNothing()
			for _, address := range addresses {
				Demand(address.IsLoopback(), "a server that listens at a loopback address only",
					"one that listens at "+address.String()+", where the network can reach it")
			}
		})
}

// getByStranger asks for the stream of a session from a foreign page, where others get one.
func getByStranger(ctx context.Context) *Response {
	friend, server := FreshSession(ctx), FreshSession(ctx)
	mustListen(ctx, friend)
	return server.Get(ctx, byStranger, WithHeader("Origin", stranger))
}

// deleteByStranger ends a session from a foreign page, where others can: else nothing shows
// what a refusal is for.
func deleteByStranger(ctx context.Context) *Response {
	mustEnd(ctx, FreshSession(ctx))
	return FreshSession(ctx).Delete(ctx, byStranger, WithHeader("Origin", stranger))
}

// judgeForbidden demands the status for a foreign Origin where the server refuses that.
func judgeForbidden(response *Response) {
	if response.Status < 300 {
		NotApplicable("the server does not reject a foreign Origin: see transports.http.origin.validated")
	}
	Expect(response).To(HaveStatus(403))
}

// opening is the body of a request that a client can begin with.
func opening(server *Server) []byte {
	if !RevisionHas(protocol.Handshake) {
		return anyRequest(server)
	}
	return jsonrpc.NewRequest(server.NextID(), "initialize", Hello(Revision()))
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
	if loopback := slices.DeleteFunc(
		slices.Clone(all),
		func(address netip.Addr) bool { return !address.IsLoopback() },
	); len(
		loopback,
	) > 0 {
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
