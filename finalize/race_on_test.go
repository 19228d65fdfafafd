//go:build race

package finalize

const raceEnabled = true
