package rules_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

func TestSharedFactsAreComputedOnce(t *testing.T) {
	t.Parallel()
	cell := rules.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.Stdio}
	first, second := rules.NewConversation(cell, nil, true), rules.NewConversation(cell, nil, true)
	var computed atomic.Int32
	count := func(of *rules.Conversation) *rules.Conversation {
		computed.Add(1)
		return of
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, conversation := range []*rules.Conversation{first, second} {
				if rules.Shared(conversation, "itself", count) != conversation {
					t.Error("a fact is that of another conversation")
				}
			}
		})
	}
	group.Wait()
	if computed.Load() != 2 {
		t.Errorf("computed %d times, for two conversations", computed.Load())
	}
	length := rules.Shared(first, "itself", func(*rules.Conversation) int { return 7 })
	other := rules.Shared(first, "other", func(*rules.Conversation) *rules.Conversation { return nil })
	if length != 7 || other != nil {
		t.Error("facts of another type or name are taken for one")
	}
}

// A fact may rest on others.
func TestSharedFactsOfFacts(t *testing.T) {
	t.Parallel()
	conversation := rules.NewConversation(rules.Cell{Role: protocol.ServerRole}, nil, true)
	outer := rules.Shared(conversation, "outer", func(conversation *rules.Conversation) []string {
		return append([]string{"outer"}, rules.Shared(conversation, "inner", func(*rules.Conversation) []string { return []string{"inner"} })...)
	})
	if !slices.Equal(outer, []string{"outer", "inner"}) {
		t.Errorf("found %v", outer)
	}
}
