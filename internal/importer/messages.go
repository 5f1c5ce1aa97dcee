package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/schema"
)

// entry is what a source without heads has of one message.
type entry struct {
	line      int
	at        time.Time
	from      protocol.Party // "" when only the word is known
	word      string         // of a direction as one of the two sees it: "in" or "out"
	kind      transcript.Kind
	raw       []byte
	note      string
	group     string // of entries that are of one connection
	named     bool   // the source has a name for the connection
	transport string // "" when the source does not say
}

// The members under which recorders write what an entry needs, the best first.
var (
	messageMembers   = []string{"raw", "message", "msg", "data", "payload", "jsonrpc"}
	directionMembers = []string{"direction", "dir", "from", "type"}
	timeMembers      = []string{"ts", "time", "timestamp", "at"}
	groupMembers     = []string{"conn_id", "connection", "session_id", "sessionId", "session", "server"}
)

// senders are the words for who sent a message.
var senders = sendersBy(map[protocol.Party][]string{
	protocol.Client: {
		"c2s", "client", "client-to-server", "client_to_server", "client->server", "client→server",
		"→", "->", "-->", "=>", ">", ">>",
	},
	protocol.Server: {
		"s2c", "server", "server-to-client", "server_to_client", "server->client", "server→client",
		"←", "<-", "<--", "<=", "<", "<<",
	},
})

func sendersBy(words map[protocol.Party][]string) map[string]protocol.Party {
	found := map[string]protocol.Party{}
	for party, all := range words {
		for _, word := range all {
			found[word] = party
		}
	}
	return found
}

// views are the words for a direction as one of the two sees it.
var views = map[string]string{
	"out": "out", "outgoing": "out", "outbound": "out", "send": "out", "sent": "out", "tx": "out",
	"in": "in", "incoming": "in", "inbound": "in", "recv": "in", "receive": "in", "received": "in", "rx": "in",
}

// words of mcpsnoop beside those.
const (
	ofStderr = "stderr"
	ofMeta   = "meta"
)

// transports by the words that recorders have for them.
var transports = map[string]string{
	"stdio": protocol.Stdio, "http": protocol.HTTP, "streamable-http": protocol.HTTP, "streamable_http": protocol.HTTP,
	"streamablehttp": protocol.HTTP, "sse": protocol.SSE,
}

// lines reads JSON lines, and logs of Claude Desktop.
func (i *Imported) lines(text []byte) {
	var all []entry
	number, starts := 0, map[string]int{}
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		switch found, isLog := logged(line, starts); {
		case len(line) == 0:
		case len(all) > maxMessages:
			i.skip(number)
		case isLog && found.kind != "":
			found.line = number
			if found.kind == transcript.Gap {
				i.skip(number)
			}
			all = append(all, found)
		case isLog: // words of the log itself
		default:
			read, known := entriesOf(line)
			if !known {
				i.skip(number)
			}
			for _, one := range read {
				one.line = number
				all = append(all, one)
			}
		}
	}
	i.assemble(all)
}

// array reads a list of entries, as the Inspector exports it.
func (i *Imported) array(text []byte) {
	var all []entry
	decoder := decoderOf(text)
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() != ']' {
		start := decoder.InputOffset()
		value, failed := decoder.ReadValue()
		if err = failed; err != nil {
			i.skip(lineAt(text, start+1))
			break
		}
		line := lineAt(text, decoder.InputOffset()-int64(len(value)))
		read, known := entriesOf(value)
		if !known || len(all) > maxMessages {
			i.skip(line)
			continue
		}
		for _, one := range read {
			one.line = line
			all = append(all, one)
		}
	}
	if !slices.ContainsFunc(all, func(one entry) bool { return one.at.IsZero() }) {
		// The Inspector has a request with its response.
		slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	}
	i.assemble(all)
}

// logged reads a line of a log of Claude Desktop. It reports false when the line is none.
func logged(line []byte, starts map[string]int) (found entry, is bool) {
	stamp, rest, _ := bytes.Cut(line, []byte(" "))
	at := timeOf(string(stamp))
	if at.IsZero() || !bytes.HasPrefix(rest, []byte("[")) {
		return found, false
	}
	name := "" // in brackets, beside the level
	for bytes.HasPrefix(rest, []byte("[")) {
		word, more, _ := bytes.Cut(rest[1:], []byte("]"))
		if !slices.Contains([]string{"info", "warn", "error", "debug"}, string(word)) {
			name = string(word)
		}
		rest = bytes.TrimLeft(more, " ")
	}
	if bytes.HasPrefix(rest, []byte("Initializing server")) {
		starts[name]++
	}
	group := name + " " + strconv.Itoa(starts[name])
	found = entry{at: at, kind: transcript.Message, group: group, transport: protocol.Stdio}
	for _, sender := range []protocol.Party{protocol.Client, protocol.Server} {
		said, is := bytes.CutPrefix(rest, []byte("Message from "+string(sender)+": "))
		if !is {
			continue
		}
		found.from = sender
		value, err := decoderOf(said).ReadValue() // what follows is the log's
		if err != nil || !isMessage(value) {
			found.kind, found.note = transcript.Gap, "the log has a part of a message of the "+string(sender)
			return found, true
		}
		found.raw = bytes.Clone(value)
		return found, true
	}
	return entry{}, true
}

