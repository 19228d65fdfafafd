package watch

// journal keeps the last changes of jobs, in order.
type journal struct {
	// limit is how many are kept; none if it is zero.
	limit   int
	changes []Change
	dropped int
}

// add notes a change. A full journal gives up its oldest one: the end of the
// story has to be right.
func (j *journal) add(c Change) {
	if j.limit == 0 {
		return
	}
	if len(j.changes) == j.limit {
		j.changes[0] = Change{}
		j.changes = j.changes[1:]
		j.dropped++
	}
	j.changes = append(j.changes, c)
}

// take hands over what was noted since it was called before.
func (j *journal) take() (changes []Change, dropped int) {
	changes, dropped = j.changes, j.dropped
	j.changes, j.dropped = nil, 0
	return changes, dropped
}
