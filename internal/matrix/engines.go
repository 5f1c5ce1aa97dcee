package matrix

import (
	"embed"
	"fmt"
	"io"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

//go:embed engines
var engineTexts embed.FS

// engineFiles are the templates of what can run shards, by the name of the engine.
var engineFiles = map[string]string{
	"github":     "github.yaml",
	"gitlab":     "gitlab.yaml",
	"kubernetes": "kubernetes.yaml",
}

// Engines are what a matrix can be printed for.
func Engines() []string { return []string{"github", "gitlab", "kubernetes"} }

// Job is a matrix that is shared out among machines.
type Job struct {
	Shards  int
	Text    string // the file of targets
	Targets int
	// Check and Site are commands for a shell: of one machine, whose shard the environment
	// tells, and of the one that puts the pieces together.
	Check, Site string
	Out         string // the folder of results, as the commands have it
	Minutes     int    // bounds the work of one machine
	Version     string // of mcpconform, as it is installed
}

// In Kubernetes the file and the results are where these volumes are mounted.
const (
	KubernetesFile = "/targets/targets.yaml"
	KubernetesOut  = "/results"
)

// Print writes a job as the file of an engine.
func Print(w io.Writer, engine string, job Job) error {
	texts, err := template.New("").Funcs(template.FuncMap{"indent": indent}).ParseFS(engineTexts, "engines/*.yaml")
	if err != nil {
		return err
	}
	return texts.ExecuteTemplate(w, engineFiles[engine], job)
}

// indent moves the lines of a text to a column.
func indent(column int, text string) string {
	var moved strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			line = strings.Repeat(" ", column) + line
		}
		moved.WriteString(line)
	}
	return strings.TrimRight(moved.String(), "\n")
}

// Data is the file of targets as a key of a ConfigMap.
func (j Job) Data() (string, error) {
	text, err := yaml.Marshal(map[string]string{"targets.yaml": j.Text})
	return string(text), err
}

// Storage is about what the results take, in GiB: a run and its page have some 1.5 MB, and
// each target keeps several.
func (j Job) Storage() string { return fmt.Sprintf("%dGi", 1+j.Targets*kept*3/2000) }

// Range are the numbers of the shards.
func (j Job) Range() []int {
	numbers := make([]int, j.Shards)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return numbers
}

// Seconds bounds the work of one machine.
func (j Job) Seconds() int { return 60 * j.Minutes }
