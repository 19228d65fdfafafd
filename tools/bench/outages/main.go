// Bench kills a real API server at the moment at which a last status patch is
// sent, brings it back after a while, and sees when the patch lands: sent by
// veltui's finalize, and beside it, at the same moment and to the same API
// server, by the helper that Velero's controllers use for it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	outages := flag.String("outages", "5s,45s,100s,4m", "how long the API server is away, one run each")
	deadline := flag.Duration("deadline", 10*time.Minute, "how long either may try (Velero's --resource-timeout)")
	flag.Parse()
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, strings.Split(*outages, ","), *deadline); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, outages []string, deadline time.Duration) error {
	fmt.Println(
		"| killed for | answers again after | veltui landed after its return | attempts | Velero's helper | attempts |",
	)
	fmt.Println("|---|---|---|---|---|---|")
	for _, text := range outages {
		outage, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil {
			return err
		}
		r, err := run(ctx, outage, deadline)
		if err != nil {
			return fmt.Errorf("an outage of %s: %w", outage, err)
		}
		fmt.Println(r.row(outage))
		if err := r.ours.landedOnce(); err != nil {
			return fmt.Errorf("an outage of %s: veltui's patch: %w", outage, err)
		}
	}
	return nil
}

// result is what became of both patches after one outage.
type result struct {
	away         time.Duration // from the kill to the first answer
	ours, velero sender
}

func (r *result) row(outage time.Duration) string {
	return fmt.Sprintf("| %s | %s | %s | %d | %s | %d |", outage, seconds(r.away),
		r.ours.end(r.away), len(r.ours.attempts), r.velero.end(r.away), len(r.velero.attempts))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
