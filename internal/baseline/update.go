package baseline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/yamlnode"
	"github.com/mcpconform/mcpconform/reports"
)

// Update is a baseline brought up to a run.
type Update struct {
	Text    []byte              // of the file
	Added   []reports.Deviation // each without a reason, which the user has to add
	Removed []reports.Deviation // what passes now, or matches nothing
	Kept    int
	Expired []reports.Deviation // still there: the user has to decide
}

// Updated brings a baseline, which need not exist, up to a run: it adds what makes the
// run fail, and removes what is stale or unmatched, from lists of revisions and
// transports too. Reasons, comments and what the run does not show stay as they are.
func Updated(name string, run *reports.Run, declared Declared) (*Update, error) {
	root, err := tree(name)
	if err != nil {
		return nil, err
	}
	l := loader{}
	if _, err := os.Stat(name); err == nil {
		if err := l.load(name, nil, nil); err != nil {
			return nil, err
		}
	}
	Apply(run, l.entries, declared)
	update := &Update{}
	list := member(root, "deviations")
	gone := map[*yaml.Node]bool{}
	dropped := map[*yaml.Node][]string{} // values of lists
	needless := map[reports.Inclusion]bool{}
	for _, one := range judge(run, l.entries, declared) {
		switch {
		case one.inclusion != nil:
			needless[*one.inclusion] = true
		case l.entries[one.entry].Included != nil: // is not this file's
		case one.Why == reports.EntryExpired:
			update.Expired = append(update.Expired, l.entries[one.entry])
		case one.key != "":
			values := member(list.Content[one.entry], one.key)
			dropped[values] = append(dropped[values], one.value)
		default:
			gone[list.Content[one.entry]] = true
			update.Removed = append(update.Removed, l.entries[one.entry])
		}
	}
	if list := member(root, "include"); list != nil {
		list.Content = slices.DeleteFunc(list.Content, func(other *yaml.Node) bool {
			return needless[reports.Inclusion{Name: other.Value, File: name, Line: other.Line}]
		})
	}
	for values, some := range dropped {
		values.Content = slices.DeleteFunc(
			values.Content,
			func(one *yaml.Node) bool { return slices.Contains(some, one.Value) },
		)
	}
	list.Content = slices.DeleteFunc(list.Content, func(one *yaml.Node) bool { return gone[one] })
	update.Kept = len(list.Content)
	update.Added = missing(run)
	for _, one := range update.Added {
		list.Content = append(list.Content, written(one))
	}
	update.Text, err = text(root)
	return update, err
}

