// Page client/sampling: asking for an answer of the client's model.

package server

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxTokens is what one answer of the model may cost: these are only tests.
const maxTokens = 100

// maxToolRounds bounds how often the model may use tools before it must answer.
const maxToolRounds = 3

// samplingResult is the answer of the client's model. Its content is one block or, from
// 2025-11-25, an array of blocks.
type samplingResult struct {
	Role       string          `json:"role"`
	Model      string          `json:"model"`
	Content    json.RawMessage `json:"content"`
	StopReason string          `json:"stopReason,omitempty"`

	blocks []samplingBlock
}

// A samplingBlock is one content block of the model's answer.
type samplingBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text,omitempty"`  // of type text
	ID    string          `json:"id,omitempty"`    // of type tool_use
	Name  string          `json:"name,omitempty"`  // of type tool_use
	Input json.RawMessage `json:"input,omitempty"` // of type tool_use
}

// text joins the texts of the answer.
func (r samplingResult) text() string {
	var joined strings.Builder
	for _, block := range r.blocks {
		joined.WriteString(block.Text)
	}
	return joined.String()
}

// readSamplingResult reads an answer, if there is one.
func readSamplingResult(raw json.RawMessage, err error) (samplingResult, error) {
	var result samplingResult
	if err != nil {
		return result, err
	}
	err = decode(raw, &result, "result")
	var many []json.RawMessage
	if json.Unmarshal(result.Content, &many) != nil {
		many = []json.RawMessage{result.Content}
	}
	result.blocks = make([]samplingBlock, len(many))
	for i := 0; i < len(many) && err == nil; i++ {
		err = decode(many[i], &result.blocks[i], "result.content")
	}
	if err != nil {
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
func (c *call) sample(ask asker, prompt string) (words string, err error) {
	if c.client.Sampling == nil {
		return "", errNoSampling
	}
	answer, err := readSamplingResult(ask("sampling/createMessage", samplingRequest(prompt)))
	return answer.text(), err
}

// sampleWithTool asks the client's model and lends it one tool, which always says the same.
// Every use of the tool is answered, in one message that holds nothing else, until the
// model has its answer. In the last round it may not use the tool any more.
func (c *call) sampleWithTool(prompt string, lent object, says string) (words string, err error) {
	if c.client.Sampling == nil || c.client.Sampling.Tools == nil {
		return "", errNoSamplingTools
	}
	params := samplingRequest(prompt)
	params["tools"] = []object{lent}
	for round := 1; ; round++ {
		params["toolChoice"] = object{"mode": "auto"}
		if round == c.server.toolRounds {
			params["toolChoice"] = object{"mode": "none"}
		}
		ask := c.asks(fmt.Sprintf("turn_%d", round))
		answer, err := readSamplingResult(ask("sampling/createMessage", params))
		if err != nil {
			return "", err
		}
		var results []any
		for _, block := range answer.blocks {
			if block.Type == "tool_use" {
				results = append(results, object{
					"type": "tool_result", "toolUseId": block.ID, "content": []any{text(says)},
				})
			}
		}
		if len(results) == 0 || round == c.server.toolRounds {
			return answer.text(), nil
		}
		params["messages"] = append(params["messages"].([]any),
			object{"role": "assistant", "content": answer.Content},
			object{"role": "user", "content": results})
	}
}