// entriesOf reads an object of a recorder; it reports false when nothing of it can be placed.
// What a recorder says of itself is no entry, and is known.
func entriesOf(text []byte) (found []entry, known bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return nil, false
	}
	base := entry{kind: transcript.Message}
	var by []string // the members that are the recorder's
	for _, name := range timeMembers {
		var value any
		if at := members[name]; at != nil && base.at.IsZero() && json.Unmarshal(at, &value) == nil {
			base.at = timeOf(value)
			by = append(by, name)
		}
	}
	for _, name := range groupMembers {
		if value := textOf(members[name]); value != "" {
			base.group += value + " "
			base.named = base.named || name != "server"
			by = append(by, name)
		}
	}
	base.transport = transports[strings.ToLower(textOf(members["transport"]))]
	direction := ""
	for _, name := range directionMembers {
		word := strings.ToLower(strings.TrimSpace(textOf(members[name])))
		if word == "" {
			continue
		}
		if direction == "" || senders[direction] == "" && views[direction] == "" {
			direction = word
		}
		by = append(by, name)
	}
	base.from, base.word = senders[direction], views[direction]
	switch direction {
	case ofMeta:
		return nil, true
	case ofStderr:
		base.kind, base.from, base.raw = transcript.Stderr, protocol.Server, []byte(textOf(members["text"])+"\n")
		return []entry{base}, true
	}
	raw := messageIn(members, by)
	for _, one := range []struct{ name, note string }{
		{"truncated", "the recorder has cut a message"}, {"redacted", "the recorder has hidden a part of a message"},
	} {
		if string(members[one.name]) == "true" {
			base.kind, base.note = transcript.Gap, one.note
			return []entry{base}, true
		}
	}
	if raw == nil {
		return nil, false
	}
	base.raw = raw
	if base.from == "" && base.word == "" &&
		!slices.Contains([]string{"request", "response", "notification"}, direction) {
		return nil, false
	}
	found = append(found, base)
	if answer := messageIn(map[string]json.RawMessage{"message": members["response"]}, nil); answer != nil {
		var took float64
		if members["duration"] != nil {
			_ = json.Unmarshal(members["duration"], &took) // if it is a number
		}
		base.raw = answer
		if !base.at.IsZero() {
			base.at = base.at.Add(milliseconds(min(took, 1e9)))
		}
		if base.from != "" {
			base.from = base.from.Other()
		}
		found = append(found, base)
	}
	return found, true
}

// messageIn is the message that an object has or is, nil for none.
func messageIn(members map[string]json.RawMessage, by []string) []byte {
	for _, name := range messageMembers {
		value := members[name]
		if text := textOf(value); len(text) > 0 {
			value = []byte(text)
		}
		if isMessage(value) {
			return compact(value)
		}
	}
	if textOf(members["jsonrpc"]) == "" {
		return nil
	}
	own := map[string]json.RawMessage{}
	for name, value := range members {
		if !slices.Contains(by, name) && name != "transport" {
			own[name] = value
		}
	}
	text, err := json.Marshal(own)
	if err != nil || !isMessage(text) {
		return nil
	}
	return text
}

// textOf is a string that stands in JSON; "" for anything else.
func textOf(value json.RawMessage) string {
	var text string
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

func compact(value []byte) []byte {
	var text bytes.Buffer
	if json.Compact(&text, value) != nil {
		return bytes.Clone(value)
	}
	return text.Bytes()
}

// isMessage tells whether a text is a message, or means to be one.
func isMessage(text []byte) bool {
	text = trimmed(text)
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return false
	}
	message := jsonrpc.Parse(text)
	switch message.Kind {
	case jsonrpc.Invalid:
		return message.Object["jsonrpc"] != nil
	case jsonrpc.Batch:
		elements := jsonrpc.Elements(text, 1)
		return len(elements) > 0 && elements[0][0] == '{' && isMessage(elements[0])
	}
	return true
}

// soleSender is the only party that sends requests and notifications of a method, at any
// revision; "" when both do, or none.
func soleSender(method string) protocol.Party {
	return soleSenders()[method]
}

var soleSenders = sync.OnceValue(func() map[string]protocol.Party {
	found, both := map[string]protocol.Party{}, map[string]bool{}
	for _, revision := range protocol.Released() {
		known, err := schema.For(revision)
		if err != nil {
			continue
		}
		for _, method := range known.Methods() {
			for _, party := range method.Senders {
				both[method.Name] = both[method.Name] || found[method.Name] == party.Other()
				found[method.Name] = party
			}
		}
	}
	for method := range both {
		if both[method] {
			delete(found, method)
		}
	}
	return found
})

