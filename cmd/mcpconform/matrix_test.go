//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"

	"go.yaml.in/yaml/v3"
)

// threeTargets are the reference as it is, with a fault, and no target at all.
const threeTargets = `
# What is to be checked.
- target: good
  command: [mcpconform, reference, server, --stdio]
  filter: resources.uri.validated
  revision: 2025-11-25
- target: faulty
  command: [mcpconform, reference, server, --stdio, --fault, resources-no-uri-served]
  filter: resources.uri.validated
  revision: 2025-11-25
- target: gone
  command: [/no/such/server]
`

// matrixIn runs a matrix in a directory with a file of targets; mcpconform is in the PATH.
func matrixIn(t *testing.T, directory string, arguments ...string) outcome {
	t.Helper()
	one := begin(t, directory, nil, append([]string{"matrix"}, arguments...)...)
	return one.wait()
}

// matrixDirectory has a file of targets.
func matrixDirectory(t *testing.T, text string) string {
	t.Helper()
	directory := t.TempDir()
	writeFile(t, directory, "targets.yaml", text)
	return directory
}

func TestMatrix(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := matrixDirectory(t, threeTargets)
	first := matrixIn(t, directory, "targets.yaml")
	first.demand(t, exitDoesNot, "no failure found  good                  1 passed", "does not conform  faulty                0 passed, 1 failed",
		"not reached       gone  ", "command \"/no/such/server\" does not exist",
		"3 targets: 1 no failure found, 1 does not conform, 1 not reached", "Site: matrix/index.html")
	for line := range strings.Lines(first.stdout) {
		if len([]rune(line)) > 81 {
			t.Errorf("wider than a terminal: %s", line)
		}
	}
	for _, name := range []string{"index.html", "pages.html", "requirements.html", "changes.html"} {
		if _, err := os.Stat(filepath.Join(directory, "matrix", name)); err != nil {
			t.Error(err)
		}
	}
	matrixIn(t, directory, "targets.yaml", "-q").demand(t, exitDoesNot, "3 targets: 1 no failure found")
	again := matrixIn(t, directory, "targets.yaml")
	again.demand(t, exitDoesNot, "good                  as before: 1 passed", "faulty                as before: 0 passed, 1 failed")
	if strings.Contains(again.stdout, "as before: command") {
		t.Errorf("what was not reached was not tried again\n%s", again)
	}

	writeFile(t, directory, "one.yaml", strings.SplitAfter(threeTargets, "2025-11-25\n")[0])
	matrixIn(t, directory, "one.yaml", "--site-only").demand(t, exitConforms, "1 target: 1 no failure found")
	writeFile(t, directory, "other.yaml", "- target: other\n  command: [x]\n")
	matrixIn(t, directory, "other.yaml", "--site-only").demand(t, exitDoesNot, "1 target: 1 not run")
}

func TestMatrixUsage(t *testing.T) {
	t.Parallel()
	directory := matrixDirectory(t, "- target: a\n  comand: [x]\n")
	writeFile(t, directory, "good.yaml", "- target: a\n  command: [x]\n")
	for arguments, want := range map[string]string{
		"":                                      "matrix needs one file of targets",
		"a.yaml b.yaml":                         "matrix needs one file of targets",
		"none.yaml":                             "none.yaml: no such file or directory",
		"targets.yaml":                          `targets.yaml:2: unknown key "comand", did you mean "command"?`,
		"good.yaml --jobs -1":                   "--jobs -1 must be positive",
		"good.yaml --max-age -1s":               "--max-age -1s must be positive",
		"good.yaml --shard 3/2":                 `--shard "3/2" must be I/N`,
		"good.yaml --shards 2":                  "--shards needs --print",
		"good.yaml --print gitlab --shards -1":  "--shards -1 must be positive",
		"good.yaml --print githup":              `--print "githup" is unknown, did you mean "github"?`,
		"good.yaml --site-only --shard 1/2":     "--site-only and --shard exclude each other",
		"good.yaml --site-only --force":         "--site-only checks nothing",
		"good.yaml --site-only --out good.yaml": "cannot create good.yaml: ",
	} {
		status := exitUsage
		if strings.Contains(arguments, "--out") {
			status = exitHarness
		}
		ended := mcpconformIn(t, directory, append([]string{"matrix"}, strings.Fields(arguments)...)...)
		ended.demand(t, status, want)
		ended.oneLine(t)
	}
}

