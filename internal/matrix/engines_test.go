package matrix

import (
	"strings"
	"testing"
)

// A printed matrix installs the version that has printed it, and no other.
func TestPrintInstallsTheGivenVersion(t *testing.T) {
	t.Parallel()
	for _, engine := range Engines() {
		var text strings.Builder
		if err := Print(&text, engine, Job{Shards: 2, Version: "v1.2.3"}); err != nil {
			t.Fatal(err)
		}
		installs, given := strings.Count(text.String(), "go install "), strings.Count(text.String(), "/cmd/mcpconform@v1.2.3\n")
		if installs == 0 || installs != given {
			t.Errorf("%s: %d of %d install it:\n%s", engine, given, installs, text.String())
		}
	}
}
