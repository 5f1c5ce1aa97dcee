package serve

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/reports"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	styleText string
	//go:embed page.js
	scriptText string
)

// page is parsed when it is first shown.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"visible": reports.Visible, "mark": mark,
	}).Parse(pageText))
})

var policy = policyOf(styleText, scriptText)

// policyOf allows of a page what stands in it, and nothing from anywhere else.
func policyOf(style, script string) string {
	return strings.Join([]string{
		"default-src 'none'", "style-src '" + digest(style) + "'", "script-src '" + digest(script) + "'",
		"connect-src 'self'", "img-src data:", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
	}, "; ")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func mark(verdict reports.Verdict) string {
	switch verdict {
	case reports.Passed:
		return "✓"
	case reports.Failed:
		return "✗"
	case reports.Warned:
		return "!"
	case reports.Skipped:
		return "–"
	}
	return "?"
}

// view is what the page shows.
type view struct {
	Style    template.CSS
	Script   template.JS
	Revision string
	Plain    string // URL of the ordinary server
	Finished bool
	Played   int
	Counts   reports.Counts
	Groups   []groupView
	Total    int // of the scenarios
}

// longest is the number of steps that stand open on the page.
const longest = 6

// sceneView is what the page shows of one scenario.
type sceneView struct {
	Name        string
	Says        string
	URL         string
	Steps       []string
	Long        bool // too long for all steps to stand open
	Connections int
	Messages    int // of the client
	Judged      bool
	Unspoken    string
	Problem     string
	Counts      reports.Counts
	Holding     int
	Broken      []reports.Result // failed or warned
	Others      []reports.Result
	Waiting     []string // checks of a scenario that was not played
}

// path ends the URLs that clients are given.
func (s *stage) path() string { return scripted.PathOver(s.options.Judging.Transport()) }

func (s *stage) view(r *http.Request, finished bool) view {
	base := "http://" + r.Host
	shown := view{
		Style: template.CSS(styleText), Script: template.JS(scriptText), //nolint:gosec // our own
		Revision: s.options.Judging.Revision(), Plain: base + s.path(), Finished: finished,
	}
	for _, group := range s.groups {
		part := groupView{ID: group.id, Title: group.title}
		for _, one := range group.scenes {
			view := one.view(base, s.path())
			part.Scenes = append(part.Scenes, view)
			shown.Counts = shown.Counts.Plus(view.Counts)
			if view.Judged {
				part.Played++
			}
		}
		shown.Played += part.Played
		part.Open = len(shown.Groups) == 0 || part.Played > 0
		shown.Groups = append(shown.Groups, part)
	}
	shown.Total = len(s.scenes)
	return shown
}

func (s *scene) view(base, path string) sceneView {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := sceneView{
		Name: s.Scenario.Name,
		Says: s.Scenario.Says,
		Long: len(s.Scenario.Steps) > longest,
		URL:  base + "/scenarios/" + s.Scenario.Name + path,
	}
	for _, step := range s.Scenario.Steps {
		shown.Steps = append(shown.Steps, step.Describe())
	}
	if s.findings == nil {
		for _, check := range s.Checks {
			shown.Waiting = append(shown.Waiting, check.Text)
		}
		return shown
	}
	shown.Judged = true
	shown.Connections, shown.Messages = len(s.came.Connections), s.came.Messages()
	found := s.findings
	shown.Unspoken, shown.Problem, shown.Counts, shown.Holding = found.Unspoken, found.Problem, found.Counts, found.Holding
	for _, result := range found.Results {
		if result.Verdict == reports.Failed || result.Verdict == reports.Warned {
			shown.Broken = append(shown.Broken, result)
		} else {
			shown.Others = append(shown.Others, result)
		}
	}
	return shown
}

func (s *stage) showPage(w http.ResponseWriter, r *http.Request) { s.write(w, r, false) }

func (s *stage) write(w http.ResponseWriter, r *http.Request, finished bool) {
	var text bytes.Buffer
	if err := page().Execute(&text, s.view(r, finished)); err != nil {
		http.Error(w, "the page could not be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(text.Bytes())
	version := `"` + hex.EncodeToString(sum[:8]) + `"`
	header := w.Header()
	ownAlone(header, "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policy)
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", version)
	if r.Method == http.MethodGet && r.Header.Get("If-None-Match") == version {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(text.Len())) // it is whole when it is flushed, at the end too
	_, _ = w.Write(text.Bytes())                           // the reader may have left
}

// ownAlone says of what is served what it is, and that no other site has to do with it.
func ownAlone(header http.Header, mediaType string) {
	header.Set("Content-Type", mediaType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// startOver forgets what came in a scenario, and shows the page again.
func (s *stage) startOver(w http.ResponseWriter, r *http.Request) {
	one := s.scene(r.PathValue("name"))
	if one == nil {
		http.Error(w, "no scenario has this name; the page at / lists them", http.StatusNotFound)
		return
	}
	one.startOver()
	http.Redirect(w, r, "/#scenario-"+one.Scenario.Name, http.StatusSeeOther)
}

// finishOnPage ends the serving when the reader of the page has been told.
func (s *stage) finishOnPage(w http.ResponseWriter, r *http.Request) {
	s.write(w, r, true)
	_ = http.NewResponseController(w).Flush() // the reader may have left
	s.finish()
}
