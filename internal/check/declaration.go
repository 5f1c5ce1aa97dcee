// Package check holds the checks as they are declared: what each verifies, what it needs
// of the target, and its body. Declarations are data. They are collected once, depend on no
// revision, transport or target, and are looked through for mistakes before anything runs
// ([Problems]); package runner gives those that apply to Ginkgo.
package check

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// A Declaration is one check as it is written in suites.
type Declaration struct {
	Place Place
	Group []string // the texts of the Describes around it
	Text  string   // what a good target does
	// Requirements are the ids of those that it verifies; the first one names it.
	Requirements []string
	// Features are those that a revision needs, and Lacks those that it must not have,
	// for the check to be part of a run at it.
	Features, Lacks []protocol.Feature
	Scenario        *scenario.Scenario // in which a check of a client looks; nil for none

	// Transports are the only ones over which it applies; none for all of its requirements.
	Transports []string
	// Capabilities are paths such as "resources.subscribe", all of which the target has to
	// declare, and Extensions such as "tasks" the protocol's own.
	Capabilities, Extensions []string
	// Provocations are the kinds of which a tool has to be known.
	Provocations []string
	Barrier      bool         // it needs the answer to a request that every server must answer
	Alone        bool         // no other check runs meanwhile
	InTurn       bool         // no other that does so, too, runs meanwhile
	Guarded      bool         // it is about authorization
	Tokens       []oauth.Kind // that the harness has to have
	Together     string       // the group over stdio that one worker runs; "" for none
	First        bool         // it begins before others

	Body func(*T)

	mistakes []string // in the arguments of It
}

// Place is where a declaration is written: the path from the root of the repository.
type Place struct {
	File string
	Line int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// An Option says something of a check beside its text.
type Option func(*Declaration)

// collecting is the collection under way: Describe and It have no other way to know it.
var (
	collecting *collection
	mu         sync.Mutex // held while one is
)

type collection struct {
	group    []string
	options  []Option // of the groups, for each check in them
	declared []*Declaration
}

// Collect returns the checks that a function declares by Describe and It, in the order in
// which it does.
func Collect(declare func()) []*Declaration {
	mu.Lock()
	defer mu.Unlock()
	collecting = &collection{}
	defer func() { collecting = nil }()
	declare()
	return collecting.declared
}

// Describe groups the checks that a function declares under a heading. Options hold for all
// of them.
func Describe(heading string, arguments ...any) {
	outer := *collecting
	group := &Declaration{Place: caller(), Text: heading}
	collecting.group = append(slices.Clone(outer.group), heading)
	collecting.options = slices.Clone(outer.options)
	var declare func()
	for _, argument := range arguments {
		switch argument := argument.(type) {
		case Option:
			collecting.options = append(collecting.options, argument)
		case func():
			declare = argument
		default:
			group.mistake(argument, "func()")
		}
	}
	if declare == nil {
		group.mistakes = append(group.mistakes, "it declares nothing: a func() is missing")
	} else {
		declare()
	}
	collecting.group, collecting.options = outer.group, outer.options
	if group.mistakes != nil {
		collecting.declared = append(collecting.declared, group)
	}
}

// It declares a check: the text says what a good target does, Verifies which requirements
// that is, other options what it needs, and a function of a *T how to find out.
// An option that is nil says nothing.
func It(text string, arguments ...any) {
	declared := &Declaration{Place: caller(), Group: collecting.group, Text: text}
	for _, option := range collecting.options {
		option(declared)
	}
	for _, argument := range arguments {
		switch argument := argument.(type) {
		case Option:
			if argument != nil {
				argument(declared)
			}
		case func(*T):
			declared.setBody(argument)
		default:
			declared.mistake(argument, "func(*T)")
		}
	}
	collecting.declared = append(collecting.declared, declared)
}

// mistake notes an argument that has no meaning.
func (d *Declaration) mistake(argument any, wanted string) {
	advice := ""
	if argument == ginkgo.Focus {
		advice = ": Focus was left behind; --filter runs single checks"
	}
	d.mistakes = append(d.mistakes, fmt.Sprintf(
		"an argument is a %T, which is neither an option of package check nor a %s%s", argument, wanted, advice))
}

func (d *Declaration) setBody(body func(*T)) {
	if d.Body != nil {
		d.mistakes = append(d.mistakes, "it has two bodies")
	}
	d.Body = body
}

// root is the directory of the repository, as the compiler wrote it down.
var root = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0) //nolint:dogsled // the file is what is wanted
	return strings.TrimSuffix(filepath.ToSlash(file), "internal/check/declaration.go")
})

// caller is the place from which Describe or It was called.
func caller() Place {
	const beyond = 2 // this function, and that one
	_, file, line, _ := runtime.Caller(beyond)
	return placeOf(file, line)
}

// Row places a check where the function that declares it was called: a row of a table has
// a line of its own.
func Row() Option {
	const beyond = 2 // this function, and the one that declares
	_, file, line, _ := runtime.Caller(beyond)
	return func(d *Declaration) { d.Place = placeOf(file, line) }
}

// placeOf is one in a file as the compiler knows it.
func placeOf(file string, line int) Place {
	return Place{File: strings.TrimPrefix(filepath.ToSlash(file), root()), Line: line}
}

// Name is the headings and the text, each in a line: no two checks of a role have one.
func (d *Declaration) Name() string { return strings.Join(append(slices.Clone(d.Group), d.Text), "\n") }

// Early tells whether a check begins before others.
func (d *Declaration) Early() bool { return d.First || d.Scenario != nil && d.Scenario.Waits }

// Has tells whether a revision has the features that the check needs, and none that it must
// not have.
func (d *Declaration) Has(revision string) bool {
	has := func(feature protocol.Feature) bool { return protocol.Has(revision, feature) }
	return !slices.ContainsFunc(d.Lacks, has) &&
		!slices.ContainsFunc(d.Features, func(feature protocol.Feature) bool { return !has(feature) }) &&
		(d.Scenario == nil || d.Scenario.At(revision))
}
