package matrix_test

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
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
	entries := []matrix.Entry{entry("good", "good"), entry("part", "filtered"), entry("bad", "bad"), entry("gone", "unreachable")}
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
	// A telephone shows each revision below the target, within its width.
	const revisions = `[...document.querySelectorAll("td.revision")].filter((one) => one.offsetWidth > 0 &&
		one.getBoundingClientRect().right <= innerWidth).map((one) => getComputedStyle(one, "::before").content + one.textContent).join(" ")`
	var all, found, counted, here, labels string
	var wide bool
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(),
		chromedp.EmulateViewport(360, 640), // a telephone
		chromedp.Navigate(at("index.html")),
		chromedp.Evaluate(shown, &all),
		chromedp.Evaluate(scrolls, &wide), chromedp.Evaluate(revisions, &labels),
		chromedp.Focus("#find input"), chromedp.KeyEvent("REFUSED"),
		chromedp.Evaluate(shown, &found), chromedp.Text("#found", &counted),
		// From the link to the content by the keyboard: the second page of the site.
		chromedp.Navigate(at("index.html")), chromedp.KeyEvent(kb.Tab+kb.Tab+kb.Tab), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady("table.cells"), chromedp.Title(&here),
	); err != nil {
		t.Fatal(err)
	}
	if all != "bad gone part good" || found != "gone" || counted != "1 of 4" {
		t.Errorf("shows %q, and for what is looked for %q, %q", all, found, counted)
	}
	if !strings.Contains(labels, "2025-11-25") {
		t.Errorf("a telephone shows the revisions %q", labels)
	}
	if wide {
		t.Error("a telephone has to scroll the page sideways, not the table alone")
	}
	if here != "Pages of the specification: 4 MCP targets" {
		t.Errorf("the keyboard leads to %q", here)
	}
	for _, name := range []string{"pages.html", "requirements.html", "changes.html"} {
		if err := chromedp.Run(ctx, chromedp.Navigate(at(name)), chromedp.Evaluate(scrolls, &wide)); err != nil || wide {
			t.Errorf("%s: %v, scrolls sideways: %t", name, err, wide)
		}
	}
}
