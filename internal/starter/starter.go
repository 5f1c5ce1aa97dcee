// Package starter writes the files that a project begins with: mcpconform.yaml, as a look
// at its server suggests, and what runs the checks in CI.
package starter

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/tryout"
	"github.com/mcpconform/mcpconform/reports"
)

//go:embed templates
var texts embed.FS

// Server says how a server is reached.
type Server struct {
	URL     string
	Command []string
	Start   []string // starts the server at URL
	Calls   provoke.Calls
	// Baseline is that of the SDK which the server uses; "" for none.
	Baseline string
	// Secrets are the names of flags whose values are not written down.
	Secrets []string
}

// Config returns the text of a mcpconform.yaml for a server that was looked at. The error
// tells of a defect of this package: the text does not say what it should.
func Config(server Server, look *runner.Look) ([]byte, error) {
	about := sheet{Server: server}
	provoked := look.Tried.Provocations()
	for _, kind := range slices.Sorted(maps.Keys(provoked)) {
		about.Provocations = append(about.Provocations, line{kind, flow(provoked[kind]), ""})
	}
	for _, kind := range look.Missing {
		about.Missing = append(about.Missing, line{kind, "", provoke.Does(kind)})
	}
	for _, tool := range look.Tried.Tools {
		switch {
		case tool.Outcome != tryout.Answered:
			about.Refused = append(
				about.Refused,
				line{tool.Tool, flow(tool.Arguments), string(tool.Outcome) + ": " + tool.Says},
			)
		case len(tool.Arguments) > 0:
			about.Arguments = append(about.Arguments, line{tool.Tool, flow(tool.Arguments), ""})
		}
		if tool.Slow {
			about.Slow = append(
				about.Slow,
				line{"slow", flow(tool.Provocation), "takes " + tool.Took.Round(time.Second/10).String()},
			)
		}
	}
	about.Unmade, about.Uncalled = look.Unmade, look.Uncalled
	return about.text()
}

// sheet is what the template is filled with.
type sheet struct {
	Server
	Arguments, Refused, Provocations, Slow, Missing []line
	Unmade, Uncalled                                []string
}

// line is an entry of a map, with a remark.
type line struct{ Key, Value, Says string }

// flow writes a value as JSON, which is YAML, too.
func flow(value any) string {
	if provocation, is := value.(provoke.Provocation); is {
		members := map[string]any{"tool": provocation.Tool}
		if len(provocation.Arguments) > 0 {
			members["arguments"] = provocation.Arguments
		}
		if provocation.Resource != "" {
			members["resource"] = provocation.Resource
		}
		value = members
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "{}" // it came as JSON
	}
	return unbroken(strings.TrimSpace(text.String()))
}

// unbroken escapes what JSON may hold in a string, and YAML takes for the end of a line, or
// for nothing that one may write.
func unbroken(text string) string {
	var safe strings.Builder
	for _, r := range text {
		if r >= 0x7f && !unicode.IsPrint(r) {
			for _, unit := range utf16.Encode([]rune{r}) {
				_, _ = fmt.Fprintf(&safe, "\\u%04x", unit)
			}
			continue
		}
		_, _ = safe.WriteRune(r)
	}
	return safe.String()
}

// remark makes one line of what a target says.
func remark(text string) string {
	return strings.TrimRight(excerpt.OneLine(reports.Visible(text)), ": ")
}

func (s sheet) text() ([]byte, error) {
	page, err := template.New("mcpconform.yaml").Funcs(template.FuncMap{
		"flow": flow, "remark": remark,
	}).ParseFS(texts, "templates/mcpconform.yaml")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := page.Execute(&text, s); err != nil {
		return nil, err
	}
	if _, err := config.Parse(config.DefaultFile, text.Bytes()); err != nil {
		return nil, fmt.Errorf("what was written cannot be read: %w", err)
	}
	return text.Bytes(), nil
}

// CI is a system that runs the checks of a project.
type CI struct {
	Name string // for --ci
	File string // that it reads
}

// Systems are those for which there is a file.
func Systems() []CI {
	return []CI{
		{"github", ".github/workflows/mcpconform.yml"},
		{"gitlab", "mcpconform.gitlab-ci.yml"},
		{"shell", "mcpconform.sh"},
	}
}

// Use is how the checks of a project are run.
type Use struct {
	URL     bool   // whether the server is reached by one, or else started by a command
	Config  string // the flag for the config, with a blank before it; "" where none is needed
	SDK     string // the baseline that the config names; "" for none
	Version string // of mcpconform, as it says itself
}

// knownDeviations is the file that a pipeline takes for the baseline of the project.
const knownDeviations = "mcpconform-baseline.yaml"

// latest stands in a pipeline for the version of what has none that could be installed.
const latest = "latest"

// Pipeline returns the text of the file of a system that runs the checks of a server.
func Pipeline(ci CI, use Use) ([]byte, error) {
	page, err := template.ParseFS(texts, "templates/"+ci.Name+".*")
	if err != nil {
		return nil, err
	}
	use.Version = Installable(use.Version)
	filled := struct {
		Use
		Latest           bool
		Baseline, Beside string
	}{Use: use, Latest: use.Version == latest, Baseline: knownDeviations}
	if use.SDK != "" {
		filled.Beside = "; include " + use.SDK + " there, as the config's baseline is not read then"
	}
	var text bytes.Buffer
	err = page.Execute(&text, filled)
	return text.Bytes(), err
}

// Installable is the version by which a pipeline installs what says that it is of a version:
// that one, or the latest where it is of no release.
func Installable(version string) string {
	if !released(version) {
		return latest
	}
	return version
}

// released tells whether a version is that of a release: neither of a commit, as of builds
// between two releases, nor of changed files.
func released(version string) bool {
	return regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(version) &&
		!regexp.MustCompile(`\d{14}-[0-9a-f]{12}$`).MatchString(version)
}
