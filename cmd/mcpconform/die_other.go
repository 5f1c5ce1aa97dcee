//go:build !unix

package main

// dieBy does nothing: this system has no signals.
func dieBy(string) {}
