package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/velero"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// server is a made-up Velero: what an item of each resource takes without the
// limit, the limit as it is in truth, and how many requests are saved up.
type server struct {
	own      map[string]float64
	throttle float64
}

// seen is what Velero writes each second of a restore, from the first on.
type seen struct {
	at   time.Time
	done int
}

// restore restores the steps and returns what was written, and when it ended.
func (v server) restore(steps []ResourceStep) (all []seen, end time.Time) {
	clock, done, credit, written := 0.0, 0, defaultMaxCredit, 0.0
	for _, s := range steps {
		for range s.Items {
			took := v.own[s.Resource]
			if wait := v.throttle - took; wait > credit {
				took += wait - credit
			}
			credit = min(max(credit+took-v.throttle, 0), defaultMaxCredit)
			for clock += took; clock >= written+1; {
				written++
				all = append(all, seen{after(written), done})
			}
			done++
		}
	}
	return all, after(clock)
}

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// usual is Velero as it comes, in a cluster nearby.
var usual = server{throttle: throttledItemSeconds, own: map[string]float64{
	claimsResource:     listSeconds,
	"secrets":          plainItemSeconds,
	"configmaps":       plainItemSeconds,
	"services":         plainItemSeconds,
	"pods":             listSeconds,
	"replicasets.apps": listSeconds,
	"deployments.apps": listSeconds,
}}

var mixed = []ResourceStep{
	{Resource: claimsResource, Items: 30},
	{Resource: "secrets", Items: 400},
	{Resource: "configmaps", Items: 1100},
	{Resource: "pods", Items: 60},
	{Resource: "replicasets.apps", Items: 100},
	{Resource: "services", Items: 300},
	{Resource: "deployments.apps", Items: 100},
}

func TestForecastOfTheUsual(t *testing.T) {
	all, end := usual.restore(mixed)
	c := NewForecaster(mixed, Rates{}, ClientLimit{})
	blank := 0
	for _, s := range all {
		c.ObserveItems(s.at, s.done)
		want := end.Sub(s.at)
		left, ok := likely(c, s.at)
		if !ok {
			blank++
			continue
		}
		if off := (left - want).Abs(); off > want/10+time.Second {
			t.Errorf("%d items done: %v left, in truth %v", s.done, left, want)
		}
	}
	if blank > 6 {
		t.Errorf("blank in %d of %d seconds", blank, len(all))
	}
}

// A cluster that is not as usual is learned, and then foreseen from the start.
func TestLearnsTheUnusual(t *testing.T) {
	for name, v := range map[string]server{
		"far away":      {throttle: 0.02, own: map[string]float64{claimsResource: 0.3, "secrets": 0.08, "configmaps": 0.09, "services": 0.08, "pods": 0.3, "replicasets.apps": 0.3, "deployments.apps": 0.4}},
		"tight limit":   {throttle: 0.1, own: map[string]float64{claimsResource: 0.1, "secrets": 0.006, "configmaps": 0.006, "services": 0.006, "pods": 0.1, "replicasets.apps": 0.1, "deployments.apps": 0.1}},
		"no limit":      {throttle: 0.0001, own: map[string]float64{claimsResource: 0.02, "secrets": 0.004, "configmaps": 0.004, "services": 0.004, "pods": 0.03, "replicasets.apps": 0.02, "deployments.apps": 0.02}},
		"a slow plugin": {throttle: 0.02, own: map[string]float64{claimsResource: 0.1, "secrets": 0.006, "configmaps": 0.3, "services": 0.006, "pods": 2, "replicasets.apps": 0.1, "deployments.apps": 0.1}},
	} {
		all, end := v.restore(mixed)
		earlier := NewForecaster(mixed, Rates{}, ClientLimit{})
		for _, s := range all {
			earlier.ObserveItems(s.at, s.done)
		}
		known := Rates{}.MergeNewer(earlier.LearnedRates())
		for resource, cost := range known.Resources {
			if !cost.IsValid() {
				t.Errorf("%s: %s learned as %+v", name, resource, cost)
			}
		}
		c := NewForecaster(mixed, known, ClientLimit{})
		for i, s := range all {
			c.ObserveItems(s.at, s.done)
			left, ok := likely(c, s.at)
			want := end.Sub(s.at)
			if !ok && want > 2*time.Second {
				t.Errorf("%s: blank after %d seconds", name, i+1)
			}
			if off := (left - want).Abs(); off > want/4+2*time.Second {
				t.Errorf("%s: %d items done: %v left, in truth %v", name, s.done, left, want)
			}
		}
	}
}

