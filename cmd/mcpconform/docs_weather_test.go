//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
)

// weather is the server of docs/first-run.md, written by hand over stdio, with two tools.
// Its version 1.0 does not answer ping, and its version 2.0 has other arguments.
type weather struct {
	version string
	out     io.Writer
}

// standInWeather is a version of it, as a program.
func standInWeather(version string) func() {
	return func() {
		server := weather{version: version, out: os.Stdout}
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			server.take(lines.Bytes())
		}
		os.Exit(0)
	}
}

type weatherObject = map[string]any

type weatherError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (w weather) take(line []byte) {
	var message struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	switch err := json.Unmarshal(line, &message); {
	case !json.Valid(line):
		w.say(weatherObject{"error": weatherError{-32700, "no JSON: " + err.Error()}})
		return
	case err != nil || message.JSONRPC != "2.0" || message.Method == nil && message.Result == nil && message.Error == nil:
		w.say(weatherObject{"error": weatherError{-32600, "no request"}})
		return
	case message.ID == nil || message.Method == nil:
		return // a notification or a response
	}
	result, refused := w.answer(*message.Method, message.Params)
	if refused != nil {
		w.say(weatherObject{"id": message.ID, "error": refused})
		return
	}
	w.say(weatherObject{"id": message.ID, "result": result})
}

func (w weather) say(message weatherObject) {
	message["jsonrpc"] = "2.0"
	line, _ := json.Marshal(message)       // only what came as JSON, and texts
	_, _ = w.out.Write(append(line, '\n')) // who does not read is gone
}

func (w weather) answer(method string, params json.RawMessage) (any, *weatherError) {
	switch method {
	case "initialize":
		return w.initialize(params)
	case "ping":
		if w.version != "1.0" {
			return weatherObject{}, nil
		}
	case "tools/list":
		return weatherObject{"tools": w.tools()}, nil
	case "tools/call":
		return call(params)
	}
	return nil, &weatherError{-32601, "no such method: " + method}
}

func (w weather) tools() []weatherObject {
	forecast := tool("get_forecast", "city", "The weather of tomorrow", weatherObject{"type": "string", "minLength": 1})
	state := weatherObject{"type": "string", "pattern": "^[A-Z]{2}$"}
	if w.version == "2.0" {
		forecast["description"] = "The weather of the next days"
		forecast["inputSchema"] = weatherObject{
			"type": "object", "required": []string{"city", "days"},
			"properties": weatherObject{
				"city": weatherObject{"type": "string", "minLength": 1}, "days": weatherObject{"type": "integer"},
			},
		}
		delete(state, "pattern")
	}
	return []weatherObject{forecast, tool("get_alerts", "state", "Warnings for a state", state)}
}

func (w weather) initialize(params json.RawMessage) (any, *weatherError) {
	var wanted struct{ ProtocolVersion string }
	if err := json.Unmarshal(params, &wanted); err != nil || wanted.ProtocolVersion == "" {
		return nil, &weatherError{-32602, "initialize needs a protocolVersion"}
	}
	if !slices.Contains([]string{"2025-06-18", "2025-11-25"}, wanted.ProtocolVersion) {
		wanted.ProtocolVersion = "2025-11-25"
	}
	return weatherObject{
		"protocolVersion": wanted.ProtocolVersion,
		"capabilities":    weatherObject{"tools": weatherObject{}},
		"serverInfo":      weatherObject{"name": "weather", "version": w.version},
	}, nil
}

func tool(name, argument, description string, schema weatherObject) weatherObject {
	return weatherObject{
		"name":        name,
		"description": description,
		"annotations": weatherObject{"readOnlyHint": true},
		"inputSchema": weatherObject{
			"type": "object", "required": []string{argument}, "properties": weatherObject{argument: schema},
		},
	}
}

func call(params json.RawMessage) (any, *weatherError) {
	var called struct {
		Name      string
		Arguments weatherObject
	}
	if err := json.Unmarshal(params, &called); err != nil {
		return nil, &weatherError{-32602, err.Error()}
	}
	var text string
	var failed bool
	switch called.Name {
	case "get_forecast":
		city, _ := called.Arguments["city"].(string)
		text, failed = "Sunny in "+city, city == ""
	case "get_alerts":
		state, _ := called.Arguments["state"].(string)
		text, failed = "No warnings in "+state, len(state) != 2
	default:
		return nil, &weatherError{-32602, "no such tool: " + called.Name}
	}
	if failed {
		text = "that is no place"
	}
	return weatherObject{"isError": failed, "content": []weatherObject{{"type": "text", "text": text}}}, nil
}
