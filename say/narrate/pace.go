package narrate

import (
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
)

// Pace lets so many lines through in any minute that a person can listen to them. It sums up
// what is left out; what is urgent waits. The zero value is ready.
type Pace struct {
	queue
	said []time.Time
}

const (
	// perMinute is how many lines are said in any minute.
	perMinute = 8
	// forUrgent of them are only for what is urgent.
	forUrgent = 3
	// gap is the least time between two deliveries: what belongs together comes together.
	gap = 5 * time.Second
)

// Due are the lines to say now, what is urgent first.
func (p *Pace) Due(now time.Time) []string {
	p.said = slices.DeleteFunc(p.said, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(p.waiting) == 0 || len(p.said) > 0 && now.Sub(p.said[len(p.said)-1]) < gap {
		return nil
	}
	urgent := slices.IndexFunc(p.waiting, func(l Line) bool { return l.Weight != Urgent })
	if urgent < 0 {
		urgent = len(p.waiting)
	}
	var due []string
	say := func(text string) {
		due = append(due, text)
		p.said = append(p.said, now)
	}
	for ; urgent > 0 && len(p.said) < perMinute; urgent-- {
		say(p.waiting[0].Text)
		p.waiting = p.waiting[1:]
	}
	room := perMinute - forUrgent - len(p.said)
	if urgent > 0 || room <= 0 {
		return due
	}
	if len(p.waiting) > room {
		room--
	}
	for ; room > 0 && len(p.waiting) > 0; room-- {
		say(p.waiting[0].Text)
		p.waiting = p.waiting[1:]
	}
	if n := len(p.waiting); n > 0 {
		say(sentence("And %s; type: list", human.Plural(n, "more job changed", "more jobs changed")))
		p.waiting = nil
	}
	return due
}
