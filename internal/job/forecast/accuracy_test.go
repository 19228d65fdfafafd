package forecast_test

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
)

// errors are the relative errors of one way to make an ETA.
type errors struct {
	all          []float64
	asked, blank int
	// shown is true once there was one, after wait; rough are those shown as a
	// range, of which roughHeld held the truth; held are all that did.
	shown                  bool
	wait                   time.Duration
	rough, roughHeld, held int
}

// ranged notes whether the range held the truth.
func (e *errors) ranged(j *job.Job, c *forecast.Forecaster, at time.Time, left float64) {
	found, _ := c.EstimateLeft(at)
	held := found.Low.Seconds() <= left && left <= found.High.Seconds()
	_, _, rough := j.ETARange(at)
	if rough {
		e.rough++
	}
	if held {
		e.held++
	}
	if rough && held {
		e.roughHeld++
	}
}

func (e *errors) add(eta float64, known bool, left float64) {
	e.asked++
	if !known || math.IsNaN(eta) || math.IsInf(eta, 0) {
		e.blank++
		return
	}
	e.all = append(e.all, math.Abs(eta-left)/left)
}

// percentile is in percent; NaN without errors.
func (e *errors) percentile(p float64) float64 {
	if len(e.all) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(e.all))
	return 100 * sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

func (e *errors) String() string {
	return fmt.Sprintf(
		"%5.1f %6.1f %4.0f",
		e.percentile(0.5),
		e.percentile(0.9),
		100*float64(e.blank)/float64(max(e.asked, 1)),
	)
}

// history is what earlier restores may have taught veltui before a recording is
// replayed.
type history struct {
	name string
	// rates are those of the history. others are the rates of the other
	// recordings, all those of every recording, this one among them.
	rates func(others, all forecast.Rates, r recording) forecast.Rates
}

var histories = []history{
	{"none", func(_, _ forecast.Rates, _ recording) forecast.Rates { return forecast.Rates{} }},
	{"same cluster", func(others, _ forecast.Rates, _ recording) forecast.Rates { return others }},
	{"10x slower", func(_, all forecast.Rates, _ recording) forecast.Rates { return scaled(all, 10) }},
	{"10x faster", func(_, all forecast.Rates, _ recording) forecast.Rates { return scaled(all, 0.1) }},
	{"other kinds", func(_, _ forecast.Rates, _ recording) forecast.Rates { return otherKinds }},
	{"kinds swapped", func(_, all forecast.Rates, _ recording) forecast.Rates { return swapped(all) }},
}

// scaled is a history of a cluster that takes factor times as long.
func scaled(r forecast.Rates, factor float64) forecast.Rates {
	s := forecast.Rates{Throttle: r.Throttle, Resources: map[string]forecast.Cost{}}
	s.Throttle.Seconds *= factor
	for name, c := range r.Resources {
		s.Resources[name] = forecast.Cost{Seconds: c.Seconds * factor, SeenSeconds: c.SeenSeconds}
	}
	return s
}

// otherKinds is the history of a restore that had none of the usual kinds, and
// in which an item took a second.
var otherKinds = forecast.Rates{Resources: map[string]forecast.Cost{
	"widgets.lab.example.com": {
		Seconds:     1,
		SeenSeconds: 60,
	},
	"gadgets.lab.example.com": {Seconds: 1, SeenSeconds: 60},
	"replicationcontrollers":  {Seconds: 1, SeenSeconds: 60},
}}

// swapped is a history in which the slowest kind cost what the fastest does, and
// so on. The limit is right.
func swapped(r forecast.Rates) forecast.Rates {
	names := slices.SortedFunc(maps.Keys(r.Resources), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Resources[a].Seconds, r.Resources[b].Seconds), cmp.Compare(a, b))
	})
	s := forecast.Rates{Throttle: r.Throttle, Resources: map[string]forecast.Cost{}}
	for i, name := range names {
		s.Resources[name] = r.Resources[names[len(names)-1-i]]
	}
	return s
}

// etas are the ways to make one: from the mean since the restore began, from
// the last ten seconds, from the window that veltui has without an estimate, and
// by kind with each of the histories.
type etas struct {
	mean, tenSeconds, window errors
	forecasts                []errors // one for each of histories
}

// judge asks at each second that Velero wrote, if there are at least two left.
func judge(all []recording, r recording) (e etas) {
	type point struct{ at, done float64 }
	var seen []point
	ask := func(j *job.Job, at time.Time) (left float64, asked bool) {
		left = r.ended.Sub(at).Seconds()
		return left, j.Stage == job.StageItems && j.Items.Known && left >= 2
	}
	r.watch(forecast.Rates{}, func(_ *forecast.Forecaster, j *job.Job, at time.Time) {
		left, asked := ask(j, at)
		if !asked {
			return
		}
		now := point{at.Sub(r.began).Seconds(), float64(j.Items.Done)}
		seen = append(seen, now)
		todo := float64(j.Items.Total) - now.done
		e.mean.add(todo/(now.done/now.at), now.at > 0, left)
		for seen[0].at < now.at-10.05 { // they come a little late or early
			seen = seen[1:]
		}
		e.tenSeconds.add(todo/((now.done-seen[0].done)/(now.at-seen[0].at)), len(seen) > 1, left)
		window, ok := j.ETA(at)
		e.window.add(window.Seconds(), ok, left)
	})
	others, whole := learned(all, r.name), learned(all, "")
	for _, h := range histories {
		var found errors
		first := time.Time{}
		r.watch(h.rates(others, whole, r), func(c *forecast.Forecaster, j *job.Job, at time.Time) {
			left, asked := ask(j, at)
			if !asked {
				return
			}
			if first.IsZero() && j.Items.Done > 0 {
				first = at
			}
			j = foreseen(c, j, at)
			eta, ok := j.ETA(at)
			found.add(eta.Seconds(), ok, left)
			if ok && !first.IsZero() {
				found.ranged(j, c, at, left)
				if !found.shown {
					found.shown, found.wait = true, at.Sub(first)
				}
			}
		})
		e.forecasts = append(e.forecasts, found)
	}
	return e
}