// A container image is started by docker.
func TestMatrixImage(t *testing.T) {
	t.Parallel()
	directory := matrixDirectory(t, `
- target: boxed
  image: example.com/server:1
  command: [--fault, resources-no-uri-served]
  filter: resources.uri.validated
`)
	writeProgram(t, directory, "docker", `[ "$1 $2 $3 $4" = "run --rm -i example.com/server:1" ] || exit 9
shift 4
exec mcpconform reference server --stdio "$@"`)
	one := begin(t, directory, []string{"PATH=" + directory + ":" + os.Getenv("PATH")}, "matrix", "targets.yaml")
	one.wait().demand(t, exitDoesNot, "does not conform  boxed                 0 passed, 1 failed")
}

func writeProgram(t *testing.T, directory, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(directory, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A matrix that is interrupted ends what is under way, and goes on later.
func TestMatrixInterrupted(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := matrixDirectory(t, strings.Replace(threeTargets, "[/no/such/server]", "[sleep, '1000']", 1))
	one := watch(t, directory, "matrix", "targets.yaml", "--jobs", "1")
	one.running("sleep 1000")
	if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	one.finish().demand(t, exitDoesNot, "ended early       gone  ", "  interrupt\n", "interrupt; the same command continues with what is left")
}

// workflow is what this test reads of each of the engines' files.
type workflow struct {
	Jobs map[string]struct {
		Strategy struct {
			Matrix struct{ Shard []int }
		}
		Env   map[string]string
		Steps []struct{ Run string }
	}
}

type gitlabJob struct {
	Parallel int
	Script   []string
}

type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Completions int
		Template    struct {
			Spec struct {
				Containers []struct {
					Command, Args []string
					Resources     struct{ Limits map[string]string }
				}
			}
		}
	}
}

// task is a process of an engine: a script for a shell, in an environment.
type task struct {
	script      string
	environment []string
}

// tasks reads what an engine would run: each shard, and then the site. The last value is
// the file of targets that it would have.
func tasks(t *testing.T, engine, text string) (shards []task, site task, targets string) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	switch engine {
	case "github":
		var file workflow
		decode(t, decoder, &file)
		script := func(job string) string {
			var lines []string
			for _, step := range file.Jobs[job].Steps {
				lines = append(lines, step.Run)
			}
			return strings.Join(lines, "\n")
		}
		for _, shard := range file.Jobs["check"].Strategy.Matrix.Shard {
			var environment []string
			for name, value := range file.Jobs["check"].Env {
				environment = append(environment, name+"="+strings.ReplaceAll(value, "${{ matrix.shard }}", strconv.Itoa(shard)))
			}
			shards = append(shards, task{script("check"), environment})
		}
		return shards, task{script: script("site")}, ""
	case "gitlab":
		file := map[string]gitlabJob{}
		decode(t, decoder, &file)
		check := file["mcpconform"]
		for i := range check.Parallel {
			shards = append(shards, task{strings.Join(check.Script, "\n"), []string{
				fmt.Sprintf("CI_NODE_INDEX=%d", i+1), fmt.Sprintf("CI_NODE_TOTAL=%d", check.Parallel),
			}})
		}
		return shards, task{script: strings.Join(file["mcpconform-site"].Script, "\n")}, ""
	}
	for {
		var one manifest
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return shards, site, targets
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if one.Kind == "ConfigMap" {
			targets = one.Data["targets.yaml"]
		}
		if one.Kind != "Job" {
			continue
		}
		container := one.Spec.Template.Spec.Containers[0]
		if container.Resources.Limits["memory"] == "" || container.Command[0] != "sh" {
			t.Errorf("%+v", container)
		}
		if one.Metadata.Name == "mcpconform-site" {
			site = task{script: container.Args[0]}
			continue
		}
		for i := range one.Spec.Completions {
			shards = append(shards, task{container.Args[0], []string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i)}})
		}
	}
}

