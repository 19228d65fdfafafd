//go:build !race

package testbed

// RaceDetector is true where the race detector watches the tests.
const RaceDetector = false
