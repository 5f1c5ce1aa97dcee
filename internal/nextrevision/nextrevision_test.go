package nextrevision

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
)

const checkout = "../.."

// next is a date after that of the newest revision.
const next = "2999-12-31"

// copied is a checkout with what is touched, or needed to build the packages below some folders.
func copied(t *testing.T, folders ...string) string {
	t.Helper()
	directory := t.TempDir()
	for _, name := range append(folders, "go.mod", "go.sum", ".github/workflows/draft.yml", "internal/protocol",
		"reference/server/server.go", "reference/client/client.go", "schema") {
		err := filepath.WalkDir(filepath.Join(checkout, name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			inside, err := filepath.Rel(checkout, path)
			if err != nil {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			write(t, directory, inside, string(source))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func write(t *testing.T, directory, name, text string) {
	t.Helper()
	path := filepath.Join(directory, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// state is what a folder has, by path.
func state(t *testing.T, directory string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := os.ReadFile(path)
		found[path] = string(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestWrite writes into a copy of this checkout, and touches nothing else.
func TestWrite(t *testing.T) {
	t.Parallel()
	directory := copied(t)
	before := state(t, directory)

	written, err := Write(directory, next, protocol.Newest())

	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		".github/workflows/draft.yml", "internal/protocol/feature.go", "internal/protocol/protocol_test.go", "internal/protocol/revision.go",
		"reference/client/client.go", "reference/server/server.go", "schema/" + next + ".json",
	}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	after := state(t, directory)
	for path, text := range after {
		inside, err := filepath.Rel(directory, path)
		if err != nil {
			t.Fatal(err)
		}
		touched := text != before[path]
		if named := strings.Contains(strings.Join(written, "\n"), inside); touched != named {
			t.Errorf("%s is written: %t, told: %t", inside, touched, named)
		}
	}
	if _, err := Write(directory, next, protocol.Newest()); err == nil || err.Error() != next+" is a revision already" {
		t.Error(err)
	}
	if again, err := Write(directory, "2999-12-32", next); err == nil || again != nil {
		t.Error(again, err)
	}
}

// TestACopyAsksForAnswers builds the copy: the tests of what is not filled in fail there, and
// none does once it is.
func TestACopyAsksForAnswers(t *testing.T) {
	t.Parallel()
	slowtest.Skip(t)
	directory := copied(t, "internal/excerpt", "internal/jsonrpc")
	run := func(fails bool, says ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "go", "test", "-run", "Feature|Release|Revision|Definition|Draft", "./internal/protocol", "./schema")
		command.Dir = directory
		command.Env = append(os.Environ(), "MCP_SCHEMA_DIR=") // no schema was published of the revision
		found, err := command.CombinedOutput()
		if (err != nil) != fails {
			t.Errorf("%v\n%s", err, found)
		}
		for _, one := range says {
			if !strings.Contains(string(found), one) {
				t.Errorf("does not say %q:\n%s", one, found)
			}
		}
	}
	run(false)
	if _, err := Write(directory, next, protocol.Newest()); err != nil {
		t.Fatal(err)
	}
	run(true, "TestFeaturesOfReleases", "want ----x?")

	source, err := os.ReadFile(filepath.Join(directory, spans))
	if err != nil {
		t.Fatal(err)
	}
	write(t, directory, spans, strings.NewReplacer("x?", "xx", "-?", "--").Replace(string(source)))
	run(false)
}

func TestWriteOfNothing(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		date, from string
		change     func(directory string)
		says       string
	}{
		"no date":          {"2027", protocol.Newest(), nil, `"2027" is not the date of a revision, such as 2027-01-15`},
		"no day":           {"2027-02-30", protocol.Newest(), nil, `"2027-02-30" is not the date`},
		"a revision":       {protocol.Newest(), protocol.Newest(), nil, protocol.Newest() + " is a revision already"},
		"an older date":    {"2025-01-01", protocol.Newest(), nil, "2025-01-01 is older than --from " + protocol.Newest()},
		"from none":        {next, "2025-01-01", nil, "--from 2025-01-01 is no revision of the checkout: it has " + strings.Join(protocol.Released(), ", ")},
		"from an older":    {next, "2025-11-25", nil, "--from 2025-11-25 is not the newest revision of the checkout, which is " + protocol.Newest()},
		"no checkout":      {next, protocol.Newest(), func(d string) { write(t, d, "go.mod", "module example.com/other\n") }, "is not a checkout of mcpconform"},
		"nothing at all":   {next, protocol.Newest(), func(d string) { _ = os.RemoveAll(d) }, "no such file or directory"},
		"a schema":         {next, protocol.Newest(), func(d string) { write(t, d, "schema/"+next+".json", "{}") }, "schema/" + next + ".json is there already"},
		"no schema":        {next, protocol.Newest(), func(d string) { _ = os.Remove(filepath.Join(d, "schema", protocol.Newest()+".json")) }, "schema/" + protocol.Newest() + ".json: no such file"},
		"other code":       {next, protocol.Newest(), func(d string) { write(t, d, features, "package protocol\n") }, features + ": expected what "},
		"no room to write": {next, protocol.Newest(), func(d string) { write(t, d, "schema/"+next+".json.new/x", "") }, "schema/" + next + ".json: is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := copied(t)
			if one.change != nil {
				one.change(directory)
			}
			var before map[string]string
			if name != "nothing at all" {
				before = state(t, directory)
			}

			written, err := Write(directory, one.date, one.from)

			if err == nil || !strings.Contains(err.Error(), one.says) || strings.Contains(err.Error(), "\n") || written != nil {
				t.Errorf("%v, %v; want %q", written, err, one.says)
			}
			if before != nil {
				if diff := cmp.Diff(before, state(t, directory)); diff != "" {
					t.Errorf("something was written (-was +is):\n%s", diff)
				}
			}
		})
	}
}

// What was written before something went wrong is as it was.
func TestPutIsNoHalf(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	write(t, directory, "a", "was")
	write(t, directory, "c/d", "in a folder")
	root, err := os.OpenRoot(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	before := state(t, directory)

	_, err = put(root, map[string][]byte{"a": []byte("was")}, map[string][]byte{"a": []byte("is"), "b": []byte("new"), "c": []byte("new")})

	if diff := cmp.Diff(before, state(t, directory)); diff != "" || err == nil {
		t.Errorf("%v (-was +is):\n%s", err, diff)
	}
}
