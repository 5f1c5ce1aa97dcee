package jsonrpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// flawKinds lists the kinds of flaws, in order.
func flawKinds(flaws []jsonrpc.Flaw) string {
	kinds := make([]string, len(flaws))
	for i, flaw := range flaws {
		kinds[i] = string(flaw.Kind)
	}
	return strings.Join(kinds, " ")
}

func TestDecodeFlaws(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		raw, kinds string
		value      any // that is decoded all the same
	}{
		"none":                       {`{"a":[1,true,null,"x"]}`, "", map[string]any{"a": []any{json.Number("1"), true, nil, "x"}}},
		"white space around":         {" \t\r\n{} \n", "", map[string]any{}},
		"nothing":                    {"", "syntax", nil},
		"white space only":           {" \n", "syntax", nil},
		"not JSON":                   {"Server started", "syntax", nil},
		"a bare word":                {"nul", "syntax", nil},
		"cut off":                    {`{"a":`, "syntax", nil},
		"cut off after a member":     {`{"a":1`, "syntax", nil},
		"a name that is no string":   {`{1:2}`, "syntax", nil},
		"a trailing comma":           {`[1,]`, "syntax", nil},
		"single quotes":              {`{'a':1}`, "syntax", nil},
		"a control character":        {"\"\x01\"", "syntax", nil},
		"NaN":                        {`[NaN]`, "syntax", nil},
		"an unfinished escape":       {`"\u12"`, "syntax", nil},
		"a leading zero":             {`01`, "trailing", json.Number("0")},
		"a second value":             {`{}{}`, "trailing", map[string]any{}},
		"garbage behind":             {`{} x`, "trailing", map[string]any{}},
		"a duplicate":                {`{"a":1,"a":2}`, "duplicate", map[string]any{"a": json.Number("2")}},
		"a duplicate by escape":      {`{"a":1,"\u0061":2}`, "duplicate", map[string]any{"a": json.Number("2")}},
		"the same name elsewhere":    {`{"a":{"a":1},"b":{"a":1}}`, "", map[string]any{"a": map[string]any{"a": json.Number("1")}, "b": map[string]any{"a": json.Number("1")}}},
		"names that differ in case":  {`{"a":1,"A":2}`, "", map[string]any{"a": json.Number("1"), "A": json.Number("2")}},
		"not UTF-8":                  {"\"a\xffb\"", "not-utf8", "a\uFFFDb"},
		"an encoded surrogate":       {"\"\xed\xa0\x80\"", "not-utf8", "\uFFFD\uFFFD\uFFFD"},
		"a byte order mark":          {"\xef\xbb\xbf{}", "bom", map[string]any{}},
		"a mark and nothing":         {"\xef\xbb\xbf", "bom syntax", nil},
		"a mark and a duplicate":     {"\xef\xbb\xbf{\"a\":1,\"a\":1}", "bom duplicate", map[string]any{"a": json.Number("1")}},
		"a duplicate, then cut off":  {`{"a":1,"a":2`, "duplicate syntax", nil},
		"not UTF-8, outside strings": {"{}\xff", "not-utf8 trailing", map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, flaws := jsonrpc.Decode([]byte(test.raw))
			if got := flawKinds(flaws); got != test.kinds {
				t.Errorf("flaws %q, wanted %q", got, test.kinds)
			}
			if difference := cmp.Diff(test.value, value); difference != "" {
				t.Errorf("decoded otherwise:\n%s", difference)
			}
		})
	}
}

