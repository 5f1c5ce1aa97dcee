// Package lazy has regular expressions that are compiled when they are first used: a process
// needs few of them, and many processes are started.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression of package regexp.
type Regexp struct {
	text     string
	compiled func() *regexp.Regexp
}

// MustCompile returns an expression. A wrong one panics when it is first used.
func MustCompile(text string) *Regexp {
	return &Regexp{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// String returns the expression as it is written.
func (r *Regexp) String() string { return r.text }

// MatchString is that of package regexp.
func (r *Regexp) MatchString(text string) bool { return r.compiled().MatchString(text) }

// FindString is that of package regexp.
func (r *Regexp) FindString(text string) string { return r.compiled().FindString(text) }

// FindStringSubmatch is that of package regexp.
func (r *Regexp) FindStringSubmatch(text string) []string {
	return r.compiled().FindStringSubmatch(text)
}

// FindAllStringSubmatchIndex is that of package regexp.
func (r *Regexp) FindAllStringSubmatchIndex(text string, most int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(text, most)
}

// ReplaceAllString is that of package regexp.
func (r *Regexp) ReplaceAllString(text, by string) string {
	return r.compiled().ReplaceAllString(text, by)
}

// ReplaceAllStringFunc is that of package regexp.
func (r *Regexp) ReplaceAllStringFunc(text string, by func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(text, by)
}

// FindAllString is that of package regexp.
func (r *Regexp) FindAllString(text string, most int) []string {
	return r.compiled().FindAllString(text, most)
}