// In namespaces that exist, nobody knows before whether the items do. That shows within seconds, either way, and what
// existed teaches nothing.
func TestItemsThatExist(t *testing.T) {
	steps := slices.Clone(mixed)
	for i := range steps {
		steps[i].MayExist = steps[i].Items
	}
	limit := ClientLimit{QPS: 100, Burst: 100}
	exist := server{throttle: throttledItemSeconds / 2, own: map[string]float64{}}
	for resource := range usual.own {
		exist.own[resource] = plainItemSeconds
	}
	for name, v := range map[string]server{"they exist": exist, "they do not": usual} {
		for _, known := range []Rates{{}, earlier(t)} {
			all, end := v.restore(steps)
			c := NewForecaster(steps, known, limit)
			for i, s := range all {
				c.ObserveItems(s.at, s.done)
				left, ok := c.EstimateLeft(s.at)
				want := end.Sub(s.at)
				if i > 0 && (!ok || want < left.Low-time.Second || want > left.High+time.Second) {
					t.Errorf("%s: %d items done: %+v, in truth %v", name, s.done, left, want)
				}
				if i >= 6 && (left.Likely-want).Abs() > want/8+time.Second {
					t.Errorf("%s: %d items done: %v left, in truth %v", name, s.done, left.Likely, want)
				}
			}
			if learned := len(c.LearnedRates().Resources) > 0; learned != (name == "they do not") {
				t.Errorf("%s: learned %v", name, learned)
			}
		}
	}
}

// While all goes as it went, the time left falls as time goes.
func TestFallsOnTrack(t *testing.T) {
	steps := []ResourceStep{{Resource: "configmaps", Items: 3000}}
	all, _ := usual.restore(steps)
	c := NewForecaster(steps, Rates{}, ClientLimit{})
	before, beforeAt := time.Duration(0), time.Time{}
	for _, s := range all {
		c.ObserveItems(s.at, s.done)
		left, ok := likely(c, s.at)
		if ok && !beforeAt.IsZero() {
			if fell, passed := before-left, s.at.Sub(beforeAt); fell < passed/2 || fell > 2*passed {
				t.Errorf("%d items done: the time left fell by %v in %v", s.done, fell, passed)
			}
		}
		if ok {
			before, beforeAt = left, s.at
		}
		if later, _ := likely(c, s.at.Add(time.Second)); ok && later > left {
			t.Errorf("it grows by itself from %v to %v", left, later)
		}
	}
	if beforeAt.IsZero() {
		t.Error("no forecast at all")
	}
}

// TestRoughWhileItWouldBeAGuess gives a range where a single number would be a
// guess, and nothing where nothing was seen.
func TestRoughWhileItWouldBeAGuess(t *testing.T) {
	c := NewForecaster(mixed, Rates{}, ClientLimit{})
	wide := func(when string, at time.Time, want bool) {
		t.Helper()
		left, ok := c.EstimateLeft(at)
		if got := left.High > 2*left.Low; !ok || got != want || left.Likely < left.Low || left.Likely > left.High {
			t.Errorf("%s: %+v, %v; want a wide range: %v", when, left, ok, want)
		}
	}
	blank := func(when string, at time.Time) {
		t.Helper()
		if left, ok := c.EstimateLeft(at); ok {
			t.Errorf("%s: %v", when, left)
		}
	}
	blank("nothing seen", start)
	c.ObserveItems(start, 10)
	wide("one look", start, true)
	for i := 1; i < 20; i++ {
		c.ObserveItems(start.Add(time.Duration(i)*time.Second), 10+i*50)
	}
	c.MarkGap()
	blank("news may have been missed", start.Add(21*time.Second))
	c.ObserveItems(start.Add(60*time.Second), 1200)
	if left, ok := c.EstimateLeft(start.Add(60 * time.Second)); !ok || left.Likely < 10*time.Second {
		t.Errorf("after a break: %v, %v; what was seen before it counts", left, ok)
	}

	c = NewForecaster([]ResourceStep{{Resource: "secrets", Items: 1000}, {Resource: "pods", Items: 500}}, Rates{}, ClientLimit{})
	for i := range 10 {
		c.ObserveItems(start.Add(time.Duration(i)*time.Second), 20+i*50)
	}
	wide("nearly all that is left is of a kind never seen", start.Add(9*time.Second), true)
	c = NewForecaster([]ResourceStep{{Resource: "secrets", Items: 5000}}, Rates{}, ClientLimit{})
	for i := range 10 {
		c.ObserveItems(start.Add(time.Duration(i)*time.Second), 20+i*50)
	}
	wide("all that is left is of a kind seen", start.Add(9*time.Second), false)
}

