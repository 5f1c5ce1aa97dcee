//go:build linux

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// readYAML reads a file of the repository.
func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// platform is one that there are binaries for, as Go names it.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// node is the platform as Node.js names it.
func (p platform) node() string {
	return strings.NewReplacer("windows", "win32", "amd64", "x64").Replace(p.os + "-" + p.arch)
}

// released are the platforms that .goreleaser.yaml builds for.
func released(t *testing.T) []platform {
	t.Helper()
	var read struct {
		Builds []struct{ Goos, Goarch []string }
	}
	readYAML(t, ".goreleaser.yaml", &read)
	var all []platform
	for _, build := range read.Builds {
		for _, system := range build.Goos {
			for _, arch := range build.Goarch {
				all = append(all, platform{system, arch})
			}
		}
	}
	if len(all) == 0 {
		t.Fatal(".goreleaser.yaml builds nothing")
	}
	return all
}

// The image is for what Linux there is a binary for, and CI compiles for each system.
func TestReleasePlatforms(t *testing.T) {
	t.Parallel()
	var image struct {
		DefaultPlatforms []string `yaml:"defaultPlatforms"`
	}
	readYAML(t, ".ko.yaml", &image)
	var workflow struct {
		Jobs struct {
			Compiles struct {
				Strategy struct {
					Matrix struct{ OS []string }
				}
			}
		}
	}
	readYAML(t, ".github/workflows/ci.yml", &workflow)
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	vetted := strings.Fields(regexp.MustCompile(`for system in ([^;]*);`).FindStringSubmatch(string(makefile))[1])
	if compiled := workflow.Jobs.Compiles.Strategy.Matrix.OS; !slices.Equal(vetted, compiled) {
		t.Errorf("make vet-all is about %v, and CI compiles for %v", vetted, compiled)
	}
	script, err := os.ReadFile(filepath.Join(repository, ".ci/release/image"))
	if err != nil {
		t.Fatal(err)
	}
	var wanted, architectures []string
	for _, one := range released(t) {
		if one.os == "linux" {
			wanted, architectures = append(wanted, one.String()), append(architectures, one.arch)
		} else if !slices.Contains(vetted, one.os) {
			t.Errorf("there are binaries for %s, and CI does not compile them", one)
		}
	}
	if diff := cmp.Diff(wanted, image.DefaultPlatforms); diff != "" {
		t.Errorf("of .ko.yaml, wanted - found +\n%s", diff)
	}
	if want := "for architecture in " + strings.Join(architectures, " ") + ";"; !strings.Contains(string(script), want) {
		t.Errorf(".ci/release/image has no base %q", want)
	}
}

const (
	packed = "1.2.3-rc.1"
	// standInBinary is a program that tells of all that reaches it.
	standInBinary = `#!/usr/bin/env node
const [status, ...given] = process.argv.slice(2);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => console.log(signal));
process.stdin.on("data", (text) => process.stdout.write(text));
process.stdin.on("end", () => status === "killed" ? process.kill(process.pid, "SIGKILL") : process.exit(+status));
console.log("started", JSON.stringify(given));
`
)

// assemble makes packages of what goreleaser would have built, and returns their folder.
func assemble(t *testing.T) string {
	t.Helper()
	wholePrograms(t)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm")
	}
	directory := t.TempDir()
	dist, out := filepath.Join(directory, "dist"), filepath.Join(directory, "npm")
	if err := os.Mkdir(dist, 0o700); err != nil {
		t.Fatal(err)
	}
	artifacts := []map[string]string{{"type": "Archive", "goos": "plan9", "goarch": "386", "path": "no.zip"}}
	for _, one := range released(t) {
		name := map[bool]string{true: "mcpconform.exe", false: "mcpconform"}[one.os == "windows"]
		folder := filepath.Join(dist, one.os+one.arch)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, folder, name, standInBinary)
		artifacts = append(artifacts, map[string]string{"type": "Binary", "goos": one.os, "goarch": one.arch, "path": filepath.Join(folder, name)})
	}
	for name, content := range map[string]any{"artifacts.json": artifacts, "metadata.json": map[string]string{"version": packed}} {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, dist, name, string(text))
	}
	assembling := exec.CommandContext(t.Context(), "node", filepath.Join(repository, ".ci/release/npm/assemble.js"), dist, out)
	if raw, err := assembling.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return out
}

// npmPackage is what package.json says of a package.
type npmPackage struct {
	Name, Version        string
	OS, CPU              []string
	Bin                  map[string]string
	OptionalDependencies map[string]string
}

func readNpmPackage(t *testing.T, folder string) (read npmPackage, text []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read, text
}

