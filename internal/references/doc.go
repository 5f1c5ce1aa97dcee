// Package references is the reference server and the reference client as commands: their flags,
// the faults that are injected into their traffic, and how they are run.
package references
