package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
)

var (
	//go:embed traffic.html
	trafficText string
	//go:embed traffic.css
	trafficStyle string
	//go:embed traffic.js
	trafficScript string
)

const (
	// reportedEvery is how old what is shown of the findings may be.
	reportedEvery = time.Second
	// maxReaders bounds the connections of browsers.
	maxReaders = 64
)

// TrafficPage is a page that shows what passes between two peers, and who of them broke what.
type TrafficPage struct {
	door
	traffic *Traffic
	reports func() []*reports.Run
	key     string // a secret in the path: without it the page cannot be read

	mu       sync.Mutex
	reported time.Time
	findings map[string]*findingsOf
}

// NewTrafficPage returns one of a traffic. The reports are those by now, secrets hidden; the
// host is a name by which the page may be reached, beside addresses.
func NewTrafficPage(traffic *Traffic, host string, reports func() []*reports.Run) *TrafficPage {
	return &TrafficPage{door: door{host}, traffic: traffic, reports: reports, key: rand.Text()}
}

// Path is where the page is.
func (p *TrafficPage) Path() string { return "/" + p.key + "/" }

// Serve shows the page to those who come to a listener, until the context ends.
func (p *TrafficPage) Serve(ctx context.Context, listener net.Listener) error {
	server := newServer(p.handler())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // what is open is broken
	defer stop()
	if err := server.Serve(netutil.LimitListener(listener, maxReaders)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the page: %w", err)
	}
	return nil
}

func (p *TrafficPage) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, show := range map[string]http.HandlerFunc{
		"GET /{key}/{$}": p.showPage, "GET /{key}/now": p.showNow, "GET /{key}/text": p.showText,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if subtle.ConstantTimeCompare([]byte(r.PathValue("key")), []byte(p.key)) == 0 {
				http.NotFound(w, r)
				return
			}
			show(w, r)
		})
	}
	return p.guard(mux)
}

// trafficPage is always the same: what is on it, it asks for.
var trafficPage = sync.OnceValue(func() []byte {
	var text bytes.Buffer
	page := template.Must(template.New("traffic").Parse(trafficText))
	if err := page.Execute(&text, map[string]any{
		"Style": template.CSS(styleText + trafficStyle), "Script": template.JS(trafficScript), //nolint:gosec // our own
	}); err != nil {
		panic(err) // it is our own
	}
	return text.Bytes()
})

var trafficPolicy = policyOf(styleText+trafficStyle, trafficScript)

func (p *TrafficPage) showPage(w http.ResponseWriter, _ *http.Request) {
	ownAlone(w.Header(), "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", trafficPolicy)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(trafficPage()) // the reader may have left
}

// now is what the page asks for again and again.
type now struct {
	Connections []row                  `json:"connections"`
	Gone        int                    `json:"gone"`  // connections that are no longer listed
	Steps       []step                 `json:"steps"` // of the connection that is asked for, from a number on
	Left        int                    `json:"left"`  // steps before those that are kept
	Findings    map[string]*findingsOf `json:"findings"`
}

func (p *TrafficPage) showNow(w http.ResponseWriter, r *http.Request) {
	shown := now{Findings: p.found()}
	shown.Connections, shown.Gone = p.traffic.rows()
	from, _ := strconv.Atoi(r.FormValue("from")) // from the beginning, else
	shown.Steps, shown.Left = p.traffic.steps(r.FormValue("of"), from)
	writeJSON(w, shown)
}

func (p *TrafficPage) showText(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(r.FormValue("number"))
	text, there := p.traffic.text(r.FormValue("of"), number)
	if err != nil || !there {
		http.Error(w, "it is left out by now", http.StatusNotFound)
		return
	}
	writeJSON(w, text)
}

func writeJSON(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	ownAlone(w.Header(), "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // the reader may have left
}

// findingsOf is what a peer breaks.
type findingsOf struct {
	Judged  int      `json:"judged"` // connections
	Notices []string `json:"notices"`
	Broken  []broken `json:"broken"`
}

type broken struct {
	Verdict     reports.Verdict `json:"verdict"`
	Text        string          `json:"text"`
	Requirement string          `json:"requirement"` // its id and level
	Link        string          `json:"link"`
	Cell        string          `json:"cell"`
	Wanted      string          `json:"wanted"`
	Found       string          `json:"found"`
	Where       string          `json:"where"`
	Times       int             `json:"times"`
	Connections int             `json:"connections"`
}

// found is what each peer breaks. However many look, it is worked out once in a while.
func (p *TrafficPage) found() map[string]*findingsOf {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.reported) < reportedEvery {
		return p.findings
	}
	all := map[string]*findingsOf{protocol.ServerRole: {}, protocol.ClientRole: {}}
	for _, run := range p.reports() {
		of := all[run.Target.Role]
		of.Judged = run.Recorded.Judged
		for _, cell := range run.Cells {
			of.Notices = append(of.Notices, cell.Notices...)
			for _, result := range cell.Results {
				if result.Verdict == reports.Failed || result.Verdict == reports.Warned {
					of.Broken = append(of.Broken, brokenBy(&result, cell.Revision+" "+cell.Transport))
				}
			}
		}
	}
	p.findings, p.reported = all, time.Now()
	return all
}

func brokenBy(result *reports.Result, cell string) broken {
	one := broken{
		Verdict: result.Verdict, Text: result.Text, Cell: cell,
		Times: max(1, result.Occurrences), Connections: max(1, result.Connections),
	}
	if len(result.Requirements) > 0 {
		requirement := result.Requirements[0]
		one.Requirement, one.Link = requirement.ID+" "+requirement.Level, requirement.Link
	}
	if len(result.Failures) > 0 {
		first := result.Failures[0]
		one.Wanted, one.Found, one.Where = reports.Visible(
			first.Wanted,
		), reports.Visible(
			first.Found,
		), reports.Visible(
			first.Where,
		)
	}
	return one
}
