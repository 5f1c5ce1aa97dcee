package main

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/register"
)

// reported returns the reports of defects in real servers and clients, by the requirement
// that they break.
func reported() (map[string][]register.Report, error) {
	folder, err := fs.Sub(fixtures.Reports, "reports")
	if err != nil {
		return nil, err
	}
	all, err := register.Load(folder)
	if err != nil {
		return nil, err
	}
	by := map[string][]register.Report{}
	for _, report := range all {
		if report.Breaks != "" {
			by[report.Breaks] = append(by[report.Breaks], report)
		}
	}
	return by, nil
}

// writeReported lists requirements by how often they were reported to be broken, the most
// frequent first.
func writeReported(w io.Writer, requirements *catalogue.Catalogue) error {
	reports, err := reported()
	if err != nil {
		return err
	}
	ids := slices.SortedFunc(maps.Keys(reports), func(a, b string) int {
		return cmp.Or(len(reports[b])-len(reports[a]), strings.Compare(a, b))
	})
	var text strings.Builder
	text.WriteString("servers  clients  requirement\n")
	for _, id := range ids {
		requirement, known := requirements.Get(id)
		if !known {
			return fmt.Errorf("a report says that %q is broken, which the catalogue does not have", id)
		}
		fmt.Fprintf(&text, "%7s  %7s  %s\n%18s%s\n",
			among(reports[id], protocol.ServerRole), among(reports[id], protocol.ClientRole), id, "", requirement.Says)
	}
	_, err = io.WriteString(w, text.String())
	return err
}

// among counts the reports about a role; "" for none.
func among(reports []register.Report, role string) string {
	count := 0
	for _, report := range reports {
		if report.Role == role {
			count++
		}
	}
	if count == 0 {
		return ""
	}
	return strconv.Itoa(count)
}
