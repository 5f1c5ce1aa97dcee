package selftest

// unprovable are the checks and rules, by headings and text, that no fault can
// prove on the reference, each with the reason. The selftest shows them, and
// fails when one of them is proven after all.
var unprovable = map[string]string{}
