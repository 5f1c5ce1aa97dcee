package docs

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
)

// siteSource is a folder or file of the repository that the site is built of.
type siteSource struct {
	Source, Target string
	Files          []string // patterns of those that are taken; all if there are none
}

// The sources of the site exist, and include the pictures of its pages. A test sees that without
// a build of the site.
func TestSiteIsBuiltOfAll(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../.ci/site/hugo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var site struct {
		Params struct{ Order []string }
		Module struct{ Mounts []siteSource }
	}
	if err := yaml.Unmarshal(text, &site); err != nil {
		t.Fatal(err)
	}
	for _, page := range site.Params.Order {
		if _, err := os.Stat(page + ".md"); err != nil {
			t.Errorf("the order of pages: %v", err)
		}
	}
	for _, one := range site.Module.Mounts {
		if _, err := os.Stat(filepath.Join("..", one.Source)); err != nil {
			t.Errorf("a source of the site: %v", err)
		}
	}
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	pictures := 0
	for _, page := range pages {
		source, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`!\[[^]]*\]\(([^)]+)\)`).FindAllSubmatch(source, -1) {
			pictures++
			folder := filepath.Join("docs", filepath.Dir(string(found[1])))
			if !slices.ContainsFunc(site.Module.Mounts, func(one siteSource) bool {
				return one.Source == folder && one.Target == filepath.Join("static", folder) && one.Files == nil
			}) {
				t.Errorf("%s shows %s, and the site has no %s", page, found[1], folder)
			}
		}
	}
	if pictures == 0 {
		t.Error("no page shows a picture: nothing was compared")
	}
}

// sitePage is a file of the built site.
type sitePage struct {
	ids   map[string]bool
	links []string
}

func readPage(t *testing.T, file string) sitePage {
	t.Helper()
	source, err := os.Open(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }() // it was only read
	root, err := html.Parse(source)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	read := sitePage{ids: map[string]bool{}}
	for node := range root.Descendants() {
		for _, attribute := range node.Attr {
			switch attribute.Key {
			case "id":
				read.ids[attribute.Val] = true
			case "href", "src":
				read.links = append(read.links, attribute.Val)
			}
		}
	}
	return read
}

// Each link of the site that make docs-site has built leads to a file of it, at a heading
// that is there, or to another site. Each page of the documentation is in it.
func TestSite(t *testing.T) {
	t.Parallel()
	site := os.Getenv("MCP_SITE_DIR")
	if site == "" {
		t.Skip("MCP_SITE_DIR is not set: make docs-site sets it")
	}
	sources, err := filepath.Glob("*.md")
	if err != nil || len(sources) == 0 {
		t.Fatalf("found no documentation: %v", err)
	}
	for _, source := range sources {
		if _, err := os.Stat(filepath.Join(site, "docs", strings.TrimSuffix(source, ".md")+".html")); err != nil {
			t.Error(err)
		}
	}
	var files []string
	for _, pattern := range []string{"*.html", "*/*.html"} {
		found, _ := filepath.Glob(filepath.Join(site, pattern)) // of a pattern that is right
		files = append(files, found...)
	}
	pages := map[string]sitePage{}
	for _, file := range files {
		pages[file] = readPage(t, file)
	}
	inside := 0
	for file, read := range pages {
		for _, link := range read.links {
			target, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if target.IsAbs() {
				continue // needs the network
			}
			inside++
			to := file
			if target.Path != "" {
				to = filepath.Join(filepath.Dir(file), filepath.FromSlash(target.Path))
			}
			if _, err := os.Stat(to); err != nil || strings.HasPrefix(target.Path, "/") {
				t.Errorf("%s: %s leads nowhere", file, link)
			} else if target.Fragment != "" && !pages[to].ids[target.Fragment] {
				t.Errorf("%s: %s has no such heading", file, link)
			}
		}
	}
	t.Logf("%d pages, %d links within the site", len(pages), inside)
	if inside == 0 {
		t.Error("there is no link to follow")
	}
}
