package register_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mcpconform/mcpconform/internal/register"
)

const good = `- report: owner/name#1
  role: server
  saw: Answers nothing.
  revisions: [2025-06-18]
  breaks: ping.answered
  fault: ping-unanswered
  missed: true
- report: owner/name#2
  role: client
  saw: Is said to be wrong.
  legal: a-variation
- report: owner/name#3
  role: client
  saw: Shows nothing on the wire.
  unseen: It stays within the client.
`

func TestParse(t *testing.T) {
	t.Parallel()
	reports, err := register.Parse("x.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if len(reports) != 3 || !reports[0].Missed || reports[1].Legal != "a-variation" || reports[2].Line != 12 {
		t.Errorf("read %+v", reports)
	}
	if link := reports[0].Link(); link != "https://github.com/owner/name/issues/1" {
		t.Errorf("links to %s", link)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ from, to, want string }{
		"a map":              {good, "report: a", "x.yaml:1: expected a list of reports"},
		"a text":             {good, "- report", "x.yaml:1: a report: expected a map"},
		"an unknown key":     {"saw:", "seen:", `x.yaml:3: unknown key "seen"`},
		"no number":          {"name#1", "name", `x.yaml:1: report: "owner/name" is not owner/name#number`},
		"another role":       {"role: server", "role: sever", `x.yaml:1: role: "sever"`},
		"nothing seen":       {"saw: Answers nothing.", "saw:", "x.yaml:1: saw: tell what it does"},
		"another revision":   {"2025-06-18", "2025-06-19", `x.yaml:1: revisions: "2025-06-19" is not released`},
		"two ends":           {"missed: true", "legal: x", "x.yaml:1: give one of fault, legal and unseen"},
		"no requirement":     {"  breaks: ping.answered\n", "", "x.yaml:1: breaks: name the requirement"},
		"legal, yet breaks":  {"legal:", "breaks: x\n  legal:", "x.yaml:8: breaks: what is legal breaks nothing"},
		"missed and unseen":  {"unseen:", "missed: true\n  unseen:", "x.yaml:12: missed: only what a fault now shows"},
		"an alias":           {"saw: Answers nothing.", "saw: &x y\n  unseen: *x", "x.yaml:1: aliases of YAML"},
		"a list for a value": {"saw: Answers nothing.", "saw: [x]", "x.yaml:3:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(good, test.from, test.to, 1)
			if _, err := register.Parse("x.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, wanted %s", err, test.want)
			}
		})
	}
}

func TestLoadFindsWhatIsRegisteredTwice(t *testing.T) {
	t.Parallel()
	_, err := register.Load(fstest.MapFS{
		"a.yaml": {Data: []byte(good)},
		"b.yaml": {Data: []byte("- report: owner/name#2\n  role: client\n  saw: Again.\n  legal: a-variation\n")},
	})
	if want := "b.yaml:1: owner/name#2 is registered at a.yaml:8 already"; err == nil || err.Error() != want {
		t.Errorf("got %v, wanted %s", err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("- {report: a/b#1, role: server, saw: x, unseen: y}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		reports, err := register.Parse("x.yaml", text)
		for _, report := range reports {
			if err == nil && (report.Report == "" || report.Line == 0) {
				t.Errorf("read %+v", report)
			}
		}
	})
}
