package lazy

import "testing"

func TestCompilesAtFirstUse(t *testing.T) {
	t.Parallel()
	words := MustCompile(`([a-z])([a-z]*)`)
	if got := words.FindStringSubmatch("on"); len(got) != 3 || got[1] != "o" || got[2] != "n" {
		t.Errorf("the parts of a word: %q", got)
	}
	if got := words.ReplaceAllString("to be", "$2$1"); got != "ot eb" {
		t.Errorf("the words turned round: %q", got)
	}

	wrong := MustCompile(`(`)
	if wrong.String() != "(" {
		t.Errorf("the expression as it is written: %q", wrong)
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression does not panic when it is used")
		}
	}()
	wrong.MatchString("")
}
