package verify

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/testbed"
)

// BenchmarkVerify holds restores of 2,000 and of 60,000 items against a real API
// server: ConfigMaps and Secrets of 20 namespaces, of which every hundredth is gone.
// `make bench-checks` runs it.
func BenchmarkVerify(b *testing.B) {
	plane := testbed.StartForTest(b, testbed.Options{})
	made := 0
	for _, n := range []int{2_000, 60_000} {
		items := fill(b, plane, made, n)
		made = n
		for _, compares := range []bool{false, true} {
			b.Run(fmt.Sprintf("items=%d/contents=%t", n, compares), func(b *testing.B) {
				for b.Loop() {
					verifyOnce(b, plane, items, compares)
				}
			})
		}
	}
}

const benchSpaces = 20

// fill makes what is not there yet of n items, and returns the restore of all.
func fill(b *testing.B, plane *testbed.ControlPlane, from, n int) results.Items {
	b.Helper()
	config := plane.RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	maps, secrets := results.Kind{Name: "configmaps"}, results.Kind{Name: "secrets"}
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	slots := make(chan struct{}, 16)
	for i := range n {
		space, name := fmt.Sprintf("bench-%02d", i%benchSpaces), fmt.Sprintf("item-%06d", i)
		k := &maps
		if i%2 > 0 {
			k = &secrets
		}
		k.Items = append(k.Items, results.Item{Namespace: space, Name: name, Status: results.Created})
		if i < benchSpaces {
			if err := plane.EnsureNamespace(b.Context(), space); err != nil {
				b.Fatal(err)
			}
		}
		if i < from || i%100 == 7 {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			meta := metav1.ObjectMeta{
				Namespace: space,
				Name:      name,
				Labels: map[string]string{
					"velero.io/restore-name": "r1",
					"velero.io/backup-name":  "b1",
					"app":                    "web",
				},
			}
			data := map[string]string{"config": strings.Repeat("x", 2000)}
			var err error
			if i%2 == 0 {
				_, err = client.CoreV1().
					ConfigMaps(space).
					Create(b.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: data}, metav1.CreateOptions{})
			} else {
				_, err = client.CoreV1().
					Secrets(space).
					Create(b.Context(), &corev1.Secret{ObjectMeta: meta, StringData: data}, metav1.CreateOptions{})
			}
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
	return results.Items{Kinds: []results.Kind{maps, secrets}}
}

func verifyOnce(b *testing.B, plane *testbed.ControlPlane, items results.Items, compares bool) {
	b.Helper()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	quit := make(chan struct{})
	go func() {
		for {
			select {
			case <-quit:
				return
			case <-time.After(20 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most.Store(max(most.Load(), now.HeapAlloc))
			}
		}
	}()
	config := plane.RESTConfig()
	config.QPS, config.Burst = 50, 100 // as package cmd sets them
	reader, err := live.New(live.Options{Config: config})
	if err != nil {
		b.Fatal(err)
	}
	served, err := reader.FetchServedKinds(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	state, err := reader.FetchState(b.Context(), served, BuildQuery(items), nil)
	if err != nil {
		b.Fatal(err)
	}
	in := Input{RestoreName: "r1", Started: time.Now().Add(-time.Hour), Ended: time.Now(), Items: items, Target: state}
	r := Judge(in)
	if compares {
		compareAll(b, reader, served, in, &r)
	}
	close(quit)
	if want := len(items.Kinds[0].Items) / 50; r.CountLost() != want || r.CountByState[Unchecked] > 0 {
		b.Fatalf("%v, expected %d lost", r.CountByState, want)
	}
	cost := reader.RequestCost()
	b.ReportMetric(float64(cost.Requests), "requests")
	b.ReportMetric(float64(cost.Bytes)/1e6, "MB-read")
	b.ReportMetric(float64(max(most.Load(), before.HeapAlloc)-before.HeapAlloc)/1e6, "MB-heap")
}

// compareAll compares all contents with bodies like those of a backup.
func compareAll(b *testing.B, reader *live.Reader, served *live.ServedKinds, in Input, r *Result) {
	b.Helper()
	c := NewComparison(in, r, prepare.Rules{}, func(string) []string { return nil })
	data := strings.Repeat("x", 2000)
	for _, k := range in.Items.Kinds {
		kind, value := "ConfigMap", data
		if k.Name == "secrets" {
			kind, value = "Secret", base64.StdEncoding.EncodeToString([]byte(data))
		}
		for _, i := range k.Items {
			c.AddBackupItem(
				k.Name,
				i.Namespace,
				i.Name,
				fmt.Appendf(
					nil,
					`{"apiVersion": "v1", "kind": %q, "metadata": {"name": %q, "namespace": %q, "labels": {"app": "web"}}, "data": {"config": %q}}`,
					kind,
					i.Name,
					i.Namespace,
					value,
				),
			)
		}
	}
	unseen, err := reader.FetchObjects(b.Context(), served, c.BuildQuery(), func(string) string { return "" }, c.CompareLive, nil)
	if err != nil {
		b.Fatal(err)
	}
	if c.FinishResult(unseen, nil); r.CountByContent[Same] != r.CountByState[Restored] {
		b.Fatalf("%v of %v", r.CountByContent, r.CountByState)
	}
}
