package cmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/watch"
)

type askedRestore struct {
	*cli
	file   string
	inFile *velerov1.Restore // what file holds: standard input can be read once
	only   []restorespec.Item
	flags  restorespec.Flags
}

func (a *askedRestore) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&a.file, "file", "f", "", "File with the Restore, YAML or JSON ('-' for standard input)")
	completeFiles(cmd, "file")
	a.flags.AddAll(flags)
	a.addCAFile(cmd, flags)
}

// spec is that of the restore that is asked about.
func (a *askedRestore) spec() (velerov1.RestoreSpec, error) {
	d, err := a.draft()
	return d.Restore.Spec, err
}

// draft is the restore that is asked about, of the selected items alone if there are any.
func (a *askedRestore) draft() (d restorespec.Draft, err error) {
	if a.file != "" && a.inFile == nil {
		if a.inFile, err = a.readRestoreFile(a.file); err != nil {
			return d, err
		}
		a.only = append(a.only, restorespec.Selection(a.inFile)...)
	}
	restore := &d.Restore
	if a.inFile != nil {
		a.inFile.DeepCopyInto(restore)
	}
	if err := a.flags.Apply(restore); err != nil {
		return d, exitError{ExitUsage, err}
	}
	switch said := a.flags.Draft().Restore.Spec; {
	case said.BackupName != "" && said.ScheduleName != "":
		return d, usagef("--from-backup and --from-schedule: give one or the other")
	case said.ScheduleName != "":
		restore.Spec.BackupName = "" // of the file
	}
	if restore.Spec.BackupName != "" {
		restore.Spec.ScheduleName = "" // Velero has taken its backup already
	}
	if len(a.only) == 0 {
		return d, nil
	}
	said := a.flags.Draft()
	for _, field := range said.Given() {
		if field.Filters && !slices.Contains([]string{"namespace-mappings", "restore-volumes"}, field.Flag) {
			return d, usagef("--%s: objects that are selected one by one have no other filter", field.Flag)
		}
	}
	return d, d.Select(a.only)
}

// subject is the one backup or restore that is asked about: of a schedule, the backup that Velero would take.
func (a *askedRestore) subject(ctx context.Context, args []string, spec velerov1.RestoreSpec) (selection, error) {
	given := args
	if len(args) == 0 {
		switch {
		case spec.ScheduleName != "":
			name, err := a.newestOf(ctx, spec)
			if err != nil {
				return selection{}, err
			}
			args = []string{"backup/" + name}
		case spec.BackupName != "":
			args = []string{"backup/" + spec.BackupName}
		case a.file == "":
			return selection{}, usagef("nothing to look at: give backup/NAME, restore/NAME or -f FILE")
		default:
			return selection{}, usagef("%s does not name a backup: add backup/NAME", a.file)
		}
	}
	selected, err := parseSelection(args, false)
	if err != nil {
		return selection{}, err
	}
	if len(selected.names) != 1 {
		return selection{}, usagef("expected one backup/NAME or restore/NAME, got %q", args)
	}
	if selected.names[0].kind == job.Restore && !reflect.DeepEqual(spec, velerov1.RestoreSpec{}) {
		return selection{}, usagef(
			"restore/%s has its own filters; to try other filters, give backup/NAME",
			selected.names[0].name,
		)
	}
	if d := a.flags.Draft().Restore.Spec; len(given) > 0 &&
		(d.BackupName != "" && d.BackupName != selected.names[0].name || d.ScheduleName != "") {
		return selection{}, usagef("%q beside --from-backup or --from-schedule: give one or the other", given[0])
	}
	return selected, nil
}

func (a *askedRestore) newestOf(ctx context.Context, spec velerov1.RestoreSpec) (string, error) {
	snap, err := a.read(ctx, watch.Query{Kinds: []string{watch.Backups}, NoVerdict: true}, a.logging(ctx))
	if err != nil {
		return "", err
	}
	d := a.flags.Draft()
	d.Restore.Spec = spec
	name, refused := cluster.Source(d, &assess.Assessment{Snapshot: snap})
	if name == "" {
		return "", errors.New(strings.Join(refused, " "))
	}
	return name, nil
}

// openStore is what commands about a restore talk to, with the index cache.
func (a *askedRestore) openStore(namespace string) (*cluster.Cluster, *cluster.Store, error) {
	conn, err := a.connect()
	if err != nil {
		return nil, nil, err
	}
	cluster := a.inspected()
	cluster.Indexes = a.openIndexes(conn)
	store, err := cluster.Store(namespace)
	return cluster, store, err
}

// contents reads what a backup holds. As [collector.Read] it may return an index and an error.
func (a *askedRestore) contents(ctx context.Context, e *cluster.Store, name string) (*collector.Index, error) {
	backup, err := e.Backup(ctx, name)
	if err != nil {
		return nil, err
	}
	m, stop := a.startBytes("downloading " + backup.Name)
	defer stop()
	return e.Index(ctx, backup, m.show)
}

const maxRestoreFile = 4 << 20 // more than etcd would take of a Restore

// readFile reads a small file; "-" is standard input.
func (c *stdio) readFile(path string) ([]byte, error) {
	in := c.streams.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the restore: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxRestoreFile+1))
	if err == nil && len(data) > maxRestoreFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxRestoreFile)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the restore: %w", err)
	}
	return data, nil
}

// readRestoreFile reads the one Restore of a file, with the ConfigMap of its selection; "-" is standard
// input. An unknown field is an error: a filter with a wrong name would change every number.
func (c *stdio) readRestoreFile(path string) (*velerov1.Restore, error) {
	data, err := c.readFile(path)
	if err != nil {
		return nil, err
	}
	restore, err := parseRestore(data)
	if err != nil {
		return nil, fmt.Errorf("reading the restore: %s: %w", path, err)
	}
	return restore, nil
}

func parseRestore(data []byte) (*velerov1.Restore, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var found *velerov1.Restore
	var policy []byte
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		var is struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &is); err != nil {
			return nil, err
		}
		switch {
		case is.Kind == "ConfigMap" && policy == nil:
			policy = document
			continue
		case is.Kind != "Restore":
			if is.Kind == "" && is.APIVersion == "" {
				continue // an empty document, or none that we can name
			}
			return nil, fmt.Errorf("expected a Restore, found kind %q", is.Kind)
		case is.APIVersion != velerov1.SchemeGroupVersion.String():
			return nil, fmt.Errorf("expected apiVersion %s, found %q", velerov1.SchemeGroupVersion, is.APIVersion)
		case found != nil:
			return nil, errors.New("contains more than one Restore")
		}
		found = &velerov1.Restore{}
		if err := yaml.UnmarshalStrict(document, found); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, errors.New("contains no Restore (apiVersion velero.io/v1, kind Restore)")
	}
	d := restorespec.Draft{Restore: *found, Only: restorespec.Selection(found)}
	var is map[string]any
	if want := d.ConfigMap(
		found.Namespace,
	); policy != nil &&
		(want == nil || yaml.Unmarshal(policy, &is) != nil || !reflect.DeepEqual(is, want.Object)) {
		return nil, errors.New(
			"the ConfigMap is not that of the Restore's selection: name the objects with --only-from FILE",
		)
	}
	return found, nil
}
