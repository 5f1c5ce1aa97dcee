package main

import "strings"

// rolePlace stands in the name of a report for the role whose it is.
const rolePlace = "{role}"

// ofRole are the settings for the report of one role: of both, a file that names no role
// would have the last one alone.
func (s *settings) ofRole(role string, both bool) (*settings, error) {
	of := *s
	of.role = role
	of.places = nil
	for _, one := range []struct {
		flag string
		path *string
	}{
		{"--json", &of.JSON}, {"--junit", &of.JUnit}, {"--html", &of.HTML}, {"--markdown", &of.Markdown},
		{"--code-quality", &of.CodeQuality}, {"--badge", &of.Badge},
	} {
		if both && *one.path != "" && !strings.Contains(*one.path, rolePlace) {
			return nil, usageError(
				"%s %s: both peers are judged, and a file has the report of one: write %s into its name",
				one.flag, *one.path, rolePlace,
			)
		}
		*one.path = strings.ReplaceAll(*one.path, rolePlace, role)
	}
	return &of, nil
}
