// Package matrix runs many targets, each as a run of the harness in a process of its own,
// and makes a site of what they found: targets × revisions, targets × pages of the
// specification, what breaks most often, and what has changed.
//
// What was found of a target stands in a folder of its name, a few files for each attempt.
// Folders that several machines wrote are put together by copying them. The package never
// speaks to a target itself, and judges nothing.
package matrix

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

// Entry is one target: what the flags and arguments of a run of its role would say. Paths
// are relative to the working directory, as those of flags are.
type Entry struct {
	Name      string // also of its folder
	Role      string // "server", "client" or "authorization-server"
	URL       string
	Command   []string
	Directory string // in which the run is started; "" for the working directory
	Config    string
	Baseline  string
	Revision  string
	Transport string
	Filter    string
	CallTools string
	Timeout   time.Duration
	Deadline  time.Duration
	Strict    bool
}

// maxTargets bounds a file. Its size is that of what Kubernetes keeps in one object.
const (
	maxTargets = 10_000
	maxFile    = 1 << 20
)

// keys of an entry, by the role that has them; "" for every role.
var keysOf = map[string][]string{
	"": {
		"target", "role", "directory", "config", "baseline", "revision", "filter", "timeout", "deadline", "strict",
	},
	protocol.ServerRole:              {"url", "command", "image", "transport", "call-tools"},
	protocol.ClientRole:              {"command", "image", "transport"},
	protocol.AuthorizationServerRole: {"url"},
}

// Keys are those that an entry may have, in order.
func Keys() []string {
	var known []string
	for _, keys := range keysOf {
		known = append(known, keys...)
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// Parse reads a file of targets; name is what errors call it. Each line of the error
// begins with file:line.
func Parse(name string, text []byte) ([]Entry, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d KiB", name, maxFile>>10)
	}
	of := yamlnode.Entries{
		One: "a target", Many: "targets", First: "target", Keys: Keys(), Hint: nearest.Hint,
	}
	lines := map[string]int{}
	all, err := yamlnode.List(name, text, of, func(item *yaml.Node) (Entry, error) {
		r := &reader{name: name, line: item.Line, values: map[string]*yaml.Node{}}
		for pair := range slices.Chunk(item.Content, 2) {
			r.values[pair[0].Value] = pair[1]
		}
		entry := r.entry()
		// Some file systems take names that differ by case alone for the same.
		if first, twice := lines[strings.ToLower(entry.Name)]; twice {
			r.wrong("target", "the target on line %d has the name %q too", first, entry.Name)
		}
		lines[strings.ToLower(entry.Name)] = r.at("target")
		return entry, errors.Join(r.problems...)
	})
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, fmt.Errorf("%s:1: expected a list of targets, each beginning with \"- target:\"", name)
	case len(all) > maxTargets:
		return nil, fmt.Errorf("%s:1: more than %d targets", name, maxTargets)
	}
	return all, nil
}

// reader reads one entry and collects what is wrong with it.
type reader struct {
	name     string
	line     int
	values   map[string]*yaml.Node
	problems []error
}

func (r *reader) at(key string) int {
	if node := r.values[key]; node != nil {
		return node.Line
	}
	return r.line
}

func (r *reader) wrong(key, format string, arguments ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %s", r.name, r.at(key), fmt.Sprintf(format, arguments...)))
}

func (r *reader) entry() Entry {
	entry := Entry{
		Name:      r.text("target"),
		Role:      r.text("role"),
		URL:       r.text("url"),
		Command:   r.words("command"),
		Directory: r.text("directory"),
		Config:    r.text("config"),
		Baseline:  r.text("baseline"),
		Revision:  r.text("revision"),
		Transport: r.text("transport"),
		Filter:    r.text("filter"),
		CallTools: r.text("call-tools"),
		Timeout:   r.duration("timeout"),
		Deadline:  r.duration("deadline"),
		Strict:    r.truth("strict"),
	}
	if entry.Role == "" {
		entry.Role = protocol.ServerRole
	}
	if image := r.text("image"); image != "" {
		entry.Command = append([]string{"docker", "run", "--rm", "-i", image}, entry.Command...)
	}
	r.judgeName(entry.Name)
	if keysOf[entry.Role] == nil {
		r.wrong("role", "unknown role %q%s", entry.Role, nearest.Hint(entry.Role, protocol.Roles()))
		return entry
	}
	for _, key := range []string{"url", "command", "image", "transport", "call-tools"} {
		if r.values[key] != nil && !slices.Contains(keysOf[entry.Role], key) {
			r.wrong(key, "%s is not for the role %s", key, entry.Role)
		}
	}
	r.judgeValues(entry)
	if len(r.problems) == 0 {
		r.judgeReach(entry)
	}
	return entry
}

// plainName is a name that every file system takes, and that needs no quotes in a URL.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}[A-Za-z0-9]$|^[A-Za-z0-9]$`)