func decode(t *testing.T, decoder *yaml.Decoder, into any) {
	t.Helper()
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// moments are what differs from one matrix to another.
var moments = regexp.MustCompile(`\d{4}-\d\d-\d\d(?:T\d\d-\d\d-\d\d\.\d+Z| \d\d:\d\d(?: to \d{4}-\d\d-\d\d \d\d:\d\d)?)`)

// Each engine is printed a file that runs as many processes as it says, and whose site is
// that of one process.
func TestMatrixEngines(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	pages := func(directory string) map[string]string {
		all := map[string]string{}
		for _, name := range []string{"index.html", "pages.html", "requirements.html", "changes.html"} {
			text, err := os.ReadFile(filepath.Join(directory, name))
			if err != nil {
				t.Error(err)
			}
			all[name] = moments.ReplaceAllString(string(text), "…")
		}
		return all
	}
	whole := matrixDirectory(t, threeTargets)
	matrixIn(t, whole, "targets.yaml").demand(t, exitDoesNot)
	want := pages(filepath.Join(whole, "matrix"))
	for _, engine := range []string{"github", "gitlab", "kubernetes"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			directory := matrixDirectory(t, threeTargets)
			printed := matrixIn(t, directory, "targets.yaml", "--print", engine, "--shards", "2", "--jobs", "2", "--deadline", "7m")
			printed.demand(t, exitConforms, "--deadline 7m", "--jobs 2")
			if strings.Contains(printed.stdout, "<no value>") {
				t.Error(printed)
			}
			shards, site, targets := tasks(t, engine, printed.stdout)
			if len(shards) != 2 {
				t.Fatalf("%d shards\n%s", len(shards), printed)
			}
			results := filepath.Join(directory, "matrix")
			mounted := strings.NewReplacer("/targets/targets.yaml", "mounted.yaml", "/results", "matrix")
			if engine == "kubernetes" {
				if targets != threeTargets {
					t.Errorf("the targets are\n%s", targets)
				}
				writeFile(t, directory, "mounted.yaml", targets)
			}
			tools := t.TempDir()
			writeProgram(t, tools, "go", "exit 0") // it is installed
			do := func(one task, where string) (int, string) {
				command := exec.CommandContext(t.Context(), "sh", "-ec", mounted.Replace(one.script))
				command.Dir = where
				command.Env = append(append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "CI_NODE_INDEX=", "CI_NODE_TOTAL="), one.environment...)
				raw, err := command.CombinedOutput()
				if exit, exited := errors.AsType[*exec.ExitError](err); exited {
					return exit.ExitCode(), string(raw)
				} else if err != nil {
					t.Error(err)
				}
				return 0, string(raw)
			}
			// Each machine begins with a checkout of its own; Kubernetes gives all one volume.
			var machines sync.WaitGroup
			for i, one := range shards {
				where := directory
				if engine != "kubernetes" {
					where = matrixDirectory(t, threeTargets)
				}
				machines.Go(func() {
					if status, text := do(one, where); status != exitConforms {
						t.Errorf("shard %d: status %d\n%s", i, status, text)
					}
					if where != directory {
						if err := os.CopyFS(results, os.DirFS(filepath.Join(where, "matrix"))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			machines.Wait()
			if status, text := do(site, directory); status != exitDoesNot || !strings.Contains(text, "3 targets: 1 no failure found, 1 does not conform, 1 not reached") {
				t.Errorf("status %d\n%s", status, text)
			}
			for name, text := range pages(results) {
				if text != want[name] {
					t.Errorf("%s is\n%s\nnot\n%s", name, text, want[name])
				}
			}
		})
	}
}
