// Package stdio checks the section stdio of the page basic/transports.
package stdio

import (
	"bytes"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"

	. "github.com/mcpconform/mcpconform/internal/conform"
)

// longLine is the length of a message that no pipe holds at once: those of
// Linux hold 64 KiB.
const longLine = 200 << 10

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("stdio", func() {

		It("takes two messages that arrive together as two", Verifies("transports.stdio.messages"), ByFence(),
			func(ctx SpecContext) {
				server := Session(ctx)
				first, second := jsonrpc.StringID("mcpconform-first-of-two"), jsonrpc.StringID("mcpconform-second-of-two")
				mark := server.Mark()

				write(ctx, server, line(first), line(second))

				server.Until(ctx, mark, "an answer to the first of two pings", answers(first))
				server.Until(ctx, mark, "an answer to the second of two pings", answers(second))
			})

		It("takes a message that arrives in pieces as one", Verifies("transports.stdio.messages"), ByFence(),
			func(ctx SpecContext) {
				// Nothing of the client's own may get between the pieces.
				server := SessionOf(ctx, scripted.Nothing())
				server.Answer("ping", scripted.Silence)
				id, mark := server.NextID(), server.Mark()
				padding := Object{"_meta": Object{"padding": strings.Repeat("0123456789", longLine/10)}}
				message := append(jsonrpc.NewRequest(id, "ping", padding), '\n')

				write(ctx, server, message[:len(message)/2])
				write(ctx, server, message[len(message)/2:])

				server.Until(ctx, mark, fmt.Sprintf("an answer to a ping of %d bytes", len(message)), answers(id))
			})
	})
}

// line is a ping on a line of its own.
func line(id jsonrpc.ID) []byte { return append(jsonrpc.NewRequest(id, "ping", nil), '\n') }

// write writes bytes in one go.
func write(ctx SpecContext, server *Server, parts ...[]byte) {
	if err := server.Stdio.Pipe.Write(ctx, bytes.Join(parts, nil)); err != nil {
		Judge(Mismatch{Wanted: "the server to read its standard input", Found: err.Error()})
	}
}

func answers(id jsonrpc.ID) func(scripted.Received) bool {
	return func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Response && received.ID == id
	}
}
