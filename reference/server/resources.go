// Page server/resources: data for an application to read.

package server

import (
	"net/url"
	"strings"
)

type resource struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	Icons       []icon       `json:"icons,omitempty"` // from 2025-11-25
	MIMEType    string       `json:"mimeType,omitempty"`
	Size        int          `json:"size,omitempty"` // in bytes
	Annotations *annotations `json:"annotations,omitempty"`
	Meta        object       `json:"_meta,omitempty"`

	span
	read func(*call, *resource) ([]resourceContents, error)
}

type resourceTemplate struct {
	URITemplate string       `json:"uriTemplate"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	Icons       []icon       `json:"icons,omitempty"` // from 2025-11-25
	MIMEType    string       `json:"mimeType,omitempty"`
	Annotations *annotations `json:"annotations,omitempty"`

	read     func(uri string, variables map[string]string) resourceContents
	complete map[string]completer // by variable
}

type annotations struct {
	Audience     []string `json:"audience,omitempty"`
	Priority     float64  `json:"priority"` // 0 to 1
	LastModified string   `json:"lastModified,omitempty"`
}

// resourceContents has either text or a blob.
type resourceContents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     string  `json:"blob,omitempty"` // base64
	Meta     object  `json:"_meta,omitempty"`
}

func textAt(uri, mimeType, content string) resourceContents {
	return resourceContents{URI: uri, MIMEType: mimeType, Text: &content}
}

type listResourcesResult struct {
	Resources  []*resource `json:"resources"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

type listTemplatesResult struct {
	ResourceTemplates []*resourceTemplate `json:"resourceTemplates"`
	NextCursor        string              `json:"nextCursor,omitempty"`
}

type resourceParams struct {
	URI string `json:"uri"`
}

type readResourceResult struct {
	Contents []resourceContents `json:"contents"`
}

func (c *call) listResources(params listParams) (listResourcesResult, error) {
	c.features.mu.Lock()
	defer c.features.mu.Unlock()
	resources, next, err := c.features.resources.page(c.features.cursors+"resources", params.Cursor, resourcesPage)
	return listResourcesResult{resources, next}, err
}

func (c *call) listTemplates(params listParams) (listTemplatesResult, error) {
	c.features.mu.Lock()
	defer c.features.mu.Unlock()
	templates, next, err := c.features.templates.page(c.features.cursors+"templates", params.Cursor, templatesPage)
	return listTemplatesResult{templates, next}, err
}

func (c *call) readResource(params resourceParams) (readResourceResult, error) {
	read, err := c.reader(params.URI)
	if err != nil {
		return readResourceResult{}, err
	}
	contents, err := read()
	return readResourceResult{contents}, err
}

// reader finds what reads the resource with the URI, or the one that a template
// makes of it.
func (c *call) reader(uri string) (read func() ([]resourceContents, error), err error) {
	if parsed, err := url.Parse(uri); err != nil || parsed.Scheme == "" {
		return nil, invalidParams("params.uri must be an absolute URI, but is %q", uri)
	}
	c.features.mu.Lock()
	defer c.features.mu.Unlock()
	if r, known := c.features.resources.find(func(r *resource) bool { return r.URI == uri }); known {
		return func() ([]resourceContents, error) { return r.read(c, r) }, nil
	}
	for _, e := range c.features.templates.entries {
		if variables, matches := matchTemplate(e.item.URITemplate, uri); matches {
			return func() ([]resourceContents, error) {
				return []resourceContents{e.item.read(uri, variables)}, nil
			}, nil
		}
	}
	code := codeResourceNotFound
	if c.atLeast(Revision20260728) {
		code = codeInvalidParams
	}
	return nil, &rpcError{Code: code, Message: "Resource not found", Data: object{"uri": uri}}
}

// matchTemplate finds the variables of a URI template of simple expressions,
// such as a://{b}/c. A variable is one segment of a path, percent-decoded.
func matchTemplate(template, uri string) (variables map[string]string, matches bool) {
	variables = map[string]string{}
	for {
		literal, rest, more := strings.Cut(template, "{")
		uri, matches = strings.CutPrefix(uri, literal)
		if !matches || !more {
			return variables, matches && uri == ""
		}
		var name string
		name, template, _ = strings.Cut(rest, "}")
		end := strings.IndexByte(uri+"/", '/')
		value, err := url.PathUnescape(uri[:end])
		if err != nil || value == "" {
			return nil, false
		}
		variables[name] = value
		uri = uri[end:]
	}
}

func (c *call) subscribe(params resourceParams) (emptyResult, error) {
	if _, err := c.reader(params.URI); err != nil {
		return emptyResult{}, err
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	if len(c.session.subscriptions) >= maxSubscriptions {
		return emptyResult{}, internalError("more than %d subscriptions", maxSubscriptions)
	}
	c.session.subscriptions[params.URI] = true
	return emptyResult{}, nil
}

// maxSubscriptions bounds the subscriptions of one client: templates make the
// number of possible URIs infinite.
const maxSubscriptions = 1000

func (c *call) unsubscribe(params resourceParams) (emptyResult, error) {
	if _, err := c.reader(params.URI); err != nil {
		return emptyResult{}, err
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	delete(c.session.subscriptions, params.URI)
	return emptyResult{}, nil
}

// announce tells the client of a change. Of those of one resource it hears only
// if it has subscribed to that.
func (s *session) announce(method string, params object) {
	if uri, ofOne := params["uri"].(string); ofOne {
		s.mu.Lock()
		subscribed := s.subscriptions[uri]
		s.mu.Unlock()
		if !subscribed {
			return
		}
	}
	s.notify(method, params)
}

// touch changes the resource that can be watched.
func (f *features) touch() {
	f.mu.Lock()
	f.touched++
	f.mu.Unlock()
	f.announce("notifications/resources/updated", object{"uri": watchedURI})
}

func (f *features) touches() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.touched
}

// changeResources is to resources what changeTools is to tools.
func (f *features) changeResources(item *resource) {
	f.mu.Lock()
	if !f.resources.remove(func(r *resource) bool { return r.URI == item.URI }) {
		f.resources.add(item)
	}
	f.mu.Unlock()
	f.announce("notifications/resources/list_changed", nil)
}

// at returns the resource as a revision describes it.
func (r resource) at(revision string) *resource {
	if revision < Revision20251125 {
		r.Icons = nil
	}
	if revision < Revision20250618 {
		r.Title, r.Meta = "", nil
	}
	return &r
}

// at returns the template as a revision describes it.
func (t resourceTemplate) at(revision string) *resourceTemplate {
	if revision < Revision20251125 {
		t.Icons = nil
	}
	if revision < Revision20250618 {
		t.Title = ""
	}
	return &t
}
