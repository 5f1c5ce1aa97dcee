//go:build linux

package main

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The size of the pictures of the documentation, in pixels.
const (
	pictureWidth  = 1000
	pictureHeight = 920
)

// The picture of docs/first-run.md is of the size that fits the page; -update takes it
// anew, of the run that the page shows.
func TestDocsPicture(t *testing.T) {
	t.Parallel()
	file := filepath.Join(repository, "docs", "pictures", "report.png")
	if *update {
		takePicture(t, file)
	}
	source, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := png.DecodeConfig(bytes.NewReader(source))
	if err != nil || shown.Width != pictureWidth || shown.Height != pictureHeight {
		t.Errorf("%s is %d by %d pixels, want %d by %d (%v)", file, shown.Width, shown.Height, pictureWidth, pictureHeight, err)
	}
}

func takePicture(t *testing.T, file string) {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no Chromium is installed: apt-get install chromium")
	}
	folder := t.TempDir()
	run := exec.CommandContext(t.Context(), "mcpconform", "server", "--html", "report.html", "--", "weather-1.0")
	run.Dir = folder
	if raw, err := run.CombinedOutput(); run.ProcessState == nil || run.ProcessState.ExitCode() != exitDoesNot {
		t.Fatalf("%v\n%s", err, raw)
	}
	if raw, err := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--hide-scrollbars",
		fmt.Sprintf("--window-size=%d,%d", pictureWidth, pictureHeight), "--screenshot="+file, "file://"+filepath.Join(folder, "report.html")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
}
