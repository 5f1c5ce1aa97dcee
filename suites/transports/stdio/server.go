// Package stdio checks the section stdio of the page basic/transports, which is a page
// of its own from 2026-07-28 on.
package stdio

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// longLine is the length of a message that no pipe holds at once: those of
// Linux hold 64 KiB.
const longLine = 200 << 10

// pause is long enough for a server to read what there is.
const pause = 20 * time.Millisecond

// telling are requests without params and the member by which a result shows that it
// answers the one and not the other.
var telling = map[string]string{
	"server/discover": "supportedVersions", "tools/list": "tools", "prompts/list": "prompts",
	"resources/list": "resources",
}

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("stdio", func() {

		framing()

		It("returns the matching result for each of several concurrent requests", Verifies("transports.stdio.interleaved"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			server.ListenForChanges() // a subscription on the same channel, where the server has some

			requests := map[string]*Answer{}
			for method := range telling {
				if method == BarrierMethod(t) || Declares(t, mcp.ListMember(method)) {
					id := jsonrpc.StringID("mcpconform-beside-" + method)
					requests[method] = server.Call(method, nil, WithID(id))
				}
			}

			told := 0
			for method, request := range requests {
				reply := request.Must(BeAnswered)
				if _, refused := reply.Error(); refused {
					continue // it does not show what it answers
				}
				t.Expect(reply).To(HaveMember(telling[method]))
				told++
			}
			if told < 2 {
				t.Inconclusive("the server rejects all requests but one, so their answers cannot be distinguished",
					"make sure that the server can answer them")
			}
		})

		exiting()
	})
}

func framing() {
	It("accepts two messages that arrive on standard input at once", Verifies("transports.stdio.messages"), ByBarrier(), func(t *T) {
		server := Session(t)
		first, second := jsonrpc.StringID("mcpconform-first-of-two"), jsonrpc.StringID("mcpconform-second-of-two")
		mark := server.Mark()

		write(t, server, line(t, server, first), line(t, server, second))

		server.Until(mark, "an answer to the first of two requests", answers(first))
		server.Until(mark, "an answer to the second of two requests", answers(second))
	})

	It("accepts a message that ends with CR and LF, of which the first is white space of JSON",
		Verifies("transports.stdio.messages"), ByBarrier(), func(t *T) {
			server := Session(t)
			id, mark := jsonrpc.StringID("mcpconform-crlf"), server.Mark()

			write(t, server, bytes.TrimSuffix(line(t, server, id), []byte("\n")), []byte("\r\n"))

			server.Until(mark, "an answer to a request that ends with CR and LF", answers(id))
		})

	It("accepts a message that arrives on standard input in two parts",
		Together("declaring nothing"), Verifies("transports.stdio.messages"), ByBarrier(), func(t *T) {
			// Nothing of the client's own may get between the pieces.
			server := DeclaringSession(t, scripted.Nothing())
			server.Answer("ping", scripted.Silence)
			id, mark := server.NextID(), server.Mark()
			padding := Object{"_meta": Object{"padding": strings.Repeat("0123456789", longLine/10)}}
			message := append(jsonrpc.NewRequest(id, BarrierMethod(t), server.WithMeta(padding)), '\n')

			write(t, server, message[:len(message)/2])
			write(t, server, message[len(message)/2:])

			server.Until(mark, fmt.Sprintf("an answer to a request of %d bytes", len(message)), answers(id))
		})

	It("accepts a message that arrives on standard input in two parts that split a character",
		Together("declaring nothing"), Verifies("transports.utf8"), NeedsTransport(protocol.Stdio), ByBarrier(), func(t *T) {
			// Nothing of the client's own may get between the pieces.
			server := DeclaringSession(t, scripted.Nothing())
			server.Answer("ping", scripted.Silence)
			id, mark := jsonrpc.StringID("mcpconform-🙂-in-two"), server.Mark()
			message := line(t, server, id)
			within := bytes.Index(message, []byte("🙂")) + 2

			write(t, server, message[:within])
			select {
			case <-time.After(pause):
			case <-t.Done():
			}
			write(t, server, message[within:])

			server.Until(mark, "an answer under the id "+id.String(), answers(id))
		})
}

func exiting() {
	It("exits when its standard input is closed", Verifies("transports.stdio.shutdown.exits"), ByBarrier(), func(t *T) {
		server := FreshSession(t)
		id := jsonrpc.StringID("mcpconform-before-the-end")
		server.Call(BarrierMethod(t), nil, WithID(id)).Must() // it is there

		demandExit(t, server, exits(t, server))
	})

	It("exits when its standard input is closed during a call",
		Verifies("transports.stdio.shutdown.exits"), NeedsProvocation("slow"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			server.Call("tools/call", Provoking(t, "slow").Call())
			server.Barrier() // the call is under way

			demandExitFrom(t, server, "a call")
		})

	It("exits when its standard input is closed while a subscription is open",
		Verifies("transports.stdio.shutdown.exits"), AtRevisionsWith(protocol.Subscriptions), func(t *T) {
			server := FreshSession(t)
			server.Subscribe(Object{"toolsListChanged": true})

			demandExitFrom(t, server, "a subscription")
		})
}

// exits closes the standard input of a server, and tells whether its process ends.
func exits(ctx context.Context, server *Server) bool {
	server.Stdio.Pipe.CloseInput()
	select {
	case <-server.Stdio.Pipe.Process().Done():
		return true
	case <-wait.After(ctx, server.ReplyTime()):
		return false
	}
}

// demandExitFrom wants a server to exit amid something, if it exits at all.
func demandExitFrom(t *T, server *Server, amid string) {
	exited := exits(t, server)
	if !exited {
		plain := FreshSession(t)
		plain.Barrier()
		if !exits(t, plain) {
			t.Inconclusive("the server does not exit without "+amid+" either", "see the result of transports.stdio.shutdown.exits")
		}
	}
	demandExit(t, server, exited)
}

func demandExit(t *T, server *Server, exited bool) {
	t.JudgingNothing()
	server.DemandInTime(exited, "the exit of the process after its standard input was closed", "a process that still runs")
}

// line is a request that every server answers, on a line of its own.
func line(t *T, server *Server, id jsonrpc.ID) []byte {
	return append(jsonrpc.NewRequest(id, BarrierMethod(t), server.WithMeta(nil)), '\n')
}

// write writes bytes in one go.
func write(t *T, server *Server, parts ...[]byte) {
	if err := server.Stdio.Pipe.Write(t, bytes.Join(parts, nil)); err != nil {
		server.Unanswered("what was written to standard input", jsonrpc.NoID, err)
	}
}

func answers(id jsonrpc.ID) func(scripted.Received) bool {
	return func(received scripted.Received) bool { return received.Kind == jsonrpc.Response && received.ID == id }
}
