package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Conclusion says in one sentence, without its full stop, what the run found:
// "Conforms to 2025-11-25". Of what was looked at in part only, by a filter or up to
// an early end, it does not say so much.
func (r *Run) Conclusion() string {
	var parts []string
	bad, good := r.judged(r.bad), r.judged(r.good)
	good = slices.DeleteFunc(good, func(revision string) bool { return slices.Contains(bad, revision) })
	switch {
	case len(bad) > 0 && len(good) > 0:
		parts = append(parts, "conforms to "+r.named(good)+r.reservation(good)+", but not to "+r.named(bad))
	case len(bad) > 0:
		parts = append(parts, "does not conform to "+r.named(bad))
	case len(good) > 0:
		parts = append(parts, "conforms to "+r.named(good)+r.reservation(good))
	}
	if partly := r.judged(r.partly); len(partly) > 0 {
		parts = append(parts, "no failure found in "+r.share()+" at "+r.named(partly))
	}
	unspoken := r.judged(func(cell *Cell) bool { return !cell.Spoken && (len(parts) == 0 || len(cell.Results) > 0) })
	if len(unspoken) > 0 {
		parts = append(parts, "does not speak "+r.named(unspoken))
	}
	if unseen := r.judged(r.unseen); len(parts) == 0 && len(unseen) > 0 {
		parts = append(parts, "nothing could be judged at "+r.named(unseen))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing was checked")
	}
	if known := r.Counts().Known; known > 0 && len(bad) == 0 {
		parts[len(parts)-1] += " except for " + plural(known, "known deviation")
	}
	if outdated := len(r.Baseline.outdated()); outdated > 0 {
		parts = append(parts, "the baseline has "+entryCount(outdated)+" to correct")
	}
	sentence := strings.Join(parts, "; ")
	sentence = strings.ToUpper(sentence[:1]) + sentence[1:]
	if limits := r.limits(); len(limits) > 0 {
		sentence += " (" + strings.Join(limits, ", ") + ")"
	}
	return sentence
}

// judged lists the revisions of the cells for which something holds, each once.
func (r *Run) judged(holds func(*Cell) bool) []string {
	var revisions []string
	for i := range r.Cells {
		if cell := &r.Cells[i]; holds(cell) && !slices.Contains(revisions, cell.Revision) {
			revisions = append(revisions, cell.Revision)
		}
	}
	return revisions
}

// named names what a target was judged by: revisions, the set of requirements of one, or a
// draft.
func (r *Run) named(revisions []string) string {
	if r.Requirements != "" {
		return oneLine(r.Requirements)
	}
	if r.Draft != nil {
		return "the draft after " + oneLine(r.Draft.As)
	}
	return Series(revisions)
}

func (r *Run) bad(cell *Cell) bool { return cell.Spoken && cell.Counts().Fails(r.Strict) > 0 }

// found tells whether anything of a cell was judged and nothing failed.
func (r *Run) found(cell *Cell) bool {
	counts := cell.Counts()
	return cell.Spoken && counts.Fails(r.Strict) == 0 && counts.judged() > 0
}

func (r *Run) good(cell *Cell) bool { return r.found(cell) && r.whole(cell) }

func (r *Run) partly(cell *Cell) bool { return r.found(cell) && !r.whole(cell) }

func (r *Run) unseen(cell *Cell) bool { return cell.Spoken && !r.bad(cell) && !r.found(cell) }

// whole tells whether everything that there is was looked at.
func (r *Run) whole(cell *Cell) bool {
	played := cell.Scenarios == nil || cell.Scenarios.Played == cell.Scenarios.All
	return played && cell.Ended == nil && !r.Selected() && r.Shard == nil && r.Recorded == nil && r.Interrupted == "" &&
		len(r.Errors) == 0
}

// reservation is added to the word that a target conforms where not all of it could be
// tested.
func (r *Run) reservation(revisions []string) string {
	if slices.ContainsFunc(r.Cells, func(cell Cell) bool {
		return slices.Contains(revisions, cell.Revision) && cell.Counts().Inconclusive > 0
	}) {
		return " as far as could be tested"
	}
	return ""
}

// share is how much was judged of the cells that were looked at in part.
func (r *Run) share() string {
	judged, all, counted := 0, 0, true
	for i := range r.Cells {
		if cell := &r.Cells[i]; r.partly(cell) {
			counts := cell.Counts()
			judged += counts.judged()
			all += cell.Declared
			counted = counted && cell.Declared > 0
		}
	}
	if !counted {
		return r.results(judged)
	}
	return fmt.Sprintf("%d of %s", judged, r.results(all))
}

// results counts them in words.
func (r *Run) results(n int) string {
	if r.Recorded != nil {
		return plural(n, "rule")
	}
	return checksAndRules(n)
}

// checksAndRules counts results, which are of both kinds.
func checksAndRules(n int) string {
	if n == 1 {
		return "1 check or rule"
	}
	return fmt.Sprintf("%d checks and rules", n)
}

// limits are what keeps a run from saying more than it does.
func (r *Run) limits() []string {
	var limits []string
	if r.Strict {
		limits = append(limits, "strict")
	}
	if r.Profile != "" {
		limits = append(limits, "--profile "+oneLine(r.Profile))
	}
	if r.Filter != "" {
		limits = append(limits, "--filter "+oneLine(r.Filter))
	}
	switch flaky := len(r.flakyFindings()); {
	case r.Repeats > 1 && flaky > 0:
		limits = append(limits, fmt.Sprintf("%d flaky in %d runs", flaky, r.Repeats))
	case r.Repeats > 1:
		limits = append(limits, plural(r.Repeats, "run"))
	}
	if r.Shard != nil {
		limits = append(limits, "--shard "+r.Shard.String())
	}
	if of := r.Recorded; of != nil {
		transcripts := plural(of.All, "transcript")
		if of.Judged < of.All {
			transcripts = fmt.Sprintf("%d of %s", of.Judged, transcripts)
		}
		limits = append(limits, "by rules alone, in "+transcripts)
	}
	for i := range r.Cells {
		cell := &r.Cells[i]
		if cell.Ended != nil {
			limits = append(limits, cell.Name()+" ended early")
		}
		if played := cell.Scenarios; played != nil && played.Played < played.All {
			limits = append(limits, fmt.Sprintf("%d of %s played", played.Played, plural(played.All, "scenario")))
		}
	}
	if r.Interrupted != "" {
		limits = append(limits, oneLine(r.Interrupted))
	}
	if len(r.Errors) > 0 {
		limits = append(limits, plural(len(r.Errors), "error")+" of the harness")
	}
	return limits
}

// entryCount counts those of a baseline in words.
func entryCount(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// Series writes a list as prose: "a", "a and b", "a, b and c".
func Series(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// duration writes a length of time as precisely as people care.
func duration(s Seconds) string {
	switch d := s.Duration(); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	default:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
}
