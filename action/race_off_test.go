//go:build !race

package action

// raceEnabled is true under the race detector, which makes pure code ten times
// slower.
const raceEnabled = false
