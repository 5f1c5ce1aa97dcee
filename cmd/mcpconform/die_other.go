//go:build !unix

package main

import "os"

// passedOn are the signals that a proxy passes on to the server that it stands before.
func passedOn() []os.Signal { return ending() }

// dieBy does nothing: this system has no signals.
func dieBy(string) {}
