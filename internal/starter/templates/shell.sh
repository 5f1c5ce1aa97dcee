#!/bin/sh
# Checks the server of this project, as mcpconform.yaml says, and leaves the reports beside.
set -eu
cd "$(dirname "$0")"
command -v mcpconform >/dev/null || {
  go install github.com/mcpconform/mcpconform/cmd/mcpconform@latest
  PATH=$(go env GOPATH)/bin:$PATH
}
# Build your server here{{if .URL}}, and start it, unless start in mcpconform.yaml does{{end}}.
exec mcpconform server --junit mcpconform.xml --json mcpconform.json
