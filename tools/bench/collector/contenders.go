package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/metrics"
	"time"

	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/pgzip"
	"github.com/sirupsen/logrus"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/archive"
	"github.com/vmware-tanzu/velero/pkg/util/filesystem"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/collector/internal/inflate"
)

// runContender reads the archive once and says on stdout what is worth saying.
func runContender(as, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	switch as {
	case "names":
		return readOurs(f, collector.Limits{NamesOnly: true})
	case "labels":
		return readOurs(f, collector.Limits{})
	case "ask":
		return askAgain(f)
	case "klauspost":
		return drain(kgzip.NewReader(bufio.NewReaderSize(f, 1<<17)))
	case "libraries":
		return listWithLibraries(f)
	case "pgzip":
		return drain(pgzip.NewReader(f))
	case "std":
		return drain(gzip.NewReader(bufio.NewReaderSize(f, 1<<17)))
	case "inflate":
		return inflateOurs(f)
	case "velero":
		return readVelero(f, false)
	case "velero-decode":
		return readVelero(f, true)
	}
	return fmt.Errorf("no contender %q", as)
}

func drain[R io.Reader](r R, err error) error {
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	return err
}

// listWithLibraries reads the name of each entry with klauspost's gzip and archive/tar. It makes no index: what it
// takes is the least that the collector would take with them.
func listWithLibraries(f *os.File) error {
	unpacked, err := kgzip.NewReader(bufio.NewReaderSize(f, 1<<17))
	if err != nil {
		return err
	}
	entries := 0
	for archive := tar.NewReader(unpacked); ; entries++ {
		if _, err := archive.Next(); err == io.EOF {
			fmt.Printf("%d entries", entries)
			return nil
		} else if err != nil {
			return err
		}
	}
}

func inflateOurs(f *os.File) error {
	d := inflate.New(f)
	var blocks [2]inflate.Block
	for i := 0; ; i++ {
		if err := d.Next(&blocks[i%2]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func readOurs(f *os.File, limits collector.Limits) error {
	peak := watchHeap()
	x, err := collector.Read(context.Background(), f, limits)
	if err != nil {
		return err
	}
	fmt.Printf("%d items, peak heap %.1f MiB", x.Items(), float64(peak())/(1<<20))
	return nil
}

// watchHeap samples the heap, garbage included, until its result is called.
func watchHeap() (peak func() uint64) {
	stop, result := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		var highest uint64
		for {
			metrics.Read(sample)
			highest = max(highest, sample[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-stop:
				result <- highest
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-result
	}
}

// askAgain measures estimates from an Index that is there.
func askAgain(f *os.File) error {
	x, err := collector.Read(context.Background(), f, collector.Limits{})
	if err != nil {
		return err
	}
	specs := []velerov1.RestoreSpec{
		{},
		{IncludedNamespaces: []string{"team-1*"}},
		{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}},
		{
			OrLabelSelectors: []*metav1.LabelSelector{
				{MatchLabels: map[string]string{"team": "blue"}},
				{MatchLabels: map[string]string{"app.kubernetes.io/name": "app-1"}},
			},
		},
	}
	for i, spec := range specs {
		const times = 20
		total := 0
		start := time.Now()
		for range times {
			e, err := x.Estimate(context.Background(), collector.RestoreInput{Restore: spec}, collector.Discovery{})
			if err != nil {
				return err
			}
			total = e.Total
		}
		fmt.Printf("ask %d: %d items in %.1f ms; ", i+1, total, float64(time.Since(start).Microseconds())/1000/times)
	}
	return nil
}

// readVelero does what a Velero server does before it can count.
func readVelero(f *os.File, decode bool) error {
	log := logrus.New()
	log.SetOutput(io.Discard)
	fs := filesystem.NewFileSystem()
	dir, err := archive.NewExtractor(log, fs).UnzipAndExtractBackup(f)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	resources, err := archive.NewParser(log, fs).Parse(dir)
	if err != nil {
		return err
	}
	items := 0
	for name, resource := range resources {
		for namespace, names := range resource.ItemsByNamespace {
			items += len(names)
			for _, item := range names {
				if !decode {
					continue
				}
				object, err := archive.Unmarshal(fs, archive.GetItemFilePath(dir, name, namespace, item))
				if err != nil {
					return fmt.Errorf("decoding %s: %w", filepath.Join(name, namespace, item), err)
				}
				_ = object.GetLabels()
			}
		}
	}
	fmt.Printf("%d items", items)
	return nil
}
