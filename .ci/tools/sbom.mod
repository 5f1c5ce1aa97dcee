module github.com/mcpconform/mcpconform/ci/tools

go 1.26.8

require github.com/CycloneDX/cyclonedx-go v0.12.0
