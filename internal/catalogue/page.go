package catalogue

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A Page is one page of the specification at one revision.
type Page struct {
	Name      string          // below the revision, without extension: basic/lifecycle
	Anchors   map[string]bool // of its headings, without "#"
	Sentences []Sentence      // in the order of the page
}

// ParsePage reads a page of the specification. Front matter, code blocks,
// diagrams, comments and component tags are dropped; the text inside
// components such as <Note> is kept. A paragraph is split into sentences, a
// row of a table is one sentence, its cells joined with " | ".
//
// A sentence that ends with ":" in front of a list is a lead-in. If it carries
// a keyword, it belongs to each item of the list: the item becomes the
// sentence "Servers MUST: Validate all tool inputs", and the lead-in is not
// listed by itself. Sentences of an item that carry a keyword of their own
// stand alone, but an item that begins with its keyword finds its subject in
// the lead-in: "Clients: MUST ignore unknown IDs." This holds for nested lists
// too.
func ParsePage(name string, mdx []byte) *Page {
	source := blankMarkup(mdx)
	// Indented code and HTML blocks are left out: MDX has no indented code, and
	// the tags are gone already.
	markdown := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(indentedParagraphs{parser.NewParagraphParser()}, 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(extension.NewTableParagraphTransformer(), 200),
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
		),
		parser.WithASTTransformers(
			util.Prioritized(extension.NewTableASTTransformer(), 0),
		),
	)
	reader := pageReader{
		page:   &Page{Name: name, Anchors: map[string]bool{}},
		source: source,
		slugs:  map[string]int{},
	}
	reader.lines.index(source)
	for _, id := range idAttribute.FindAllSubmatch(mdx, -1) {
		reader.page.Anchors[string(id[1])] = true
	}
	reader.blocks(markdown.Parse(text.NewReader(source)), leadIn{})
	return reader.page
}

// indentedParagraphs reads as text what Markdown takes for indented code.
type indentedParagraphs struct{ parser.BlockParser }

// CanAcceptIndentedLine tells the parser to offer indented lines.
func (indentedParagraphs) CanAcceptIndentedLine() bool { return true }

// idAttribute finds anchors that a page sets by hand.
var idAttribute = regexp.MustCompile(`\bid="([^"{}\s]+)"`)

type pageReader struct {
	page   *Page
	source []byte
	lines  lineIndex
	slugs  map[string]int
	anchor string
}

// A leadIn is what the items of a list continue.
type leadIn struct {
	obligation run // carries a keyword: makes every item an obligation
	subject    run // carries none: says who, for items that begin with a keyword
}

// blocks reads the children of a container, of which the first paragraph
// continues the lead-in.
func (r *pageReader) blocks(container ast.Node, above leadIn) {
	for node := container.FirstChild(); node != nil; node = node.NextSibling() {
		switch block := node.(type) {
		case *ast.Heading:
			r.heading(block)
		case *ast.Paragraph, *ast.TextBlock:
			list, _ := node.NextSibling().(*ast.List)
			r.paragraph(node, list, above)
			if list != nil {
				node = list
			}
		case *ast.List:
			r.list(block, above)
		case *extast.Table:
			r.table(block)
		case *ast.Blockquote:
			r.blocks(block, leadIn{})
		}
		// What comes later in an item no longer continues the lead-in.
		above = leadIn{}
	}
}

func (r *pageReader) heading(heading *ast.Heading) {
	slug := Slug(r.flatten(heading).String())
	// As GitHub numbers them: name, name-1, name-2.
	count, seen := r.slugs[slug]
	r.slugs[slug] = count + 1
	if seen {
		slug += "-" + strconv.Itoa(count)
	}
	r.anchor = slug
	r.page.Anchors[slug] = true
}

func (r *pageReader) table(table *extast.Table) {
	for node := table.FirstChild(); node != nil; node = node.NextSibling() {
		if _, header := node.(*extast.TableHeader); header {
			continue
		}
		var row run
		for cell := node.FirstChild(); cell != nil; cell = cell.NextSibling() {
			if len(row) > 0 {
				row = row.join(" | ")
			}
			row = append(row, r.flatten(cell)...)
		}
		r.add(row, row)
	}
}