// tree is what a file says, or what an empty one would: with a list of deviations.
func tree(name string) (*yaml.Node, error) {
	source, err := read(name)
	if err != nil {
		if _, statErr := os.Stat(name); !errors.Is(statErr, fs.ErrNotExist) || strings.HasPrefix(name, SDKPrefix) {
			return nil, err
		}
	}
	root, err := yamlnode.Parse(name, bytes.TrimPrefix(source, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, err
	}
	if root == nil {
		root = &yaml.Node{Kind: yaml.MappingNode}
	}
	if list := member(root, "deviations"); list == nil {
		root.Content = append(root.Content, scalar("deviations"), &yaml.Node{Kind: yaml.SequenceNode})
	} else if list.Kind == yaml.ScalarNode { // deviations: with nothing behind it
		*list = yaml.Node{Kind: yaml.SequenceNode}
	}
	if list := member(root, "deviations"); list.Kind == yaml.SequenceNode {
		list.Style = 0 // [] is how an empty list was written
	}
	return root, nil
}

// missing makes an entry of each requirement for which the run fails, with the revisions
// and transports at which it does.
func missing(run *reports.Run) []reports.Deviation {
	at := map[string]map[string][]string{} // revisions, by requirement and transport
	failures := map[string][]reports.Failure{}
	var ids []string
	for i := range run.Cells {
		cell := &run.Cells[i]
		for j := range cell.Results {
			result := &cell.Results[j]
			broken := result.Verdict == reports.Failed || result.Verdict == reports.Warned
			if !broken || !result.Fails(run.Strict) || len(result.Requirements) == 0 {
				continue
			}
			id := result.Requirements[0].ID
			if at[id] == nil {
				at[id] = map[string][]string{}
				ids = append(ids, id)
			}
			failures[id] = append(failures[id], result.Failures...)
			if !slices.Contains(at[id][cell.Transport], cell.Revision) {
				at[id][cell.Transport] = append(at[id][cell.Transport], cell.Revision)
			}
		}
	}
	slices.Sort(ids)
	var all []reports.Deviation
	for _, id := range ids {
		for _, one := range grouped(id, at[id]) {
			one.Only = likes(failures[id])
			all = append(all, one)
		}
	}
	return all
}

// maxLikes bounds what a new entry has of different mismatches: of more of them the
// requirement alone says as much.
const maxLikes = 8

// likes is what some mismatches are like: their codes and places, of which the positions
// in arrays are left open. It is nil where a mismatch has neither.
func likes(failures []reports.Failure) []reports.Found {
	var all []reports.Found
	for _, failure := range failures {
		like := reports.Found{Code: failure.Code, Where: position.ReplaceAllString(failure.Where, "/*$1")}
		if like == (reports.Found{}) {
			return nil
		}
		if !slices.Contains(all, like) {
			all = append(all, like)
		}
	}
	if len(all) > maxLikes {
		return nil
	}
	return all
}

// position is that of an element of an array, in a JSON pointer.
var position = lazy.MustCompile(`/\d+(/|$)`)

// grouped makes one entry of the transports over which a requirement is broken at the
// same revisions.
func grouped(id string, revisions map[string][]string) []reports.Deviation {
	var all []reports.Deviation
	for transport, broken := range revisions {
		slices.Sort(broken)
		known := slices.IndexFunc(all, func(one reports.Deviation) bool { return slices.Equal(one.Revisions, broken) })
		if known < 0 {
			known = len(all)
			all = append(all, reports.Deviation{Requirement: id, Revisions: broken})
		}
		all[known].Transports = append(all[known].Transports, transport)
	}
	for i := range all {
		slices.Sort(all[i].Transports)
	}
	slices.SortFunc(all, func(a, b reports.Deviation) int { return cmp.Compare(a.Transports[0], b.Transports[0]) })
	return all
}

func scalar(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

// written is a new entry. Its reason is for a person to give.
func written(d reports.Deviation) *yaml.Node {
	flow := func(values []string) *yaml.Node {
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, value := range values {
			list.Content = append(list.Content, scalar(value))
		}
		return list
	}
	node := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		scalar("requirement"), scalar(d.Requirement),
		scalar("reason"), {Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle},
	}}
	if d.Only != nil {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, one := range d.Only {
			list.Content = append(list.Content, like(one))
		}
		node.Content = append(node.Content, scalar("only"), list)
	}
	node.Content = append(node.Content,
		scalar("revisions"), flow(d.Revisions),
		scalar("transports"), flow(d.Transports),
	)
	return node
}

// like writes what a mismatch is like, in one line.
func like(found reports.Found) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	if found.Code != 0 {
		node.Content = append(node.Content, scalar("code"),
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(found.Code, 10)})
	}
	if found.Where != "" {
		node.Content = append(node.Content, scalar("where"), scalar(found.Where))
	}
	return node
}

func text(root *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(root), encoder.Close()); err != nil {
		return nil, fmt.Errorf("writing the baseline: %w", err)
	}
	return out.Bytes(), nil
}

// Unexplained lists the places of the entries of a baseline that have no reason yet.
func Unexplained(name string) ([]string, error) {
	l := loader{}
	if err := l.load(name, nil, nil); err != nil {
		return nil, err
	}
	var places []string
	for _, one := range l.entries {
		if one.Reason == "" {
			places = append(places, one.File+":"+strconv.Itoa(one.Line)+"  "+one.Name())
		}
	}
	return places, nil
}
