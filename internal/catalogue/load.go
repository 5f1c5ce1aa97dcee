package catalogue

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

const (
	// fileName is what each page's part of the catalogue is called.
	fileName = "requirements.yaml"
	// maxFile bounds one file, in bytes. The largest page has some hundred
	// requirements of some hundred bytes each.
	maxFile = 1 << 20
	// maxSays keeps a requirement to what a line or two of a report hold, in
	// characters.
	maxSays = 240
	// maxProblems bounds what is told of one file; a person mends the first few.
	maxProblems = 100
	// maxShown is how much of a wrong value a message shows, in characters.
	maxShown = 60
)

// Load reads every requirements.yaml below the root of fsys. The error joins
// all that is wrong in all of the files; each line begins with file:line.
func Load(fsys fs.FS) (*Catalogue, error) {
	files, err := parseFiles(fsys)
	if err != nil {
		return nil, fmt.Errorf("reading the catalogue: %w", err)
	}
	catalogue := &Catalogue{ids: map[string]*Requirement{}}
	var problems []error
	for _, file := range files {
		problems = append(problems, file.problems...)
		for _, requirement := range file.requirements {
			if first, taken := catalogue.ids[requirement.ID]; taken {
				problems = append(problems, fmt.Errorf("%s:%d: id %q is taken: %s:%d has it",
					requirement.File, requirement.Line, requirement.ID, first.File, first.Line))
				continue
			}
			catalogue.ids[requirement.ID] = requirement
			catalogue.all = append(catalogue.all, requirement)
		}
	}
	if len(problems) == 0 { // else they make others
		problems = catalogue.following()
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	slices.SortFunc(catalogue.all, func(a, b *Requirement) int { return cmp.Compare(a.ID, b.ID) })
	return catalogue, nil
}

// parsed is what a file says, and what is wrong in it.
type parsed struct {
	requirements []*Requirement
	problems     []error
}

// parseFiles parses all files, in the order of their names, and at the same time: every run
// waits for that.
func parseFiles(fsys fs.FS) (files []*parsed, err error) {
	var parsing sync.WaitGroup
	defer parsing.Wait()
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(name) != fileName {
			return err
		}
		source, err := readBounded(fsys, name, maxFile)
		if err != nil {
			return err
		}
		file := &parsed{}
		files = append(files, file)
		parsing.Go(func() { file.requirements, file.problems = parseFile(name, source) })
		return nil
	})
	return files, err
}

// following says what is wrong with what requirements follow from: each is known,
// can be broken by the same target, and does not follow in turn from what follows it.
func (c *Catalogue) following() []error {
	var problems []error
	for _, r := range c.all {
		for _, id := range r.Follows {
			from, known := c.ids[id]
			problem := ""
			switch {
			case !known:
				problem = fmt.Sprintf("there is no requirement %q%s", id, suggest(id, slices.Collect(maps.Keys(c.ids))))
			case !r.together(from):
				problem = id + " never stands beside it, for one role at one revision"
			case c.leadsTo(from, r.ID):
				problem = id + " follows from it in turn"
			}
			if problem != "" {
				problems = append(problems, fmt.Errorf("%s:%d: %s: follows: %s", r.File, r.Line, r.ID, problem))
			}
		}
	}
	return problems
}

// leadsTo tells whether a requirement follows from another, over however many others.
func (c *Catalogue) leadsTo(from *Requirement, id string) bool {
	seen := map[string]bool{}
	var leads func(*Requirement) bool
	leads = func(at *Requirement) bool {
		if at == nil || seen[at.ID] {
			return false
		}
		seen[at.ID] = true
		return slices.ContainsFunc(at.Follows, func(next string) bool { return next == id || leads(c.ids[next]) })
	}
	return leads(from)
}

// together tells whether two requirements oblige one role at one revision.
func (r *Requirement) together(other *Requirement) bool {
	for _, revision := range protocol.Released() {
		for _, role := range protocol.Roles() {
			if r.Applies(revision, "", role) && other.Applies(revision, "", role) {
				return true
			}
		}
	}
	return false
}

