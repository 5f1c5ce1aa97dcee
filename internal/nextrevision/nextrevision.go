// Package nextrevision writes into a checkout of mcpconform what a new revision of the
// specification needs, as a copy of the newest one: its date, the spans of its features, its
// schema, and its place in the reference. What the revision has changed is for people to
// fill in; tests fail until they have. It never writes a part of that.
package nextrevision

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/files"
)

// module is what the go.mod of a checkout begins with.
const module = "module github.com/mcpconform/mcpconform\n"

// The files that are looked into.
const (
	revisions = "internal/protocol/revision.go"
	features  = "internal/protocol/feature.go"
	spans     = "internal/protocol/protocol_test.go"
)

// released finds the dates of the releases, with the names that they have in Go.
var released = regexp.MustCompile(`(?m)^\t(\w+) += "(\d{4}-\d{2}-\d{2})"$`)

// edit is a change of a file that there is: every match of a pattern is replaced.
type edit struct {
	file    string
	pattern string
	with    string
	times   int // that it must match; 0 for any, but not none
}

// Write makes the newest revision of a checkout, from, the model of a new one, and returns
// the files that it has written, by their paths in the checkout. Nothing is written where it
// returns an error, which is one line.
func Write(directory, date, from string) ([]string, error) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return nil, fmt.Errorf("%q is not the date of a revision, such as 2027-01-15", date)
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", directory, files.Reason(err))
	}
	defer func() { _ = root.Close() }()
	source, err := root.ReadFile("go.mod")
	if err != nil || !bytes.HasPrefix(source, []byte(module)) {
		return nil, fmt.Errorf(
			"%s is not a checkout of mcpconform: its go.mod does not begin with %q",
			directory,
			strings.TrimSpace(module),
		)
	}
	source, err = root.ReadFile(revisions)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", revisions, files.Reason(err))
	}
	names := map[string]string{}
	var dates []string
	for _, one := range released.FindAllStringSubmatch(string(source), -1) {
		names[one[2]] = one[1]
		dates = append(dates, one[2])
	}
	slices.Sort(dates)
	switch {
	case len(dates) == 0:
		return nil, fmt.Errorf("%s: expected the dates of the releases; found none", revisions)
	case slices.Contains(dates, date):
		return nil, fmt.Errorf("%s is a revision already", date)
	case names[from] == "":
		return nil, fmt.Errorf("--from %s is no revision of the checkout: it has %s", from, strings.Join(dates, ", "))
	case from != dates[len(dates)-1]:
		return nil, fmt.Errorf(
			"--from %s is not the newest revision of the checkout, which is %s",
			from,
			dates[len(dates)-1],
		)
	case date < from:
		return nil, fmt.Errorf("%s is older than --from %s", date, from)
	}
	name := strings.ToLower(day.Format("Jan2006"))
	if bytes.Contains(source, []byte("\t"+name+" ")) {
		name = strings.ToLower(day.Format("Jan02of2006"))
	}
	before, after, err := apply(root, edits(date, from, name, names[from], len(dates)))
	if err != nil {
		return nil, err
	}
	schema := "schema/" + date + ".json"
	if _, err := root.Lstat(schema); err == nil {
		return nil, fmt.Errorf("%s is there already", schema)
	}
	source, err = root.ReadFile("schema/" + from + ".json")
	if err != nil {
		return nil, fmt.Errorf("schema/%s.json: %w", from, files.Reason(err))
	}
	after[schema] = bytes.ReplaceAll(source, []byte(from), []byte(date))
	return put(root, before, after)
}

// edits are the changes of the files that there are: date is called name, and from was.
func edits(date, from, name, was string, count int) []edit {
	day := func(date string) string { return "Revision" + strings.ReplaceAll(date, "-", "") }
	all := []edit{
		{revisions, `(\t` + was + ` += "[^"]*"\n)`, "${1}\t" + name + ` = "` + date + "\"\n", 1},
		{revisions, was + `\}`, was + ", " + name + "}", 2},
		{revisions, `return ` + was + ` \}`, "return " + name + " }", 1},
		{features, `(return \w+), ` + was + `\n`, "$1, " + name + "\n", 0},
		{spans, fmt.Sprintf(`(protocol\.\w+: +"[x-]{%d})"`, count), `$1?"`, 0},
		{".github/workflows/draft.yml", `--since ` + from, "--since " + date, 1},
	}
	for _, file := range []string{"reference/server/server.go", "reference/client/client.go"} {
		all = append(all,
			edit{file, `(\t` + day(from) + ` += "[^\n]*\n)`, "${1}\t" + day(date) + ` = "` + date + "\"\n", 1},
			edit{file, day(from) + `\}`, day(from) + ", " + day(date) + "}", 1})
	}
	return all
}

// apply returns the files that are changed as they were and as they are then, by path.
func apply(root *os.Root, all []edit) (before, after map[string][]byte, err error) {
	before, after = map[string][]byte{}, map[string][]byte{}
	for _, one := range all {
		if before[one.file] == nil {
			source, err := root.ReadFile(one.file)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", one.file, files.Reason(err))
			}
			before[one.file], after[one.file] = source, source
		}
		pattern := regexp.MustCompile(one.pattern)
		if found := len(pattern.FindAll(after[one.file], -1)); found == 0 || one.times > 0 && found != one.times {
			return nil, nil, fmt.Errorf("%s: expected what %s finds, %d times at least; found it %d times",
				one.file, one.pattern, max(one.times, 1), found)
		}
		after[one.file] = pattern.ReplaceAll(after[one.file], []byte(one.with))
	}
	return before, after, nil
}

// put writes all files, or leaves all as they were: before has those that there were.
func put(root *os.Root, before, after map[string][]byte) ([]string, error) {
	names := slices.Sorted(maps.Keys(after))
	defer func() {
		for _, file := range names {
			_ = root.Remove(file + fresh) // none is left where all went well
		}
	}()
	for _, file := range names {
		if err := root.WriteFile(file+fresh, after[file], readable); err != nil {
			return nil, fmt.Errorf("%s: %w", file, files.Reason(err))
		}
	}
	for i, file := range names {
		if err := root.Rename(file+fresh, file); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", file, files.Reason(err)), restore(root, before, names[:i]))
		}
	}
	return names, nil
}

// restore undoes what was written.
func restore(root *os.Root, before map[string][]byte, written []string) error {
	var wrong error
	for _, file := range written {
		if source, was := before[file]; was {
			wrong = errors.Join(wrong, root.WriteFile(file, source, readable))
		} else {
			wrong = errors.Join(wrong, root.Remove(file))
		}
	}
	return wrong
}

const (
	fresh    = ".new" // after the name of a file that is to take the place of another
	readable = 0o644
)
