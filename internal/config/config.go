// Package config reads mcpconform.yaml: the settings that flags have, and what
// no flag can say, such as the arguments of a tool.
package config

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/yamlnode"
)

// DefaultFile is read when it stands in the working directory and no other is
// named.
const DefaultFile = "mcpconform.yaml"

// maxSize bounds a config file; a real one has a few kilobytes.
const maxSize = 1 << 20

// File is what a config file says. Flags win over it.
type File struct {
	URL       string   `yaml:"url"`     // endpoint of the target, or
	Command   []string `yaml:"command"` // what starts it
	Client    []string `yaml:"client"`  // what starts a target client
	Revision  string   `yaml:"revision"`
	Transport string   `yaml:"transport"`
	// Requirements is the frozen set that a target is judged by: 2025-11-25@1.
	Requirements string            `yaml:"requirements"`
	Filter       string            `yaml:"filter"`
	Header       map[string]string `yaml:"header"` // sent with every HTTP request
	Env          map[string]string `yaml:"env"`    // of the target's process

	JUnit         string `yaml:"junit"`
	JUnitWarnings string `yaml:"junit-warnings"` // what a warned result is there: pass, skip or fail
	JSON          string `yaml:"json"`
	HTML          string `yaml:"html"`
	Markdown      string `yaml:"markdown"`
	CodeQuality   string `yaml:"code-quality"`
	Badge         string `yaml:"badge"`
	Transcripts   string `yaml:"transcripts"`
	Baseline      string `yaml:"baseline"` // file that names known deviations

	Workers    int           `yaml:"workers"`
	Timeout    time.Duration `yaml:"timeout"`
	Deadline   time.Duration `yaml:"deadline"`
	MaxMessage string        `yaml:"max-message"`
	Strict     bool          `yaml:"strict"`

	// Start is a command that starts the server at URL and ends with the run.
	Start []string `yaml:"start"`
	Auth  Auth     `yaml:"auth"`
	// AuthorizationServer is a target of that role.
	AuthorizationServer AuthorizationServer `yaml:"authorization-server"`

	CallTools string `yaml:"call-tools"`
	// Arguments are those to call a tool with, by the tool's name; a tool that
	// stands here may be called.
	Arguments map[string]map[string]any `yaml:"arguments"`
	// Provocations name, by kind, a tool that makes the target do what no
	// client can ask for by the protocol.
	Provocations map[string]provoke.Provocation `yaml:"provocations"`
	// Never names kinds of provocations, and features, that a server will never show.
	Never []string `yaml:"never"`
}

// Auth is what there is to get into a server with that asks for authorization.
type Auth struct {
	Tokens map[string]string `yaml:"tokens"` // by the names of session.ConfiguredTokens
	Scopes []Scoped          `yaml:"scopes"`
}

// AuthorizationServer is a target authorization server, and what there is to be a client of
// it.
type AuthorizationServer struct {
	URL          string   `yaml:"url"` // its issuer
	ClientID     string   `yaml:"client-id"`
	ClientSecret string   `yaml:"client-secret"`
	RedirectURI  string   `yaml:"redirect-uri"`
	Resource     string   `yaml:"resource"`
	Scope        string   `yaml:"scope"`
	Login        []string `yaml:"login"` // command that logs in and consents
	// Documents is an https URL that leads to DocumentsListen, HOST:PORT, where client id
	// metadata documents are served.
	Documents       string `yaml:"documents"`
	DocumentsListen string `yaml:"documents-listen"`
}

// Scoped is a tool that takes more scopes than others.
type Scoped struct {
	Tool      string         `yaml:"tool"`
	Arguments map[string]any `yaml:"arguments"`
	Needs     []string       `yaml:"needs"`
}