// parseFile returns the requirements of a file and all that is wrong in it.
// A requirement with an id is returned even if other things are wrong with
// it, so that its id is known to be taken.
func parseFile(name string, source []byte) ([]*Requirement, []error) {
	p := &fileParser{file: name}
	if !utf8.Valid(source) {
		return nil, []error{fmt.Errorf("%s:1: not UTF-8", name)}
	}
	var requirements []*Requirement
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.syntax(err)
			return nil, p.errors()
		}
		body := document.Content[0]
		switch {
		case body.Kind == yaml.SequenceNode:
		case body.ShortTag() == nullTag:
			continue // nothing but comments
		default:
			p.fail(body, "expected a list of requirements, each beginning with \"- id:\"")
			continue
		}
		for _, item := range body.Content {
			if requirement := p.requirement(item); requirement != nil && requirement.ID != "" {
				requirements = append(requirements, requirement)
			}
		}
	}
	slices.SortStableFunc(p.problems, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	return requirements, p.errors()
}

type fileParser struct {
	file     string
	problems []problem
}

type problem struct {
	line int
	text string
}

func (p *fileParser) errors() []error {
	var all []error
	for index, problem := range p.problems {
		if index == maxProblems {
			return append(all, fmt.Errorf("%s:%d: and %d more", p.file, problem.line, len(p.problems)-index))
		}
		all = append(all, fmt.Errorf("%s:%d: %s", p.file, problem.line, problem.text))
	}
	return all
}

func (p *fileParser) fail(at *yaml.Node, format string, args ...any) {
	p.failAt(at.Line, format, args...)
}

func (p *fileParser) failAt(line int, format string, args ...any) {
	p.problems = append(p.problems, problem{line, fmt.Sprintf(format, args...)})
}

// syntaxError is how the YAML library tells a place. Of what is wrong in the
// structure it tells the line before.
var syntaxError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (p *fileParser) syntax(err error) {
	message := excerpt.OneLine(err.Error())
	line := 1
	if found := syntaxError.FindStringSubmatch(message); found != nil {
		message = message[len(found[0]):]
		if at, err := strconv.Atoi(found[1]); err == nil {
			line = at
		}
	}
	p.failAt(line, "%s", message)
}

// keys are those of a requirement, in the order in which people write them.
var keys = []string{
	"id", "obliges", "level", "says", "since", "until", "at", "covers",
	"stated", "rests-on", "observed", "why", "transports", "needs", "follows",
}

