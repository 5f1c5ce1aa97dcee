package fault

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestParseTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	const beginning = "- id: a-fault\n  says: x\n  breaks: [a.b]\n  when: {response-to: ping}\n"
	for name, one := range map[string]struct{ text, says string }{
		"unknown key":         {"- id: a\n  say: x\n", `f.yaml:2: unknown key "say", did you mean "says"?`},
		"key of a match":      {"- id: a\n  says: x\n  when:\n    methd: ping\n", `f.yaml:4: unknown key "methd", did you mean "method"?`},
		"key of an action":    {beginning + "  do: [{replce: /a, with: 1}]\n", `f.yaml:5: unknown key "replce", did you mean "replace"?`},
		"key of a condition":  {"- id: a\n  says: x\n  when: {where: {/a: {iss: 1}}}\n", `f.yaml:3: unknown key "iss", did you mean "is"?`},
		"two verbs":           {beginning + "  do: [{drop: true, cut: true}]\n", "exactly one verb, not 2: drop, cut"},
		"no verb":             {beginning + "  do: [{with: 1}]\n", "exactly one verb, not 0: with"},
		"a stray companion":   {beginning + "  do: [{drop: true, with: 1}]\n", "with does not belong beside drop"},
		"nothing with":        {beginning + "  do: [{replace: /result}]\n", `replace needs "with"`},
		"no pointer":          {beginning + "  do: [{remove: result}]\n", `"result" is no JSON pointer`},
		"no change":           {"- id: a\n  says: x\n", "nothing is changed"},
		"do without when":     {"- id: a\n  says: x\n  switch: s\n  do: [{drop: true}]\n", "do without when"},
		"id":                  {"- id: A Fault\n  says: x\n  switch: s\n", "expected lower-case words with hyphens"},
		"says":                {"- id: a\n  switch: s\n", `key "says" is missing`},
		"not a list":          {"id: a\n", "f.yaml:1: expected a list of faults"},
		"bad expression":      {beginning + "  do: [{substitute: '(', by: x}]\n", "is no regular expression"},
		"bad hex":             {beginning + "  do: [{hex: fz}]\n", "hex:"},
		"bad JSON":            {beginning + "  do: [{answer: {$json: '{'}}]\n", "is no JSON"},
		"bad rewriting":       {beginning + "  do: [{rewrite: space}]\n", `did you mean "spaces"?`},
		"a head's edit":       {"- id: a\n  says: x\n  when: {http: {method: GET}}\n  do: [{remove: /a}]\n", "cannot be done with the head"},
		"a process' edit":     {"- id: a\n  says: x\n  when: {process: start}\n  do: [{remove: /a}]\n", "cannot be done at an event of the process"},
		"an alias":            {"- id: a\n  says: &x y\n  seen: *x\n", "aliases of YAML"},
		"a type":              {beginning + "  do: [{repeat: often}]\n", `f.yaml:5: "often" stands where a whole number belongs`},
		"two documents":       {beginning + "  do: [{drop: true}]\n---\n[]\n", "more than one document"},
		"a counted id":        {beginning + "  do: [{send: {jsonrpc: '2.0', id: 4711, result: {}}}]\n", "may have the id 4711 of this response by chance"},
		"not UTF-8":           {"\xff", "not UTF-8"},
		"a live query":        {"- id: a\n  says: x\n  role: client\n  when: {http: {method: GET}}\n  do: [{query: {a: b}}]\n", "expected into: recording"},
		"a live outcome":      {"- id: a\n  says: x\n  role: client\n  when: {carried: outcome}\n  do: [{drop: true}]\n", "expected into: recording"},
		"late in a recording": {"- id: a\n  says: x\n  role: client\n  into: recording\n  when: {method: ping}\n  do: [{delay: 1s}]\n", "cannot be done with a recording"},
		"into a server":       {"- id: a\n  says: x\n  into: recording\n  when: {method: ping}\n  do: [{drop: true}]\n", "into is for faults of a client"},
		"also-breaks":         {beginning + "  also-breaks: {a.b: why}\n  do: [{drop: true}]\n", "also-breaks: a.b is among what it breaks"},
		"may-break":           {beginning + "  may-break: {a.c: ''}\n  do: [{drop: true}]\n", "may-break a.c: expected what it hangs on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse("f.yaml", []byte(one.text)); err == nil || !strings.Contains(err.Error(), one.says) {
				t.Errorf("wanted %q\nfound  %v", one.says, err)
			}
		})
	}
}

func TestLoadKnowsAllFilesAndWantsDifferentIDs(t *testing.T) {
	t.Parallel()
	const text = "- {id: a, says: x, when: {method: ping, direction: in}, do: [{drop: true}]}\n"
	faults, err := Load(fstest.MapFS{"a.yaml": {Data: []byte(text)}, "notes.txt": {Data: []byte("x")}})
	if err != nil || len(faults) != 1 || faults[0].File != "a.yaml" || faults[0].Line != 1 {
		t.Errorf("found %v, %v", faults, err)
	}
	_, err = Load(fstest.MapFS{"a.yaml": {Data: []byte(text)}, "b.yaml": {Data: []byte("\n" + text)}})
	if err == nil || !strings.Contains(err.Error(), `b.yaml:2: id "a" is taken: a.yaml:1 has it`) {
		t.Errorf("found %v", err)
	}
}
