package score

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Reading is what was shown of a restore at a moment.
type Reading struct {
	At time.Time
	// Done and VeleroTotal are Velero's own counts, Total is the shown total.
	Done, VeleroTotal, Total int
	// Fraction is the filled part of the bar, of the stage Items if InItems is true.
	Fraction float64
	InItems  bool
	// ETA is the shown time left, if Known; a range from Low to High if Rough.
	ETA, Low, High time.Duration
	Known, Rough   bool
}

// Restore is all that was shown of a restore, and what came of it.
type Restore struct {
	Readings []Reading
	// Total is how many items there were, Ended when the last was counted.
	Total int
	Ended time.Time
}

// minLeft is the time left from which an ETA counts: a second less is noise.
const minLeft = 2 * time.Second

// maxJump is the relative change of an ETA between two readings, beyond the time between them, that is a jump.
const maxJump = 0.3

// Score sums up the errors of what was shown of a restore. Shares are in percent.
type Score struct {
	// Seconds is how many readings had a time left, Blank how many of these showed no ETA.
	Seconds, Blank int
	// MedianError and NinthError are the median and the 90th percentile of the ETA's relative error.
	MedianError, NinthError float64
	// Ranges is how many readings showed a range, Held how many of these held the truth.
	Ranges, Held int
	// FormChanges counts changes between a number, a range and neither, Jumps those of the number by more than 30 %.
	FormChanges, Jumps int
	// TotalError and VeleroTotalError are the largest errors of the shown total and of Velero's, WrongTotals and
	// VeleroWrongTotals count the readings with an error.
	TotalError, VeleroTotalError   float64
	WrongTotals, VeleroWrongTotals int
	// Setbacks counts how often the bar went back, Overruns how often it was full before the end.
	Setbacks, Overruns int
}

// Score returns the errors.
func (r Restore) Score() (s Score) {
	var errors []float64
	var last *Reading
	for i := range r.Readings {
		reading := &r.Readings[i]
		s.addTotals(reading, r.Total)
		if last != nil && last.InItems && reading.InItems && reading.Fraction < last.Fraction {
			s.Setbacks++
		}
		left := r.Ended.Sub(reading.At)
		if reading.InItems && left > 0 && (reading.Fraction >= 1 || reading.Done > reading.Total) {
			s.Overruns++
		}
		if left >= minLeft {
			errors = s.addETA(errors, reading, left)
			s.addChanges(last, reading)
		}
		last = reading
	}
	slices.Sort(errors)
	s.MedianError, s.NinthError = percentile(errors, 0.5), percentile(errors, 0.9)
	return s
}

func (s *Score) addTotals(reading *Reading, total int) {
	off := func(n int) float64 { return 100 * math.Abs(float64(n-total)) / float64(max(total, 1)) }
	if n := reading.VeleroTotal; n > 0 && n != total {
		s.VeleroWrongTotals++
		s.VeleroTotalError = max(s.VeleroTotalError, off(n))
	}
	if n := reading.Total; n > 0 && n != total {
		s.WrongTotals++
		s.TotalError = max(s.TotalError, off(n))
	}
}

func (s *Score) addETA(errors []float64, reading *Reading, left time.Duration) []float64 {
	s.Seconds++
	if !reading.Known {
		s.Blank++
		return errors
	}
	if reading.Rough {
		s.Ranges++
		if reading.Low <= left && left <= reading.High {
			s.Held++
		}
	}
	return append(errors, 100*math.Abs((reading.ETA-left).Seconds())/left.Seconds())
}

func (s *Score) addChanges(last, reading *Reading) {
	if last == nil {
		return
	}
	if last.Known != reading.Known || last.Rough != reading.Rough {
		s.FormChanges++
	}
	expected := last.ETA - reading.At.Sub(last.At)
	if last.Known && reading.Known &&
		math.Abs((reading.ETA-expected).Seconds()) > max(maxJump*last.ETA.Seconds(), minLeft.Seconds()) {
		s.Jumps++
	}
}

// percentile returns a percentile of sorted numbers, NaN without any.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

// String returns the score in one line.
func (s Score) String() string {
	return fmt.Sprintf(
		"total off by at most %.1f %% (%d readings), Velero's by %.1f %% (%d); ETA off by %.1f %% (median), %.1f %% (90th"+
			" percentile), none in %d of %d; %d ranges, %d right; %d changes of form, %d jumps; bar: %d setbacks, %d overruns",
		s.TotalError, s.WrongTotals, s.VeleroTotalError, s.VeleroWrongTotals, s.MedianError, s.NinthError, s.Blank,
		s.Seconds, s.Ranges, s.Held, s.FormChanges, s.Jumps, s.Setbacks, s.Overruns,
	)
}

// WriteTable writes the readings as a Markdown table.
func (r Restore) WriteTable(out io.Writer) error {
	const head = "| s | done | shown | Velero | true | ETA | left | error |"
	_, err := fmt.Fprintf(out, "%s\n|%s\n", head, strings.Repeat("---|", strings.Count(head, "|")-1))
	for _, reading := range r.Readings {
		if err != nil {
			break
		}
		left := r.Ended.Sub(reading.At)
		eta, off := "-", "-"
		if reading.Known {
			eta = fmt.Sprintf("%.0f", reading.ETA.Seconds())
		}
		if reading.Rough {
			eta += fmt.Sprintf(" (%.0f to %.0f)", reading.Low.Seconds(), reading.High.Seconds())
		}
		if reading.Known && left >= minLeft {
			off = fmt.Sprintf("%+.0f %%", 100*(reading.ETA-left).Seconds()/left.Seconds())
		}
		_, err = fmt.Fprintf(out, "| %.1f | %d | %d | %d | %d | %s | %.1f | %s |\n",
			reading.At.Sub(r.Readings[0].At).Seconds(), reading.Done, reading.Total, reading.VeleroTotal, r.Total,
			eta, left.Seconds(), off)
	}
	return err
}
