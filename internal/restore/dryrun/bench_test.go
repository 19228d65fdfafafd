package dryrun

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCost logs what a dry run of VELTUI_COST items costs, by default of 500 (docs/preflight.md).
func TestCost(t *testing.T) {
	ns := shared.Name("cost")
	b := newBed(t, ns)
	items := 500
	if n, err := strconv.Atoi(os.Getenv("VELTUI_COST")); err == nil {
		items = n
	}
	for i := range items {
		b.holds(
			t,
			"configmaps",
			fmt.Sprintf(
				`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":"c-%d"},"data":{"a":%q}}`,
				ns,
				i,
				strings.Repeat("x", 2000),
			),
		)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	b.query.Progress = func(sent, _ int) {
		if sent%100 == 0 {
			runtime.ReadMemStats(&after)
			most = max(most, after.HeapAlloc)
		}
	}
	began := time.Now()
	d := b.run(t)
	t.Logf(
		"%d items: %s, heap at most %d MB more",
		items,
		time.Since(began).Round(time.Millisecond),
		(most-min(most, before.HeapAlloc))>>20,
	)
	if d.AcceptedCount != items || d.SentCount != items {
		t.Errorf("%d accepted, %d sent", d.AcceptedCount, d.SentCount)
	}
}