var (
	idPattern          = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+$`)
	fingerprintPattern = regexp.MustCompile(`^[0-9a-f]{8}$`)
	placePattern       = regexp.MustCompile(`^[a-z_]+(?:/[a-z_-]+)*(?:#[^\s#]+)?$`)
	needsPattern       = regexp.MustCompile(`^[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*$`)
)

func (p *fileParser) requirement(node *yaml.Node) *Requirement {
	fields, order := p.mapping(node, "a requirement")
	if fields == nil {
		return nil
	}
	for _, key := range order {
		if !slices.Contains(keys, key.name) {
			p.failAt(key.line, "unknown key %q%s", key.name, suggest(key.name, keys))
		}
	}
	r := &Requirement{File: p.file, Line: node.Line}
	if id := fields["id"]; id != nil {
		r.Line = id.Line
	}
	for _, key := range []string{"id", "obliges", "level", "says", "since", "at", "observed"} {
		if _, ok := fields[key]; !ok {
			p.failAt(r.Line, "%skey %q is missing", p.about(fields), key)
		}
	}

	r.ID = p.text(fields, "id")
	if r.ID != "" && !idPattern.MatchString(r.ID) {
		p.fail(
			fields["id"],
			"id %q: expected lower-case words with dots and hyphens, as in lifecycle.version.echoed",
			r.ID,
		)
	}
	r.Says = p.text(fields, "says")
	if n := utf8.RuneCountInString(r.Says); n > maxSays {
		p.fail(fields["says"], "says is %d characters long: expected at most %d", n, maxSays)
	}
	r.Since = p.oneOf(fields, "since", protocol.Released()...)
	r.Until = p.oneOf(fields, "until", protocol.Released()...)
	if r.Until != "" && r.Since > r.Until {
		p.fail(fields["until"], "until %s is before since %s", r.Until, r.Since)
	}
	r.Observed = p.oneOf(fields, "observed", Wire, Process, Unseen)
	r.Why = p.text(fields, "why")
	if r.Observed == Unseen && fields["why"] == nil {
		p.fail(
			fields["observed"],
			"observed is unseen: expected the key \"why\" with the reason that no peer can see it",
		)
	}
	r.Stated = p.text(fields, "stated")
	r.RestsOn = p.text(fields, "rests-on")
	r.Needs = p.text(fields, "needs")
	if r.Needs != "" && !needsPattern.MatchString(r.Needs) {
		p.fail(fields["needs"], "needs %q: expected a capability, as in tools.listChanged", r.Needs)
	}
	for _, transport := range p.list(fields, "transports") {
		if value, ok := p.known(transport, "transports", protocol.Transports()); ok {
			r.Transports = append(r.Transports, value)
		}
	}
	p.covers(r, fields)
	p.follows(r, fields)
	p.obliges(r, fields["obliges"])
	p.levels(r, fields["level"])
	if r.RestsOn != "" && slices.ContainsFunc(r.levels, func(d dated[Level]) bool { return !d.Value.Warning() }) {
		p.fail(
			fields["rests-on"],
			"rests-on is for a requirement that no sentence of the specification has: expected the level SHOULD or SHOULD NOT beside it",
		)
	}
	p.places(r, fields["at"])
	return r
}

// about names the requirement that a message is about, when it has an id.
func (p *fileParser) about(fields map[string]*yaml.Node) string {
	if id, ok := scalar(fields["id"]); ok && idPattern.MatchString(id) {
		return id + ": "
	}
	return ""
}

func (p *fileParser) covers(r *Requirement, fields map[string]*yaml.Node) {
	isList := fields["covers"] != nil && fields["covers"].Kind == yaml.SequenceNode
	for _, node := range p.list(fields, "covers") {
		value, ok := scalar(node)
		switch {
		case !ok || !fingerprintPattern.MatchString(value):
			p.fail(node, "covers %s: expected a fingerprint of 8 hex digits in lower case, as in 3f9a1c02", shown(node))
		case slices.Contains(r.Covers, value):
			p.fail(node, "covers names %s twice", value)
		default:
			r.Covers = append(r.Covers, value)
		}
	}
	switch {
	case len(r.Covers) == 0 && fields["stated"] == nil && fields["covers"] == nil:
		p.failAt(
			r.Line,
			"%skey \"covers\" is missing; where no sentence states the requirement, \"stated\" says why",
			p.about(fields),
		)
	case isList && len(r.Covers) == 0 && fields["stated"] == nil:
		p.fail(
			fields["covers"],
			"covers is empty: expected fingerprints, or the key \"stated\" with the reason that there is no sentence",
		)
	case len(r.Covers) > 0 && fields["stated"] != nil:
		p.fail(fields["stated"], "stated is for a requirement without a sentence, but covers names some")
	}
}

func (p *fileParser) follows(r *Requirement, fields map[string]*yaml.Node) {
	for _, node := range p.list(fields, "follows") {
		value, ok := scalar(node)
		switch {
		case !ok || !idPattern.MatchString(value):
			p.fail(node, "follows %s: expected the id of a requirement, as in lifecycle.version.echoed", shown(node))
		case value == r.ID:
			p.fail(node, "follows names the requirement itself")
		case slices.Contains(r.Follows, value):
			p.fail(node, "follows names %s twice", value)
		default:
			r.Follows = append(r.Follows, value)
		}
	}
}

func (p *fileParser) obliges(r *Requirement, node *yaml.Node) {
	if node == nil {
		return
	}
	for _, d := range p.dated(r, node, "obliges") {
		if value, ok := p.known(d.Value, "obliges", append(protocol.Roles(), Both)); ok {
			r.obliges = append(r.obliges, dated[string]{d.Revision, value})
		}
	}
}

func (p *fileParser) levels(r *Requirement, node *yaml.Node) {
	if node == nil {
		return
	}
	names := make([]string, len(levels))
	for i, level := range levels {
		names[i] = string(level)
	}
	for _, d := range p.dated(r, node, "level") {
		if value, ok := p.known(d.Value, "level", names); ok {
			r.levels = append(r.levels, dated[Level]{d.Revision, Level(value)})
		}
	}
}

func (p *fileParser) places(r *Requirement, node *yaml.Node) {
	if node == nil {
		return
	}
	var names []string
	for _, d := range p.dated(r, node, "at") {
		value, ok := scalar(d.Value)
		if !ok || !placePattern.MatchString(value) {
			p.fail(
				d.Value,
				"at %s: expected a page and anchor, as in basic/lifecycle#version-negotiation",
				shown(d.Value),
			)
			continue
		}
		page, anchor, _ := strings.Cut(value, "#")
		r.places = append(r.places, dated[place]{d.Revision, place{page, anchor}})
		if page != schemaPage {
			names = append(names, pageName(page))
		}
	}
	first, _, _ := strings.Cut(r.ID, ".")
	if r.ID != "" && len(names) > 0 && !slices.Contains(names, first) {
		p.failAt(r.Line, "id %q: expected it to begin with the name of its page, %q", r.ID, names[0]+".")
	}
}

// dated reads a value that is one for all revisions or a map by revision.
func (p *fileParser) dated(r *Requirement, node *yaml.Node, key string) perRevision[*yaml.Node] {
	if _, ok := scalar(node); ok {
		return perRevision[*yaml.Node]{{r.Since, node}}
	}
	fields, order := p.mapping(node, key)
	var all perRevision[*yaml.Node]
	for _, k := range order {
		switch {
		case !slices.Contains(protocol.Released(), k.name):
			p.failAt(k.line, "%s: unknown revision %q%s", key, k.name, suggest(k.name, protocol.Released()))
		case r.Since != "" && !r.StandsAt(k.name):
			p.failAt(k.line, "%s: the requirement does not stand at revision %s (see since, until)", key, k.name)
		default:
			all = append(all, dated[*yaml.Node]{k.name, fields[k.name]})
		}
	}
	slices.SortFunc(all, func(a, b dated[*yaml.Node]) int { return cmp.Compare(a.Revision, b.Revision) })
	if len(all) > 0 && r.Since != "" && all[0].Revision != r.Since {
		p.fail(node, "%s: expected an entry for %s, where the requirement begins", key, r.Since)
	}
	return all
}

type keyAt struct {
	name string
	line int
}

// mapping returns the fields of a map and its keys in their order.
func (p *fileParser) mapping(node *yaml.Node, what string) (map[string]*yaml.Node, []keyAt) {
	if node.Kind != yaml.MappingNode {
		p.fail(node, "%s: expected a map", what)
		return nil, nil
	}
	fields := map[string]*yaml.Node{}
	var order []keyAt
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], pair[1]
		name, ok := scalar(key)
		if !ok {
			p.fail(key, "%s: expected a plain key", what)
			continue
		}
		if fields[name] != nil {
			p.fail(key, "key %q is given twice", name)
			continue
		}
		fields[name] = value
		order = append(order, keyAt{name, key.Line})
	}
	return fields, order
}

