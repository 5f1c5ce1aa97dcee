package transcript

import "testing"

func TestPartOfARoom(t *testing.T) {
	t.Parallel()
	whole := NewMemoryBudget(100)
	one, other := whole.Part(60), whole.Part(60)
	if !one.take(60) || one.take(1) {
		t.Error("a part is as large as it is said to be")
	}
	if other.Left() != 40 || other.take(41) || !other.take(40) {
		t.Error("a part is not larger than what others have left of the whole")
	}
	one.give(60)
	if whole.Left() != 60 || one.Left() != 60 || other.Left() != 20 {
		t.Errorf("left %d, %d and %d", whole.Left(), one.Left(), other.Left())
	}
}

func TestPartOfNothing(t *testing.T) {
	t.Parallel()
	var endless *MemoryBudget
	if part := endless.Part(10); part.Left() != 10 || !part.take(10) || part.take(1) {
		t.Error("a part of endless room has an end")
	}
}