func TestDecodeLoneSurrogates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		raw  string
		lone bool
	}{
		"a pair":                          {`"\ud83d\ude00"`, false},
		"a pair in upper case":            {`"\uD83D\uDE00"`, false},
		"two pairs":                       {`"\ud83d\ude00\ud83d\ude00"`, false},
		"the first half":                  {`"\ud83d"`, true},
		"the second half":                 {`"\ude00"`, true},
		"the halves swapped":              {`"\ude00\ud83d"`, true},
		"two first halves":                {`"\ud83d\ud83d"`, true},
		"two first halves and the second": {`"\ud83d\ud83d\ude00"`, true},
		"a pair and a half":               {`"\ud83d\ude00\ude00"`, true},
		"halves apart":                    {`"\ud83d \ude00"`, true},
		"a half and another escape":       {`"\ud83d\u0041"`, true},
		"a half before a quote":           {`"\ud83d\""`, true},
		"a half in a name":                {`{"\udfff":1}`, true},
		"a half after text":               {`["ok","\ud800"]`, true},
		"an escaped backslash":            {`"\\ud83d"`, false},
		"two escaped backslashes":         {`"\\\\ud83d"`, false},
		"an escaped backslash and a half": {`"\\\ud83d"`, true},
		"a pair split by a backslash":     {`"\ud83d\\ude00"`, true},
		"just below":                      {`"\ud7ff"`, false},
		"just above":                      {`"\ue000"`, false},
		"the lowest pair":                 {`"\ud800\udc00"`, false},
		"the highest pair":                {`"\udbff\udfff"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, flaws := jsonrpc.Decode([]byte(test.raw))
			want := ""
			if test.lone {
				want = "lone-surrogate"
			}
			if got := flawKinds(flaws); got != want {
				t.Errorf("flaws %q, wanted %q", got, want)
			}
		})
	}
}

func TestFlawsAreTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ raw, text string }{
		"duplicate":      {`{"params":{"list":[{"a":1,"a":2}]}}`, `names the member "a" twice at /params/list/0/a`},
		"escaped":        {`{"a/b":{"x":1,"x":1}}`, `names the member "x" twice at /a~1b/x`},
		"syntax":         {`{"a":[1,x]}`, `is not JSON: invalid character 'x' at start of value at byte 8 at /a/1`},
		"empty":          {"", "is empty"},
		"trailing":       {`{"a":1} {}`, "something follows the JSON value at byte 8"},
		"lone surrogate": {`{"a":"\ud800"}`, "contains a lone surrogate escape at byte 6"},
		"not UTF-8":      {"\"\xff\"", "contains bytes that are not UTF-8"},
		"mark":           {"\xef\xbb\xbf1", "begins with a byte order mark"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, flaws := jsonrpc.Decode([]byte(test.raw))
			if len(flaws) != 1 || flaws[0].String() != test.text {
				t.Errorf("told %q, wanted %q", flaws, test.text)
			}
		})
	}
}

// What breaks a message is told however many members it names twice before.
func TestManyDuplicatesHideNothing(t *testing.T) {
	t.Parallel()
	message := jsonrpc.Parse([]byte(`{` + strings.Repeat(`"a":1,`, 1000) + `!`))
	if flaw, broken := message.Broken(); !broken || flaw.Kind != jsonrpc.Syntax {
		t.Errorf("a broken message passes for whole: %v", message.Flaws)
	}
	if len(message.Flaws) > 20 {
		t.Errorf("%d flaws are kept", len(message.Flaws))
	}
}

// A flaw is for a report: names of megabytes are not kept in it.
func TestFlawsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 1<<12)
	_, flaws := jsonrpc.Decode(fmt.Appendf(nil, `{%q:{%q:1,%q:2}}`, long, long, long))
	if len(flaws) != 1 || len(flaws[0].String()) > 1000 || !strings.Contains(flaws[0].Detail, "ü…") {
		t.Errorf("%d flaws, the first of %d bytes", len(flaws), len(flaws[0].String()))
	}
}

func TestDecodeDepth(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		raw, kinds string
	}{
		"arrays as deep as may be":        {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), ""},
		"arrays one deeper":               {strings.Repeat("[", 5001) + strings.Repeat("]", 5001), "too-complex"},
		"objects as deep as may be":       {strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000), ""},
		"objects one deeper":              {strings.Repeat(`{"a":`, 5001) + "1" + strings.Repeat("}", 5001), "too-complex"},
		"arrays without an end":           {strings.Repeat("[", 100_000), "too-complex"},
		"objects 100,000 deep":            {strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), "too-complex"},
		"broken as deep as may be":        {strings.Repeat("[", 5000) + "x", "syntax"},
		"wide, with duplicates, too deep": {strings.Repeat(`{"a":1,"a":`, 6000), strings.Repeat("duplicate ", 16) + "too-complex"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, flaws := jsonrpc.Decode([]byte(test.raw))
			if got := flawKinds(flaws); got != test.kinds {
				t.Errorf("flaws %q, wanted %q", got, test.kinds)
			}
			if (value == nil) == (test.kinds == "") {
				t.Errorf("the value is nil: %t", value == nil)
			}
		})
	}
}

func TestDecodeManyValues(t *testing.T) {
	t.Parallel()
	const million = 1_000_000
	value, flaws := jsonrpc.Decode([]byte("[" + strings.Repeat("0,", million-1) + "0]"))
	if array, _ := value.([]any); len(array) != million || len(flaws) > 0 {
		t.Errorf("of a million elements %d are read: %v", len(array), flaws)
	}
}

func TestNumbersKeepTheirSpelling(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"0", "-0", "1", "1.0", "1e0", "1E+2", "1e400", "-1.50",
		"123456789012345678901234567890", "0.1e-400"} {
		value, flaws := jsonrpc.Decode([]byte(number))
		if value != json.Number(number) || len(flaws) > 0 {
			t.Errorf("%s is decoded to %v %v", number, value, flaws)
		}
	}
}