// paragraph reads a paragraph and the list that follows it, if any.
func (r *pageReader) paragraph(node ast.Node, list *ast.List, above leadIn) {
	sentences := r.flatten(node).sentences()
	var own run // the lead-in that this paragraph ends with
	if n := len(sentences); list != nil && n > 0 && sentences[n-1].endsWith(':') {
		own = sentences[n-1]
		sentences = sentences[:n-1]
	}
	for i := 0; i < len(sentences); i++ {
		sentence := sentences[i]
		switch {
		case i == 0 && above.subject != nil && sentence.beginsWithKeyword():
			r.add(above.subject.join(" ", sentence...), sentence)
		case i > 0 || above.obligation == nil || len(sentence.keywords()) > 0:
			r.addUnder(above.obligation, sentence, sentence)
		default:
			// The item under a lead-in is one sentence, up to the first one
			// with a keyword of its own.
			for i+1 < len(sentences) && len(sentences[i+1].keywords()) == 0 {
				i++
				sentence = sentence.join(" ", sentences[i]...)
			}
			r.addItem(above.obligation, sentence)
		}
	}
	switch {
	case list == nil:
	case own == nil:
		r.list(list, leadIn{obligation: above.obligation})
	case len(own.keywords()) > 0:
		if !r.needsObligation(list) {
			r.add(own, own)
		}
		r.list(list, leadIn{obligation: own})
	case above.obligation != nil:
		r.list(list, leadIn{obligation: above.obligation.join(" ", own...)})
	default:
		r.add(own, own)
		r.list(list, leadIn{subject: own})
	}
}

// needsObligation tells whether some item of the list has no keyword of its
// own, so that it is an obligation by its lead-in only.
func (r *pageReader) needsObligation(list *ast.List) bool {
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		first := item.FirstChild()
		if first == nil {
			continue
		}
		sentences := r.flatten(first).sentences()
		if len(sentences) > 0 && len(sentences[0].keywords()) == 0 {
			return true
		}
	}
	return false
}

func (r *pageReader) list(list *ast.List, above leadIn) {
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		r.blocks(item, above)
	}
}

// add records a sentence; place is the part of it that stands at its line.
func (r *pageReader) add(sentence, place run) { r.addUnder(nil, sentence, place) }

// addItem records a sentence that an item of a list is with the lead-in above it, if there is one.
func (r *pageReader) addItem(leadIn, item run) {
	before := len(r.page.Sentences)
	r.add(leadIn.join(" ", item...), item)
	if leadIn = leadIn.trim(); len(leadIn) > 0 && len(r.page.Sentences) > before {
		added := &r.page.Sentences[before]
		added.LeadIn, added.leadLine = leadIn.String(), r.lines.line(leadIn[0].offset)
	}
}

// addUnder records a sentence that stands on its own below a lead-in.
func (r *pageReader) addUnder(leadIn, sentence, place run) {
	sentence = sentence.trim()
	if !sentence.says() {
		return
	}
	line := 0
	if place = place.trim(); len(place) > 0 {
		line = r.lines.line(place[0].offset)
	}
	keywords := sentence.keywords()
	r.page.Sentences = append(r.page.Sentences, Sentence{
		Page:        r.page.Name,
		Anchor:      r.anchor,
		Line:        line,
		Text:        sentence.String(),
		Normative:   len(keywords) > 0,
		Keywords:    keywords,
		Fingerprint: Fingerprint(sentence.String()),
		under:       leadIn.keywords(),
	})
}

// flatten returns the text of a block: links reduced to their text, images
// dropped, emphasis stripped, code marked as such, white space folded.
func (r *pageReader) flatten(block ast.Node) run {
	return r.flattened(nil, block, false).trim()
}

