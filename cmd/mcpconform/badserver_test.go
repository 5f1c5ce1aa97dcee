//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// misbehave is a server over stdio that breaks in one way.
func misbehave(how string) {
	out := bufio.NewWriter(os.Stdout)
	if first, known := atOnce[how]; known {
		first(out)
		return
	}
	answer, known := perMessage[how]
	if !known {
		_, _ = fmt.Fprintf(os.Stderr, "no bad server is named %q\n", how)
		os.Exit(9)
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var message request
		if json.Unmarshal(line, &message) == nil && message.Method != "" {
			answer(out, message)
			_ = out.Flush()
		}
	}
}

// request is what a bad server reads of a message.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct{ ProtocolVersion string }
}

// atOnce are the servers that need nothing said to them.
var atOnce = map[string]func(*bufio.Writer){
	"exits": func(*bufio.Writer) {
		_, _ = fmt.Fprintln(os.Stderr, "cannot find module 'left-pad'")
		os.Exit(3)
	},
	"silent": func(*bufio.Writer) { hang() },
	"deaf": func(*bufio.Writer) { // neither the end of input nor SIGTERM ends it
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		hang()
	},
	"noise": func(out *bufio.Writer) {
		_, _ = fmt.Fprintln(out, "Server listening, have a nice day!")
		_ = out.Flush()
		hang()
	},
	"long-line": func(out *bufio.Writer) { longLine(out) },
	"endless":   func(out *bufio.Writer) { flood(out, bytes.Repeat([]byte("x"), 1<<16)) },
	"flood": func(out *bufio.Writer) {
		flood(out, []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`+"\n"))
	},
	"blank-flood": func(out *bufio.Writer) { flood(out, bytes.Repeat([]byte("\n"), 1<<12)) },
}

// perMessage are the servers that answer messages.
var perMessage = map[string]func(*bufio.Writer, request){
	"good": func(out *bufio.Writer, message request) { answerWell(out, message) },
	"noise-first": func(out *bufio.Writer, message request) {
		if message.Method == "initialize" {
			_, _ = fmt.Fprintln(out, "DEBUG: starting up")
		}
		answerWell(out, message)
	},
	"errors": func(out *bufio.Writer, message request) {
		fail(out, message, -32603, "nothing works today")
	},
	"errors-later": func(out *bufio.Writer, message request) {
		if message.Method == "initialize" {
			answerWell(out, message)
			return
		}
		fail(out, message, -32603, "nothing works today")
	},
	"stateless": func(out *bufio.Writer, message request) {
		fail(out, message, -32004, "unsupported protocol version; this server speaks 2026-07-28")
	},
	"older-only": func(out *bufio.Writer, message request) {
		message.Params.ProtocolVersion = "2024-11-05"
		answerWell(out, message)
	},
	"refuses-newest": func(out *bufio.Writer, message request) {
		if message.Method == "initialize" && message.Params.ProtocolVersion != "2025-06-18" {
			fail(out, message, -32602, "unsupported protocol version")
			return
		}
		answerWell(out, message)
	},
	"others-ids": func(out *bufio.Writer, message request) {
		message.ID = json.RawMessage(`"of somebody else"`)
		answerWell(out, message)
	},
	"others-ids-later": func(out *bufio.Writer, message request) {
		if message.Method != "initialize" {
			message.ID = json.RawMessage(`"of somebody else"`)
		}
		answerWell(out, message)
	},
	"empty-object":       func(out *bufio.Writer, _ request) { _, _ = fmt.Fprintln(out, "{}") },
	"empty-object-later": onlyInitialize(func(out *bufio.Writer, _ request) { _, _ = fmt.Fprintln(out, "{}") }),
	"empty-result": func(out *bufio.Writer, message request) {
		respond(out, message, `{}`)
	},
	"invalid-utf8":       func(out *bufio.Writer, message request) { garble(out, message) },
	"invalid-utf8-later": onlyInitialize(garble),
	"dies-after-initialize": func(out *bufio.Writer, message request) {
		answerWell(out, message)
		_ = out.Flush()
		if message.Method == "initialize" {
			_, _ = fmt.Fprintln(os.Stderr, "panic: out of luck")
			os.Exit(7)
		}
	},
	"dies-on-tools": func(out *bufio.Writer, message request) {
		if message.Method == "tools/list" {
			_, _ = fmt.Fprintln(os.Stderr, "panic: no tools")
			os.Exit(7)
		}
		answerWell(out, message)
	},
	"hangs-on-ping": func(out *bufio.Writer, message request) {
		if message.Method == "ping" {
			return
		}
		answerWell(out, message)
	},
	"deaf-on-ping": func(out *bufio.Writer, message request) {
		if message.Method == "ping" {
			atOnce["deaf"](out)
		}
		answerWell(out, message)
	},
	"hangs-after-initialize": onlyInitialize(func(*bufio.Writer, request) { hang() }),
	"hangs-later":            onlyInitialize(func(*bufio.Writer, request) {}),
	"long-line-later":        onlyInitialize(func(out *bufio.Writer, _ request) { longLine(out) }),
	"long-line-on-tools": func(out *bufio.Writer, message request) {
		if message.Method == "tools/list" {
			longLine(out)
			return
		}
		answerWell(out, message)
	},
	"flood-later": onlyInitialize(func(out *bufio.Writer, message request) {
		answerWell(out, message)
		atOnce["flood"](out)
	}),
	"floods-on-tools": func(out *bufio.Writer, message request) {
		if message.Method == "tools/list" {
			atOnce["flood"](out)
		}
		answerWell(out, message)
	},
}

// onlyInitialize answers initialize well, and the rest otherwise.
func onlyInitialize(otherwise func(*bufio.Writer, request)) func(*bufio.Writer, request) {
	return func(out *bufio.Writer, message request) {
		if message.Method == "initialize" {
			answerWell(out, message)
			return
		}
		otherwise(out, message)
	}
}

// answerWell is a small server as it should be.
func answerWell(out *bufio.Writer, message request) {
	switch message.Method {
	case "initialize":
		revision := message.Params.ProtocolVersion
		if !strings.HasPrefix(revision, "202") {
			revision = "2025-11-25"
		}
		respond(out, message, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"bad","version":"1"}}`, revision))
	case "ping":
		respond(out, message, `{}`)
	case "tools/list":
		respond(out, message, `{"tools":[{"name":"look","description":"looks","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
	case "tools/call":
		respond(out, message, `{"content":[{"type":"text","text":"seen"}]}`)
	default:
		fail(out, message, -32601, "method not found")
	}
}

func respond(out *bufio.Writer, message request, result string) {
	if message.ID != nil {
		_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", message.ID, result)
	}
}

func fail(out *bufio.Writer, message request, code int, text string) {
	if message.ID != nil {
		_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", message.ID, code, text)
	}
}

func garble(out *bufio.Writer, message request) {
	respond(out, message, "{\"text\":\"\xff\xfe\x80\"}")
}

// longLine writes a line of 100 MB.
func longLine(out *bufio.Writer) {
	piece := bytes.Repeat([]byte("a"), 1<<20)
	_, _ = fmt.Fprint(out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"`)
	for range 100 {
		if _, err := out.Write(piece); err != nil {
			return
		}
	}
	_, _ = fmt.Fprintln(out, `"}}`)
	_ = out.Flush()
	hang()
}

func flood(out *bufio.Writer, piece []byte) {
	for {
		if _, err := out.Write(piece); err != nil {
			return
		}
	}
}

// hang never returns; a signal that is waited for keeps the runtime from calling
// it a deadlock.
func hang() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR2)
	<-never
}
