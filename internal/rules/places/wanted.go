package places

import (
	"fmt"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// WantedText says what is wrong with a member that has to be a string.
func WantedText(object Place, name string) rules.Mismatch {
	if member, _ := object.Member(name); isText(member.Value) {
		return rules.Mismatch{}
	}
	return rules.Mismatch{
		Wanted: fmt.Sprintf("a member %q that is a string", name),
		Found:  rules.ShowMember(object.Object(), name),
		Where:  object.Pointer,
	}
}

func isText(value any) bool {
	_, text := value.(string)
	return text
}

// WantedObject says what is wrong with a member that has to be an object.
func WantedObject(object Place, name string) rules.Mismatch {
	if member, _ := object.Member(name); member.Object() != nil {
		return rules.Mismatch{}
	}
	return rules.Mismatch{
		Wanted: fmt.Sprintf("a member %q that is an object", name),
		Found:  rules.ShowMember(object.Object(), name),
		Where:  object.Pointer,
	}
}
