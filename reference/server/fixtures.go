// What this server serves, for every page of the specification.

package server

// features is what one session can list and use. It is guarded by session.mu.
type features struct {
	tools     list[*tool]
	resources list[*resource]
	templates list[*resourceTemplate]
	prompts   list[*prompt]
	touched   *int // how often the watched resource has been changed
}

// featuresOf makes the features of a new session.
func featuresOf(revision string) features {
	f := features{touched: new(int)}
	for _, t := range fixtureTools() {
		if t.since <= revision {
			f.tools.add(t.at(revision))
		}
	}
	for _, r := range fixtureResources(f.touched) {
		f.resources.add(r.at(revision))
	}
	for _, t := range fixtureTemplates() {
		f.templates.add(t.at(revision))
	}
	for _, p := range fixturePrompts() {
		f.prompts.add(p.at(revision))
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
