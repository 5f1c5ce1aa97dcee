package rules

import "sync"

// Shared returns a fact about a conversation, which is computed once, at the first
// call, also if calls are concurrent. A fact is known by its name and type; callers
// must not change what is returned, nor the conversation once it is judged.
func Shared[T any](conversation *Conversation, name string, compute func(*Conversation) T) T {
	fact, known := conversation.shared.Load(sharedKey[T](name))
	if !known {
		once := sync.OnceValue(func() T { return compute(conversation) })
		fact, _ = conversation.shared.LoadOrStore(sharedKey[T](name), once)
	}
	return fact.(func() T)()
}

// sharedKey tells facts of different types apart that have one name.
type sharedKey[T any] string