// devices are names that no file of Windows can have, with any extension.
var devices = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)`)

func (r *reader) judgeName(name string) {
	switch {
	case name == "":
		r.wrong("target", "a target has no name: target")
	case !plainName.MatchString(name):
		r.wrong(
			"target",
			"the name %q must be letters, digits, dots, dashes and underscores, at most 64, and begin and end with a letter or digit",
			name,
		)
	case devices.MatchString(name), strings.HasSuffix(strings.ToLower(name), ".html"):
		r.wrong("target", "the name %q cannot be used as a folder name", name)
	}
}

func (r *reader) judgeValues(entry Entry) {
	if r.values["url"] != nil {
		if parsed, err := url.Parse(entry.URL); err != nil || parsed.Host == "" ||
			parsed.Scheme != "http" && parsed.Scheme != "https" {
			r.wrong("url", "url must begin with http:// or https:// and name a host") // it may hold a secret
		}
	}
	if entry.URL != "" && len(entry.Command) > 0 {
		r.wrong("url", "url and %s exclude each other", r.starter())
	}
	known := protocol.Released()
	if !strings.Contains(entry.Revision, ",") {
		known = append(known, "auto", "all")
	}
	for revision := range strings.SplitSeq(entry.Revision, ",") {
		if entry.Revision != "" && !slices.Contains(known, revision) {
			r.wrong("revision", "revision %q %s", revision, filter.UnknownRevision(revision, known))
		}
	}
	for _, one := range []struct {
		key, value string
		known      []string
	}{
		{"transport", entry.Transport, protocol.Transports()},
		{"call-tools", entry.CallTools, provoke.CallValues()},
	} {
		if one.value != "" && !slices.Contains(one.known, one.value) {
			r.wrong(one.key, "unknown %s %q%s", one.key, one.value, nearest.Hint(one.value, one.known))
		}
	}
	if entry.Filter != "" {
		if _, err := filter.Parse(entry.Filter); err != nil {
			r.wrong("filter", "filter %q cannot be read: %s", entry.Filter, err)
		}
	}
}

func (r *reader) starter() string {
	if r.values["image"] != nil {
		return "image"
	}
	return "command"
}

// judgeReach makes sure that there is a target: without one, the harness would check its
// own reference.
func (r *reader) judgeReach(entry Entry) {
	if entry.URL != "" || len(entry.Command) > 0 {
		return
	}
	file := entry.configFile()
	said, err := config.Load(file)
	if err != nil {
		if r.values["config"] == nil && r.values["directory"] == nil {
			ways := map[string]string{
				protocol.ServerRole: "url, command or image", protocol.ClientRole: "command or image",
				protocol.AuthorizationServerRole: "url",
			}
			r.wrong("target", "%s has no %s", entry.Name, ways[entry.Role])
			return
		}
		r.wrong("target", "%s has no url or command, and is reached by its config: %s", entry.Name, err)
		return
	}
	reached := map[string]bool{
		protocol.ServerRole:              said.URL != "" || len(said.Command) > 0,
		protocol.ClientRole:              len(said.Client) > 0,
		protocol.AuthorizationServerRole: said.AuthorizationServer.URL != "",
	}
	if !reached[entry.Role] {
		r.wrong("target", "%s has neither url nor command for the %s %s", file, entry.Role, entry.Name)
	}
}

// scalar is the value of a key that is to be one; nil where there is none.
func (r *reader) scalar(key string) *yaml.Node {
	node := r.values[key]
	switch {
	case node == nil:
		return nil
	case node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null":
		r.wrong(key, "%s needs one value", key)
		return nil
	}
	return node
}

func (r *reader) text(key string) string {
	node := r.scalar(key)
	if node == nil {
		return ""
	}
	if node.Value == "" {
		r.wrong(key, "%s is empty", key)
	}
	return node.Value
}

func (r *reader) words(key string) []string {
	node := r.values[key]
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 ||
		slices.ContainsFunc(node.Content, func(word *yaml.Node) bool { return word.Kind != yaml.ScalarNode }) {
		r.wrong(key, "%s must be a list of words, such as [node, server.js]", key)
		return nil
	}
	var words []string
	for _, word := range node.Content {
		words = append(words, word.Value)
	}
	return words
}

func (r *reader) duration(key string) time.Duration {
	node := r.scalar(key)
	if node == nil {
		return 0
	}
	length, err := time.ParseDuration(node.Value)
	if err != nil || length <= 0 {
		r.wrong(key, "%s %q must be a duration such as 10s", key, node.Value)
	}
	return length
}

func (r *reader) truth(key string) bool {
	node := r.scalar(key)
	if node == nil {
		return false
	}
	value, err := strconv.ParseBool(node.Value)
	if err != nil || node.ShortTag() != "!!bool" {
		r.wrong(key, "%s must be true or false", key)
	}
	return value
}
