// Page client/sampling: asking for an answer of the client's model.

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxTokens is what one answer of the model may cost: these are only tests.
const maxTokens = 100

// maxToolRounds bounds how often the model may use tools before it must answer.
const maxToolRounds = 3

type samplingResult struct {
	Role       string          `json:"role"`
	Model      string          `json:"model"`
	Content    json.RawMessage `json:"content"`
	StopReason string          `json:"stopReason,omitempty"`
}

// A samplingBlock is one content block of the model's answer.
type samplingBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text,omitempty"`  // of type text
	ID    string          `json:"id,omitempty"`    // of type tool_use
	Name  string          `json:"name,omitempty"`  // of type tool_use
	Input json.RawMessage `json:"input,omitempty"` // of type tool_use
}

// blocks returns the content, which is one block or, from 2025-11-25, an array
// of blocks.
func (r samplingResult) blocks() ([]samplingBlock, error) {
	var many []json.RawMessage
	if json.Unmarshal(r.Content, &many) != nil {
		many = []json.RawMessage{r.Content}
	}
	blocks := make([]samplingBlock, len(many))
	for i, raw := range many {
		if err := decode(raw, &blocks[i], "result.content"); err != nil {
			return nil, wronglyAnswered("the client's answer to sampling/createMessage is wrong: %v", err)
		}
	}
	return blocks, nil
}

// text joins the texts of the answer.
func (r samplingResult) text() (string, error) {
	blocks, err := r.blocks()
	var joined strings.Builder
	for _, block := range blocks {
		joined.WriteString(block.Text)
	}
	return joined.String(), err
}

func readSamplingResult(raw json.RawMessage) (samplingResult, error) {
	var result samplingResult
	if err := decode(raw, &result, "result"); err != nil {
		return result, wronglyAnswered("the client's answer to sampling/createMessage is wrong: %v", err)
	}
	return result, nil
}

var (
	errNoSampling = lacks("the client has not declared the capability sampling",
		object{"sampling": object{}})
	errNoSamplingTools = lacks("the client has not declared the capability sampling.tools",
		object{"sampling": object{"tools": object{}}})
)

// samplingRequest is the start of a conversation with the client's model.
func samplingRequest(prompt string) object {
	return object{
		"messages":  []any{object{"role": "user", "content": text(prompt)}},
		"maxTokens": maxTokens,
		"modelPreferences": object{
			"hints":        []any{object{"name": "small"}},
			"costPriority": 1, "speedPriority": 0.5, "intelligencePriority": 0,
		},
	}
}

// sample asks the client's model.
func (c *call) sample(key, prompt string) (samplingResult, error) {
	if c.client.Sampling == nil {
		return samplingResult{}, errNoSampling
	}
	raw, err := c.ask(key, "sampling/createMessage", samplingRequest(prompt))
	if err != nil {
		return samplingResult{}, err
	}
	return readSamplingResult(raw)
}

// sampleAsTask asks the client's model by way of a task of the client.
func (c *call) sampleAsTask(prompt string) (samplingResult, error) {
	client := c.client
	if client.Sampling == nil {
		return samplingResult{}, errNoSampling
	}
	if client.Tasks == nil || client.Tasks.Requests == nil || client.Tasks.Requests.Sampling == nil ||
		client.Tasks.Requests.Sampling.CreateMessage == nil {
		return samplingResult{}, errors.New(
			"the client has not declared the capability tasks.requests.sampling.createMessage",
		)
	}
	raw, err := c.askAsTask("sampling/createMessage", samplingRequest(prompt))
	if err != nil {
		return samplingResult{}, err
	}
	return readSamplingResult(raw)
}

// sampleWithTool asks the client's model and lends it one tool. Every use of
// the tool is answered, in one message that holds nothing else, until the
// model has its answer. In the last round it may not use the tool any more.
func (c *call) sampleWithTool(
	prompt string,
	lent *tool,
	use func(input json.RawMessage) string,
) (samplingResult, error) {
	client := c.client
	if client.Sampling == nil || client.Sampling.Tools == nil {
		return samplingResult{}, errNoSamplingTools
	}
	params := samplingRequest(prompt)
	params["tools"] = []*tool{lent}
	for round := 1; ; round++ {
		params["toolChoice"] = object{"mode": "auto"}
		if round == c.server.toolRounds {
			params["toolChoice"] = object{"mode": "none"}
		}
		raw, err := c.ask(fmt.Sprintf("turn_%d", round), "sampling/createMessage", params)
		if err != nil {
			return samplingResult{}, err
		}
		answer, err := readSamplingResult(raw)
		if err != nil {
			return samplingResult{}, err
		}
		blocks, err := answer.blocks()
		if err != nil {
			return samplingResult{}, err
		}
		var results []any
		for _, block := range blocks {
			if block.Type == "tool_use" {
				results = append(results, object{
					"type":      "tool_result",
					"toolUseId": block.ID,
					"content":   []any{text(use(block.Input))},
				})
			}
		}
		if len(results) == 0 || round == c.server.toolRounds {
			return answer, nil
		}
		params["messages"] = append(params["messages"].([]any),
			object{"role": "assistant", "content": answer.Content},
			object{"role": "user", "content": results})
	}
}
