//go:build race

package testbed

// RaceDetector is true where the race detector watches the tests. It makes pure
// code ten times slower, and sees nothing of a program that a test starts.
const RaceDetector = true