// Load reads a config file. An error begins with the file and, where there is
// one, the line.
func Load(path string) (File, error) {
	text, err := read(path)
	if err != nil {
		if pathError, ok := errors.AsType[*os.PathError](err); ok {
			err = pathError.Err
		}
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return Parse(path, text)
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err == nil && len(text) > maxSize {
		err = fmt.Errorf("larger than %d KiB", maxSize>>10)
	}
	return text, err
}

// Parse reads the text of a config file; name is what errors call it.
func Parse(name string, text []byte) (File, error) {
	root, err := yamlnode.Parse(name, text)
	if root == nil {
		return File{}, err
	}
	source := source{name: name, root: root}
	if err := source.knowsKeys(); err != nil {
		return File{}, err
	}
	asJSON(root)
	var file File
	if err := root.Decode(&file); err != nil {
		return File{}, yamlnode.Explain(name, err)
	}
	if err := source.judge(file); err != nil {
		return File{}, err
	}
	return file, nil
}

// asJSON makes text of what YAML has and JSON has not: dates, and keys that are
// numbers.
func asJSON(node *yaml.Node) {
	if node.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(node.Content, 2) {
			if key := pair[0]; key.Kind == yaml.ScalarNode && key.ShortTag() != "!!merge" {
				key.Tag = "!!str"
			}
		}
	}
	if node.ShortTag() == "!!timestamp" {
		node.Tag = "!!str"
	}
	for _, child := range node.Content {
		asJSON(child)
	}
}

// judge says what is wrong with values that are of the right type.
func (s source) judge(file File) error {
	for _, kind := range slices.Sorted(maps.Keys(file.Provocations)) {
		provocation := file.Provocations[kind]
		place := s.place("provocations", kind)
		if !slices.Contains(provoke.Kinds(), kind) {
			return fmt.Errorf("%s: provocations: unknown kind %q%s", place, kind, nearest.Hint(kind, provoke.Kinds()))
		}
		if provocation.Tool == "" {
			return fmt.Errorf("%s: provocations: %s names no tool", place, kind)
		}
		if err := sendable(provocation.Arguments); err != nil {
			return fmt.Errorf("%s: provocations: the arguments of %s %w", place, kind, err)
		}
	}
	if err := s.judgeNumbers(file); err != nil {
		return err
	}
	if err := s.judgeNever(file); err != nil {
		return err
	}
	if err := s.judgeAuth(file.Auth); err != nil {
		return err
	}
	for _, tool := range slices.Sorted(maps.Keys(file.Arguments)) {
		if err := sendable(file.Arguments[tool]); err != nil {
			return fmt.Errorf("%s: arguments: those of %s %w", s.place("arguments", tool), tool, err)
		}
	}
	return nil
}

// judgeNumbers makes sure that numbers and durations that are given are positive.
func (s source) judgeNumbers(file File) error {
	for _, one := range []struct {
		key      string
		value    any
		positive bool
		hint     string
	}{
		{"workers", file.Workers, file.Workers > 0, ""},
		{"timeout", file.Timeout, file.Timeout > 0, ", such as 10s"},
		{"deadline", file.Deadline, file.Deadline > 0, ", such as 10s"},
	} {
		if key, _ := member(s.root, one.key); key != nil && !one.positive {
			return fmt.Errorf("%s: %s: %v must be positive%s", s.line(key), one.key, one.value, one.hint)
		}
	}
	return nil
}

// TokenNames are the names of tokens that a config can give.
func TokenNames() []string {
	return []string{"valid", "limited", "full", "broader", "other-user", "expired", "foreign", "revoked"}
}

// judgeAuth makes sure that tokens have known names and values, and tools names.
func (s source) judgeAuth(said Auth) error {
	for _, name := range slices.Sorted(maps.Keys(said.Tokens)) {
		place := s.place("auth", "tokens", name)
		if !slices.Contains(TokenNames(), name) {
			return fmt.Errorf("%s: auth: tokens: unknown name %q%s", place, name, nearest.Hint(name, TokenNames()))
		}
		if token := said.Tokens[name]; token == "" || strings.ContainsAny(token, " \t\r\n") {
			return fmt.Errorf("%s: auth: tokens: %s is not an access token", place, name) // it is a secret
		}
	}
	for _, one := range said.Scopes {
		if one.Tool == "" {
			return fmt.Errorf("%s: auth: scopes: an entry names no tool", s.place("auth", "scopes"))
		}
		if err := sendable(one.Arguments); err != nil {
			return fmt.Errorf("%s: auth: scopes: the arguments of %s %w", s.place("auth", "scopes"), one.Tool, err)
		}
	}
	return nil
}

