// The library of the driver in docs/clients.md, for its test: a client of the handshake
// era without tasks, on the scripted client of the harness. driver.go comes from the page.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	stduritemplate "github.com/std-uritemplate/std-uritemplate/go/v2"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

type library struct {
	connection   *scripted.Connection
	capabilities scripted.Capabilities
	handlers     map[string]func(context.Context, Object) (any, error)
	saw          func(string)
	life         context.Context
	end          context.CancelFunc
}

func newClient() Client {
	l := &library{capabilities: scripted.Capabilities{}, handlers: map[string]func(context.Context, Object) (any, error){}}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

func (l *library) Declare(capability string, members Object) { l.capabilities[capability] = members }

func (l *library) Handle(method string, answer func(context.Context, Object) (any, error)) {
	l.handlers[method] = answer
}

func (l *library) OnMessage(saw func(string)) { l.saw = saw }

// newest is the newest revision that the library speaks.
const newest = "2025-11-25"

func (l *library) Connect(ctx context.Context, server []string, revision string) (Object, error) {
	to := scripted.Target{Transport: protocol.Stdio, Command: target.Command{Args: server, Env: os.Environ()}, Reply: time.Minute}
	if strings.HasPrefix(server[0], "http://") {
		to = scripted.Target{Transport: protocol.HTTP, URL: server[0], Reply: time.Minute}
	}
	if revision == "" || revision > newest {
		revision = newest
	}
	var err error
	if l.connection, err = scripted.Dial(to, transcript.NewLog("")); err != nil {
		return nil, err
	}
	for method, handler := range l.handlers {
		l.connection.Answer(method, func(request scripted.Received) []byte {
			go l.answer(request, handler)
			return nil // not yet
		})
	}
	shaken, err := l.connection.Initialize(ctx, scripted.Hello(revision, l.capabilities))
	if err != nil {
		return nil, err
	}
	go l.tell()
	if l.connection.HTTP != nil {
		_, _ = l.connection.Listen(l.life) // or the server offers no stream
	}
	return Object{"revision": shaken.Revision, "serverInfo": shaken.ServerInfo}, nil
}

func (l *library) answer(request scripted.Received, handler func(context.Context, Object) (any, error)) {
	params, _ := request.Params().(Object)
	result, err := handler(l.life, params)
	message := jsonrpc.NewResult(request.ID, result)
	var refusal *HandlerError
	switch {
	case errors.As(err, &refusal):
		message = jsonrpc.NewError(request.ID, int64(refusal.Code), refusal.Message)
	case err != nil:
		return
	}
	_ = l.connection.Send(l.life, scripted.Outgoing{Raw: message}) // an error means that the connection has ended
}

// tell tells of everything that the server sends unasked.
func (l *library) tell() {
	for mark := 0; ; mark++ {
		received, err := l.connection.Await(l.life, mark, func(scripted.Received) bool { return true })
		if err != nil {
			return
		}
		if received.Method != "" {
			l.saw(received.Method)
		}
	}
}

// ask sends a request, and cancels it when its context ends before the answer comes.
func (l *library) ask(ctx context.Context, method string, params Object) (Object, error) {
	if l.connection == nil {
		return nil, errors.New("not connected")
	}
	pending := l.connection.Start(l.life, method, params)
	received, err := pending.Wait(ctx)
	if ctx.Err() != nil {
		reason := Object{"requestId": pending.ID, "reason": ctx.Err().Error()}
		return nil, errors.Join(ctx.Err(), l.connection.Notify(l.life, "notifications/cancelled", reason))
	}
	if err != nil {
		return nil, err
	}
	if refusal, refused := received.Error(); refused {
		return nil, fmt.Errorf("error %d: %s", refusal.Code, refusal.Message)
	}
	result, _ := received.Result()
	object, _ := result.(Object)
	return object, nil
}

func (l *library) List(ctx context.Context, of string) ([]any, error) {
	methods := map[string][2]string{
		"tools": {"tools/list", "tools"}, "resources": {"resources/list", "resources"},
		"templates": {"resources/templates/list", "resourceTemplates"}, "prompts": {"prompts/list", "prompts"},
	}
	method, known := methods[of]
	if !known {
		return nil, errors.New("this library lists no " + of)
	}
	items, params := []any{}, Object{}
	for {
		page, err := l.ask(ctx, method[0], params)
		if err != nil {
			return nil, err
		}
		some, _ := page[method[1]].([]any)
		items = append(items, some...)
		cursor, more := page["nextCursor"].(string)
		if !more {
			return items, nil
		}
		params = Object{"cursor": cursor}
	}
}

func (l *library) CallTool(ctx context.Context, name string, arguments Object, progress bool, task Object) (Object, error) {
	if task != nil {
		return nil, errNoTasks
	}
	params := Object{"name": name, "arguments": arguments}
	if progress {
		params["_meta"] = Object{"progressToken": fmt.Sprintf("progress of %s at %d", name, time.Now().UnixNano())}
	}
	return l.ask(ctx, "tools/call", params)
}

var errNoTasks = errors.New("this library has no tasks")

func (l *library) ReadResource(ctx context.Context, uri string) (Object, error) {
	return l.ask(ctx, "resources/read", Object{"uri": uri})
}

func (l *library) Expand(template string, arguments Object) (string, error) {
	return stduritemplate.Expand(template, arguments)
}

func (l *library) GetPrompt(ctx context.Context, name string, arguments Object) (Object, error) {
	return l.ask(ctx, "prompts/get", Object{"name": name, "arguments": arguments})
}

func (l *library) Complete(ctx context.Context, ref, argument, completed Object) (Object, error) {
	params := Object{"ref": ref, "argument": argument}
	if completed != nil {
		params["context"] = completed
	}
	return l.ask(ctx, "completion/complete", params)
}

func (l *library) Subscribe(ctx context.Context, uri string) error {
	_, err := l.ask(ctx, "resources/subscribe", Object{"uri": uri})
	return err
}

func (l *library) Unsubscribe(ctx context.Context, uri string) error {
	_, err := l.ask(ctx, "resources/unsubscribe", Object{"uri": uri})
	return err
}

func (l *library) Listen(context.Context, Object) error {
	return errors.New("this library subscribes to resources one by one")
}

func (l *library) SetLevel(ctx context.Context, level string) error {
	_, err := l.ask(ctx, "logging/setLevel", Object{"level": level})
	return err
}

func (l *library) Ping(ctx context.Context) error {
	_, err := l.ask(ctx, "ping", nil)
	return err
}

func (l *library) GetTask(context.Context, string) (Object, error)    { return nil, errNoTasks }
func (l *library) TaskResult(context.Context, string) (Object, error) { return nil, errNoTasks }
func (l *library) CancelTask(context.Context, string) (Object, error) { return nil, errNoTasks }

func (l *library) RootsChanged(ctx context.Context) error {
	declared, _ := json.Marshal(l.capabilities["roots"])
	if !strings.Contains(string(declared), `"listChanged":true`) {
		return nil
	}
	return l.connection.Notify(ctx, "notifications/roots/list_changed", nil)
}

func (l *library) Close(ctx context.Context) error {
	l.connection.Close(ctx)
	l.end()
	return nil
}
