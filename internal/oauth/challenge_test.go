package oauth_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

func fields(values ...string) http.Header { return http.Header{"Www-Authenticate": values} }

// written shows challenges for comparison: scheme, token68, then the parameters, those
// that were quoted in quotes.
func written(challenges []oauth.Challenge) []string {
	var all []string
	for _, c := range challenges {
		words := []string{strings.TrimSpace(c.Scheme + " " + c.Token68)}
		for _, p := range c.Params {
			value := p.Value
			if p.Quoted {
				value = fmt.Sprintf("%q", value)
			}
			words = append(words, p.Name+"="+value)
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fields []string
		want   []string
		flaws  int
	}{
		"none":           {nil, nil, 0},
		"empty":          {[]string{"", " ,, "}, nil, 0},
		"scheme alone":   {[]string{"Bearer"}, []string{"Bearer"}, 0},
		"quoted":         {[]string{`Bearer resource_metadata="https://a/b?c=d,e", scope="x y"`}, []string{`Bearer resource_metadata="https://a/b?c=d,e" scope="x y"`}, 0},
		"tokens":         {[]string{`Bearer error=invalid_token,scope=a`}, []string{`Bearer error=invalid_token scope=a`}, 0},
		"space round =":  {[]string{"Bearer realm \t= \"a\" , scope= b"}, []string{`Bearer realm="a" scope=b`}, 0},
		"names' case":    {[]string{`bEaReR Realm="A"`}, []string{`bEaReR realm="A"`}, 0},
		"escapes":        {[]string{`Basic realm="a\"b\\c"`}, []string{`Basic realm="a\"b\\c"`}, 0},
		"token68":        {[]string{"Negotiate aGk=, Bearer"}, []string{"Negotiate aGk=", "Bearer"}, 0},
		"RFC 9110":       {[]string{`Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\""`}, []string{`Basic realm="simple"`, `Newauth realm="apps" type=1 title="Login to \"apps\""`}, 0},
		"decoy inside":   {[]string{`Negotiate, Basic realm="a, Bearer x=\"1\"", bEaReR scope="s" , resource_metadata="https://r"`}, []string{"Negotiate", `Basic realm="a, Bearer x=\"1\""`, `bEaReR scope="s" resource_metadata="https://r"`}, 0},
		"several fields": {[]string{"Negotiate", `Bearer scope="a"`, `DPoP algs="ES256"`}, []string{"Negotiate", `Bearer scope="a"`, `DPoP algs="ES256"`}, 0},
		"unquoted URL":   {[]string{`Bearer resource_metadata=https://a/b, scope="s"`}, []string{`Bearer resource_metadata=https scope="s"`}, 1},
		"open quote":     {[]string{`Bearer realm="a, scope="b`}, []string{`Bearer realm="a, scope="`}, 1},
		"no scheme":      {[]string{`realm="a"`, "Bearer"}, []string{"Bearer"}, 1},
		"given twice":    {[]string{`Bearer scope=a, scope=b`}, []string{"Bearer scope=a scope=b"}, 1},
		"no comma":       {[]string{`Bearer realm="a" scope="b", error=c`}, []string{`Bearer realm="a" error=c`}, 1},
		"value missing":  {[]string{`Bearer a="b", realm=, scope=a`}, []string{`Bearer a="b" scope=a`}, 1},
		"after token68":  {[]string{`Bearer realm=, scope=a`}, []string{"Bearer realm="}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			found, flaws := oauth.Challenges(fields(test.fields...))

			if diff := cmp.Diff(test.want, written(found)); diff != "" {
				t.Error(diff)
			}
			if len(flaws) != test.flaws {
				t.Errorf("flaws: %q, want %d", flaws, test.flaws)
			}
		})
	}
}

func TestBearer(t *testing.T) {
	t.Parallel()
	challenge, found, flaws := oauth.Bearer(fields("Basic realm=x", "bearer scope=a"))
	if scope, has := challenge.Get("scope"); !found || scope != "a" || !has || len(flaws) > 0 {
		t.Errorf("got %v, %v, flaws %q", challenge, found, flaws)
	}
	if _, found, _ := oauth.Bearer(fields("Basic realm=x")); found {
		t.Error("finds Bearer where it is not")
	}
}

func TestChallengesAreBounded(t *testing.T) {
	t.Parallel()
	found, flaws := oauth.Challenges(fields(strings.Repeat("a,", 100000)))
	if len(found) > 64 || len(flaws) != 1 {
		t.Errorf("%d challenges, flaws %q", len(found), flaws)
	}
}

// FuzzChallenges: what was read can be written, and is then read without a flaw as the same.
func FuzzChallenges(f *testing.F) {
	for _, seed := range []string{
		`Basic realm="a, Bearer x=\"1\"", bEaReR scope="s" , resource_metadata="https://r"`,
		"Negotiate aGk==", `Bearer realm=`, `Bearer realm="`, "a b c", `=,"`, "a =b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		challenges, _ := oauth.Challenges(fields(field))
		challenges = slices.DeleteFunc(challenges, func(c oauth.Challenge) bool {
			names := map[string]bool{}
			for _, p := range c.Params {
				names[p.Name] = true
			}
			return len(names) < len(c.Params) // a flaw, and stays one
		})
		var again []string
		for _, c := range challenges {
			again = append(again, c.String())
		}
		reread, flaws := oauth.Challenges(fields(again...))
		if len(flaws) > 0 {
			t.Fatalf("%q: flaws %q", again, flaws)
		}
		for i := range challenges {
			for j := range challenges[i].Params {
				challenges[i].Params[j].Quoted = true
			}
		}
		if diff := cmp.Diff(written(challenges), written(reread)); diff != "" {
			t.Fatal(diff)
		}
	})
}
