package artifact

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
)

// Resources are the items of one kind that a job worked on.
type Resources struct {
	// Kind is group/version/Kind, or version/Kind in the core group.
	Kind  string
	Items []Resource
}

// Resource is one of them.
type Resource struct {
	Namespace string // empty for what has none
	Name      string
	// Action is what a restore did: created, updated, skipped or failed; empty
	// in the list of a backup.
	Action string
}

// resourceList is the artifact as stored: "v1/Pod" to "ns/name" or
// "ns/name(created)".
type resourceList struct {
	restore bool
	sorted  []Resources
}

func (l *resourceList) read(d *json.Decoder) error {
	var byKind map[string][]string
	if err := d.Decode(&byKind); err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		r := Resources{Kind: sanitize.String(kind), Items: make([]Resource, 0, len(byKind[kind]))}
		for _, entry := range byKind[kind] {
			r.Items = append(r.Items, parseResource(sanitize.String(entry), l.restore))
		}
		l.sorted = append(l.sorted, r)
	}
	return nil
}

// actions are what a restore may have done with an item
// (pkg/restore/request.go).
var actions = []string{"created", "updated", "failed", "skipped"}

func parseResource(entry string, restore bool) Resource {
	r := Resource{Name: entry}
	if restore {
		// RBAC names may have brackets of their own: only the last pair counts.
		at := strings.LastIndexByte(entry, '(')
		if at >= 0 && strings.HasSuffix(entry, ")") && slices.Contains(actions, entry[at+1:len(entry)-1]) {
			r.Name, r.Action = entry[:at], entry[at+1:len(entry)-1]
		}
	}
	if namespace, name, ok := strings.Cut(r.Name, "/"); ok {
		r.Namespace, r.Name = namespace, name
	}
	return r
}

// ReadResourceList reads an unpacked resource list, sorted by kind.
func ReadResourceList(r io.Reader, kind job.Kind) ([]Resources, error) {
	list := resourceList{restore: kind == job.Restore}
	err := readJSON(r, &list)
	return list.sorted, err
}

// ResourceList fetches what a job worked on, sorted by kind.
func (f *Fetcher) ResourceList(ctx context.Context, kind job.Kind, name string) ([]Resources, error) {
	list := resourceList{restore: kind == job.Restore}
	err := f.load(ctx, targetOf(kind, name, velerov1.DownloadTargetKindBackupResourceList, velerov1.DownloadTargetKindRestoreResourceList), &list)
	return list.sorted, err
}
