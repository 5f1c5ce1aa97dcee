package transcript_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// What is written is what the documentation describes.
func TestSchemaOfTranscripts(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile("../../docs/transcript.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := transcript.Write(&text, everyMember(), everyKind()); err != nil {
		t.Fatal(err)
	}
	writer, err := transcript.NewWriter(&text, transcript.Header{Transport: "stdio"})
	if err == nil {
		err = writer.Agree(everyMember().Agreement)
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text.Bytes()) {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s%v", line, err)
		}
	}
	for _, wrong := range []string{`{}`, `{"kind":"open"}`, `{"format":"mcpconform-transcript","version":2}`, `{"agreed":7}`, `7`} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(wrong)))
		if err == nil {
			err = schema.Validate(value)
		}
		if err == nil {
			t.Errorf("%s is taken for a line of a transcript", wrong)
		}
	}
}