// TestHistoryThatDoesNotFit: with what was learned in a cluster ten times slower
// or faster, the forecast is that without it two seconds after the first number.
func TestHistoryThatDoesNotFit(t *testing.T) {
	for name, v := range map[string]server{
		"usual":    usual,
		"far away": {throttle: throttledItemSeconds, own: map[string]float64{claimsResource: 0.3, "secrets": 0.08, "configmaps": 0.09, "services": 0.08, "pods": 0.3, "replicasets.apps": 0.3, "deployments.apps": 0.3}},
		"no limit": {throttle: 0.0001, own: map[string]float64{claimsResource: 0.1, "secrets": 0.012, "configmaps": 0.012, "services": 0.012, "pods": 0.1, "replicasets.apps": 0.1, "deployments.apps": 0.1}},
	} {
		all, _ := v.restore(mixed)
		limit := ClientLimit{QPS: requestsPerItem / v.throttle, Burst: 100}
		for _, factor := range []float64{10, 0.1} {
			wrong := Rates{Throttle: Cost{v.throttle * factor, 60}, Resources: map[string]Cost{}}
			for resource, seconds := range v.own {
				wrong.Resources[resource] = Cost{seconds * factor, 60}
			}
			c, without := NewForecaster(mixed, wrong, limit), NewForecaster(mixed, Rates{}, limit)
			for i, s := range all {
				c.ObserveItems(s.at, s.done)
				without.ObserveItems(s.at, s.done)
				got, _ := likely(c, s.at)
				want, _ := likely(without, s.at)
				if i >= 2 && got != want {
					t.Errorf(
						"%s, a history of %v times that: %v left after %d numbers, %v without it",
						name,
						factor,
						got,
						i+1,
						want,
					)
				}
			}
		}
	}
}

func TestEstimatesThatAreWrong(t *testing.T) {
	for _, steps := range [][]ResourceStep{nil, {{Resource: "pods", Items: 0}}, {{Resource: "pods", Items: -5}}, {{Resource: "secrets", Items: 100}}} {
		c := NewForecaster(steps, Rates{}, ClientLimit{})
		for i := range 10 {
			c.ObserveItems(start.Add(time.Duration(i)*time.Second), i*50)
		}
		if left, ok := likely(c, start.Add(9*time.Second)); ok || c.priorModel.last.done <= c.priorModel.total {
			t.Errorf("%v: %v left of %d, %d done", steps, left, c.priorModel.total, c.priorModel.last.done)
		}
	}
}

// A pause is not what items cost: not in what is foreseen, nor in what is
// learned.
func TestPause(t *testing.T) {
	all, end := usual.restore(mixed)
	c := NewForecaster(mixed, Rates{}, ClientLimit{})
	var late time.Duration
	for i, s := range all {
		if i == 20 {
			late = 5 * time.Minute // a namespace that terminates, for one
		}
		at := s.at.Add(late)
		c.ObserveItems(at, s.done)
		if left, want := mustLeft(c, at), end.Sub(s.at); i > 25 && (left-want).Abs() > want/4+2*time.Second {
			t.Errorf("%d items done: %v left, in truth %v", s.done, left, want)
		}
	}
	if got := c.LearnedRates(); got.Throttle.Seconds > 1.1*throttledItemSeconds {
		t.Errorf("learned from the pause: %+v", got.Throttle)
	}
}

func likely(c *Forecaster, at time.Time) (time.Duration, bool) {
	left, ok := c.EstimateLeft(at)
	return left.Likely, ok
}

func mustLeft(c *Forecaster, at time.Time) time.Duration {
	left, _ := likely(c, at)
	return left
}

// A leap, of which some of the time was missed, is not learned either.
func TestLeap(t *testing.T) {
	all, _ := usual.restore(mixed)
	c := NewForecaster(mixed, Rates{}, ClientLimit{})
	for i, s := range all {
		at := s.at
		if i >= 20 {
			at = at.Add(-9 * time.Second)
		}
		if i < 10 || i >= 20 {
			c.ObserveItems(at, s.done)
		}
	}
	if got := c.LearnedRates().Throttle.Seconds; got < 0.8*throttledItemSeconds || got > 1.2*throttledItemSeconds {
		t.Errorf("the throttle was learned as %v s, it is %v s", got, throttledItemSeconds)
	}
}

// Events that come in bunches tell no speed of their own.
func TestBunches(t *testing.T) {
	all, end := usual.restore(mixed)
	c := NewForecaster(mixed, Rates{}, ClientLimit{})
	for i, s := range all {
		at := all[min(i/4*4+3, len(all)-1)].at.Add(time.Duration(i%4) * time.Millisecond)
		c.ObserveItems(at, s.done)
		if i%4 == 3 && i > 8 {
			if left, want := mustLeft(c, at), end.Sub(s.at); (left - want).Abs() > want/4+2*time.Second {
				t.Errorf("%d items done: %v left, in truth %v", s.done, left, want)
			}
		}
	}
	if got := c.LearnedRates().Throttle.Seconds; got < 0.7*throttledItemSeconds || got > 1.3*throttledItemSeconds {
		t.Errorf("the throttle was learned as %v s, it is %v s", got, throttledItemSeconds)
	}
}

