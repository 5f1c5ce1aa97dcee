package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzMessages reads any bytes as a client's stdin. Each line is understood, or answered
// with an error that is itself a message.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1e9}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":null}}` + "\n",
		"[]\nnull\n{}\n\n\"\\ud800\"\n{\"id\":1.0}\n", "{\"id\":\xff}\n", strings.Repeat("a", 100) + "\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(input), 16)
		for {
			text, err := readLine(in, 64)
			if err != nil && !errors.Is(err, errTooLong) {
				return
			}
			if len(text) > 64 || bytes.ContainsRune(text, '\n') {
				t.Fatalf("a line of %d bytes: %q", len(text), text)
			}
			m, malformed := parseMessage(text)
			if malformed != nil {
				answer := encodeError(Revision20250618, m.id, malformed)
				if again, err := parseMessage(answer); m.id != "" && err != nil || again.kind != response {
					t.Fatalf("%q is answered with %s", text, answer)
				}
				continue
			}
			if (m.kind == notification) != (m.id == "") || m.kind == response && (m.result == nil) == (m.err == nil) {
				t.Fatalf("%q is read as %+v", text, m)
			}
			var params struct {
				Name *string `json:"name"`
			}
			if decode(m.params, &params, "params") == nil && params.Name == nil {
				t.Fatalf("%q: the name is there and is not", text)
			}
		}
	})
}

func TestReadLine(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader("12345\n123456\n1\nunfinished"), 16)
	for _, want := range []string{"12345", "", "1"} {
		got, err := readLine(in, 5)
		if string(got) != want || (want == "") != errors.Is(err, errTooLong) {
			t.Errorf("%q %v, not %q", got, err, want)
		}
	}
	if got, err := readLine(in, 5); err == nil {
		t.Errorf("%q", got)
	}
}

func TestMatchTemplate(t *testing.T) {
	for _, test := range []struct{ template, uri, want string }{
		{"a://{x}/c", "a://b/c", `{"x":"b"}`},
		{"a://{x}/{y}", "a://b/c%2Fd", `{"x":"b","y":"c/d"}`},
		{"a://b", "a://b", `{}`},
		{"a://{x}/c", "a://b/d", `no`},
		{"a://{x}/c", "a:///c", `no`},
		{"a://{x}", "a://b/c", `no`},
		{"a://{x}", "a://%zz", `no`},
	} {
		got := "no"
		if variables, ok := matchTemplate(test.template, test.uri); ok {
			raw, err := json.Marshal(variables)
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if got != test.want {
			t.Errorf("%s of %s is %s, not %s", test.uri, test.template, got, test.want)
		}
	}
}

// letter is an item of a list.
type letter string

func (l letter) key() string { return string(l) }

func TestCursorsSurviveChanges(t *testing.T) {
	l := list[letter]{name: "letters", size: 2}
	add := func(letters ...letter) {
		for _, one := range letters {
			if err := l.add(one); err != nil {
				t.Fatal(err)
			}
		}
	}
	page := func(cursor *string) (letters, next string) {
		items, next, err := l.page("", cursor)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(items), next
	}
	add("a", "b", "c", "d")
	first, cursor := page(nil)
	if first != "[a b]" {
		t.Fatal(first)
	}
	l.remove("b")
	l.remove("c")
	add("e")
	if second, end := page(&cursor); second != "[d e]" || end != "" {
		t.Errorf("%v %q", second, end)
	}
}
