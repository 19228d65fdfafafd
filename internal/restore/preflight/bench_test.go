package preflight

import (
	"context"
	"fmt"
	"testing"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/live"
)

// BenchmarkCheck is what a preflight takes once backup and cluster have been read,
// with all items there and with none.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{2_000, 60_000} {
		var items []item
		for i := range n {
			space := fmt.Sprintf("bench-%02d", i%20)
			switch i % 4 {
			case 0:
				items = append(items, item{pods, space, fmt.Sprintf("pod-%06d", i), oneCPU})
			case 1:
				items = append(items, item{claims, space, fmt.Sprintf("claim-%06d", i), claimOfFast})
			case 2:
				items = append(items, item{"services", space, fmt.Sprintf("service-%06d", i), chosenPort})
			default:
				items = append(items, item{"configmaps", space, fmt.Sprintf("settings-%06d", i), ""})
			}
		}
		index := indexOf(b, items...)
		for name, there := range map[string]func(string, string, string) *live.Object{"there": always, "new": nil} {
			b.Run(fmt.Sprintf("items=%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					in := Input{Velero: fine(), Served: served(), Environment: &live.Environment{}, Now: now, Index: index}
					in.Restore.BackupName = "b"
					var err error
					if in.Fates, err = index.DetermineFates(
						context.Background(),
						collector.RestoreInput{Restore: in.Restore},
						collector.LiveDiscovery(in.Served.ResourceLists),
					); err != nil {
						b.Fatal(err)
					}
					q, _, err := BuildQuery(in.Fates, in.Restore, "velero")
					if err != nil {
						b.Fatal(err)
					}
					in.State = live.NewState(q, there)
					if r, err := Check(in); err != nil || *r.Items < n {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
