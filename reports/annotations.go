package reports

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
)

// annotationsShown is how many errors, and how many warnings, GitHub shows of a step.
const annotationsShown = 10

// Annotations writes what is broken as annotations of GitHub: errors and warnings, as
// many as it shows. Each line is a command, of which no text that a target has a part in makes
// another.
func (r *Run) Annotations(w io.Writer) error {
	run := presentable(r)
	t := &terminal{run: run}
	var text strings.Builder
	for _, one := range run.Baseline.outdated() {
		fmt.Fprintf(
			&text,
			"::error file=%s,line=%d,title=%s::%s\n",
			annotationProperty(
				one.File,
			),
			one.Line,
			annotationProperty("baseline: "+one.Why),
			annotationText(one.Says+"; "+one.Mend),
		)
	}
	for _, kind := range []struct {
		verdict Verdict
		command string
	}{{Failed, "error"}, {Warned, "warning"}} {
		for i, f := range t.findings(kind.verdict) {
			if i == annotationsShown {
				break
			}
			message := fmt.Sprintf("%s: %s (%s)", f.Text, junitMessage(f.Result), strings.Join(f.cells, ", "))
			if f.Rerun != "" {
				message += "\nrerun: " + f.Rerun
			}
			fmt.Fprintf(&text, "::%s title=%s::%s\n", kind.command,
				annotationProperty(strings.TrimSpace(f.ID+" "+f.strictest())), annotationText(message))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// annotationText escapes a text as the runner of GitHub reads it.
func annotationText(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(excerpt.Middle(text, markdownText))
}

// annotationProperty escapes a value that ends at a comma or colon.
func annotationProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(annotationText(oneLine(text)))
}

// codeQuality is an issue as the code quality report of GitLab has it.
type codeQuality struct {
	Description string              `json:"description"`
	CheckName   string              `json:"check_name"`
	Fingerprint string              `json:"fingerprint"`
	Severity    string              `json:"severity"` // info, minor, major, critical or blocker
	Location    codeQualityLocation `json:"location"`
}

type codeQualityLocation struct {
	Path  string           `json:"path"`
	Lines codeQualityLines `json:"lines"`
}

type codeQualityLines struct {
	Begin int `json:"begin"`
}

// CodeQuality writes what is broken as a code quality report of GitLab. A fingerprint
// is the same in each run, even if the target answers differently. A result without a
// file is placed at the given file, in which the project configures its runs.
func (r *Run) CodeQuality(w io.Writer, file string) error {
	run := presentable(r)
	severities := map[Verdict]string{Failed: "major", Warned: "minor", Known: "info"}
	issues := []codeQuality{}
	used := map[string]int{}
	place := codeQualityLocation{Path: cmp.Or(file, "mcpconform.yaml"), Lines: codeQualityLines{1}}
	for i := range run.Cells {
		cell := &run.Cells[i]
		for j := range cell.Results {
			result := &cell.Results[j]
			severity, broken := severities[result.Verdict]
			if !broken {
				continue
			}
			key := strings.Join(
				[]string{
					cell.Role,
					cell.Revision,
					cell.Transport,
					result.Kind,
					result.ID,
					strings.Join(result.Group, "\n"),
					result.Text,
				},
				"\x00",
			)
			used[key]++
			issues = append(issues, codeQuality{
				Description: excerpt.Middle(
					oneLine(fmt.Sprintf("%s: %s (%s)", result.Text, junitMessage(result), cell.Name())),
					markdownText,
				),
				CheckName:   result.ID,
				Severity:    severity,
				Location:    place,
				Fingerprint: fingerprint(key, strconv.Itoa(used[key])),
			})
		}
	}
	for _, one := range run.Baseline.outdated() {
		issues = append(issues, codeQuality{
			Description: oneLine(one.Says + "; " + one.Mend), CheckName: "baseline." + one.Why, Severity: "major",
			Location:    codeQualityLocation{Path: one.File, Lines: codeQualityLines{max(1, one.Line)}},
			Fingerprint: fingerprint("baseline", one.Why, one.File, one.Says),
		})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(issues); err != nil {
		return fmt.Errorf("write the run as a code quality report: %w", err)
	}
	return nil
}

func fingerprint(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:16])
}
