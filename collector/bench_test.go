package collector

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/tools/bench/synth"
)

// benchArchive is a generated backup: the large one if $VELTUI_BENCH_DIR
// holds it (the bench program puts it there), else a tenth of it.
func benchArchive(b *testing.B) []byte {
	b.Helper()
	if dir := os.Getenv("VELTUI_BENCH_DIR"); dir != "" {
		data, err := os.ReadFile(filepath.Join(dir, synth.Large.String()))
		if err == nil {
			return data
		}
		b.Logf("large archive: %v; a small one is used", err)
	}
	var archive bytes.Buffer
	if err := synth.Write(&archive, synth.Spec{Items: 6_600, Bytes: 100_000_000, Seed: 1}); err != nil {
		b.Fatal(err)
	}
	return archive.Bytes()
}

func BenchmarkRead(b *testing.B) {
	archive := benchArchive(b)
	for name, limits := range map[string]Limits{"labels": {}, "names": {NamesOnly: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(archive)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(context.Background(), bytes.NewReader(archive), limits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchIndex has 66,000 items, however small the bodies are.
func benchIndex(b *testing.B) *Index {
	b.Helper()
	var archive bytes.Buffer
	if err := synth.Write(&archive, synth.Spec{Items: synth.Large.Items, Seed: 1}); err != nil {
		b.Fatal(err)
	}
	x, err := Read(context.Background(), &archive, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	return x
}

func BenchmarkEstimate(b *testing.B) {
	x := benchIndex(b)
	red := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
	for name, spec := range map[string]veleroapi.RestoreSpec{
		"everything": {},
		"namespaces": {IncludedNamespaces: []string{"team-1*"}},
		"selector":   {LabelSelector: red},
		"selectors":  {OrLabelSelectors: []*metav1.LabelSelector{red, {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pod-template-hash", Operator: "NotIn", Values: []string{"a", "b"}}}}}},
		"merged":     {NamespaceMapping: map[string]string{"team-01": "team-02"}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if e := estimate(b, x, RestoreInput{Restore: spec}, Discovery{}); e.Total == 0 {
					b.Fatal("nothing to restore")
				}
			}
		})
	}
}

func BenchmarkIndexCache(b *testing.B) {
	x := benchIndex(b)
	data, err := x.MarshalBinary()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(data)), "bytes")
	for b.Loop() {
		var y Index
		if err := y.UnmarshalBinary(data); err != nil {
			b.Fatal(err)
		}
	}
}
