package watch

type journal struct {
	limit   int // how many changes are kept; 0 for none
	changes []Change
	dropped int
}

// recordChange adds a change. A full journal drops its oldest change: the newest ones have to be right.
func (j *journal) recordChange(c Change) {
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

func (j *journal) takeChanges() (changes []Change, dropped int) {
	changes, dropped = j.changes, j.dropped
	j.changes, j.dropped = nil, 0
	return changes, dropped
}
