package jsonrpc

// maxWeight bounds the memory in bytes that a message takes, its text and its
// decoded form together: a list of ten thousand tools passes, and an array of a
// million digits. How long a message may be is for the transport to say: the
// decoded form may always be as large as the text, whose strings it holds.
const maxWeight = 32 << 20

// aside is what there is beside one long string that makes up a message.
const aside = 1 << 20

func room(raw []byte) int { return max(maxWeight-len(raw), len(raw)+aside) }

// What a decoded value weighs in bytes, rather too much than too little. A map
// has room for eight members at once, which makes a small object forty times as
// large as its text; the tests compare with what is really taken.
const (
	elementWeight     = 28 // of an array, and of the list in which it is collected
	arrayWeight       = 24
	textWeight        = 24 // of a string or number, beside its bytes
	objectWeight      = 48
	firstMemberWeight = 288
	nameWeight        = 8
	roomOfSmall       = 8  // members; one more makes it another kind of map
	slotWeight        = 68 // of each after that
)

// memberWeight is that of one more member of an object, beside its name.
func memberWeight(before int) int {
	switch {
	case before == 0, before == roomOfSmall:
		return nameWeight + firstMemberWeight
	case before > roomOfSmall:
		return nameWeight + slotWeight
	}
	return nameWeight
}

func (d *decoder) weigh(weight int) error {
	if d.weight += weight; d.weight > d.limit {
		return errTooHeavy
	}
	return nil
}
