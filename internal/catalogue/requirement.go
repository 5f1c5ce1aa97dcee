package catalogue

import (
	"path"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Both says that an obligation falls on servers and clients, where Requirement.Obliges
// else tells the one role.
const Both = "both"

// Where a breach can be seen, as Requirement.Observed says it.
const (
	Wire    = "wire"    // in the messages
	Process = "process" // in the process: its start, exit or standard error, and what it tells of its steps
	Unseen  = "unseen"  // nowhere a peer can look
)

// A Requirement is one obligation of the specification.
type Requirement struct {
	ID         string   // lifecycle.version.echoed
	Says       string   // the obligation, in our own words
	Since      string   // first revision where it stands
	Until      string   // last one, or empty
	Covers     []string // fingerprints of the sentences that it states, of any revision
	Stated     string   // why no sentence states it, when Covers is empty
	RestsOn    string   // what stands behind it where that is an example, another document or common sense: it never fails a run
	Observed   string   // Wire, Process or Unseen
	Why        string   // why no peer can see it, or anything else worth knowing
	Transports []string // the only ones it stands for; all, when empty
	Needs      string   // the capability without which it does not matter: tools.listChanged
	Follows    []string // ids of others: a target that breaks one of them breaks this one by the same defect
	File       string   // where the catalogue has it
	Line       int

	obliges perRevision[string]
	levels  perRevision[Level]
	places  perRevision[place]
}

// A place is a page and the heading in it.
type place struct{ Page, Anchor string }

func (p place) String() string {
	if p.Anchor == "" {
		return p.Page
	}
	return p.Page + "#" + p.Anchor
}

// perRevision holds values that stand from one revision until the next one
// that has another.
type perRevision[T any] []dated[T]

type dated[T any] struct {
	Revision string
	Value    T
}

// at returns what stands at a revision; before the first one, the first.
func (p perRevision[T]) at(revision string) (value T) {
	for i, d := range p {
		if i == 0 || d.Revision <= revision {
			value = d.Value
		}
	}
	return value
}

// StandsAt tells whether the requirement is part of a revision.
func (r *Requirement) StandsAt(revision string) bool {
	return slices.Contains(protocol.Released(), revision) &&
		r.Since <= revision && (r.Until == "" || revision <= r.Until)
}

// Applies tells whether the requirement obliges a target that plays the role
// (one of protocol.Roles) at a revision over a transport. An empty revision,
// transport or role means any.
//
// What is of HTTP with SSE alone obliges at every revision that is spoken over it.
func (r *Requirement) Applies(revision, transport, role string) bool {
	stands := revision == "" || r.StandsAt(revision) || r.OfSSE() && protocol.Carries(protocol.SSE, revision)
	return stands && protocol.Carries(transport, revision) &&
		(transport == "" || len(r.Transports) == 0 || slices.Contains(r.Transports, transport)) &&
		(role == "" || r.concerns(revision, role))
}

// Text returns the revision whose text obliges at a revision: that one, or for HTTP with SSE
// the last that has it.
func (r *Requirement) Text(revision string) string {
	if r.OfSSE() && !r.StandsAt(revision) {
		return r.Until
	}
	return revision
}

// OfSSE tells whether the requirement is one of the transport HTTP with SSE alone.
func (r *Requirement) OfSSE() bool { return slices.Equal(r.Transports, []string{protocol.SSE}) }

// concerns tells whether the requirement obliges a role, at a revision or at
// any.
func (r *Requirement) concerns(revision, role string) bool {
	obliges := func(who string) bool {
		return who == role || who == Both && role != protocol.AuthorizationServerRole
	}
	if revision != "" {
		return obliges(r.Obliges(revision))
	}
	return slices.ContainsFunc(r.obliges, func(d dated[string]) bool { return obliges(d.Value) })
}

// Obliges returns who the obligation falls on at a revision: one of
// protocol.Roles, or Both.
func (r *Requirement) Obliges(revision string) string { return r.obliges.at(revision) }

// Level returns how strong the obligation is at a revision.
func (r *Requirement) Level(revision string) Level { return r.levels.at(revision) }

// Page returns the page of the specification that has the requirement at a
// revision: basic/lifecycle.
func (r *Requirement) Page(revision string) string { return r.places.at(revision).Page }

// At returns the page and anchor: basic/lifecycle#version-negotiation.
func (r *Requirement) At(revision string) string { return r.places.at(revision).String() }

// Link returns the address of the sentence's heading on the site of the
// specification.
func (r *Requirement) Link(revision string) string {
	at := r.places.at(revision)
	page := "specification/" + revision + "/" + at.Page
	if path.Base(page) == "index" {
		page = path.Dir(page)
	}
	if document, ok := extensions[at.Page]; ok {
		page = document.path
	}
	if at.Page == practicesTutorial {
		page = "docs/" + at.Page
	}
	link := "https://modelcontextprotocol.io/" + page
	if at.Anchor != "" {
		link += "#" + at.Anchor
	}
	return link
}

// Visible tells whether a peer can see a breach.
func (r *Requirement) Visible() bool { return r.Observed != Unseen }

// pageName returns the word that the ids of a page's requirements begin with:
// the name of its folder under suites.
func pageName(page string) string {
	switch {
	case page == "basic/index", page == "basic/messages":
		return "base"
	case strings.HasPrefix(page, "basic/transports/"):
		return "transports"
	case strings.HasPrefix(page, "basic/authorization/"):
		return "authorization"
	case page == tasksExtension:
		return "tasks-extension" // not the page of tasks of an older revision
	}
	page = strings.TrimSuffix(page, "/index")
	return strings.ReplaceAll(path.Base(page), "_", "-")
}
