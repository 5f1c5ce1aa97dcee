// What this server serves, for every page of the specification.

package server

import "sync/atomic"

// features is what can be listed and used: by one session or, in the stateless
// era, by everybody.
type features struct {
	announce func(method string, params object) // tells of a change
	cursors  string                             // what marks the cursors of its lists

	tools     list[*tool]
	resources list[*resource]
	templates list[*template]
	prompts   list[*prompt]
	touched   atomic.Int64 // how often the watched resource has been changed
}

// span is the revisions that have a fixture or a method, first and last; "" for no limit.
type span struct{ since, until string }

func (s span) has(revision string) bool {
	return s.since <= revision && (s.until == "" || revision <= s.until)
}

// These are the revisions that have what a fixture shows.
var (
	from20250326 = span{since: Revision20250326}
	from20250618 = span{since: Revision20250618}
	from20251125 = span{since: Revision20251125}
	at20251125   = span{since: Revision20251125, until: Revision20251125}
	until2025    = span{until: Revision20251125}
	from20260728 = span{since: Revision20260728}
)

// described is what a tool, resource, template or prompt says of itself.
type described struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Icons       []object `json:"icons,omitempty"` // from 2025-11-25
	Meta        object   `json:"_meta,omitempty"`

	span
}

func about(name, title, description string) described {
	return described{Name: name, Title: title, Description: description}
}

func (d described) decorated() described {
	d.Icons, d.Meta = icons, exampleMeta
	return d
}

func (d described) during(revisions span) described {
	d.span = revisions
	return d
}

func (d *described) key() string { return d.Name }

// limit takes away what a revision does not have.
func (d *described) limit(revision string) {
	if revision < Revision20251125 {
		d.Icons = nil
	}
	if revision < Revision20250618 {
		d.Title, d.Meta = "", nil
	}
}

// featuresOf makes what there is at a revision, with so many tools more. Changes of it are
// announced. Pages are so small that every list of the fixtures has at least two.
func featuresOf(revision string, moreTools int, announce func(method string, params object)) *features {
	f := &features{
		announce:  announce,
		tools:     list[*tool]{name: "tools", size: 20},
		resources: list[*resource]{name: "resources", size: 4},
		templates: list[*template]{name: "resourceTemplates", size: 2},
		prompts:   list[*prompt]{name: "prompts", size: 4},
	}
	fill(&f.tools, revision, append(fixtureTools(), moreOf(moreTools)...))
	fill(&f.resources, revision, fixtureResources())
	fill(&f.templates, revision, fixtureTemplates())
	fill(&f.prompts, revision, fixturePrompts())
	return f
}

// fill adds what there is at a revision, as it is there.
func fill[T interface {
	key() string
	has(revision string) bool
	limit(revision string)
}](to *list[T], revision string, all []T) {
	for _, one := range all {
		if one.has(revision) {
			one.limit(revision)
			_ = to.add(one)
		}
	}
}

// Media, in base64: a picture of one pixel, and a millisecond of silence.
const (
	pixelPNG   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mMwTpsJAAICATNoejH4AAAAAElFTkSuQmCC"
	silenceWAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="
)

var icons = []object{{"src": "data:image/png;base64," + pixelPNG, "mimeType": "image/png", "sizes": []string{"1x1"}}}

// exampleMeta shows that anything may carry metadata.
var exampleMeta = object{"com.example/fixture": true}

// exampleAnnotations shows all annotations.
var exampleAnnotations = object{
	"audience": []string{"user", "assistant"}, "priority": 0.5, "lastModified": "2025-11-25T00:00:00Z",
}
