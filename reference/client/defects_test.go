package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/client"
)

func TestUnknownDefect(t *testing.T) {
	t.Parallel()
	err := client.Run(t.Context(), client.Options{URL: "http://127.0.0.1:1/", Defect: "never-wait"})
	if err == nil || !strings.Contains(err.Error(), "never-waits") {
		t.Errorf("found %v", err)
	}
}

// A good client and one that has the defect play the same, and differ.
func TestDefectsOfSessions(t *testing.T) {
	t.Parallel()
	const lists = `[{"do":"connect"},{"do":"list","of":"prompts"},{"do":"list","of":"prompts"},{"do":"close"}]`
	for defect, one := range map[string]struct {
		steps string
		serve func(n int, v visit) // what does not begin a session, by its number
		good  string               // of the last step but one: "" for done
		bad   string
	}{
		"reads-no-streams": {lists, func(_ int, v visit) { v.stream(event(to(v.message, object{"prompts": []object{}}))) }, "", "neither"},
		"assumes-page-size": {lists, func(n int, v visit) {
			page := object{"prompts": []object{{"name": "a"}, {"name": "b"}}, "nextCursor": "c"}
			switch n % 3 {
			case 1:
				page["prompts"] = []object{{"name": "c"}}
			case 2:
				page = object{"prompts": 7} // only a client that goes on sees it
			}
			v.answer(page)
		}, "no array", ""},
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			for name, wants := range map[string]string{"": one.good, defect: one.bad} {
				var visits atomic.Int64
				s := scripted(t, func(v visit) {
					switch {
					case v.is("initialize") && v.Request.Header.Get("Mcp-Session-Id") != "":
						v.WriteHeader(http.StatusConflict)
					case begins(v, "s-"+time.Now().String()[20:24]):
					default:
						one.serve(int(visits.Add(1)-1), v)
					}
				})
				options := in(s)
				options.Defect = name
				outcome := run(t, options, one.steps)[1]
				if wants == "" {
					outcome.done(t)
				} else {
					outcome.failed(t, wants)
				}
			}
		})
	}
}

func TestDefectsOfEras(t *testing.T) {
	t.Parallel()
	s, options := talking(t, func(m object, say func(any)) error {
		if answer, _ := hello(m, client.Revision20251125); answer != nil {
			say(answer)
		}
		return nil
	})
	options.Defect = "forgets-eras"
	run(t, options, `[{"do":"connect"},{"do":"close"},{"do":"connect"},{"do":"close"}]`)
	if found := len(s.of("server/discover")); found != 2 {
		t.Errorf("it has probed %d times", found)
	}
}

// What comes unexpectedly is the end of it.
func TestDefectsOfNerves(t *testing.T) {
	t.Parallel()
	for defect, unexpected := range map[string]any{
		"hangs-up-at-late-answers":  to(object{"id": 99}, object{}),
		"hangs-up-at-cancellations": notice("notifications/cancelled", object{"requestId": 99}),
		"hangs-up-at-completions":   notice("notifications/elicitation/complete", object{"elicitationId": "e"}),
	} {
		for name, leaves := range map[string]bool{"": false, defect: true} {
			s, options := talking(t, func(m object, say func(any)) error {
				if answer, opens := hello(m, client.Revision20251125); opens {
					say(answer)
				}
				if m["method"] == "notifications/initialized" {
					say(unexpected)
				}
				if m["method"] == "ping" && !leaves {
					say(to(m, object{}))
				}
				return nil
			})
			options.Revision, options.Defect = client.Revision20251125, name
			// What startles it may come before it is done with connecting, or after.
			outcomes, err := tryRun(t, options, `[{"do":"connect"},{"do":"ping"},{"do":"close"}]`)
			if left := err != nil || outcomes[1].Outcome == "failed"; left != leaves {
				t.Errorf("%q of %q: found %v, %v, %v", name, defect, outcomes, err, s.methods())
			}
		}
	}
}

