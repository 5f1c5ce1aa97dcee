#!/bin/sh
# Checks the server of this project, as mcpconform.yaml and further flags say, and leaves the
# reports beside. Known deviations are read from {{.Baseline}}, once there is
# one{{.Beside}}.
set -eu
cd "$(dirname "$0")"
command -v mcpconform >/dev/null || {
{{- if .Latest}}
  # Name a version in place of latest, so that what is checked changes when you say so.
{{- end}}
  go install github.com/mcpconform/mcpconform/cmd/mcpconform@{{.Version}}
  PATH=$(go env GOPATH)/bin:$PATH
}
# Build your server here{{if .URL}}, and start it, unless start in mcpconform.yaml does{{end}}.
[ ! -f {{.Baseline}} ] || set -- --baseline {{.Baseline}} "$@"
exec mcpconform server{{.Config}} --junit mcpconform.xml --json mcpconform.json --html mcpconform.html "$@"
