package reports

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpconform/mcpconform/internal/oauth"
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
		"https://a.example/cb?code=abcdefgh12&state=x":                          "https://a.example/cb?code=***&state=x",
		"code=abcdefgh12&client_id=x":                                           "code=***&client_id=x",
		"assertion=eyJh.eyJp.c2ln&grant_type=g":                                 "assertion=***&grant_type=g",
		"an assertion: failed, subject_token=eyJh.eyJp.c2ln":                    "an assertion: failed, subject_token=***",
		`{"private_key_pem":"-----BEGIN PRIVATE KEY-----\nMIGH\n"}`:             `{"private_key_pem":"***"}`,
		"-----BEGIN EC PRIVATE KEY-----\nMIGH\n-----END EC PRIVATE KEY-----":    "-----BEGIN EC PRIVATE KEY-----***-----END EC PRIVATE KEY-----",
		`{"code":-32602,"message":"m"} code=-32602 ?code=12`:                    `{"code":-32602,"message":"m"} code=-32602 ?code=12`,
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

// Secrets that the harness gave out are shown by name wherever they stand; others are not.
func TestRedactNamesSecrets(t *testing.T) {
	t.Parallel()
	token := oauth.NewSecret(oauth.IssuedAccessToken, 2, 1)
	redactor := NewRedactor()
	for text, want := range map[string]string{
		`{"Authorization":["Bearer ` + token.Text + `"]}`:         `{"Authorization":["Bearer ‹access token 2 of issuer 1›"]}`,
		"Authorization: Bearer " + token.Text:                     "Authorization: Bearer ‹access token 2 of issuer 1›",
		`{"access_token":"` + token.Text + `"}`:                   `{"access_token":"‹access token 2 of issuer 1›"}`,
		"refresh_token=" + token.Text + "&a=b":                    "refresh_token=‹access token 2 of issuer 1›&a=b",
		`{"access_token":"` + token.Text + `-and-more"}`:          `{"access_token":"***"}`,
		"Authorization: Bearer ‹access token 2 of issuer 1›abcd1": "Authorization: Bearer ***",
	} {
		if got := redactor.Redact(text); got != want {
			t.Errorf("%s\nis shown as %s\nwanted      %s", text, got, want)
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

// secret has what every way of writing a text changes.
const secret = `s3cr3t/+ "quoted" <&> é🚀 \ end`

// A target may write what it was told in its own way.
func TestRedactForms(t *testing.T) {
	t.Parallel()
	r := NewRedactor(Secret{"TOKEN", secret})
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(quoted))
	if err != nil {
		t.Fatal(err)
	}
	forms := []string{
		string(quoted), string(twice), url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(url.PathEscape(secret)),
		fmt.Sprintf("%q", secret), fmt.Sprintf("%+q", secret), html.EscapeString(secret), fmt.Sprintf("%x", secret),
		`"s3cr3t\/+ \"quoted\" <&> \u00e9\ud83d\ude80 \\ end"`, `"s3cr3t/+ \"quoted\" <&> \u00E9\uD83D\uDE80 \\ end"`,
	}
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, before := range []string{"", "a", "ab", "user:"} {
			forms = append(forms, alphabet.EncodeToString([]byte(before+secret)), alphabet.EncodeToString([]byte(before+secret+" and more")))
		}
	}
	for _, form := range forms {
		got := r.Redact("it said " + form + "!")
		if !strings.Contains(got, Redacted) || len(got) > len("it said !")+len(Redacted)+shortestPart+4+len(base64.StdEncoding.EncodeToString([]byte("user: and more"))) {
			t.Errorf("%s became %s", form, got)
		}
		for _, part := range []string{"s3cr", "quoted"} {
			if strings.Contains(strings.ToLower(got), part) {
				t.Errorf("%s became %s", form, got)
			}
		}
	}
}

func TestRedactWhereTextsWereCut(t *testing.T) {
	t.Parallel()
	r := NewRedactor(Secret{"TOKEN", "hunter2-is-a-long-token"})
	for in, want := range map[string]string{
		"it said hunter2-is-a… (3000 bytes)":     "it said ***… (3000 bytes)",
		"it said hunter2-is-a":                   "it said ***",
		`(beginning with "x hunter2-is-a")`:      `(beginning with "x ***")`,
		"a-long-token, it said":                  "***, it said",
		"…a-long-token":                          "…***",
		"hunter2-is-a fine name, and hunter2":    "hunter2-is-a fine name, and hunter2",
		"token: hunter2-is-a-long-token… (9000)": "token: ***… (9000)",
	} {
		if got := r.Redact(in); got != want {
			t.Errorf("%s: %s, wanted %s", in, got, want)
		}
	}
}

func TestRedactURLs(t *testing.T) {
	t.Parallel()
	const address = "https://admin:opensesame@example.com/mcp?token=abc%2Fdef&v=1&id=7&mode=server&empty="
	r := NewRedactor(URLSecrets(address)...)
	for in, want := range map[string]string{
		address:                           "https://***@example.com/mcp?token=***&v=***&id=***&mode=***&empty=",
		"POST /mcp?token=abc%2Fdef&v=1":   "POST /mcp?token=***&v=***",
		"--url '" + address + "' -v":      "--url 'https://***@example.com/mcp?token=***&v=***&id=***&mode=***&empty=' -v",
		`the token "abc/def", id 7`:       `the token "***", id 7`,
		`{"id":7,"v":1,"mode":"server"}`:  `{"id":7,"v":1,"mode":"server"}`,
		"?version=1&id=71":                "?version=1&id=71",
		"admin logs in with opensesame":   "*** logs in with ***",
		"Basic YWRtaW46b3BlbnNlc2FtZQ== ": "Basic *** ",
	} {
		if got := r.Redact(in); got != want {
			t.Errorf("%s:\n%s, wanted\n%s", in, got, want)
		}
	}
	if got := NewRedactor(URLSecrets("http://me:x@a b/?token=x")...).Redact("no URL: http://me:x@a b/?token=x"); got != "no URL: http://***@a b/?***" {
		t.Error(got)
	}
}

// fill puts a text into everything that can hold one.
func fill(value reflect.Value, text string) {
	switch value.Kind() {
	case reflect.String:
		value.SetString(text)
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				fill(value.Field(i), text)
			}
		}
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem(), text)
	case reflect.Slice:
		if value.Type() == rawJSON {
			value.SetBytes([]byte(`{"a":"` + text + `"}`))
			return
		}
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte(text))
			return
		}
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0), text)
	case reflect.Map:
		key, element := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		fill(key, text)
		fill(element, text)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, element)
	default:
	}
}

