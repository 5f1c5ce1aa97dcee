package matrix_test

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcpconform/mcpconform/internal/matrix"
)

// browserTime bounds a test in a browser, which starts slowly where many tests run.
const browserTime = 2 * time.Minute

// The site works in a browser from files alone, by keyboard, and without the network.
func TestSiteInBrowser(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no Chromium is installed: apt-get install chromium")
	}
	out := t.TempDir()
	entries := []matrix.Entry{entry("good", "good"), entry("bad", "bad"), entry("gone", "unreachable")}
	check(t, matrix.Options{Out: out}, entries...)
	site(t, out, entries...)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), browserTime) // it ends in the cleanup
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)...)
	t.Cleanup(cancel)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // waits for its end
	chromedp.ListenTarget(ctx, func(event any) {
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("a page throws %v", event.ExceptionDetails)
		case *log.EventEntryAdded:
			t.Errorf("a page complains: %s", event.Entry.Text)
		case *network.EventRequestWillBeSent:
			if to, err := url.Parse(event.Request.URL); err != nil || to.Scheme != "file" {
				t.Errorf("a page asks for %s", event.Request.URL)
			}
		}
	})
	at := func(name string) string { return (&url.URL{Scheme: "file", Path: filepath.Join(out, name)}).String() }
	const shown = `[...document.querySelectorAll("tbody tr:not([hidden]) th")].map((one) => one.textContent.split(" ")[0].replace("sample<b>", "")).join(" ")`
	const scrolls = `document.documentElement.scrollWidth > document.documentElement.clientWidth`
	var all, found, counted, here string
	var wide bool
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(),
		chromedp.EmulateViewport(360, 640), // a telephone
		chromedp.Navigate(at("index.html")),
		chromedp.Evaluate(shown, &all),
		chromedp.Evaluate(scrolls, &wide),
		chromedp.Focus("#find input"), chromedp.KeyEvent("REFUSED"),
		chromedp.Evaluate(shown, &found), chromedp.Text("#found", &counted),
		// From the link to the content by the keyboard: the second page of the site.
		chromedp.Navigate(at("index.html")), chromedp.KeyEvent(kb.Tab+kb.Tab+kb.Tab), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady("table.cells"), chromedp.Title(&here),
	); err != nil {
		t.Fatal(err)
	}
	if all != "good bad gone" || found != "gone" || counted != "1 of 3" {
		t.Errorf("shows %q, and for what is looked for %q, %q", all, found, counted)
	}
	if wide {
		t.Error("a telephone has to scroll the page sideways, not the table alone")
	}
	if here != "Pages of the specification: 3 MCP targets" {
		t.Errorf("the keyboard leads to %q", here)
	}
	for _, name := range []string{"pages.html", "requirements.html", "changes.html"} {
		if err := chromedp.Run(ctx, chromedp.Navigate(at(name)), chromedp.Evaluate(scrolls, &wide)); err != nil || wide {
			t.Errorf("%s: %v, scrolls sideways: %t", name, err, wide)
		}
	}
}
