package transcript_test

import (
	"bytes"
	"testing"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestRecordsShareRoom(t *testing.T) {
	t.Parallel()
	budget := transcript.NewMemoryBudget(100 << 10)
	one, other := transcript.NewLogIn(budget, "c1"), transcript.NewLogIn(budget, "c2")
	one.Append(message(bytes.Repeat([]byte("x"), 60<<10)))
	if other.Append(message(bytes.Repeat([]byte("x"), 60<<10))); other.Dropped() != 1 || !other.OverBudget() || one.OverBudget() {
		t.Errorf("%d events are dropped where there is no room for one, over the budget: %t and %t", other.Dropped(), one.OverBudget(), other.OverBudget())
	}
	if left := budget.Left(); left < 38<<10 || left > 40<<10 {
		t.Errorf("%d bytes are left", left)
	}
	if !budget.Scarce() {
		t.Error("less than half is left, and it is not scarce")
	}
	if one.Take(60<<10) || !one.OverBudget() {
		t.Error("there is more room than there should be")
	}
	if !other.Take(30 << 10) {
		t.Error("there is less room than there should be")
	}
	other.Give(10 << 10)
	one.Release()
	other.Release()
	if budget.Left() != 100<<10 || budget.Scarce() {
		t.Errorf("%d bytes are left when all are released", budget.Left())
	}
	if one.Release(); budget.Left() != 100<<10 {
		t.Errorf("%d bytes are left when they are released twice", budget.Left())
	}
}

// Small events take memory, too.
func TestEventsTakeRoom(t *testing.T) {
	t.Parallel()
	log := transcript.NewLogIn(transcript.NewMemoryBudget(100<<10), "c1")
	for range 1000 {
		log.Append(transcript.Event{Kind: transcript.Remark})
	}
	if kept := len(log.Events()); kept < 100 || kept > 500 || log.Len() != 1000 {
		t.Errorf("%d events of %d are kept", kept, log.Len())
	}
}

func TestRoomWithoutEnd(t *testing.T) {
	t.Parallel()
	log := transcript.NewLog("c1")
	if !log.Take(1<<40) || log.Left() < 1<<40 || log.OverBudget() {
		t.Error("a log of its own has no room")
	}
	log.Crowd()
	if !log.OverBudget() {
		t.Error("what is noted is not told")
	}
}
