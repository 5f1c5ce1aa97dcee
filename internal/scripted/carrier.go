package scripted

import "net/http"

// carrier is what a call is answered on: the HTTP exchange that carries it, or the channel
// that its session has for everything.
type carrier interface {
	// stream lets the answer be an event stream, where it can be one.
	stream(header map[string]string)
	// say sends a message before the answer.
	say(message []byte, deliberate string) bool
	// reply sends the answer: with a status and a header, where those can still be chosen.
	reply(status int, header map[string]string, message []byte, deliberate string)
	// choosesStatus tells whether they can.
	choosesStatus() bool
	// reject refuses what is no message.
	reject(refusal []byte)
	// over says that the call is over.
	over()
	// Done is closed when nothing more can come on it; nil where that is unknown.
	Done() <-chan struct{}
}

func (x *Exchange) stream(header map[string]string) { x.Head(http.StatusOK, header, "") }

func (x *Exchange) say(message []byte, deliberate string) bool {
	return x.Event(nil, message, deliberate)
}

func (x *Exchange) reply(status int, header map[string]string, message []byte, deliberate string) {
	if x.Begun() {
		x.Event(nil, message, deliberate)
		x.over()
		return
	}
	x.answer(status, header, message, deliberate)
}

func (x *Exchange) choosesStatus() bool { return !x.Begun() }

func (x *Exchange) reject(refusal []byte) { x.Answer(http.StatusBadRequest, nil, refusal, "") }

// over says that a call is over: with the last of a batch the exchange is, too.
func (x *Exchange) over() {
	if x.owed.Add(-1) <= 0 {
		x.Finish()
	}
}

// channel is the one of a session: its pipe, or a stream that the client has opened.
type channel struct{ session *Session }

func (channel) stream(map[string]string) {}

func (c channel) say(message []byte, deliberate string) bool {
	return c.session.Say(message, deliberate)
}

func (c channel) reply(_ int, _ map[string]string, message []byte, deliberate string) {
	c.session.Say(message, deliberate)
}

func (channel) choosesStatus() bool { return false }

func (c channel) reject(refusal []byte) { c.session.Say(refusal, "") }

func (channel) over() {}

func (channel) Done() <-chan struct{} { return nil }
