package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
)

func newRequirements() *cobra.Command {
	command := &cobra.Command{
		Use:   "requirements",
		Short: "List the frozen sets of requirements",
		Long: `A frozen set has the requirements of one revision that were checked when it was
published. It is never changed: a run with --requirements SET judges only by those,
also when a later version checks more.`,
		Example: `  mcpconform requirements
  mcpconform server --requirements ` + protocol.Newest() + `@1 -- ./my-server`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return listSets(command.OutOrStdout(), publishedSets())
		},
	}
	command.AddCommand(newFreeze())
	return command
}

func newFreeze() *cobra.Command {
	var directory string
	command := &cobra.Command{
		Use:   "freeze [flags] REVISION",
		Short: "Write the next set of a revision",
		Long: `Freeze writes what is checked at a revision as the next set of it: each requirement
with its level, the roles that are judged by it and the fingerprints of its sentences.`,
		Example:   "  mcpconform requirements freeze " + protocol.Newest() + " --dir fixtures/requirements",
		ValidArgs: protocol.Released(),
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usageError("freeze takes one revision: mcpconform requirements freeze %s", protocol.Newest())
			}
			if known := protocol.Released(); !slices.Contains(known, arguments[0]) {
				return usageError("the revision %q %s", arguments[0], filter.UnknownRevision(arguments[0], known))
			}
			return freeze(command.OutOrStdout(), arguments[0], directory)
		},
	}
	command.Flags().StringVar(&directory, "dir", ".", "write it into `DIR`")
	return command
}

// freeze writes the next set of a revision, unless the newest has the same.
func freeze(w io.Writer, revision, directory string) error {
	requirements, checked, err := declaredByRole()
	if err != nil {
		return err
	}
	beside, err := catalogue.LoadSets(os.DirFS(directory))
	if err != nil {
		return usageError("--dir %s: %s", directory, files.Reason(err))
	}
	newest := &catalogue.Set{Revision: revision}
	for _, older := range append(publishedSets(), beside...) {
		if older.Revision == revision && older.Number > newest.Number {
			newest = older
		}
	}
	set := catalogue.Freeze(requirements, checked, revision, newest.Number)
	if set.Text() == newest.Text() {
		_, err := fmt.Fprintf(w, "%s has the same requirements: nothing is written\n", newest.Name())
		return err
	}
	set.Number++
	name := filepath.Join(directory, set.File())
	if err := reports.WriteFile(name, func(out io.Writer) error {
		_, err := io.WriteString(out, set.Text())
		return err
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %s\n", name, setCounts(set))
	return err
}

// publishedSets are those that are built in. That they can be read is tested.
func publishedSets() []*catalogue.Set {
	folder, err := fs.Sub(fixtures.Requirements, "requirements")
	if err != nil {
		panic(err)
	}
	sets, err := catalogue.LoadSets(folder)
	if err != nil {
		panic(err)
	}
	return sets
}

func setNames(sets []*catalogue.Set) []string {
	names := make([]string, len(sets))
	for i, set := range sets {
		names[i] = set.Name()
	}
	return names
}

// setCounts says how many requirements a set has for each role.
func setCounts(set *catalogue.Set) string {
	var words []string
	for _, role := range protocol.Roles() {
		words = append(words, fmt.Sprintf("%d of %ss", set.Count(role), role))
	}
	return strings.Join(words, ", ")
}

func listSets(w io.Writer, sets []*catalogue.Set) error {
	for _, set := range sets {
		if _, err := fmt.Fprintf(w, "%s  %s\n", set.Name(), setCounts(set)); err != nil {
			return err
		}
	}
	return nil
}

// completeRequirements finds the set that a run is to be judged by; its revision is that
// of the run.
func (s *settings) completeRequirements(command *cobra.Command) error {
	name, given := s.Requirements, command.Flags().Changed
	if name == "" {
		return nil
	}
	sets := publishedSets()
	at := slices.IndexFunc(sets, func(set *catalogue.Set) bool { return set.Name() == name })
	if at < 0 {
		return usageError("--requirements %q is unknown%s", name, nearest.Hint(name, setNames(sets)))
	}
	s.set = sets[at]
	// What a flag says wins over the config file; two of one place must agree.
	named := given("revision") || !given("requirements") && s.Revision != command.Flags().Lookup("revision").DefValue
	switch revision := s.Revision; {
	case named && revision != "auto" && revision != s.set.Revision:
		return usageError("--requirements %s and --revision %s exclude each other: the set is one of %s",
			name, revision, s.set.Revision)
	case s.explore > 0:
		return usageError("--explore goes beyond --requirements %s: leave one of them out", name)
	}
	s.Revision = s.set.Revision
	return nil
}
