// Package rules is the engine that judges a transcript, independently of what provoked it:
// the transcript of a run, of a client that a user drives by hand, of a recording. It
// needs no target and starts nothing.
package rules

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Rule is a check on any transcript, independent of what provoked it. It judges what the
// target sent; what the harness sent is only there to be answered.
type Rule struct {
	// Name is the id of the rule; "" where no other rule names the same requirement
	// first: then that is its id.
	Name string
	// Text is the behaviour, in the present tense: "answers each request once".
	Text string
	// Verifies are the requirements that the rule verifies, and where that is written.
	Verifies Verified
	// Role is that of the only targets that the rule is for; "" for both.
	Role string
	// Needs are what the rule judges by beside messages: it is not for a recording that
	// lacks one of them. A rule of HTTP alone needs heads without saying so.
	Needs []transcript.Lack
	// Judge looks at one conversation. It calls Observe for every message that
	// could have broken the rule, and Violation for each that did: a rule that saw
	// nothing in any conversation is skipped, not passed.
	Judge func(conversation *Conversation, reporter *Reporter)
}

// Verified are the requirements that a rule verifies.
type Verified struct {
	IDs  []string // the first names the rule
	File string   // in which the rule is written, as the compiler knows it
	Line int
}

// Verifies are requirements, with the place from which it is called.
func Verifies(ids ...string) Verified {
	_, file, line, _ := runtime.Caller(1)
	return Verified{IDs: ids, File: file, Line: line}
}

// For tells whether the rule is for targets of a role.
func (r Rule) For(role string) bool { return r.Role == "" || r.Role == role }

// ID names the rule among all others, independently of its text and its place among
// them: findings carry it.
func (r Rule) ID() string {
	if r.Name == "" && len(r.Verifies.IDs) > 0 {
		return r.Verifies.IDs[0]
	}
	return r.Name
}

// Finding is what one rule found in one conversation.
type Finding struct {
	Rule     string   // its id
	Observed int      // messages that could have broken it
	Breaks   []Breach `json:",omitempty"`
	// Broken are the sequence numbers of all events that broke it.
	Broken []int `json:"-"`
}

// Breach is one way in which a rule was broken, however often.
type Breach struct {
	Cause    string // breaches of the same cause are one
	Mismatch Mismatch
	Count    int
	Exchange []transcript.Event // the messages that show it first
	Judged   int                // sequence of the message that was judged
	About    Subject            // that it belongs to; zero when it belongs to none
}

// Place is where the message that was judged stands.
func (b Breach) Place() transcript.Place {
	at := slices.IndexFunc(b.Exchange, func(event transcript.Event) bool { return event.Sequence == b.Judged })
	if at < 0 {
		return transcript.Place{}
	}
	return b.Exchange[at].Place()
}

// maxBreaches bounds the different causes that are kept of one rule and one
// conversation; one is enough to fail, some more help.
const maxBreaches = 8

// Reporter collects what a rule sees.
type Reporter struct {
	conversation *Conversation
	finding      Finding
}

// Observe counts a message that could break the rule.
func (r *Reporter) Observe() { r.finding.Observed++ }

// Violation says that a message breaks the rule. Mismatches that want the same at
// the same place (list positions aside) in answers to the same method are one
// cause, counted.
func (r *Reporter) Violation(message *Message, mismatch Mismatch) {
	method := message.Method
	if message.Request != nil {
		method = message.Request.Method
	}
	if message.Batch != nil && (mismatch.Where == "" || strings.HasPrefix(mismatch.Where, "/")) {
		mismatch.Where = fmt.Sprintf("/%d%s", message.Element, mismatch.Where)
	}
	r.add(
		method,
		mismatch,
		message.Event.Sequence,
		message.subject(),
		func() []transcript.Event { return r.conversation.excerpt(message) },
	)
}

// ViolationAt says that something other than a message breaks the rule, such as
// the head of a response or the end of a stream. The events that explain it
// come before it.
func (r *Reporter) ViolationAt(event transcript.Event, mismatch Mismatch, before ...transcript.Event) {
	r.add(
		string(event.Kind),
		mismatch,
		event.Sequence,
		Subject{},
		func() []transcript.Event {
			if slices.ContainsFunc(before, func(one transcript.Event) bool { return one.Place() == event.Place() }) {
				return slices.Clone(before)
			}
			return append(slices.Clip(before), event)
		},
	)
}

func (r *Reporter) add(of string, mismatch Mismatch, judged int, about Subject, explained func() []transcript.Event) {
	if last := len(r.finding.Broken) - 1; last < 0 || r.finding.Broken[last] != judged {
		r.finding.Broken = append(r.finding.Broken, judged)
	}
	mismatch, of, about = mismatch.Short(), excerpt.Text(of), about.short()
	cause := of + " " + mismatch.Wanted + " " + positions.ReplaceAllString(mismatch.Where, "/*")
	at := slices.IndexFunc(r.finding.Breaks, func(known Breach) bool { return known.Cause == cause })
	if at >= 0 {
		r.finding.Breaks[at].Count++
		return
	}
	if len(r.finding.Breaks) == maxBreaches {
		return
	}
	shown := explained()
	for index := range shown {
		shown[index] = Excerpt(shown[index], MaxShown, mismatch.Where)
	}
	r.finding.Breaks = append(r.finding.Breaks, Breach{
		Cause: cause, Mismatch: mismatch, Count: 1,
		Exchange: shown, Judged: judged, About: about,
	})
}

// MaxShown bounds the bytes of a message that explains a breach: more than a
// report shows of it.
const MaxShown = 4 << 10

var positions = regexp.MustCompile(`/\d+`)

// Apply judges a conversation by the rules; findings without anything
// seen are left out.
func Apply(rules []Rule, conversation *Conversation) []Finding {
	var findings []Finding
	for _, rule := range rules {
		reporter := &Reporter{conversation: conversation, finding: Finding{Rule: rule.ID()}}
		rule.Judge(conversation, reporter)
		if reporter.finding.Observed > 0 || len(reporter.finding.Breaks) > 0 {
			findings = append(findings, reporter.finding)
		}
	}
	return findings
}

// Mismatch is one difference between what a requirement wants and what the
// target did.
type Mismatch struct {
	Wanted string
	Found  string
	Where  string // JSON pointer, header name, … or ""
	// Form is the legal form of a request that brought another answer than its plain one.
	Form string `json:",omitempty"`

	// Of is what the target sent, where a check judges several things; else zero.
	Of transcript.Place `json:"-"`
	// About is the request that what a check judged belongs to; zero when it belongs to none.
	About Subject `json:",omitzero"`
	// Code is that of the JSON-RPC error that was judged; zero when it was none.
	Code int64 `json:",omitzero"`
}

// Short returns the mismatch with no longer texts than a report has.
func (m Mismatch) Short() Mismatch {
	m.Wanted, m.Found, m.Where = excerpt.Text(m.Wanted), excerpt.Text(m.Found), excerpt.Text(m.Where)
	m.About = m.About.short()
	return m
}

func (m Mismatch) String() string {
	text := "wanted " + m.Wanted + "\nfound  " + m.Found
	if m.Where != "" {
		text += "\nat     " + m.Where
	}
	return text
}
