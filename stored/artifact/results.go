package artifact

import (
	"context"
	"encoding/json"
	"io"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
)

// Messages are the warnings or the errors of one job.
type Messages struct {
	// Velero are about the run itself, Cluster about things without a
	// namespace, Namespaces about those in each.
	Velero     []string            `json:"velero"`
	Cluster    []string            `json:"cluster"`
	Namespaces map[string][]string `json:"namespaces"`
}

// Count is how many there are, as Velero counts them in a job's status.
func (m Messages) Count() int {
	n := len(m.Velero) + len(m.Cluster)
	for _, list := range m.Namespaces {
		n += len(list)
	}
	return n
}

func (m *Messages) clean() {
	cleanAll(m.Velero)
	cleanAll(m.Cluster)
	for namespace, list := range m.Namespaces {
		cleanAll(list)
		if harmless := sanitize.String(namespace); harmless != namespace {
			delete(m.Namespaces, namespace)
			m.Namespaces[harmless] = append(m.Namespaces[harmless], list...)
		}
	}
}

// Results are what a job complained about (pkg/util/results/result.go).
type Results struct {
	Warnings Messages `json:"warnings"`
	Errors   Messages `json:"errors"`
}

func (r *Results) read(d *json.Decoder) error {
	if err := d.Decode(r); err != nil {
		return err
	}
	r.Warnings.clean()
	r.Errors.clean()
	return nil
}

// ReadResults reads unpacked results.
func ReadResults(r io.Reader) (Results, error) {
	var results Results
	err := readJSON(r, &results)
	return results, err
}

// Results fetches the warnings and errors of a job.
func (f *Fetcher) Results(ctx context.Context, kind job.Kind, name string) (Results, error) {
	var results Results
	err := f.load(ctx, targetOf(kind, name, velerov1.DownloadTargetKindBackupResults, velerov1.DownloadTargetKindRestoreResults), &results)
	return results, err
}
