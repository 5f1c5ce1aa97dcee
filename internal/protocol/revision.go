package protocol

// The dates of the releases.
const (
	nov2024 = "2024-11-05"
	mar2025 = "2025-03-26"
	jun2025 = "2025-06-18"
	nov2025 = "2025-11-25"
	jul2026 = "2026-07-28"
)

// Released lists the dated releases of the specification, oldest first. The slice is the
// caller's own.
func Released() []string { return []string{nov2024, mar2025, jun2025, nov2025, jul2026} }

// Newest is the newest release.
func Newest() string { return jul2026 }

// First returns the first release with a feature.
func First(feature Feature) string {
	first, _ := feature.span()
	return first
}

// Last returns the last release with a feature.
func Last(feature Feature) string {
	_, last := feature.span()
	return last
}

// Has tells whether a revision has a feature. A text that is the date of no release, as
// peers may send it, counts as the last release before it: a later one, and "draft", as
// the newest; one that sorts before all of them, and "", as the oldest.
func Has(revision string, feature Feature) bool {
	first, last := feature.span()
	release := releaseAt(revision)
	return first <= release && release <= last
}

// releaseAt returns the release that a text counts as.
func releaseAt(revision string) string {
	release := nov2024
	for _, later := range [...]string{mar2025, jun2025, nov2025, jul2026} {
		if later <= revision {
			release = later
		}
	}
	return release
}
