package resources

import "testing"

// Only the bytes of a file are no text; what people write in their place is.
func TestHoldsBinary(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ": true,
		"_9j_4AAQSkZJRgABAQ==":                         true, // a JPEG, in the alphabet for URLs
		"iVBORw0KGgoAAAAN\r\nSUhEUg==":                 true,
		"JVBERi0xLjcK":                                 true, // a PDF
		"\ufffdPNG\r\n\x1a\n":                          true,
		"":                                             false,
		"A picture of one pixel.":                      false,
		"[binary data, 70 bytes]":                      false,
		"SGVsbG8sIHdvcmxkIQ==":                         false, // a text
		"deadbeefdeadbeef":                             false,
		"P1\n1 1\n1\n":                                 false, // a picture that is text
	} {
		if got := holdsBinary(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for name, want := range map[string]bool{
		"image/png": true, "IMAGE/PNG; a=b": true, "audio/wav": true, "application/pdf": true,
		"image/svg+xml": false, "text/plain": false, "application/octet-stream": false, "": false, "png": false,
	} {
		if got := isBinary(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