func TestDefectsOfCaches(t *testing.T) {
	t.Parallel()
	for defect, one := range map[string]struct{ good, bad int }{
		"caches-all-alike": {good: 2, bad: 1},
	} {
		for name, want := range map[string]int{"": one.good, defect: one.bad} {
			s, options := stateless(t, func(v visit) {
				v.answer(complete(object{"contents": []object{{"uri": param(v.message, "uri"), "text": ""}}, "ttlMs": 60000, "cacheScope": "public"}))
			})
			options.Defect = name
			run(t, options, `[{"do":"connect"},{"do":"read","uri":"test://a"},{"do":"read","uri":"test://b"},
				{"do":"read","uri":"test://a"},{"do":"read","uri":"test://b"},{"do":"close"}]`)
			if found := len(s.of("resources/read")); found != want {
				t.Errorf("%q of %q: it was read %d times", name, defect, found)
			}
		}
	}
	for name, want := range map[string]int{"": 4, "caches-retries": 2} {
		s, options := stateless(t, func(v visit) {
			if param(v.message, "requestState") == nil {
				v.answer(object{"resultType": "input_required", "requestState": "s"})
				return
			}
			v.answer(complete(object{"contents": []object{}, "ttlMs": 60000, "cacheScope": "public"}))
		})
		options.Defect = name
		run(t, options, `[{"do":"connect"},{"do":"read","uri":"test://a"},{"do":"read","uri":"test://a"},{"do":"close"}]`)
		if found := len(s.of("resources/read")); found != want {
			t.Errorf("%q: it was read %d times", name, found)
		}
	}
	for name, again := range map[string]bool{"": true, "caches-past-changes": false} {
		s, options := stateless(t, func(v visit) {
			list := complete(object{"prompts": []object{}, "ttlMs": 60000, "cacheScope": "public"})
			v.stream(event(notice("notifications/resources/list_changed", nil)), event(to(v.message, list)))
		})
		options.Defect = name
		run(t, options, `[{"do":"connect"},{"do":"list","of":"resources"},{"do":"list","of":"prompts"},{"do":"list","of":"resources"},{"do":"close"}]`)
		if found := len(s.of("resources/list")); found > 1 != again {
			t.Errorf("%q: the resources were listed %d times", name, found)
		}
	}
}

func TestDefectsOfRetries(t *testing.T) {
	t.Parallel()
	for defect, want := range map[string]string{"": "", "retries-without-input": ""} {
		s, options := stateless(t, func(v visit) {
			switch {
			case v.is("tools/list"):
				v.answer(complete(object{"tools": []object{}}))
			case param(v.message, "name") == "asks" && param(v.message, "requestState") == nil:
				v.answer(object{"resultType": "input_required", "requestState": "s", "inputRequests": object{"r": object{"method": "roots/list"}}})
			default:
				v.answer(complete(text("done")))
			}
		})
		options.Defect = defect
		answers := `{"do":"answer-with","method":"roots/list"},`
		if defect == "retries-without-input" {
			answers = ""
		}
		run(t, options, `[`+answers+`{"do":"connect"},{"do":"call","tool":"asks"},{"do":"call","tool":"other"},{"do":"close"}]`)
		calls := s.of("tools/call")
		if state, _ := param(calls[len(calls)-1].message, "requestState").(string); len(calls) != 3 || state != want {
			t.Errorf("%q: found %d calls, the last with the state %q", defect, len(calls), state)
		}
	}
}

func TestURLsAreFetched(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	t.Cleanup(site.Close)
	visit := ask(0, "elicitation/create", object{"mode": "url", "message": "?", "url": site.URL, "elicitationId": "e-1"})
	for defect, want := range map[string]int64{"": 0, "fetches-urls": 1} {
		before := fetched.Load()
		asked(t, client.Revision20251125, defect, `{"do":"answer-with","method":"elicitation/create","capability":{"url":{}}},`, visit)
		if found := fetched.Load() - before; found != want {
			t.Errorf("%q: it was fetched %d times", defect, found)
		}
	}
}
