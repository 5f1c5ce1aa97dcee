// What this server serves, for every page of the specification.

package server

import "sync"

// features is what can be listed and used: by one session or, in the stateless
// era, by everybody.
type features struct {
	announce func(method string, params object) // tells of a change
	cursors  string                             // what marks the cursors of its lists

	mu        sync.Mutex
	tools     list[*tool]
	resources list[*resource]
	templates list[*resourceTemplate]
	prompts   list[*prompt]
	touched   int // how often the watched resource has been changed
}

// span is the revisions that have a fixture, first and last; "" for no limit.
type span struct{ since, until string }

func (s span) has(revision string) bool {
	return s.since <= revision && (s.until == "" || revision <= s.until)
}

// featuresOf makes what there is at a revision, with so many tools more. Changes of it are
// announced.
func featuresOf(revision string, moreTools int, announce func(method string, params object)) *features {
	f := &features{announce: announce}
	for _, t := range append(fixtureTools(), moreOf(moreTools)...) {
		if t.has(revision) {
			f.tools.add(t.at(revision))
		}
	}
	for _, r := range fixtureResources() {
		if r.has(revision) {
			f.resources.add(r.at(revision))
		}
	}
	for _, t := range fixtureTemplates() {
		f.templates.add(t.at(revision))
	}
	for _, p := range fixturePrompts() {
		if p.has(revision) {
			f.prompts.add(p.at(revision))
		}
	}
	return f
}

// Media, in base64: a picture of one pixel, and a millisecond of silence.
const (
	pixelPNG   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mMwTpsJAAICATNoejH4AAAAAElFTkSuQmCC"
	silenceWAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="
)

var icons = []icon{{
	Src:      "data:image/png;base64," + pixelPNG,
	MIMEType: "image/png",
	Sizes:    []string{"1x1"},
}}

// exampleMeta shows that anything may carry metadata.
var exampleMeta = object{"com.example/fixture": true}

// exampleAnnotations shows all annotations.
var exampleAnnotations = &annotations{
	Audience:     []string{"user", "assistant"},
	Priority:     0.5,
	LastModified: "2025-11-25T00:00:00Z",
}
