package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func jsonText(t *testing.T, run *Run) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := run.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestJSONGolden(t *testing.T) {
	t.Parallel()
	golden(t, "run.json", jsonText(t, sampleRun()))
}

// A document can be printed: it holds no control or invisible character.
func TestJSONIsVisible(t *testing.T) {
	t.Parallel()
	run := sampleRun()
	hidden := "\x1b[31m\u009b\x7f\u202e\U000e0041\ufffe"
	run.Cells[0].Note = hidden
	run.Cells[0].Capabilities = json.RawMessage(`{"a":"` + hidden[5:] + `"}`)
	document := string(jsonText(t, run))
	if Visible(document) != document {
		t.Error("the document has hidden characters")
	}
	got, err := Read(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if got.Cells[0].Note != hidden {
		t.Errorf("%q, wanted %q", got.Cells[0].Note, hidden)
	}
	var capabilities map[string]string
	if err := json.Unmarshal(got.Cells[0].Capabilities, &capabilities); err != nil || capabilities["a"] != hidden[5:] {
		t.Errorf("%q, %v", capabilities, err)
	}
}

// What is written is valid, and read back the same, but for bytes that are not
// UTF-8.
func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	broken := conformingRun()
	broken.Interrupted = "interrupt"
	broken.Errors = []string{"worker 3 died"}
	broken.Draft = sampleDraft()
	for name, run := range map[string]*Run{"sample": sampleRun(), "conforming": conformingRun(), "broken": broken} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := jsonText(t, run)
			got, err := Read(bytes.NewReader(document))
			if err != nil {
				t.Fatal(err)
			}
			want := mapStrings(reflect.ValueOf(run), valid).Interface().(*Run)
			for i := range got.Cells {
				if capabilities := &got.Cells[i].Capabilities; len(*capabilities) > 0 {
					var compact bytes.Buffer
					if err := json.Compact(&compact, *capabilities); err != nil {
						t.Fatal(err)
					}
					*capabilities = compact.Bytes()
				}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("read back differently (-want +got):\n%s", diff)
			}
			if again := jsonText(t, got); !bytes.Equal(document, again) {
				t.Error("written again it is another document")
			}
		})
	}
}

func TestWriteMendsRawJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ raw, want string }{
		{`{"tools":{}}`, `{"tools":{}}`},
		{`{"a":1,"a":2}`, `"{\"a\":1,\"a\":2}"`},
		{"{\"a\":\"\xff\"}", `"{\"a\":\"\\xff\"}"`},
		{`{"not":"finished"`, `"{\"not\":\"finished\""`},
		{"", ""},
		{`  [1, {"deep":[]}] `, `[1,{"deep":[]}]`},
	} {
		raw, want := test.raw, test.want
		run := conformingRun()
		run.Cells[0].Capabilities = json.RawMessage(raw)
		got, err := Read(bytes.NewReader(jsonText(t, run)))
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		var compact bytes.Buffer
		if capabilities := got.Cells[0].Capabilities; len(capabilities) > 0 {
			if err := json.Compact(&compact, capabilities); err != nil {
				t.Error(err)
			}
		}
		if compact.String() != want {
			t.Errorf("%q: %s, wanted %s", raw, compact.String(), want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	good := string(jsonText(t, conformingRun()))
	// with changes one place of a good document.
	with := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("the sample has no %s", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	line := func(document, text string) string {
		before, _, _ := strings.Cut(document, text)
		return "line " + string(rune('0'+1+strings.Count(before, "\n")))
	}
	for name, c := range map[string]struct{ document, want string }{
		"empty":        {"", "the document is empty"},
		"not JSON":     {"<testsuites/>", "line 1, the document itself: "},
		"another":      {`{"results":[]}`, "this is not a run"},
		"a list":       {`[]`, "this is not a run"},
		"newer":        {with(`"format": 1`, `"format": 2`), "use a newer mcpconform"},
		"odd format":   {with(`"format": 1`, `"format": "one"`), `/format: expected 1, found "one"`},
		"cut off":      {good[:len(good)/2], "line "},
		"twice":        {with(`"strict": false`, `"strict": false, "strict": true`), "/strict: duplicate object member name"},
		"trailing":     {good + "{}", "line "},
		"unknown":      {with(`"strict": false`, `"strict": false, "stric": 1`), "additional properties 'stric' not allowed"},
		"bad verdict":  {with(`"verdict": "passed"`, `"verdict": "fine"`), "/legs/0/results/0/verdict: value must be one of 'passed', 'failed'"},
		"tool no name": {with(`"name": "mcpconform"`, `"name": ""`), line(good, `"name": "mcpconform"`) + ", /tool/name: minLength"},
		"two faults":   {strings.ReplaceAll(good, `"kind": "check"`, `"kind": "chck"`), "/legs/0/results/0/kind: value must be one of 'check', 'rule' (and "},
		"when":         {with(`"started": "2026-01-02T03:04:05.678Z"`, `"started": "yesterday"`), "/started: 'yesterday' is not valid date-time"},
		"not UTF-8":    {with(`"mcpconform"`, "\"\xff\""), "/tool/name: invalid UTF-8"},
		"a big number": {with(`"duration": 0.8431`, `"duration": 1e999`), "/duration: "},
		"no note":      {with(`"spoken": true`, `"spoken": false`), "/legs/0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, err := Read(strings.NewReader(c.document))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, wanted one line with %q", err, c.want)
			}
			if run != nil {
				t.Error("an error and a run")
			}
		})
	}
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	if _, err := Read(endless{}); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("error %v", err)
	}
	broken := errors.New("broken on purpose")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v, wanted the one of the reader", err)
	}
}