// A restore that is met halfway tells as much as one met at its beginning.
func TestMetHalfway(t *testing.T) {
	all, end := usual.restore(mixed)
	c := NewForecaster(mixed, Rates{}, ClientLimit{})
	for i, s := range all[len(all)/2:] {
		c.ObserveItems(s.at, s.done)
		left, ok := likely(c, s.at)
		if want := end.Sub(s.at); ok && (left-want).Abs() > want/4+2*time.Second {
			t.Errorf("%d seconds after: %v left, in truth %v", i, left, want)
		}
	}
	if got := c.LearnedRates().Resources["deployments.apps"]; math.Abs(got.Seconds-listSeconds) > listSeconds/5 {
		t.Errorf("deployments learned as %+v", got)
	}
}

// Whatever is observed, nothing absurd is said or learned.
func TestNonsense(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		c := NewForecaster(mixed, Rates{Throttle: Cost{random.ExpFloat64(), 1}, Resources: map[string]Cost{
			"pods": {math.NaN(), 1}, "secrets": {-1, 5}, "configmaps": {1e300, 1e300}, "services": {maxCost, maxSeenSeconds},
		}}, ClientLimit{})
		at, done := start, 0
		for range 60 {
			switch random.IntN(6) {
			case 0:
				at, done = at.Add(-time.Duration(random.IntN(1e10))), random.IntN(4000)-100
			case 1:
				at = at.Add(time.Duration(random.Int64N(1e15)))
			case 2:
				c.MarkGap()
			default:
				at, done = at.Add(time.Duration(random.IntN(2e9))), done+random.IntN(60)
			}
			c.ObserveItems(at, done)
			if left, ok := likely(c, at.Add(time.Duration(random.IntN(1e10)-5e9))); ok && left < 0 {
				t.Fatalf("%v left", left)
			}
		}
		learned := c.LearnedRates()
		for resource, cost := range learned.Resources {
			if !cost.IsValid() {
				t.Fatalf("%s learned as %+v", resource, cost)
			}
		}
		if l := learned.Throttle; l != (Cost{}) && !l.IsValid() {
			t.Fatalf("the throttle learned as %+v", l)
		}
	}
}

func TestRatesWith(t *testing.T) {
	old := Rates{Resources: map[string]Cost{"pods": {0.1, 40}}}
	both := old.MergeNewer(
		Rates{Throttle: Cost{0.02, 5}, Resources: map[string]Cost{"pods": {0.4, 40}, "jobs.batch": {0, 9}}},
	)
	if got := both.Resources["pods"].Seconds; math.Abs(got-0.16) > 1e-9 { // 80 s for 500 items
		t.Errorf("pods: %v", got)
	}
	if _, found := both.Resources["jobs.batch"]; found || both.Throttle.Seconds != 0.02 {
		t.Errorf("%+v", both)
	}
	if old.Resources["pods"].Seconds != 0.1 || len(old.Resources) != 1 {
		t.Errorf("the older rates were changed: %+v", old)
	}
	if same := both.MergeNewer(Rates{}); len(same.Resources) != 1 || same.Throttle != both.Throttle {
		t.Errorf("nothing new makes %+v of %+v", same, both)
	}
}

// TestServersLimit: the server's flags are the limit from the first number on.
func TestServersLimit(t *testing.T) {
	if l := ClientLimitOf(velero.Server{Visible: true}); l != (ClientLimit{}) {
		t.Errorf("%+v of a server that was not found", l)
	}
	flags := velero.ParseServerFlags([]string{"server", "--client-qps=20", "--client-burst", "30"})
	limit := ClientLimitOf(velero.Server{Visible: true, ServerPod: velero.ServerPod{Name: "velero-1", Flags: flags}})
	v := server{throttle: requestsPerItem / 20, own: usual.own}
	steps := []ResourceStep{{Resource: "secrets", Items: 400}}
	all, end := v.restore(steps)
	c := NewForecaster(steps, Rates{}, limit)
	for _, s := range all {
		c.ObserveItems(s.at, s.done)
		if left, want := mustLeft(c, s.at), end.Sub(s.at); (left - want).Abs() > want/10+time.Second {
			t.Errorf("%d items done: %v left, in truth %v", s.done, left, want)
		}
	}
}
