package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Write prints the result: the counts by reason, then every wrong moment.
func (r Result) Write(w io.Writer) {
	dead := 0
	for _, n := range r.Dead {
		dead += n
	}
	fmt.Fprintf(
		w,
		"Seed %d, Velero %s, %s: %d jobs (%d dead of %d kinds, %d slow living, %d undecided), "+
			"%d fault events, %d judgements\n\n",
		r.Story.Seed,
		r.Story.Version,
		r.Story.Duration,
		r.Jobs,
		dead,
		len(r.Dead),
		len(r.Slow),
		len(r.Undecided),
		len(r.Faults),
		r.Seconds,
	)
	fmt.Fprintf(w, "| state | reason | seconds | false alarms | misses | unsettled |\n|---|---|---|---|---|---|\n")
	var all VerdictCount
	for _, c := range r.Counts {
		fmt.Fprintf(
			w,
			"| %s | %s | %d | %d | %d | %d |\n",
			c.State,
			c.Reason,
			c.Seconds,
			c.FalseAlarms,
			c.Misses,
			c.Unsettled,
		)
		all.Seconds += c.Seconds
		all.FalseAlarms += c.FalseAlarms
		all.Misses += c.Misses
		all.Unsettled += c.Unsettled
	}
	fmt.Fprintf(w, "| all | | %d | %d | %d | %d |\n\n", all.Seconds, all.FalseAlarms, all.Misses, all.Unsettled)
	fmt.Fprintf(w, "Dead jobs, and when each was seen, counted from its expected time (a minute is allowed):\n")
	for _, f := range r.Story.Deaths {
		seen := "never"
		if after, ok := r.DetectedAfter[f.Job]; ok {
			seen = fmt.Sprintf("%+.0f s", after.Seconds())
		} else if r.Dead[f.Cause] == 0 {
			seen = "it did not come to it"
		}
		fmt.Fprintf(w, "- %s (%s): %s\n", f.Job, f.Cause, seen)
	}
	for _, list := range []struct {
		what  string
		names []string
	}{
		{"Undecided", r.Undecided},
		{"Not recorded long enough", r.Unproven},
		{"Not dead after all", r.Refuted},
		{"Woken by another fault before it had to be seen", r.Woken},
		{"Failed steps", r.Failures},
	} {
		if len(list.names) > 0 {
			fmt.Fprintf(w, "\n%s:\n- %s\n", list.what, strings.Join(list.names, "\n- "))
		}
	}
	if len(r.WrongPeriods) > 0 {
		fmt.Fprintf(w, "\nMoments that are wrong, or not settled:\n")
	}
	r.WrongPeriods.writeTo(w)
}

// writeTo prints each moment, the longest first.
func (m WrongPeriods) writeTo(w io.Writer) {
	for _, moment := range sortByLength(m) {
		fmt.Fprintf(
			w,
			"- %s, %s, %s to %s (%d s): %s %s: %s\n  %s\n",
			moment.Mistake,
			moment.Job,
			moment.From.Format(time.TimeOnly),
			moment.To.Format(time.TimeOnly),
			moment.Seconds,
			moment.State,
			moment.Reason,
			moment.Summary,
			moment.Proof,
		)
	}
}

func sortByLength(moments []WrongPeriod) []WrongPeriod {
	return slices.SortedStableFunc(
		slices.Values(moments),
		func(a, b WrongPeriod) int { return cmp.Compare(b.Seconds, a.Seconds) },
	)
}

// deathCauses are the kinds of dead jobs of a story.
func (s Story) deathCauses() []Cause {
	found := map[Cause]bool{}
	for _, f := range s.Deaths {
		found[f.Cause] = true
	}
	return slices.Sorted(maps.Keys(found))
}
