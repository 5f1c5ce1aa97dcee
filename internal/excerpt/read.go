package excerpt

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxNodes bounds the values that are remembered of a text, however long.
	maxNodes = 4096
	// maxChildren bounds those of one object or list; more are never shown.
	maxChildren = 64
	// maxKept bounds the values that pointers keep: many members may have the same name.
	maxKept = 512
	// maxGap bounds the number in a gap, in bytes.
	maxGap = 20
	// maxDepth is how deep a text is read; what is deeper is never shown.
	maxDepth = 64
)

type kind byte

const (
	scalar kind = iota
	object
	list
)

func (k kind) open() byte  { return " {["[k] }
func (k kind) close() byte { return " }]"[k] }

// node is a value.
type node struct {
	kind     kind
	raw      string // of a scalar, with an ellipsis where it was cut
	children []child
	more     int  // children that are not remembered
	kept     bool // a pointer names it, or something in it
}

// empty tells whether an object or list has nothing in it.
func (n *node) empty() bool { return len(n.children) == 0 && n.more == 0 }

// child is a member or element, or a gap between some.
type child struct {
	*node
	name string // of a member, as it is written
	gap  int    // how many are left out here; 0 when this is one of them itself
}

// path is what is left of a pointer at some value.
type path []string

// paths reads pointers. What is none of them is left out.
func paths(pointers []string) []path {
	var all []path
	for _, pointer := range pointers {
		if !strings.HasPrefix(pointer, "/") {
			continue
		}
		var tokens path
		for token := range jsontext.Pointer(pointer).Tokens() {
			tokens = append(tokens, token)
		}
		all = append(all, tokens)
	}
	return all
}

// into returns the paths that go on into a child.
func into(paths []path, token string) []path {
	var on []path
	for _, one := range paths {
		if len(one) > 0 && one[0] == token {
			on = append(on, one[1:])
		}
	}
	return on
}

// reader reads a JSON value, or an excerpt of one, as far as brackets and strings
// go: what stands between them is of no interest.
type reader struct {
	text   string
	at     int
	left   int // nodes
	keeps  int // that pointers may still keep
	failed bool
}

func (r *reader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	r.failed = true
	return 0
}

func (r *reader) space() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

// ellipsis takes one, if it stands here.
func (r *reader) ellipsis() bool {
	if strings.HasPrefix(r.text[r.at:], ellipsis) {
		r.at += len(ellipsis)
		return true
	}
	return false
}

// gap takes what stands for several elements or members, and returns how many; 0
// when it is none.
func (r *reader) gap() int {
	if !r.ellipsis() {
		return 0
	}
	digits, _, counted := strings.Cut(r.text[r.at:min(len(r.text), r.at+maxGap)], gapEnd)
	count, err := strconv.Atoi(strings.TrimPrefix(digits, " "))
	if !counted || err != nil || count < 1 || count > len(r.text)*maxGap {
		return 1
	}
	r.at += len(digits) + len(gapEnd)
	return count
}

// value reads the value that begins here, at a depth.
func (r *reader) value(keep []path, depth int) *node {
	r.space()
	r.left--
	read := &node{kept: len(keep) > 0}
	switch r.peek() {
	case '{':
		read.kind = object
	case '[':
		read.kind = list
	default:
		read.raw = r.scalar()
		return read
	}
	r.at++
	if depth == maxDepth {
		if r.skip() {
			read.more = 1
		}
		return read
	}
	r.children(read, keep, depth)
	return read
}

// children reads what stands in an object or list, to its end.
func (r *reader) children(parent *node, keep []path, depth int) {
	index := 0
	for first := true; !r.failed; first = false {
		r.space()
		if r.peek() == parent.kind.close() {
			r.at++
			return
		}
		if !first {
			if r.peek() != ',' {
				r.failed = true
				return
			}
			r.at++
			r.space()
		}
		one := r.child(parent, keep, index, depth)
		index += max(1, one.gap)
		switch {
		case r.failed:
			return
		case one.kept && r.keeping(),
			len(parent.children) < maxChildren && (r.left > 0 || parent.kept && one.telling()):
			parent.add(child{gap: parent.more, node: &node{}})
			parent.add(one)
			parent.more = 0
		default:
			parent.more += max(1, one.gap)
		}
	}
}

// keeping takes one of those that pointers may keep, if there are any left.
func (r *reader) keeping() bool {
	r.keeps--
	return r.keeps >= 0
}

// add takes a child, or a gap that joins the one before.
func (n *node) add(one child) {
	last := len(n.children) - 1
	switch {
	case one.gap == 0 && one.kind == scalar && one.raw == "":
		return
	case one.gap > 0 && last >= 0 && n.children[last].gap > 0:
		n.children[last].gap += one.gap
	default:
		n.children = append(n.children, one)
	}
}

func (r *reader) child(parent *node, keep []path, index, depth int) child {
	if count := r.gap(); count > 0 {
		r.space()
		return child{gap: count, node: &node{}}
	}
	one := child{node: &node{}}
	token := strconv.Itoa(index)
	if parent.kind == object {
		one.name = r.scalar()
		r.space()
		if r.peek() != ':' {
			r.failed = true
			return one
		}
		r.at++
		token = unquoted(one.name)
	}
	one.node = r.value(into(keep, token), depth+1)
	return one
}

// unquoted is the name of a member; one with escapes that mean nothing is taken as
// it is written.
func unquoted(name string) string {
	if plain, err := jsontext.AppendUnquote(nil, name); err == nil {
		return string(plain)
	}
	return strings.Trim(name, `"`)
}

// scalar reads a string, or anything up to the next joint.
func (r *reader) scalar() string {
	from := r.at
	if r.peek() == '"' {
		r.quoted()
		if !r.failed {
			r.ellipsis()
		}
		return r.text[from:min(r.at, len(r.text))]
	}
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n,:]}{[\"", r.text[r.at]) < 0 {
		r.at++
	}
	r.failed = r.failed || r.at == from
	return r.text[from:r.at]
}

// quoted passes over a string.
func (r *reader) quoted() {
	for r.at++; !r.failed; r.at++ {
		switch r.peek() {
		case '\\':
			r.at++
			r.peek() // there must be something that is escaped
		case '"':
			r.at++
			return
		}
	}
}

// skip passes over the rest of an object or list, and tells whether there is any.
func (r *reader) skip() bool {
	from := r.at
	for open := 1; open > 0; {
		switch r.peek() {
		case '"':
			r.quoted()
			continue
		case 0:
			if r.failed {
				return true
			}
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		r.at++
	}
	return r.at > from+1
}