// There is a package for each platform that there are binaries for, which npm installs
// there alone, and mcpconform depends on all of them.
func TestPackagesOfNpm(t *testing.T) {
	t.Parallel()
	out := assemble(t)
	wanted := map[string]string{}
	for _, one := range released(t) {
		found, _ := readNpmPackage(t, filepath.Join(out, one.node()))
		system, arch, _ := strings.Cut(one.node(), "-")
		name := "@mcpconform/" + one.node()
		want := npmPackage{Name: name, Version: packed, OS: []string{system}, CPU: []string{arch}}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("of %s, wanted - found +\n%s", one, diff)
		}
		wanted[name] = packed
	}
	found, _ := readNpmPackage(t, filepath.Join(out, "mcpconform"))
	if diff := cmp.Diff(wanted, found.OptionalDependencies); diff != "" {
		t.Errorf("of what mcpconform depends on, wanted - found +\n%s", diff)
	}
}

// npmRegistry has packages on loopback, and remembers which of them were downloaded.
type npmRegistry struct {
	url        string
	mu         sync.Mutex
	downloaded []string
}

// serveNpm packs what this platform needs, and tells of all packages.
func serveNpm(t *testing.T, out string) *npmRegistry {
	t.Helper()
	registry := &npmRegistry{}
	answers := map[string][]byte{} // by path
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		answer, known := answers[request.URL.Path]
		if !known {
			http.NotFound(w, request)
			return
		}
		if name, tarball := strings.CutSuffix(path.Base(request.URL.Path), ".tgz"); tarball {
			registry.mu.Lock()
			defer registry.mu.Unlock()
			registry.downloaded = append(registry.downloaded, name)
		}
		_, _ = w.Write(answer) // npm tells if it could not read it
	}))
	t.Cleanup(server.Close)
	registry.url = server.URL
	here := platform{runtime.GOOS, runtime.GOARCH}.node()
	folders, _ := filepath.Glob(filepath.Join(out, "*"))
	for _, folder := range folders {
		read, text := readNpmPackage(t, folder)
		tarball := "/-/" + filepath.Base(folder) + ".tgz"
		dist := map[string]string{"tarball": server.URL + tarball}
		if base := filepath.Base(folder); base == here || base == read.Name {
			answers[tarball] = npmPack(t, folder)
			sum := sha512.Sum512(answers[tarball])
			dist["integrity"] = "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
		}
		var described map[string]any
		if err := json.Unmarshal(text, &described); err != nil {
			t.Fatal(err)
		}
		described["dist"] = dist
		answer, err := json.Marshal(map[string]any{
			"name":      read.Name,
			"dist-tags": map[string]string{"latest": packed},
			"versions":  map[string]any{packed: described},
		})
		if err != nil {
			t.Fatal(err)
		}
		answers["/"+read.Name] = answer
	}
	return registry
}

func npmPack(t *testing.T, folder string) []byte {
	t.Helper()
	into := t.TempDir()
	packing := exec.CommandContext(t.Context(), "npm", "pack", "--pack-destination", into)
	packing.Dir = folder
	packing.Env = append(os.Environ(), "npm_config_cache="+filepath.Join(into, "cache"), "npm_config_userconfig=/dev/null", "npm_config_update_notifier=false")
	if raw, err := packing.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	files, _ := filepath.Glob(filepath.Join(into, "*.tgz"))
	tarball, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return tarball
}

// npx installs the binary of the platform and no other, and runs it: it gets arguments,
// input and each signal once, and its status is that of npx.
func TestNpx(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	registry := serveNpm(t, assemble(t))
	cache := t.TempDir()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(filepath.Dir(npm), "npx") // in PATH there is a stand-in
	npx := exec.CommandContext(t.Context(), program, "--yes", "mcpconform", "7", "one", "--", "two *")
	npx.Dir = t.TempDir()
	npx.Env = append(os.Environ(), "npm_config_registry="+registry.url, "npm_config_cache="+cache, "npm_config_noproxy=127.0.0.1",
		"npm_config_userconfig=/dev/null", "npm_config_update_notifier=false")
	npx.Stdin = strings.NewReader("input\n")
	var warned strings.Builder
	npx.Stderr = &warned
	raw, err := npx.Output()
	if want := "started [\"one\",\"--\",\"two *\"]\ninput\n"; string(raw) != want || npx.ProcessState.ExitCode() != 7 {
		t.Fatalf("%q, %v, wanted %q and status 7\n%s", raw, err, want, &warned)
	}
	here := platform{runtime.GOOS, runtime.GOARCH}.node()
	slices.Sort(registry.downloaded)
	if diff := cmp.Diff([]string{here, "mcpconform"}, registry.downloaded); diff != "" {
		t.Errorf("of what is downloaded, wanted - found +\n%s", diff)
	}

	launchers, _ := filepath.Glob(filepath.Join(cache, "_npx", "*", "node_modules", ".bin", "mcpconform"))
	if len(launchers) != 1 {
		t.Fatalf("installed are %v", launchers)
	}
	t.Run("signals", func(t *testing.T) {
		t.Parallel()
		testSignals(t, launchers[0])
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		err := exec.CommandContext(t.Context(), launchers[0], "killed").Run()
		if fmt.Sprint(err) != "signal: killed" {
			t.Errorf("%v, wanted that it is killed as the program was", err)
		}
	})
	t.Run("no binary", func(t *testing.T) {
		t.Parallel()
		alone := filepath.Join(t.TempDir(), "mcpconform.js")
		text, err := os.ReadFile(filepath.Join(repository, ".ci/release/npm/mcpconform.js"))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Dir(alone), filepath.Base(alone), string(text))
		running := exec.CommandContext(t.Context(), "node", alone)
		raw, _ := running.CombinedOutput()
		if !strings.Contains(string(raw), "there is no package @mcpconform/"+here) || running.ProcessState.ExitCode() != exitHarness {
			t.Errorf("status %d: %s", running.ProcessState.ExitCode(), raw)
		}
	})
}

