package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFailuresBackOff(t *testing.T) {
	var f failures
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	broken := errors.New("the store is broken")
	var waits []string
	for range 9 {
		f.note("a", broken, now)
		f.note("a", errors.New("the second who waited"), now)
		begin := now
		for f.recent("a", now) != nil {
			if err := f.recent(
				"a",
				now,
			); !errors.Is(err, broken) ||
				!strings.Contains(err.Error(), begin.Format(time.TimeOnly)) {
				t.Fatal(err)
			}
			now = now.Add(time.Minute)
		}
		waits = append(waits, now.Sub(begin).String())
	}
	if got := strings.Join(waits, " "); got != "1m0s 2m0s 4m0s 8m0s 16m0s 32m0s 1h0m0s 1h0m0s 1h0m0s" {
		t.Errorf("waits %s", got)
	}
	if err := f.recent("b", now); err != nil {
		t.Error(err)
	}
	f.note("a", nil, now)
	f.note("a", fmt.Errorf("ended: %w", context.Canceled), now)
	f.note("a", ErrNoDownload, now)
	if err := f.recent("a", now); err != nil {
		t.Errorf("after a success: %v", err)
	}
	for i := range 2 * maxFailures {
		f.note(fmt.Sprint(i), broken, now)
	}
	if len(f.of) != maxFailures {
		t.Errorf("%d are remembered", len(f.of))
	}
}