// stream is the connection that entries of one group are put into.
type stream struct {
	Connection
	asked  map[jsonrpc.ID]protocol.Party // who has asked with an id
	server bool                          // the server has asked something
	begun  bool                          // something was said
	opened bool                          // it begins with an opening
	timed  bool                          // all entries have a time
	last   time.Time
}

// begin begins one over a transport; "" for one that the source does not say.
func begin(over string) *stream {
	of := &stream{asked: map[jsonrpc.ID]protocol.Party{}, timed: true}
	of.Header = transcript.Header{
		Transport: cmp.Or(over, protocol.Stdio),
		Lacks:     []transcript.Lack{transcript.RawBytes},
	}
	if over != protocol.Stdio {
		of.Header.Lacks = append(of.Header.Lacks, transcript.HTTPHead)
	}
	return of
}

// writers tell by group who "out" is: by what only one of the two sends.
func writers(all []entry) map[string]protocol.Party {
	outs := map[string]protocol.Party{}
	for _, one := range all {
		if one.word == "" || outs[one.group] != "" {
			continue
		}
		if sole := soleSender(jsonrpc.MethodOf(one.raw)); sole != "" {
			if outs[one.group] = sole; one.word == "in" {
				outs[one.group] = sole.Other()
			}
		}
	}
	return outs
}

// assemble puts entries in order into connections.
func (i *Imported) assemble(all []entry) {
	var streams []*stream
	current := map[string]*stream{}
	outs := writers(all)
	for _, one := range all {
		message := jsonrpc.Message{Kind: jsonrpc.Invalid}
		if one.kind == transcript.Message {
			message = jsonrpc.Parse(one.raw)
		}
		of := current[one.group]
		opens := message.Kind == jsonrpc.Request && message.Method == "initialize" && one.from != protocol.Server
		if of == nil || opens && of.begun && !one.named {
			of = begin(one.transport)
			current[one.group] = of
			streams = append(streams, of)
		}
		if one.word != "" {
			if one.from = outs[one.group]; one.word == "in" && one.from != "" {
				one.from = one.from.Other()
			}
		}
		if one.from == "" && one.kind == transcript.Message {
			one.from = of.sender(message)
		}
		if one.from == "" && one.kind == transcript.Message {
			i.skip(one.line)
			one.kind, one.note, one.raw = transcript.Gap, "a message of nobody knows whom", nil
		}
		of.add(one, message)
	}
	for _, of := range streams {
		if of.begun {
			i.Connections = append(i.Connections, of.whole())
		}
	}
}

// whole is the connection, when nothing of it follows.
func (s *stream) whole() Connection {
	if !s.timed {
		s.Header.Lacks = append(s.Header.Lacks, transcript.Times)
	}
	s.Header.Joined = !s.opened
	s.append(transcript.Event{Kind: transcript.Gap, At: s.last, Note: cut})
	return s.Connection
}

// cut is the note at the end of what was imported: it is unknown what came then.
const cut = "what came after is not in the file"

// sender finds out who sent a message of which the source says only what kind it is.
func (s *stream) sender(message jsonrpc.Message) protocol.Party {
	if message.Kind == jsonrpc.Response {
		if by, known := s.asked[message.ID]; known {
			return by.Other()
		}
		return ""
	}
	sole := soleSender(message.Method)
	switch {
	case sole != "" || s.server:
		return sole
	case message.Method == "notifications/cancelled":
		return protocol.Client // the server has nothing to give up
	case message.Method == "notifications/progress":
		return protocol.Server
	}
	return ""
}

func (s *stream) add(one entry, message jsonrpc.Message) {
	if one.kind == transcript.Message {
		if message.Kind == jsonrpc.Request {
			s.asked[message.ID] = one.from
			s.server = s.server || one.from == protocol.Server
		}
		_, modern := mcp.Object(message.Params(), "_meta")[mcp.MetaVersion]
		if one.from == protocol.Client {
			s.opened = s.opened || !s.begun && message.Method == "initialize" || modern
			s.begun = true
		}
		s.begun = s.begun || message.Kind == jsonrpc.Response
	}
	if one.at.IsZero() {
		one.at, s.timed = s.last, false
		if one.at.IsZero() {
			one.at = time.Unix(0, 0).UTC()
		}
	}
	s.last = one.at
	s.append(transcript.Event{
		At: one.at, From: one.from, Kind: one.kind, Raw: one.raw, Note: one.note,
		Stream: s.Header.Transport,
	})
}

func (c *Connection) append(event transcript.Event) {
	event.Sequence = len(c.Events)
	c.Events = append(c.Events, event)
}