// flattened adds the text of a node.
func (r *pageReader) flattened(out run, node ast.Node, code bool) run {
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch inline := child.(type) {
		case *ast.Text:
			value := inline.Segment.Value(r.source)
			if !code {
				value = util.ResolveNumericReferences(util.ResolveEntityNames(util.UnescapePunctuations(value)))
			}
			out = out.folded(value, inline.Segment.Start, code)
			if inline.SoftLineBreak() || inline.HardLineBreak() {
				out = out.folded([]byte(" "), inline.Segment.Stop, code)
			}
		case *ast.CodeSpan:
			out = r.flattened(out, inline, true)
		case *ast.AutoLink:
			offset := 0
			if n := len(out); n > 0 {
				offset = out[n-1].offset
			}
			out = out.folded(inline.Label(r.source), offset, true)
		case *ast.Image:
		default:
			out = r.flattened(out, child, code)
		}
	}
	return out
}

// folded adds text, each white space in it as one blank.
func (r run) folded(text []byte, offset int, code bool) run {
	for _, c := range string(text) {
		if unicode.IsSpace(c) {
			c = ' '
			if len(r) == 0 || r[len(r)-1].rune == ' ' {
				continue
			}
		}
		r = append(r, char{rune: c, code: code, offset: offset})
	}
	return r
}

// Slug returns the anchor of a heading, as GitHub makes it, without the
// underscores around it that the site of the specification leaves out.
func Slug(heading string) string {
	var slug strings.Builder
	for _, c := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case unicode.IsLetter(c), unicode.IsDigit(c), c == '_', c == '-':
			slug.WriteRune(c)
		case c == ' ':
			slug.WriteByte('-')
		}
	}
	return strings.Trim(slug.String(), "_")
}

// blankMarkup overwrites with spaces what MDX has and Markdown has not:
// front matter, comments and component tags, but not inside code. The content
// of a component is moved to the indentation of its tag. Lines keep their
// numbers.
func blankMarkup(mdx []byte) []byte {
	out := bytes.ReplaceAll(mdx, []byte("\r\n"), []byte("\n"))
	start := 0
	if bytes.HasPrefix(out, []byte("---\n")) {
		if end := bytes.Index(out[4:], []byte("\n---\n")); end >= 0 {
			start = 4 + end + 5
			blank(out[:start])
		}
	}
	var open, components []component
	line := start // where the line of i begins
	for i := start; i < len(out); {
		next := i + 1
		switch out[i] {
		case '\\':
			next++
		case '`', '~':
			if length, ok := fence(out[i:]); ok && len(bytes.TrimSpace(out[line:i])) == 0 {
				next = i + length
			} else if out[i] == '`' {
				next = i + codeSpan(out[i:])
			}
		case '<', '{':
			length := tag(out[i:])
			if length == 0 {
				break
			}
			first := len(bytes.TrimSpace(out[line:i])) == 0
			switch mark := out[i : i+length]; {
			case mark[0] == '{', mark[1] == '!':
			case mark[1] == '/':
				var closed component
				if open, closed = closeTag(open, tagName(mark)); first && closed.first {
					closed.end = line
					components = append(components, closed)
				}
			case mark[length-2] != '/':
				open = append(
					open,
					component{name: tagName(mark), first: first, tag: line, indent: i - line, start: i + length},
				)
			}
			blank(out[i : i+length])
			next = unindent(out, i, i+length)
		}
		next = min(next, len(out))
		if end := bytes.LastIndexByte(out[i:next], '\n'); end >= 0 {
			line = i + end + 1
		}
		i = next
	}
	// The outer ones first: they move the inner ones.
	slices.SortFunc(components, func(a, b component) int { return cmp.Compare(a.start, b.start) })
	moved := make(map[int]int) // by the start of a line: by how much it was moved
	for _, c := range components {
		c.moveLeft(out, moved)
	}
	return out
}

// A component is a tag with its content.
type component struct {
	name   string
	first  bool // whether the tag stands first on its line
	tag    int  // where the line of the tag begins
	indent int  // of the tag
	start  int  // behind the tag
	end    int  // where the line of the end tag begins
}

func tagName(mark []byte) string {
	name := strings.TrimLeft(string(mark), "</")
	if end := strings.IndexFunc(
		name,
		func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("/>{", c) },
	); end >= 0 {
		name = name[:end]
	}
	return name
}

// closeTag takes the innermost open tag of that name off the stack, with
// those in it that nothing closes, such as <br>.
func closeTag(open []component, name string) ([]component, component) {
	for i, c := range slices.Backward(open) {
		if c.name == name {
			return open[:i], c
		}
	}
	return open, component{}
}

