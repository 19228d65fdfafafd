package forecast_test

import (
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

	"github.com/veltui/veltui/forecast"
	"github.com/veltui/veltui/job"
)

// errors are the relative errors of one way to make an ETA.
type errors struct {
	all          []float64
	asked, blank int
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
	return fmt.Sprintf("%5.1f %6.1f %4.0f", e.percentile(0.5), e.percentile(0.9), 100*float64(e.blank)/float64(max(e.asked, 1)))
}

func (e *errors) join(o errors) {
	e.all, e.asked, e.blank = append(e.all, o.all...), e.asked+o.asked, e.blank+o.blank
}

// etas are the ways to make one: from the mean since the restore began, from
// the last ten seconds, the window that veltui has without an estimate, and
// forecasts with and without what earlier restores told.
type etas struct{ mean, tenSeconds, window, learned, prior errors }

// judge asks at each second that Velero wrote, if there are at least two left.
func judge(r recording, known forecast.Rates) (e etas) {
	type point struct{ at, done float64 }
	var seen []point
	ask := func(j *job.Job, at time.Time) (left float64, asked bool) {
		left = r.ended.Sub(at).Seconds()
		return left, j.Stage == job.StageItems && j.Items.Known && left >= 2
	}
	r.watch(known, func(c *forecast.Course, j *job.Job, at time.Time) {
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
		eta, ok := foresee(c, j, at)
		e.learned.add(eta, ok, left)
	})
	r.watch(forecast.Rates{}, func(c *forecast.Course, j *job.Job, at time.Time) {
		if left, asked := ask(j, at); asked {
			eta, ok := foresee(c, j, at)
			e.prior.add(eta, ok, left)
		}
	})
	return e
}

// foresee is the ETA as it is shown.
func foresee(c *forecast.Course, j *job.Job, at time.Time) (seconds float64, ok bool) {
	left, known := c.Left(at)
	eta, ok := j.WithTimeLeft(job.TimeLeft{Seen: at, Left: left, Known: known}).ETA(at)
	return eta.Seconds(), ok
}

// TestAccuracy holds forecasts against the restores in the repository.
func TestAccuracy(t *testing.T) {
	all := recordings(t, ours)
	for name, most := range map[string]struct{ median, ninth, priorMedian, priorNinth, blank float64 }{
		"r1-full-map":  {10, 25, 10, 25, 10},
		"r2-resources": {5, 10, 5, 10, 20},
	} {
		i := slices.IndexFunc(all, func(r recording) bool { return r.name == name })
		if i < 0 {
			t.Fatalf("%s is missing", name)
		}
		e := judge(all[i], learned(all, name))
		if e.learned.asked < 10 || e.learned.blank > 0 || e.learned.percentile(0.5) > most.median || e.learned.percentile(0.9) > most.ninth {
			t.Errorf("%s, learned from the others: median, 90th percentile, blank: %v", name, &e.learned)
		}
		if 100*e.prior.blank > int(most.blank)*e.prior.asked || e.prior.percentile(0.5) > most.priorMedian || e.prior.percentile(0.9) > most.priorNinth {
			t.Errorf("%s, nothing learned: median, 90th percentile, blank: %v", name, &e.prior)
		}
		if e.mean.percentile(0.5) < e.learned.percentile(0.5) {
			t.Errorf("%s: the mean rate is better: %v", name, &e.mean)
		}
	}
}

// BenchmarkETA replays the recordings in the folder that VELTUI_CAPTURES names
// (from the repository's root; several are separated by colons and count as
// clusters of their own) and prints how far off ETAs were, each learned from
// the other restores of its folder.
func BenchmarkETA(b *testing.B) {
	sets := map[string]places{}
	for _, dir := range filepath.SplitList(os.Getenv("VELTUI_CAPTURES")) {
		path := dir
		if !filepath.IsAbs(path) {
			path = filepath.Join("..", path)
		}
		sets[dir] = capturesIn(path)
	}
	if len(sets) == 0 {
		sets["the repository's recordings (VELTUI_CAPTURES is not set)"] = ours
	}
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
	var total etas
	row := func(name string, asked any, e ...any) {
		fmt.Fprintf(out, "%-16s %5v | %-16s | %-16s | %-16s | %-16s | %-16s\n", append([]any{name, asked}, e...)...)
	}
	row("", "", "mean rate", "10 s", "window", "learned", "not learned")
	const head = "  50%    90% none"
	row("error in %", "asked", head, head, head, head, head)
	for _, r := range all {
		e := judge(r, learned(all, r.name))
		if e.mean.asked == 0 {
			continue // it took less than two seconds
		}
		row(r.name, e.mean.asked, &e.mean, &e.tenSeconds, &e.window, &e.learned, &e.prior)
		total.mean.join(e.mean)
		total.tenSeconds.join(e.tenSeconds)
		total.window.join(e.window)
		total.learned.join(e.learned)
		total.prior.join(e.prior)
	}
	row("all", total.mean.asked, &total.mean, &total.tenSeconds, &total.window, &total.learned, &total.prior)
}

// BenchmarkFollow is what one second of a restore costs, seen and foreseen.
func BenchmarkFollow(b *testing.B) {
	all := recordings(b, ours)
	i := slices.IndexFunc(all, func(r recording) bool { return r.name == "r1-full-map" })
	seconds := 0
	for b.Loop() {
		all[i].watch(forecast.Rates{}, func(c *forecast.Course, j *job.Job, at time.Time) {
			c.Left(at)
			seconds++
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(seconds), "ns/second")
}
