package survey

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/schema"
)

// Question is something that a check wants to know of a survey. A caller that records the
// questions of a check can tell whether the check may go another way with another survey.
type Question string

// The questions that name nothing.
const (
	AllTools     Question = "tools"
	AllResources Question = "resources"
	AllTemplates Question = "templates"
	AllPrompts   Question = "prompts"
	WhyNoBarrier Question = "barrier"
	BarrierBy    Question = "barrier by"
	IfInferred   Question = "inferred"
	Agreed       Question = "handshakes"
	Asked        Question = "tried"

	WhatIsGuarded Question = "guarded"
	WhyLocked     Question = "locked"
)

const (
	declares = "declares "
	offers   = "offers "
	unlisted = "unlisted "
)

// WhetherDeclares asks whether a capability is declared.
func WhetherDeclares(path string) Question { return Question(declares + path) }

// WhetherOffers asks whether a tool is listed with an input schema that allows arguments.
func WhetherOffers(tool string, arguments map[string]any) Question {
	text, _ := json.Marshal(call{tool, arguments}) // they came out of a file
	return Question(offers + string(text))
}

// call is what a tool is called with.
type call struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

func (s *Survey) offers(asked call) bool {
	return slices.ContainsFunc(s.Tools, func(offered map[string]any) bool {
		return offered["name"] == asked.Tool && !schema.Forbids(offered["inputSchema"], asked.Arguments)
	})
}

// WhyUnlisted asks why a list could not be had, by its method.
func WhyUnlisted(method string) Question { return Question(unlisted + method) }

// Answer answers a question; nil is the answer to one that is none.
func (s *Survey) Answer(question Question) any {
	if path, asked := strings.CutPrefix(string(question), declares); asked {
		return s.Declares(path)
	}
	if text, asked := strings.CutPrefix(string(question), offers); asked {
		var wanted call
		return json.Unmarshal([]byte(text), &wanted) == nil && s.offers(wanted)
	}
	if method, asked := strings.CutPrefix(string(question), unlisted); asked {
		return s.Unlisted(method)
	}
	switch question {
	case AllTools:
		return s.Tools
	case AllResources:
		return s.Resources
	case AllTemplates:
		return s.Templates
	case AllPrompts:
		return s.Prompts
	case WhyNoBarrier:
		return s.NoBarrier
	case BarrierBy:
		return s.Barrier
	case IfInferred:
		return s.Inferred
	case Agreed:
		return s.Handshakes
	case Asked:
		return s.Tried
	case WhatIsGuarded:
		return s.Guarded
	case WhyLocked:
		return s.Locked
	}
	return nil
}

// Differs tells whether another survey answers a question otherwise.
func (s *Survey) Differs(other *Survey, question Question) bool {
	return !reflect.DeepEqual(s.Answer(question), other.Answer(question))
}
