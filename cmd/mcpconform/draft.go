package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/schema"
	"github.com/mcpconform/mcpconform/suites"
)

func (s *settings) addDraftFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.spec, "spec", "",
		"with --revision draft: `DIR`ectory with the pages of the specification, as mcpconform trace takes it")
	flags.StringVar(&s.schema, "schema", "", "with --revision draft: `FILE` with the schema of the draft")
}

// draftWords are the flags that name the draft; none without one.
func (s *settings) draftWords() []string {
	if s.draft == nil {
		return nil
	}
	return []string{"--revision", catalogue.Draft, "--spec", s.spec, "--schema", s.schema}
}

// completeDraft reads the draft that a run is to be judged by: its messages name the newest
// release, whose checks it has.
func (s *settings) completeDraft() error {
	named := strings.Split(s.Revision, ",")
	switch given := s.spec != "" || s.schema != ""; {
	case !slices.Contains(named, catalogue.Draft) && given:
		return usageError("--spec and --schema need --revision draft")
	case !slices.Contains(named, catalogue.Draft) || s.role == protocol.AuthorizationServerRole:
		return nil // what is no revision is told with the others
	case len(named) > 1:
		return usageError(
			"--revision draft excludes others: its schema takes the place of that of %s",
			protocol.Newest(),
		)
	case s.spec == "" || s.schema == "":
		return usageError(
			"--revision draft needs --spec DIR, a checkout of the specification, and --schema FILE, its schema of the draft",
		)
	}
	draft, err := readDraft(s.schema)
	if err != nil {
		return usageError("--schema %s: %s", s.schema, files.Reason(err))
	}
	missing, err := uncatalogued(s.spec)
	if err != nil {
		return usageError("--spec %s: %s", s.spec, err)
	}
	draft.Use()
	s.draftSchema = draft.Document
	s.draft = &reports.Draft{
		As: protocol.Newest(), Schema: s.schema, Spec: s.spec,
		Changed: draft.Changed, Gone: draft.Gone, Uncatalogued: missing,
	}
	return nil
}

func readDraft(name string) (draft *schema.Draft, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return schema.ReadDraft(file)
}

// uncatalogued are the normative sentences of the draft in a checkout that no requirement
// states, each with its place.
func uncatalogued(directory string) ([]string, error) {
	specification, err := catalogue.ReadSpecification(os.DirFS(directory))
	if err != nil {
		return nil, err
	}
	requirements, err := suites.Catalogue()
	if err != nil {
		return nil, err
	}
	changes, err := specification.Since(requirements, protocol.Newest(), catalogue.Draft)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, change := range changes {
		for _, one := range change.Sentences() {
			if one.Uncatalogued() {
				sentence := asText(one.After)
				missing = append(missing, fmt.Sprintf("%s: %s", sentence.At, sentence.Text))
			}
		}
	}
	return missing, nil
}
