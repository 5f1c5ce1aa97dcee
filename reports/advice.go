package reports

import (
	"fmt"
	"slices"
	"strings"
)

// Tools counts what a server lists, where its tools may be called.
type Tools struct {
	Listed   int `json:"listed"`
	Uncalled int `json:"uncalled,omitzero"` // that may not be called: neither read-only nor named by the user
}

// SDK names the baseline of an SDK that has some of what was found.
type SDK struct {
	Name         string   `json:"name"`         // "sdk:typescript@1.32"
	Requirements []string `json:"requirements"` // of the results that it names
}

// mostNamed is how many requirements a line of advice names.
const mostNamed = 4

// Advice says, a line each, what mattered and was not looked at, and what of the
// findings an SDK is known for. It stands at the end of a report, where it is read.
func (r *Run) Advice() []string {
	var lines []string
	if line := r.uncalled(); line != "" {
		lines = append(lines, line)
	}
	for _, sdk := range r.SDKs {
		ids := strings.Join(sdk.Requirements[:min(mostNamed, len(sdk.Requirements))], ", ")
		if more := len(sdk.Requirements) - mostNamed; more > 0 {
			ids += fmt.Sprintf(" and %d more", more)
		}
		lines = append(
			lines,
			fmt.Sprintf(
				"%s names %s as known: if the target uses that SDK, add --baseline %s, or include it in your baseline",
				sdk.Name,
				ids,
				sdk.Name,
			),
		)
	}
	return lines
}

// uncalled says that tools were not called; "" where all were, or a filter chose what to
// look at.
func (r *Run) uncalled() string {
	at := slices.IndexFunc(r.Cells, func(cell Cell) bool { return cell.Tools != nil && cell.Tools.Uncalled > 0 })
	if at < 0 || r.Filter != "" {
		return ""
	}
	tools := r.Cells[at].Tools
	which := fmt.Sprintf("%d of %d tools were not called", tools.Uncalled, tools.Listed)
	switch {
	case tools.Listed == 1:
		which = "the only tool was not called"
	case tools.Listed == 2 && tools.Uncalled == 2:
		which = "neither tool was called"
	case tools.Listed == tools.Uncalled:
		which = fmt.Sprintf("none of the %d tools was called", tools.Listed)
	}
	return which + ", so nothing that they return was checked: annotate read-only tools with readOnlyHint, " +
		"name tools in mcpconform.yaml, or use --call-tools all"
}

// advice writes it before the conclusion.
func (t *terminal) advice() {
	for i, line := range t.run.Advice() {
		if i == 0 {
			t.gap()
		}
		t.block(padRight("NOTICE", labelWidth), boldYellow, oneLine(line), plainStyle, fieldLines)
	}
}
