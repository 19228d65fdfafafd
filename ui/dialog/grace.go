package dialog

import "time"

// A stage that can write is deaf until nothing has been pressed for graceQuiet,
// but for graceLimit at most: what was typed before it was seen must not answer
// it.
const (
	graceQuiet = 400 * time.Millisecond
	graceLimit = 1500 * time.Millisecond
)

// grace is the deaf first moment of a stage.
type grace struct {
	began, pressed time.Time
	over           bool
}

func newGrace(now time.Time) grace { return grace{began: now, pressed: now} }

// swallow reports whether a key is to be ignored.
func (g *grace) swallow(now time.Time) bool {
	if !g.over {
		g.pressed = now
	}
	return !g.over
}

// left is how long to wait until it may be over.
func (g *grace) left(now time.Time) time.Duration {
	return min(g.pressed.Add(graceQuiet).Sub(now), g.began.Add(graceLimit).Sub(now))
}

// check ends it if its time has come.
func (g *grace) check(now time.Time) (over bool) {
	g.over = g.over || g.left(now) <= 0
	return g.over
}