const nullTag = "!!null"

// scalar returns the text of a plain or quoted value, as written: 77010042 and
// 12345e67 are fingerprints. Aliases and tags are not for a catalogue.
func scalar(node *yaml.Node) (string, bool) {
	if node == nil || node.Kind != yaml.ScalarNode || node.Style&yaml.TaggedStyle != 0 || node.ShortTag() == nullTag {
		return "", false
	}
	return node.Value, true
}

// shown returns a value for a message: on one line, and not for ever.
func shown(node *yaml.Node) string {
	value, ok := scalar(node)
	if !ok {
		return kinds[node.Kind]
	}
	return strconv.Quote(excerpt.Characters(value, maxShown))
}

// kinds name what is no text.
var kinds = map[yaml.Kind]string{
	yaml.MappingNode: "a mapping", yaml.SequenceNode: "a sequence", yaml.AliasNode: "an alias",
	yaml.ScalarNode: "null or a tagged value",
}

// text returns a value that must be text, folded to one line.
func (p *fileParser) text(fields map[string]*yaml.Node, key string) string {
	node, ok := fields[key]
	if !ok {
		return ""
	}
	value, ok := scalar(node)
	value = strings.Join(strings.Fields(value), " ")
	if !ok || value == "" {
		p.fail(node, "%s: expected text", key)
		return ""
	}
	return value
}

func (p *fileParser) oneOf(fields map[string]*yaml.Node, key string, values ...string) string {
	node, ok := fields[key]
	if !ok {
		return ""
	}
	value, _ := p.known(node, key, values)
	return value
}

func (p *fileParser) known(node *yaml.Node, key string, values []string) (string, bool) {
	value, ok := scalar(node)
	if !ok || !slices.Contains(values, value) {
		p.fail(node, "%s: %s is none of %s%s", key, shown(node), strings.Join(values, ", "), suggest(value, values))
		return "", false
	}
	return value, true
}

func (p *fileParser) list(fields map[string]*yaml.Node, key string) []*yaml.Node {
	node, ok := fields[key]
	if !ok {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		p.fail(node, "%s: expected a list", key)
		return nil
	}
	return node.Content
}

// suggest returns the end of a message: what was probably meant.
func suggest(word string, words []string) string {
	if best := nearest.Word(word, words); best != "" {
		return fmt.Sprintf(", did you mean %q?", best)
	}
	return ""
}
