package preflight

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// BenchmarkLive looks at a real API server before a restore of 2,000 and of 60,000
// objects, and then compares them with the backup: ConfigMaps and Secrets of 2 kB in
// 20 namespaces, all of them there, of which every hundredth differs.
// `make bench-checks` runs it.
func BenchmarkLive(b *testing.B) {
	plane := testbed.StartForTest(b, testbed.Options{})
	made := 0
	for _, n := range []int{2_000, 60_000} {
		archive := populate(b, plane, made, n)
		made = n
		index, err := collector.Read(b.Context(), bytes.NewReader(archive), collector.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("preflight/items=%d", n), func(b *testing.B) {
			for b.Loop() {
				preflightOnce(b, plane, index)
			}
		})
		b.Run(fmt.Sprintf("compare/items=%d", n), func(b *testing.B) {
			for b.Loop() {
				compareOnce(b, plane, index, archive, n)
			}
		})
	}
}

// populate makes what is not there yet of n objects, and returns their backup.
func populate(b *testing.B, plane *testbed.ControlPlane, from, n int) []byte {
	b.Helper()
	config := plane.RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	slots := make(chan struct{}, 16)
	for i := from; i < n; i++ {
		space, meta := fmt.Sprintf(
			"bench-%02d",
			i%20,
		), metav1.ObjectMeta{
			Name:   fmt.Sprintf("item-%06d", i),
			Labels: map[string]string{"app": "web"},
		}
		if i < 20 {
			if err := plane.EnsureNamespace(b.Context(), space); err != nil {
				b.Fatal(err)
			}
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
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
	reader, served := readerOf(b, plane)
	var items []item
	for _, resource := range []string{live.ConfigMaps, secrets} {
		q := &live.Query{}
		for i := range n {
			q.AddItem(resource, fmt.Sprintf("bench-%02d", i%20), fmt.Sprintf("item-%06d", i))
		}
		unseen, err := reader.FetchObjects(
			b.Context(),
			served,
			q,
			func(string) string { return "" },
			func(resource string, o *unstructured.Unstructured) {
				if len(items)%100 == 0 {
					o.SetLabels(map[string]string{"app": "db"})
				}
				body, err := o.MarshalJSON()
				if err != nil {
					b.Fatal(err)
				}
				items = append(items, item{resource, o.GetNamespace(), o.GetName(), string(body)})
			},
			nil,
		)
		if err != nil || len(unseen) > 0 {
			b.Fatal(err, unseen)
		}
	}
	return archiveOf(b, items...)
}

func readerOf(b *testing.B, plane *testbed.ControlPlane) (*live.Reader, *live.ServedKinds) {
	b.Helper()
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
	return reader, served
}

// measured reports what work asks of the API server, and the most that the heap grows
// by meanwhile.
func measured(
	b *testing.B,
	plane *testbed.ControlPlane,
	index *collector.Index,
	work func(*live.Reader, *live.ServedKinds, *collector.Fates),
) {
	b.Helper()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
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
	reader, served := readerOf(b, plane)
	fates, err := index.DetermineFates(b.Context(), collector.RestoreInput{}, collector.LiveDiscovery(served.ResourceLists))
	if err != nil {
		b.Fatal(err)
	}
	work(reader, served, fates)
	close(quit)
	<-ended
	cost := reader.RequestCost()
	b.ReportMetric(float64(cost.Requests), "requests")
	b.ReportMetric(float64(cost.Bytes)/1e6, "MB-read")
	b.ReportMetric(float64(max(most.Load(), before.HeapAlloc)-before.HeapAlloc)/1e6, "MB-heap")
}

func preflightOnce(b *testing.B, plane *testbed.ControlPlane, index *collector.Index) {
	b.Helper()
	measured(b, plane, index, func(reader *live.Reader, served *live.ServedKinds, fates *collector.Fates) {
		question, want, err := BuildQuery(fates, veleroapi.RestoreSpec{}, "velero")
		if err != nil {
			b.Fatal(err)
		}
		around, err := reader.FetchEnvironment(b.Context(), served, want)
		if err != nil {
			b.Fatal(err)
		}
		state, err := reader.FetchState(b.Context(), served, question, nil)
		if err != nil {
			b.Fatal(err)
		}
		result, err := Check(
			Input{Velero: fine(), Index: index, Fates: fates, Served: served, State: state, Environment: around, Now: now},
		)
		if err != nil || len(result.Unchecked) > 0 || len(result.Findings) == 0 {
			b.Fatal(err, result)
		}
	})
}

func compareOnce(b *testing.B, plane *testbed.ControlPlane, index *collector.Index, archive []byte, n int) {
	b.Helper()
	measured(b, plane, index, func(reader *live.Reader, served *live.ServedKinds, fates *collector.Fates) {
		question := &live.Query{}
		if err := fates.EachItem(func(i collector.Item) { question.AddItem(i.Resource, i.TargetNamespace, i.Name) }); err != nil {
			b.Fatal(err)
		}
		state := live.NewState(question, always)
		c, err := NewComparison(fates, state, prepare.Rules{}, func(string) []string { return nil })
		if err != nil {
			b.Fatal(err)
		}
		if err := collector.VisitBodies(
			b.Context(),
			bytes.NewReader(archive),
			collector.Limits{},
			c.WantsBody,
			c.AddBackupItem,
		); err != nil {
			b.Fatal(err)
		}
		unseen, err := reader.FetchObjects(b.Context(), served, c.BuildQuery(), index.PreferredVersion, c.CompareLive, nil)
		if err != nil || len(unseen) > 0 {
			b.Fatal(err, unseen)
		}
		left := 0
		for _, e := range c.ExistingObjects(unseen, nil) {
			switch e.Outcome {
			case OutcomeUnchanged:
				left++
			case OutcomeEqual:
			default:
				b.Fatalf("%+v", e)
			}
		}
		if left != n/100 {
			b.Fatalf("%d differ, expected %d", left, n/100)
		}
	})
}
