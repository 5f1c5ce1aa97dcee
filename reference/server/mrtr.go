// Page basic/patterns/mrtr, from 2026-07-28: questions that a result puts, and
// that the next request answers.

package server

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"
)

// An inputRequiredError is the result of a request that cannot be completed without
// the client: with questions, or with a state to come back with, or both. It is
// an error on its way through a handler, which begins anew when the client is
// back, and finds its questions answered.
type inputRequiredError struct {
	Questions map[string]object `json:"inputRequests,omitempty"`
	State     string            `json:"requestState,omitempty"`
}

func (*inputRequiredError) Error() string { return "the client must be asked first" }

// A retry is what a request brings from those before it.
type retry struct {
	answers map[string]json.RawMessage // by key, whether or not there is such a question
	used    map[string]json.RawMessage // those of them that were asked for
	note    string                     // what the handler has told itself
}

// readRetry reads what the client brings with its request.
func (x *exchange) readRetry() (*retry, error) {
	var params struct {
		Answers map[string]json.RawMessage `json:"inputResponses,omitempty"`
		State   *string                    `json:"requestState,omitempty"`
	}
	if err := decode(x.params, &params, "params"); err != nil {
		return nil, invalidParams("%v", err)
	}
	read := &retry{answers: map[string]json.RawMessage{}, used: map[string]json.RawMessage{}}
	if params.State != nil {
		state, err := x.states.open(*params.State, x.digest())
		if err != nil {
			return nil, invalidParams("params.requestState %v", err)
		}
		read.note = state.Note
		maps.Copy(read.answers, state.Answers)
	}
	for key, answer := range params.Answers {
		if !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")) {
			return nil, invalidParams("params.inputResponses.%s must be an object", key)
		}
		read.answers[key] = answer
	}
	return read, nil
}

// ask looks for the answers to the questions of a call, and puts those that are
// still to be answered. What it has answered already it need not answer again:
// that goes into the state.
func (x *exchange) ask(c *call, questions []question) (map[string]json.RawMessage, error) {
	answers, open := map[string]json.RawMessage{}, map[string]object{}
	for _, q := range questions {
		if answer, given := c.retry.answers[q.key]; given {
			answers[q.key], c.retry.used[q.key] = answer, answer
		} else {
			open[q.key] = q.request()
		}
	}
	if len(open) == 0 {
		return answers, nil
	}
	return nil, &inputRequiredError{Questions: open, State: x.state(c.retry)}
}

// state is what the client is to bring along, or "" when there is nothing.
func (x *exchange) state(of *retry) string {
	if len(of.used) == 0 && of.note == "" {
		return ""
	}
	expires := time.Now().Add(x.states.life).UnixMilli()
	return x.states.seal(state{Request: x.digest(), Expires: expires, Answers: of.used, Note: of.note})
}

// again asks the client to come again, without a question.
func (c *call) again() error { return &inputRequiredError{State: c.era.(*exchange).state(c.retry)} }

// digest identifies the request by its method and all that it asks for.
func (x *exchange) digest() string {
	var params object
	_ = json.Unmarshal(x.params, &params) // it was read before
	for _, name := range []string{"_meta", "inputResponses", "requestState"} {
		delete(params, name)
	}
	sum := sha256.Sum256(encode([]any{x.method, params})) // members are in the order of their names
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// stateLife is for how long a state is good: a person may have to be found.
const stateLife = 10 * time.Minute

// A state is what a request leaves with the client for the next.
type state struct {
	Request string                     `json:"request"` // the digest of the only one that it is good for
	Expires int64                      `json:"expires"` // in milliseconds since 1970
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
	Note    string                     `json:"note,omitempty"`
}

// states seals requestState values, so that clients can neither make nor change one.
type states struct {
	secret []byte
	life   time.Duration
	open   func(sealed, request string) (state, error)
}

func newStates(life time.Duration) *states {
	s := &states{secret: []byte(rand.Text()), life: life}
	s.open = s.verify
	return s
}

var (
	errStateForged  = errors.New("was not given by this server")
	errStateExpired = errors.New("has expired: begin anew")
	errStateOfOther = errors.New("was given for another request")
)

func (s *states) sign(payload []byte) []byte {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write(payload)
	return mac.Sum(nil)
}

var stateEncoding = base64.RawURLEncoding.Strict()

func (s *states) seal(sealed state) string {
	payload := encode(sealed)
	return stateEncoding.EncodeToString(payload) + "." + stateEncoding.EncodeToString(s.sign(payload))
}

// verify reads a state, unless it is forged, has expired, or is of another request.
func (s *states) verify(sealed, request string) (state, error) {
	encoded, signature, _ := strings.Cut(sealed, ".")
	payload, err := stateEncoding.DecodeString(encoded)
	signed, unreadable := stateEncoding.DecodeString(signature)
	var opened state
	switch {
	case err != nil, unreadable != nil, !hmac.Equal(signed, s.sign(payload)), json.Unmarshal(payload, &opened) != nil:
		return state{}, errStateForged
	case time.Now().UnixMilli() > opened.Expires:
		return state{}, errStateExpired
	case opened.Request != request:
		return opened, errStateOfOther
	}
	return opened, nil
}