// judgeNever makes sure that what a server never does is known, and that no
// provocation is named for it.
func (s source) judgeNever(file File) error {
	_, list := member(s.root, "never")
	for i, name := range file.Never {
		place := s.place("never")
		if list != nil && list.Kind == yaml.SequenceNode && i < len(list.Content) {
			place = s.line(list.Content[i])
		}
		if !slices.Contains(provoke.NeverNames(), name) {
			return fmt.Errorf("%s: never: unknown name %q%s", place, name, nearest.Hint(name, provoke.NeverNames()))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(file.Provocations)) {
		if name := (provoke.Never{Names: file.Never}).Rules(kind); name != "" {
			return fmt.Errorf(
				"%s: provocations: %s names a tool, but never says %s",
				s.place("provocations", kind),
				kind,
				name,
			)
		}
	}
	return nil
}

// maxValues bounds the arguments of one tool, in which aliases of YAML may
// repeat a value without end.
const maxValues = 100_000

// sendable tells whether arguments can be written as JSON.
func sendable(arguments map[string]any) error {
	left := maxValues
	return countValues(arguments, &left)
}

func countValues(value any, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("have more than %d values", maxValues)
	}
	switch value := value.(type) {
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Errorf("contain the number %v, which JSON does not have", value)
		}
	case []any:
		for _, element := range value {
			if err := countValues(element, left); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, member := range value {
			if err := countValues(member, left); err != nil {
				return err
			}
		}
	}
	return nil
}

// source is a file that is being read, to find places in it.
type source struct {
	name string
	root *yaml.Node
}

// member returns the key and the value of a member of a mapping, or nil.
func member(node *yaml.Node, name string) (key, value *yaml.Node) {
	for key, value := range members(node) {
		if key.Value == name {
			return key, value
		}
	}
	return nil, nil
}

// members are the keys and values of a mapping; of anything else, none.
func members(node *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if node != nil && node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for pair := range slices.Chunk(node.Content, 2) {
			if !yield(pair[0], pair[1]) {
				return
			}
		}
	}
}

// place names the file and the line of a key, given with the keys above it.
func (s source) place(path ...string) string {
	place, node := s.name, s.root
	for _, name := range path {
		key, value := member(node, name)
		if key == nil {
			break
		}
		place, node = s.line(key), value
	}
	return place
}

func (s source) line(at *yaml.Node) string { return fmt.Sprintf("%s:%d", s.name, at.Line) }

// knowsKeys looks for keys that mean nothing, and says which were meant.
func (s source) knowsKeys() error {
	if err := s.knows(s.root, reflect.TypeFor[File]()); err != nil {
		return err
	}
	_, auth := member(s.root, "auth")
	if err := s.knows(auth, reflect.TypeFor[Auth]()); err != nil {
		return err
	}
	if _, scopes := member(auth, "scopes"); scopes != nil {
		for _, one := range scopes.Content {
			if err := s.knows(one, reflect.TypeFor[Scoped]()); err != nil {
				return err
			}
		}
	}
	_, authority := member(s.root, "authorization-server")
	if err := s.knows(authority, reflect.TypeFor[AuthorizationServer]()); err != nil {
		return err
	}
	_, provocations := member(s.root, "provocations")
	for _, provocation := range members(provocations) {
		if err := s.knows(provocation, reflect.TypeFor[provoke.Provocation]()); err != nil {
			return err
		}
	}
	return nil
}

func (s source) knows(node *yaml.Node, structure reflect.Type) error {
	known := keys(structure)
	for key := range members(node) {
		if key.ShortTag() != "!!merge" && !slices.Contains(known, key.Value) {
			return fmt.Errorf("%s: unknown key %q%s", s.line(key), key.Value, nearest.Hint(key.Value, known))
		}
	}
	return nil
}

// keys lists the keys that a structure has.
func keys(structure reflect.Type) []string {
	var names []string
	for field := range structure.Fields() {
		names = append(names, field.Tag.Get("yaml"))
	}
	return names
}