// moveLeft takes from every line of the content the spaces by which the first
// one is indented deeper than the tag. It notes by how much it moved the line
// that begins at an offset.
func (c component) moveLeft(b []byte, moved map[int]int) {
	by := -1
	for i := c.start + len(firstLine(b[c.start:])); i < c.end; {
		line := firstLine(b[i:c.end])
		if text := bytes.TrimLeft(line, " "); len(bytes.TrimSpace(text)) > 0 {
			indent := len(line) - len(text)
			if by < 0 {
				by = max(indent-(c.indent-moved[c.tag]), 0)
			}
			strip := min(by, indent)
			body := bytes.TrimSuffix(line, []byte("\n"))
			blank(body[copy(body, body[strip:]):])
			moved[i] += strip
		}
		i += len(line)
	}
}

func blank(b []byte) {
	for i, c := range b {
		if c != '\n' {
			b[i] = ' '
		}
	}
}

// unindent moves the text behind a blanked tag to the place of the tag, if it
// was the first on its line, so that "<Step>- text" is still a list item. It
// returns where to go on reading.
func unindent(b []byte, start, end int) int {
	lineStart := bytes.LastIndexByte(b[:end], '\n') + 1
	if lineStart > start {
		start = lineStart // the tag ends on another line
	}
	if len(bytes.TrimSpace(b[lineStart:start])) > 0 {
		return end
	}
	lineEnd := len(b)
	if n := bytes.IndexByte(b[end:], '\n'); n >= 0 {
		lineEnd = end + n
	}
	n := copy(b[start:], bytes.TrimLeft(b[end:lineEnd], " \t"))
	blank(b[start+n : lineEnd])
	return start
}

// fence returns the length of the fenced code block that begins here. A fence that nothing closes runs to the end.
func fence(b []byte) (length int, ok bool) {
	line := firstLine(b)
	mark := leading(line)
	if len(mark) < 3 || (mark[0] == '`' && bytes.IndexByte(line[len(mark):], '`') >= 0) {
		return 0, false
	}
	length = len(firstLine(b))
	for length < len(b) {
		line := firstLine(b[length:])
		length += len(line)
		line = bytes.TrimSpace(line)
		if end := leading(line); len(end) >= len(mark) && len(end) == len(line) && end[0] == mark[0] {
			break
		}
	}
	return length, true
}

// leading returns the run of fence characters that a line begins with.
func leading(line []byte) []byte {
	n := 0
	for n < len(line) && (line[n] == '`' || line[n] == '~') && line[n] == line[0] {
		n++
	}
	return line[:n]
}

func firstLine(b []byte) []byte {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		return b[:n+1]
	}
	return b
}

// codeSpan returns the length of the code span at the start of b, or of the
// backticks when nothing closes them in this paragraph.
func codeSpan(b []byte) int {
	n := len(leading(b))
	paragraph := b
	if end := blankLine.FindIndex(b); end != nil {
		paragraph = b[:end[0]]
	}
	for i := n; i < len(paragraph); {
		if paragraph[i] != '`' {
			i++
			continue
		}
		closing := len(leading(paragraph[i:]))
		i += closing
		if closing == n {
			return i
		}
	}
	return n
}

var (
	blankLine  = regexp.MustCompile(`\n[ \t]*\n`)
	tagPattern = regexp.MustCompile(
		`^</?[A-Za-z][\w.-]*(?:\s+[\w:.-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|\{[^}]*\}|[^\s"'>{]+))?|\s*\{[^}]*\})*\s*/?>|^</?>`,
	)
)

// tag returns the length of the tag or comment at the start of b, or 0.
func tag(b []byte) int {
	for _, comment := range [...][2]string{{"<!--", "-->"}, {"{/*", "*/}"}} {
		if !bytes.HasPrefix(b, []byte(comment[0])) {
			continue
		}
		if end := bytes.Index(b, []byte(comment[1])); end >= 0 {
			return end + len(comment[1])
		}
		return len(b)
	}
	if b[0] != '<' {
		return 0
	}
	return len(tagPattern.Find(b))
}