// holders are the names of fields that hold a text.
func holders(value reflect.Value, text string, name string, reported map[string]bool) {
	switch value.Kind() {
	case reflect.String:
		if strings.Contains(value.String(), text) {
			reported[name] = true
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() {
				holders(value.Field(i), text, value.Type().Name()+"."+field.Name, reported)
			}
		}
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			holders(value.Elem(), text, name, reported)
		}
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			reported[name] = reported[name] || bytes.Contains(value.Bytes(), []byte(text))
			return
		}
		for i := range value.Len() {
			holders(value.Index(i), text, name, reported)
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			holders(key, text, name, reported)
			holders(value.MapIndex(key), text, name, reported)
		}
	default:
	}
}

// No text of a report escapes but those that only the harness writes.
func TestRedactAllTexts(t *testing.T) {
	t.Parallel()
	r := NewRedactor(Secret{"TOKEN", "hunter2-token"})
	type odd struct {
		Bytes   []byte
		Headers map[string][]string
		Any     any
		hidden  string
	}
	own := map[string]bool{}
	for _, empty := range []any{&Run{}, &Selftest{}, &odd{}} {
		fill(reflect.ValueOf(empty).Elem(), "a hunter2-token b")
		if o, isOdd := empty.(*odd); isOdd {
			o.Any, o.hidden = []any{map[string]any{"hunter2-token": "hunter2-token"}}, "hunter2-token"
			o.Headers["Authorization"] = []string{"Bearer short"}
			if got := RedactAll(r, o); got.Headers["Authorization"][0] != "Bearer ***" || got.hidden != "hunter2-token" {
				t.Errorf("%+v", got)
			}
		}
		before, after := map[string]bool{}, map[string]bool{}
		holders(reflect.ValueOf(RedactAll(r, empty)), "hunter2", "", after)
		holders(reflect.ValueOf(empty), "hunter2", "", before)
		for name, holds := range after {
			if holds && !ownWords[name] {
				t.Errorf("%s still has the secret", name)
			}
		}
		for name := range before {
			own[name] = true
		}
	}
	for name := range ownWords {
		of, _, _ := strings.Cut(name, ".")
		if !own[name] && !slices.Contains([]string{"Event", "Header", "Harness"}, of) { // these are of a transcript
			t.Errorf("there is no %s", name)
		}
	}
}

func TestRedactAllKeepsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	run := sampleRun()
	before, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	hidden := RedactAll(NewRedactor(Secret{"A", "server"}, Secret{"B", "mcpconform-sample"}, Secret{"C", "answered"}), run)
	if after, _ := json.Marshal(run); !bytes.Equal(before, after) {
		t.Error("the original has changed")
	}
	var text bytes.Buffer
	if err := hidden.Write(&text); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&text); err != nil {
		t.Error(err)
	}
	same := RedactAll(NewRedactor(), run)
	if unchanged, _ := json.Marshal(same); !bytes.Equal(before, unchanged) {
		t.Errorf("nothing was to be hidden:\n%s\n%s", before, unchanged)
	}
	if RedactAll[*Run](nil, run) != run {
		t.Error("nobody hides anything, and yet there is a copy")
	}
	raw := struct{ JSON json.RawMessage }{json.RawMessage(`{"pin":12345678}`)}
	if got := string(RedactAll(NewRedactor(Secret{"PIN", "12345678"}), raw).JSON); got != `"***"` {
		t.Error(got)
	}
}
