package mrtr

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

func states() {
	It("continues after a requestState that it did not issue", Verifies("mrtr.state.distrusted"), NeedsProvocation("elicitation"), func(t *T) {
		server := FreshSession(t)
		attempt := begin(t, server, "elicitation")

		for _, forged := range []string{"mcpconform", `{"admin":true}`, "e30", "../../x", strings.Repeat("A", longState)} {
			server.Survives(server.Call("tools/call", attempt.retry(Object{"requestState": forged})))
		}
	})

	It("rejects a requestState with a changed character", Verifies("mrtr.state.protected"), NeedsProvocation("input-state"), func(t *T) {
		server := Session(t)
		asking.NeedSuccess(t, server, "input-state")

		for _, share := range []int{1, 2, 3} { // quarters of its length
			attempt := beginWithState(t, server, "input-state")
			changed := withAnother(attempt.state, len(attempt.state)*share/4)
			reply := server.Call("tools/call", attempt.retry(Object{"requestState": changed}), Once).Must()
			judgeRefused(t, reply, fmt.Sprintf("the requestState %s, changed to %s", Show(attempt.state), Show(changed)))
		}
	})

	It("rejects a requestState with something appended", Verifies("mrtr.state.protected"), NeedsProvocation("input-state"), func(t *T) {
		server := Session(t)
		asking.NeedSuccess(t, server, "input-state")
		attempt := beginWithState(t, server, "input-state")
		changed := attempt.state + "-TAMPERED"

		reply := server.Call("tools/call", attempt.retry(Object{"requestState": changed}), Once).Must()

		judgeRefused(t, reply, "the requestState "+Show(attempt.state)+", with -TAMPERED appended")
	})

	It("rejects a requestState with changed contents", Verifies("mrtr.state.protected"), NeedsProvocation("input-state"), func(t *T) {
		server := Session(t)
		asking.NeedSuccess(t, server, "input-state")
		attempt := beginWithState(t, server, "input-state")
		changed, readable := rewritten(attempt.state)
		if !readable {
			t.NotApplicable("the requestState is opaque, so its contents cannot be changed")
		}

		reply := server.Call("tools/call", attempt.retry(Object{"requestState": changed}), Once).Must()

		judgeRefused(t, reply, fmt.Sprintf("the requestState %s, with its contents changed to %s", Show(attempt.state), Show(changed)))
	})

	movedStates()
}

func movedStates() {
	It("rejects a requestState that it issued for another request",
		Verifies("mrtr.state.bound"), NeedsProvocation("input-state", "input-other-state"), func(t *T) {
			server := Session(t)
			asking.NeedSuccess(t, server, "input-other-state")
			one := beginWithState(t, server, "input-state")
			other := beginWithState(t, server, "input-other-state")

			reply := server.Call("tools/call", other.retry(Object{"requestState": one.state}), Once).Must()

			judgeRefused(t, reply, fmt.Sprintf("a requestState that was issued for the tool %v", one.call["name"]))
		})

	It("rejects a requestState in prompts/get and resources/read that it issued for a tool",
		Verifies("mrtr.state.bound"), NeedsProvocation("input-state"), func(t *T) {
			server := Session(t)
			one := beginWithState(t, server, "input-state")
			stateful := 0

			for _, request := range othersThatAsk(t, server) {
				other := beginWith(server, request)
				if _, gives := other.more["requestState"]; !gives {
					continue // what it needs of a state it does not read
				}
				stateful++
				reply := server.Call(request.Method, other.retry(Object{"requestState": one.state}), Once).Must()
				judgeRefused(t, reply, fmt.Sprintf("a requestState that was issued for the tool %v", one.call["name"]))
			}

			if stateful == 0 {
				t.NotApplicable("no prompt and no resource returns a requestState with its inputRequests")
			}
		})
}

// longState is the length of a requestState that no server has given.
const longState = 16 << 10

// A stateful attempt was answered with a requestState.
type stateful struct {
	attempt
	state string
}

// beginWithState calls a tool that gives a requestState. One that does not makes
// the check inconclusive.
func beginWithState(t *T, server *Server, kind string) stateful {
	begun := begin(t, server, kind)
	state, isText := begun.more["requestState"].(string)
	if !isText || state == "" {
		t.Inconclusive(fmt.Sprintf("the tool %v returned no requestState", begun.call["name"]),
			"name one that does under provocations."+kind+" in mcpconform.yaml")
	}
	return stateful{begun, state}
}

// judgeRefused judges the answer to a retry with something wrong: an error, or the
// question anew, refuses it.
func judgeRefused(t *T, reply Reply, wrong string) {
	t.DemandOf(reply, !asking.Succeeded(reply), "a rejection of "+wrong)
}

// withAnother puts another character in the place of one, in the middle of a word:
// at its end, in base64, some bits mean nothing. The other character differs in
// the first bits of its value.
func withAnother(state string, at int) string {
	for distance := range len(state) {
		if inWord(state, at+distance) {
			at += distance
			break
		}
		if inWord(state, at-distance) {
			at -= distance
			break
		}
	}
	other := "A"
	if 'A' <= state[at] && state[at] <= 'Z' {
		other = "8"
	}
	return state[:at] + other + state[at+1:]
}

func inWord(state string, at int) bool {
	return at >= 2 && at+2 < len(state) &&
		isLetterOrDigit(state[at-2]) && isLetterOrDigit(state[at]) && isLetterOrDigit(state[at+2])
}

func isLetterOrDigit(char byte) bool {
	return '0' <= char && char <= '9' || 'A' <= char && char <= 'Z' || 'a' <= char && char <= 'z'
}

// rewritten changes all values in a requestState that is JSON, as it is or in
// base64, also as the first of several parts, as in tokens.
func rewritten(state string) (changed string, readable bool) {
	part, rest, _ := strings.Cut(state, ".")
	if rest != "" {
		rest = "." + rest
	}
	if other, isJSON := otherValues([]byte(state)); isJSON {
		return string(other), true
	}
	for _, encoding := range []*base64.Encoding{base64.RawURLEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.StdEncoding} {
		text, err := encoding.DecodeString(part)
		if err != nil {
			continue
		}
		if other, isJSON := otherValues(text); isJSON {
			return encoding.EncodeToString(other) + rest, true
		}
	}
	return "", false
}

func otherValues(text []byte) ([]byte, bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	if _, isObject := value.(map[string]any); !isObject {
		return nil, false
	}
	changed, err := json.Marshal(other(value))
	return changed, err == nil
}

// other changes what has no parts, and leaves names as they are.
func other(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			value[name] = other(value[name])
		}
	case []any:
		for i := range value {
			value[i] = other(value[i])
		}
	case string:
		return value + "-" + asking.Marker
	case json.Number:
		return json.Number("1" + strings.TrimPrefix(value.String(), "-"))
	case bool:
		return !value
	}
	return value
}