// foreseen is a job with the ETA as it is shown, and its range.
func foreseen(c *forecast.Forecaster, j *job.Job, at time.Time) *job.Job {
	left, known := c.EstimateLeft(at)
	return j.WithTimeLeft(job.TimeLeft{
		CountedAt: at, Likely: left.Likely, Low: left.Low, High: left.High, Known: known, Rough: known,
	})
}

// The limits of the errors in percent, whatever earlier restores told.
const mostMedian, mostNinth = 10, 25

// TestAccuracy holds forecasts against every restore of ten seconds or more that
// was recorded: those in the repository, or in the folders that VELTUI_CAPTURES
// names. No history may spoil them, the first ETA comes within 5 s, and ranges
// hold the truth nine times in ten.
func TestAccuracy(t *testing.T) {
	for what, set := range captures() {
		var rough, held, long int
		all := recordings(t, set)
		for _, r := range all {
			if r.ended.Sub(r.began) < 10*time.Second {
				continue
			}
			long++
			for i, f := range judge(all, r).forecasts {
				rough, held = rough+f.rough, held+f.roughHeld
				if f.percentile(0.5) > mostMedian || f.percentile(0.9) > mostNinth || !f.shown ||
					f.wait > 5*time.Second {
					t.Errorf(
						"%s: %s, history %q: median, 90th percentile, none: %v %%; first after %v",
						what,
						r.name,
						histories[i].name,
						&f,
						f.wait,
					)
				}
			}
		}
		if long == 0 || held*10 < rough*9 {
			t.Errorf("%s: %d recordings; of %d ranges %d held the truth", what, long, rough, held)
		}
	}
}

// captures are the sets of recordings; each is a cluster of its own.
func captures() map[string]places {
	sets := map[string]places{}
	for _, dir := range filepath.SplitList(os.Getenv("VELTUI_CAPTURES")) {
		path := dir
		if !filepath.IsAbs(path) {
			path = filepath.Join("..", "..", "..", path) // from the repository's root
		}
		sets[dir] = capturesIn(path)
	}
	if len(sets) == 0 {
		sets["the repository's recordings (VELTUI_CAPTURES is not set)"] = ours
	}
	return sets
}

// BenchmarkETA replays the recordings and prints how far off ETAs were.
func BenchmarkETA(b *testing.B) {
	sets := captures()
	var text strings.Builder
	for b.Loop() {
		text.Reset()
		for _, what := range slices.Sorted(maps.Keys(sets)) {
			fmt.Fprintf(&text, "\n%s:\n", what)
			compare(&text, recordings(b, sets[what]))
		}
	}
	fmt.Print(text.String())
}

// compare writes a table of all ways to make an ETA.
func compare(out io.Writer, all []recording) {
	row := func(name string, asked any, e ...any) {
		fmt.Fprintf(out, "%-13s %5v", name, asked)
		for _, c := range e {
			fmt.Fprintf(out, " | %-16v", c)
		}
		fmt.Fprintln(out)
	}
	heads, names := []any{}, []any{"mean rate", "10 s", "window"}
	for _, h := range histories {
		names = append(names, h.name)
	}
	for range names {
		heads = append(heads, "  50%    90% none")
	}
	row("", "", names...)
	row("error in %", "asked", heads...)
	for _, r := range all {
		e := judge(all, r)
		if e.mean.asked == 0 {
			continue // it took less than two seconds
		}
		cells := []any{&e.mean, &e.tenSeconds, &e.window}
		for i := range e.forecasts {
			cells = append(cells, &e.forecasts[i])
		}
		row(r.name, e.mean.asked, cells...)
		for i := range e.forecasts {
			f := &e.forecasts[i]
			fmt.Fprintf(
				out,
				"      %-14s first after %v; rough %d times, the range held %d; all ranges held %d of %d\n",
				histories[i].name,
				f.wait,
				f.rough,
				f.roughHeld,
				f.held,
				len(f.all),
			)
		}
	}
}

// BenchmarkFollow is what one second of a restore costs, seen and foreseen.
func BenchmarkFollow(b *testing.B) {
	all := recordings(b, ours)
	i := slices.IndexFunc(all, func(r recording) bool { return r.name == "r1-full-map" })
	seconds := 0
	for b.Loop() {
		all[i].watch(forecast.Rates{}, func(c *forecast.Forecaster, j *job.Job, at time.Time) {
			c.EstimateLeft(at)
			seconds++
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(seconds), "ns/second")
}
