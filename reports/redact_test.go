package reports

import (
	"strings"
	"sync"
	"testing"
)

func TestRedactValues(t *testing.T) {
	t.Parallel()
	r := NewRedactor(
		Secret{"Authorization", "Bearer hunter2-token"},
		Secret{"Authorization", "Basic YWxhZGRpbjpvcGVuc2VzYW1l"},
		Secret{"API_TOKEN", "p@ss word/\"quoted\"<&"},
		Secret{"A", "abcdef"}, Secret{"B", "defghi"}, Secret{"C", "abcdefgh"},
		Secret{"DEBUG", "true"}, Secret{"LEVEL", "3"}, Secret{"EMPTY", ""},
	)
	for in, want := range map[string]string{
		"nothing here": "nothing here",
		"token hunter2-token, twice hunter2-token": "token ***, twice ***",
		`{"password":"opensesame"}`:                `{"password":"***"}`,
		"opensesame":                               "***",
		`p@ss word/"quoted"<&`:                     "***",
		`{"x":"p@ss word/\"quoted\"<&"}`:           `{"x":"***"}`,
		`{"x":"p@ss word/\"quoted\"\u003c\u0026"}`: `{"x":"***"}`,
		"?t=p%40ss+word%2F%22quoted%22%3C%26":      "?t=***",
		"abcdefghi":                                "***", // overlapping secrets leave no ends
		"xabcdefghx":                               "x***x",
		`"isError":true, DEBUG=true, debug: true`:  `"isError":true, DEBUG=***, debug: ***`,
		`{"LEVEL":"3","id":3,"level":3}`:           `{"LEVEL":"***","id":3,"level":***}`,
		"EMPTY= and more":                          "EMPTY= and more",
	} {
		if got := r.Redact(in); got != want {
			t.Errorf("%s: %s, wanted %s", in, got, want)
		}
	}
}

func TestRedactPlaces(t *testing.T) {
	t.Parallel()
	r := NewRedactor()
	for in, want := range map[string]string{
		"Authorization: Bearer x":                                               "Authorization: Bearer ***",
		"authorization: secret\r\nHost: a":                                      "authorization: ***\r\nHost: a",
		"Proxy-Authorization: Basic abc=":                                       "Proxy-Authorization: Basic ***",
		"Authorization: Digest username=\"a\", response=\"b\"":                  "Authorization: Digest ***",
		"Cookie: a=\"b\"; c=d":                                                  "Cookie: ***",
		"Set-Cookie: sid=1; Path=/\nVary: *":                                    "Set-Cookie: ***\nVary: *",
		`{"Authorization":"Bearer x","a":1}`:                                    `{"Authorization":"Bearer ***","a":1}`,
		`{"Cookie":["a=\"1\"","b=]"],"a":[1]}`:                                  `{"Cookie":["***"],"a":[1]}`,
		`{"cookie":"sid=\"abc\"","a":1}`:                                        `{"cookie":"***","a":1}`,
		`{"text":"{\"authorization\":\"Bearer x\",\"a\":1}"}`:                   `{"text":"{\"authorization\":\"Bearer ***\",\"a\":1}"}`,
		`curl -H 'Authorization: Bearer x' -H "Cookie: a=b" http://a`:           `curl -H 'Authorization: Bearer ***' -H "Cookie: ***" http://a`,
		"X-Api-Key: 12":                                                         "X-Api-Key: ***",
		"sent Bearer eyJhbGciOi.J9 to":                                          "sent Bearer *** to",
		`WWW-Authenticate: Bearer resource_metadata="https://a/b", scope="c d"`: `WWW-Authenticate: Bearer resource_metadata="https://a/b", scope="c d"`,
		"a Bearer token is wanted, Bearer authentication":                       "a Bearer token is wanted, Bearer authentication",
		"grant_type=refresh_token&refresh_token=abc&client_secret=d":            "grant_type=refresh_token&refresh_token=***&client_secret=***",
		`{"access_token":"a","expires_in":3}`:                                   `{"access_token":"***","expires_in":3}`,
		"https://me:secret@example.com/a http://localhost:8080/b":               "https://***@example.com/a http://localhost:8080/b",
		`"properties":{"password":{"type":"string"}}`:                           `"properties":{"password":{"type":"string"}}`,
		`{"progressToken":"abc","cursor":"x"}`:                                  `{"progressToken":"abc","cursor":"x"}`,
	} {
		got := r.Redact(in)
		if got != want {
			t.Errorf("%s:\n%s, wanted\n%s", in, got, want)
		}
		if again := r.Redact(got); again != got {
			t.Errorf("%s: a second time makes %s", got, again)
		}
	}
}

func TestRedactAll(t *testing.T) {
	t.Parallel()
	r := NewRedactor(Secret{"TOKEN", "hunter2"})
	list := []string{"--env", "TOKEN=hunter2"}
	if got := strings.Join(r.All(list), " "); got != "--env TOKEN=***" || list[1] != "TOKEN=hunter2" {
		t.Errorf("%s, from %v", got, list)
	}
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			if got := r.Redact("a hunter2 b"); got != "a *** b" {
				t.Error(got)
			}
		})
	}
	users.Wait()
}

func FuzzRedact(f *testing.F) {
	f.Add("Authorization: Bearer hunter2", "hunter2")
	f.Add(`{"cookie":"a=\"hunter2\""}`, "hunter2")
	f.Add("aaaaaaaaaaaaa", "aaaa")
	f.Fuzz(func(t *testing.T, s, secret string) {
		got := NewRedactor(Secret{"KEY", secret}).Redact(s)
		// A text made of stars may hold the secret that is made of stars.
		if searchable(secret) && !strings.Contains(secret, "*") && strings.Contains(got, secret) {
			t.Errorf("%q stands in %q", secret, got)
		}
	})
}
