package reports

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browserTime bounds a test in a browser, which starts slowly where many tests run.
const browserTime = 2 * time.Minute

// browse opens a page in a headless Chromium. What the page complains of, or asks the
// network for, is an error of the test.
func browse(t *testing.T, document []byte) context.Context {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("no Chromium is installed: apt-get install chromium")
	}
	file := filepath.Join(t.TempDir(), "run.html")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), browserTime) // it ends in the cleanup
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // waits for its end
	address := (&url.URL{Scheme: "file", Path: file}).String()
	chromedp.ListenTarget(ctx, func(event any) {
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page throws %v", event.ExceptionDetails)
		case *log.EventEntryAdded:
			t.Errorf("the browser complains: %s", event.Entry.Text)
		case *network.EventRequestWillBeSent:
			if event.Request.URL != address {
				t.Errorf("the page asks for %s", event.Request.URL)
			}
		}
	})
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// evaluate returns what a script makes in the page.
func evaluate[Value any](t *testing.T, ctx context.Context, script string) Value { //nolint:revive // t comes first in tests
	t.Helper()
	var value Value
	if err := chromedp.Run(ctx, chromedp.Evaluate(script, &value)); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return value
}

const shownLines = `[...document.querySelectorAll("details:not([hidden])")].length`

// The page works in a browser: by mouse and by keyboard, with nothing from the network.
func TestHTMLInBrowser(t *testing.T) {
	t.Parallel()
	run := sampleRun()
	older := sampleRun()
	older.Legs[0].Results[0].Verdict = Passed
	document := htmlText(t, run, HTMLOptions{Since: older})
	ctx := browse(t, document)
	total := evaluate[int](t, ctx, `document.querySelectorAll("details").length`)
	choose := func(script string, want int) {
		t.Helper()
		script = `(() => { const form = document.getElementById("filters"); ` + script +
			`; form.dispatchEvent(new Event("input")); return ` + shownLines + ` })()`
		if got := evaluate[int](t, ctx, script); got != want {
			t.Errorf("%s leaves %d of %d lines, want %d", script, got, total, want)
		}
	}
	counts := run.Counts()
	const none = `form.reset(); for (const box of form.elements.verdict) box.checked = false`
	for _, v := range Verdicts() {
		choose(none+fmt.Sprintf(`; form.querySelector("[value=%s]").checked = true`, v), counts.Of(v))
	}
	choose(none, 0)
	choose(`form.reset(); form.elements.revision.value = "2025-06-18"`, 2)
	choose(`form.reset(); form.elements.transport.value = "http"`, total-counts.Skipped)
	choose(`form.reset(); form.elements.page.value = "basic/utilities/ping"`, 2)
	choose(`form.reset(); form.elements.text.value = "VERSION-refused"`, 2)
	choose(`form.reset(); form.elements.level.value = "SHOULD"`, 2)
	choose(`form.reset()`, total-counts.Skipped) // which are hidden at first

	// The keyboard opens a line, and what is behind it has its exchange.
	failed := `document.querySelector("details[data-v=failed]")`
	if err := chromedp.Run(ctx, chromedp.Evaluate(failed+`.firstElementChild.focus()`, nil), chromedp.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Run(ctx, chromedp.WaitVisible(`details[data-v=failed][open] ol.wire li.step`)); err != nil {
		t.Fatal(err)
	}
	steps := evaluate[[]string](t, ctx, `[...document.querySelectorAll("details[open] li.step")].map((step) => step.className + " " + step.textContent)`)
	if len(steps) == 0 || !strings.Contains(strings.Join(steps, "\n"), "marked") || !strings.Contains(strings.Join(steps, "\n"), "client to server") {
		t.Errorf("the exchange has the steps %q", steps)
	}
	// A link to a line that is hidden shows it.
	choose(none, 0)
	if got := evaluate[bool](t, ctx, `(() => { document.querySelector("article a[href^='#r']").click(); return true })()`); !got {
		t.Error("there is no link to an exchange")
	}
	if err := chromedp.Run(ctx, chromedp.WaitVisible(`details[open]:focus-within`)); err != nil {
		t.Fatal(err)
	}
	if labels := evaluate[int](t, ctx, `[...document.querySelectorAll("button, input, select")].filter((one) => !one.labels?.length && !one.getAttribute("aria-label")).length`); labels > 0 {
		t.Errorf("%d controls have no label", labels)
	}
	if copies := evaluate[int](t, ctx, `document.querySelectorAll("article dd.rerun button").length`); copies == 0 {
		t.Error("no command can be copied")
	}
	shoot(t, ctx)
}

// What is hostile does nothing in a browser.
func TestHostileHTMLInBrowser(t *testing.T) {
	t.Parallel()
	ctx := browse(t, htmlText(t, hostileRun(), HTMLOptions{Since: sampleRun()}))
	if err := chromedp.Run(ctx, chromedp.Evaluate(`document.querySelectorAll("details").forEach((one) => { one.open = true })`, nil),
		chromedp.WaitReady(`li.step`)); err != nil {
		t.Fatal(err)
	}
	if found := evaluate[int](t, ctx, `document.querySelectorAll("main script, img, iframe, [onerror], a:not([href^='#']):not([href^='https://modelcontextprotocol.io/'])").length`); found > 0 {
		t.Errorf("%d elements were made of what a target sent", found)
	}
}

// Two thousand checks are filtered in a moment, and no line is wider than a telephone.
func TestLargeHTMLInBrowser(t *testing.T) {
	t.Parallel()
	ctx := browse(t, htmlText(t, largeRun(2000, 20<<20), HTMLOptions{}))
	if got := evaluate[int](t, ctx, shownLines); got != 2002 {
		t.Errorf("%d lines", got)
	}
	if err := chromedp.Run(ctx, emulation.SetDeviceMetricsOverride(360, 800, 1, true)); err != nil {
		t.Fatal(err)
	}
	if wide := evaluate[int](t, ctx, `(() => { document.querySelectorAll("details").forEach((one, at) => { one.open = at < 10 }); return document.documentElement.scrollWidth })()`); wide > 360 {
		t.Errorf("the page is %d wide on a screen of 360", wide)
	}
}

// shoot takes pictures into the folder that MCPCONFORM_SCREENSHOTS names, for people.
func shoot(t *testing.T, ctx context.Context) { //nolint:revive // t comes first in tests
	t.Helper()
	folder := os.Getenv("MCPCONFORM_SCREENSHOTS")
	if folder == "" {
		return
	}
	for _, one := range []struct {
		name, media, scheme string
		width               int64
	}{{"light", "screen", "light", 1280}, {"dark", "screen", "dark", 1280}, {"narrow", "screen", "light", 390}, {"print", "print", "light", 800}} {
		var picture []byte
		if err := chromedp.Run(ctx,
			emulation.SetEmulatedMedia().WithMedia(one.media).WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: one.scheme}}),
			emulation.SetDeviceMetricsOverride(one.width, 900, 1, false), chromedp.FullScreenshot(&picture, 100)); err != nil {
			t.Error(err)
		} else if err := os.WriteFile(filepath.Join(folder, one.name+".png"), picture, 0o600); err != nil {
			t.Error(err)
		}
	}
}
