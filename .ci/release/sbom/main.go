// Command sbom writes the bill of materials of a Go binary, as CycloneDX: sbom BINARY FILE.
// It takes everything from what the compiler has written into the binary, so that the same
// binary has the same bill.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(binary, document string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	bill, err := billOf(info)
	if err != nil {
		return err
	}
	file, err := os.Create(document)
	if err != nil {
		return err
	}
	if err := cdx.NewBOMEncoder(file, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bill); err != nil {
		return err
	}
	return file.Close()
}

func billOf(info *debug.BuildInfo) (*cdx.BOM, error) {
	program, err := component(cdx.ComponentTypeApplication, &info.Main)
	if err != nil {
		return nil, err
	}
	program.Properties = &[]cdx.Property{{Name: "go:version", Value: info.GoVersion}}
	bill := cdx.NewBOM()
	bill.Metadata = &cdx.Metadata{Component: &program}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.time" {
			bill.Metadata.Timestamp = setting.Value
		}
	}
	standard := strings.TrimPrefix(info.GoVersion, "go")
	parts := []cdx.Component{{
		BOMRef: "pkg:golang/std@" + standard, Type: cdx.ComponentTypeLibrary, Name: "std", Version: standard,
		PackageURL: "pkg:golang/std@" + standard,
	}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		part, err := component(cdx.ComponentTypeLibrary, module)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	var refs []string
	for _, part := range parts {
		refs = append(refs, part.BOMRef)
	}
	bill.Components = &parts
	bill.Dependencies = &[]cdx.Dependency{{Ref: program.BOMRef, Dependencies: &refs}}
	return bill, nil
}

func component(kind cdx.ComponentType, module *debug.Module) (cdx.Component, error) {
	url := "pkg:golang/" + module.Path + "@" + module.Version
	described := cdx.Component{BOMRef: url, Type: kind, Name: module.Path, Version: module.Version, PackageURL: url}
	if module.Sum == "" {
		return described, nil // built from a checkout
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:"))
	if err != nil {
		return described, fmt.Errorf("%s: %w", url, err)
	}
	described.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	return described, nil
}