func TestWriteReturnsTheErrorOfItsWriter(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(io.Writer) error{
		"JSON":     sampleRun().Write,
		"JUnit":    func(w io.Writer) error { return sampleRun().JUnit(w, JUnitOptions{}) },
		"terminal": func(w io.Writer) error { return sampleRun().Terminal(w, TerminalOptions{}) },
	} {
		r, w := io.Pipe()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := write(w); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Every field of the structs stands in the schema, described, and the schema has
// no other.
func TestSchemaNamesEveryField(t *testing.T) {
	t.Parallel()
	namesEveryField(t, Schema(), []string{"Role", "Seconds", "Texts"}, reflect.TypeFor[Run](), reflect.TypeFor[Identity]())
}

// namesEveryField compares a schema with structs, and with those that they are
// made of, but for those that are described elsewhere.
func namesEveryField(t *testing.T, document []byte, elsewhere []string, types ...reflect.Type) {
	t.Helper()
	var schema struct {
		Defs map[string]struct {
			AdditionalProperties *bool
			Properties           map[string]struct {
				Description string
				Ref         string `json:"$ref"`
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(document, &schema); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range elsewhere {
		seen[name] = true
	}
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Slice, reflect.Pointer:
			check(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		name := typ.Name()
		if typ == reflect.TypeFor[time.Time]() || seen[name] {
			return
		}
		seen[name] = true
		def, there := schema.Defs[name]
		if !there {
			t.Errorf("the schema has no %s", name)
			return
		}
		if def.AdditionalProperties == nil || *def.AdditionalProperties {
			t.Errorf("%s: additionalProperties is not false", name)
		}
		var fields []string
		for _, field := range reflect.VisibleFields(typ) {
			if field.Anonymous {
				continue
			}
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields = append(fields, tag)
			property, there := def.Properties[tag]
			if !there {
				t.Errorf("the schema has no %s in %s", tag, name)
			}
			if property.Description == "" && property.Ref != "#/$defs/Role" {
				t.Errorf("%s of %s is not described", tag, name)
			}
			check(field.Type)
		}
		for property := range def.Properties {
			if !slices.Contains(fields, property) {
				t.Errorf("%s has no field %s, which the schema has", name, property)
			}
		}
	}
	for _, one := range types {
		check(one)
	}
	for name := range schema.Defs {
		if !seen[name] {
			t.Errorf("no struct is described by %s", name)
		}
	}
}

// Every format can show each run that Read accepts.
func FuzzRead(f *testing.F) {
	small := sampleRun() // one result: a fuzzer is lost in a long document
	small.Cells = small.Cells[:1]
	small.Cells[0].Results = slices.DeleteFunc(small.Cells[0].Results, func(r Result) bool { return r.Verdict != Warned })
	for _, run := range []*Run{small, conformingRun()} {
		var out bytes.Buffer
		if err := run.Write(&out); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Add([]byte(`{"format":1,"tool":{"name":"x","version":""},"started":"2026-01-02T03:04:05Z","duration":1e300,"target":{"role":"client"},"strict":true,"legs":[{"role":"client","revision":"2025-11-25","transport":"\u001b","spoken":true,"target":{},"duration":0,"capabilities":null,"results":[{"id":"\n","kind":"rule","page":"a\nb","text":"\u202e","requirements":[{"id":"x","level":"MAY","says":""}],"verdict":"failed","failures":[{"hint":"\u0000"}],"duration":0,"exchange":[{"at":-0,"from":"harness","kind":"x"}]}]}]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		run, err := Read(bytes.NewReader(document))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Errorf("an error that does not fit in a line: %q", err)
			}
			return
		}
		written := jsonText(t, run)
		if Visible(string(written)) != string(written) {
			t.Errorf("writes what is not visible: %q", written)
		}
		if _, err := Read(bytes.NewReader(written)); err != nil {
			t.Errorf("does not read what it wrote: %v", err)
		}
		if faults := parse(t, junitText(t, run, JUnitOptions{})).faults(jenkins); len(faults) > 0 {
			t.Errorf("no JUnit XML: %q", faults)
		}
		for _, o := range []TerminalOptions{{}, {Verbose: true}} {
			if text := terminalText(t, run, o); Visible(text) != text {
				t.Errorf("shows what is not visible: %q", text)
			}
		}
	})
}