// testSignals signals a process group, as the shell and CI systems do, and one process.
func testSignals(t *testing.T, launcher string) {
	t.Helper()
	launched := exec.CommandContext(t.Context(), launcher, "0")
	launched.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := launched.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := launched.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := launched.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for _, step := range []struct {
		next   string
		action func() error
	}{
		{"started []", func() error { return syscall.Kill(-launched.Process.Pid, syscall.SIGINT) }},
		{"SIGINT", func() error { return syscall.Kill(launched.Process.Pid, syscall.SIGTERM) }},
		{"SIGTERM", func() error { return syscall.Kill(-launched.Process.Pid, syscall.SIGHUP) }},
		{"SIGHUP", func() error { return syscall.Kill(-launched.Process.Pid, syscall.SIGINT) }},
		{"SIGINT", input.Close},
	} {
		if !lines.Scan() || lines.Text() != step.next {
			t.Fatalf("it told of %q, wanted %q", lines.Text(), step.next)
		}
		if err := step.action(); err != nil {
			t.Fatal(err)
		}
	}
	if lines.Scan() {
		t.Errorf("it told of %q, too", lines.Text())
	}
	if err := launched.Wait(); err != nil {
		t.Error(err)
	}
}

// descriptor is how OCI names a blob.
type descriptor struct {
	Digest   string
	Size     int64
	Platform struct{ OS, Architecture string }
}

// blob reads what a descriptor names, and makes sure that it is that.
func blob(t *testing.T, layout string, named descriptor) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(layout, "blobs", strings.ReplaceAll(named.Digest, ":", "/")))
	if err != nil {
		t.Fatal(err)
	}
	if found := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); found != named.Digest || int64(len(content)) != named.Size {
		t.Errorf("%v is %s, of %d bytes", named, found, len(content))
	}
	return content
}

func readBlob(t *testing.T, layout string, named descriptor, into any) {
	t.Helper()
	if err := json.Unmarshal(blob(t, layout, named), into); err != nil {
		t.Fatal(err)
	}
}

// The base of the image, which ko is given where it keeps those that it has downloaded, is
// one for each platform, with a /tmp that all may write to and nothing else.
func TestBaseOfTheImage(t *testing.T) {
	t.Parallel()
	kept, programs := filepath.Join(t.TempDir(), "kept"), t.TempDir()
	ko := filepath.Join(programs, "ko")
	for program, script := range map[string]string{
		"go": "echo " + ko, // where it is
		"ko": `echo "$KO_DEFAULTBASEIMAGE"; cp -R "$KOCACHE/img" "$KEPT"`,
	} {
		if err := os.WriteFile(filepath.Join(programs, program), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	building := exec.CommandContext(t.Context(), filepath.Join(repository, ".ci/release/image"))
	building.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "KEPT="+kept)
	raw, err := building.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	text, err := os.ReadFile(filepath.Join(kept, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	type index struct{ Manifests []descriptor }
	var outer, bases index
	if err := json.Unmarshal(text, &outer); err != nil {
		t.Fatal(err)
	}
	if _, digest, _ := strings.Cut(strings.TrimSpace(string(raw)), "@"); digest != outer.Manifests[0].Digest {
		t.Errorf("ko is to build on %s, and gets %s", raw, outer.Manifests[0].Digest)
	}
	readBlob(t, kept, outer.Manifests[0], &bases)
	if diff := cmp.Diff(bases.Manifests, outer.Manifests[1:]); diff != "" {
		t.Errorf("ko looks for each base by itself: in the index - beside it +\n%s", diff)
	}
	for _, base := range bases.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		readBlob(t, kept, base, &manifest)
		var config struct {
			OS, Architecture string
			RootFS           struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		readBlob(t, kept, manifest.Config, &config)
		if config.OS != base.Platform.OS || config.Architecture != base.Platform.Architecture {
			t.Errorf("%v has the config of %s/%s", base, config.OS, config.Architecture)
		}
		if len(manifest.Layers) != 1 || !slices.Equal(config.RootFS.DiffIDs, []string{manifest.Layers[0].Digest}) {
			t.Fatalf("%v has the layers %v", config.RootFS.DiffIDs, manifest.Layers)
		}
		layer := tar.NewReader(bytes.NewReader(blob(t, kept, manifest.Layers[0])))
		only, err := layer.Next()
		if err != nil || only.Name != "tmp/" || only.Mode != 0o1777 || only.Uid != 0 || only.ModTime.Unix() != 0 {
			t.Errorf("%v, %+v", err, only)
		}
		if more, err := layer.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%v, %+v", err, more)
		}
	}
}
