package restorespec

import (
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/velero"
)

// Source is what can complete a field's value.
type Source uint8

// The sources of completion. Mappings take a namespace before the colon.
const (
	Nothing Source = iota
	Backups
	Schedules
	Namespaces
	Mappings
	Resources
	Labels
	YesNo
	Policies
)

// Draft is a restore that does not exist yet.
type Draft struct {
	Restore velerov1.Restore // Restore holds the name, labels, annotations and the spec
	// AllowPartiallyFailed is --allow-partially-failed, which no Restore has: the
	// command looks for the schedule's newest backup with it.
	AllowPartiallyFailed *bool
	// Only are the items that [Draft.Select] chose; a ConfigMap holds them beside the Restore.
	Only []Item
}

// Field is one flag of `velero restore create`.
type Field struct {
	// Flag is its name, without dashes. Title is what a form calls it, and Group what
	// stands above the fields that belong together.
	Flag, Title, Group string
	// Help is one line of what it does, Hint what may be typed.
	Help, Hint string
	Completes  Source
	Many       bool // true where several words with commas between may be given
	Filters    bool // true where the field decides what is restored
	codec
}

// Set replaces the field of a draft by text, read as Velero does. Its error says what was expected.
func (f Field) Set(d *Draft, text string) error {
	f.clear(d)
	return f.read(d, text)
}

// Check is why what the draft has of the field cannot work, though Velero's own flag takes it.
func (f Field) Check(d *Draft) error {
	if f.check == nil {
		return nil
	}
	return f.check(d)
}

// Clear takes the field out of a draft.
func (f Field) Clear(d *Draft) { f.clear(d) }

// Text is the field's value as text that Set reads, and whether the draft has one.
func (f Field) Text(d *Draft) (text string, given bool) { return f.write(d) }

// Tidy removes spaces around commas and colons, and a comma at the end.
func (f Field) Tidy(text string) string {
	text = strings.TrimSpace(text)
	if !f.Many || strings.Contains(text, `"`) || f.Completes == Labels && f.kind == typeSelector {
		return text
	}
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); f.Completes == Mappings {
			from, to, found := strings.Cut(word, ":")
			if found {
				word = strings.TrimSpace(from) + ":" + strings.TrimSpace(to)
			}
		}
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, ",")
}

// Fields are all flags that describe a restore, in the order of a form: what is
// restored and where to comes first. --wait is none of them.
func Fields() []Field {
	core := corev1.SchemeGroupVersion.Group
	list := func(flag, title, help, hint string, completes Source, of func(*velerov1.RestoreSpec) *[]string) Field {
		return Field{Flag: flag, Title: title, Help: help, Hint: hint, Completes: completes, Many: true, Filters: true,
			codec: listCodec(memberAt(func(d *Draft) *[]string { return of(&d.Restore.Spec) }))}
	}
	return slices.Concat(
		grouped("From", []Field{
			{
				Flag:      "from-backup",
				Title:     "Backup",
				Help:      "Backup to restore from",
				Hint:      "a backup's name",
				Completes: Backups,
				codec:     textCodec(func(d *Draft) *string { return &d.Restore.Spec.BackupName }),
			},
			{
				Flag:      "from-schedule",
				Title:     "Schedule",
				Help:      "Schedule to restore from: its newest completed backup",
				Hint:      "a schedule's name, instead of a backup",
				Completes: Schedules,
				codec:     textCodec(func(d *Draft) *string { return &d.Restore.Spec.ScheduleName }),
			},
			{
				Flag:      "allow-partially-failed",
				Title:     "Partially failed",
				Help:      "With --from-schedule, take a PartiallyFailed backup too",
				Hint:      "true or false; with a schedule only",
				Completes: YesNo,
				codec:     boolCodec(memberAt(func(d *Draft) **bool { return &d.AllowPartiallyFailed })),
			},
		}),
		grouped("What", []Field{
			list(
				"include-namespaces",
				"Namespaces",
				"Namespaces to restore, as named in the backup ('*' for all)",
				"as named in the backup, or *; empty: all",
				Namespaces,
				func(s *velerov1.RestoreSpec) *[]string { return &s.IncludedNamespaces },
			),
			list("exclude-namespaces", "  exclude", "Namespaces not to restore", "as named in the backup", Namespaces,
				func(s *velerov1.RestoreSpec) *[]string { return &s.ExcludedNamespaces }),
			{
				Flag:      "namespace-mappings",
				Title:     "Namespace map",
				Help:      "New names for namespaces in the target: src1:dst1,src2:dst2,...",
				Hint:      "src:dst, with commas between",
				Completes: Mappings,
				Many:      true,
				Filters:   true,
				codec: mapCodec(
					":",
					"src:dst",
					checkMapping,
					func(d *Draft) *map[string]string { return &d.Restore.Spec.NamespaceMapping },
				),
			},
			list(
				"include-resources",
				"Resources",
				"Resources to restore, such as deployments.apps ('*' for all)",
				"kinds such as deployments.apps, or *; empty: all",
				Resources,
				func(s *velerov1.RestoreSpec) *[]string { return &s.IncludedResources },
			),
			list("exclude-resources", "  exclude", "Resources not to restore", "kinds such as events", Resources,
				func(s *velerov1.RestoreSpec) *[]string { return &s.ExcludedResources }),
			{
				Flag:      "selector",
				Title:     "Selector",
				Help:      "Restore only items that match this label selector",
				Hint:      "app=web,tier notin (db)",
				Completes: Labels,
				Many:      true,
				Filters:   true,
				codec:     selectorCodec(),
			},
			{
				Flag:      "or-selector",
				Title:     "  or selector",
				Help:      "Restore items that match any of these label selectors, separated by ' or '",
				Hint:      "app=web or app=db; instead of a selector",
				Completes: Labels,
				Many:      true,
				Filters:   true,
				codec:     orSelectorCodec(),
			},
			{
				Flag:      "include-cluster-resources",
				Title:     "Cluster",
				Help:      "Restore cluster-scoped resources",
				Hint:      "true, false; empty: what the rest needs",
				Completes: YesNo,
				Filters:   true,
				codec: boolCodec(
					memberAt(func(d *Draft) **bool { return &d.Restore.Spec.IncludeClusterResources }),
				),
			},
			{
				Flag:      "restore-volumes",
				Title:     "Volumes",
				Help:      "Restore volumes from snapshots",
				Hint:      "true or false; empty: true",
				Completes: YesNo,
				Filters:   true,
				codec:     boolCodec(memberAt(func(d *Draft) **bool { return &d.Restore.Spec.RestorePVs })),
			},
			{
				Flag:    "resource-policies-configmap",
				Title:   "Policies",
				Help:    "ConfigMap with the restore's resource policies",
				Hint:    "a ConfigMap beside Velero",
				Filters: true,
				codec: referenceCodec(
					nil,
					func(d *Draft) **corev1.TypedLocalObjectReference { return &d.Restore.Spec.ResourcePolicy },
				),
			},
		}),
		grouped("How", []Field{
			{
				Flag:      "existing-resource-policy",
				Title:     "Existing",
				Help:      "What to do with objects that exist: none (skip them) or update",
				Hint:      "none: skip them; update: patch them",
				Completes: Policies,
				codec:     policyCodec(),
			},
			{
				Flag:      "preserve-nodeports",
				Title:     "Node ports",
				Help:      "Keep the node ports of services",
				Hint:      "true or false; empty: false",
				Completes: YesNo,
				codec:     boolCodec(memberAt(func(d *Draft) **bool { return &d.Restore.Spec.PreserveNodePorts })),
			},
			{
				Flag:      "status-include-resources",
				Title:     "Restore status",
				Help:      "Resources whose status is restored too",
				Hint:      "kinds, or *",
				Completes: Resources,
				Many:      true,
				codec: listCodec(
					statusMember(func(s *velerov1.RestoreStatusSpec) *[]string { return &s.IncludedResources }),
				),
			},
			{
				Flag:      "status-exclude-resources",
				Title:     "  exclude",
				Help:      "Resources whose status is not restored",
				Hint:      "kinds; only with the field above",
				Completes: Resources,
				Many:      true,
				codec: listCodec(
					statusMember(func(s *velerov1.RestoreStatusSpec) *[]string { return &s.ExcludedResources }),
				),
			},
			{
				Flag:  "resource-modifier-configmap",
				Title: "Modifiers",
				Help:  "ConfigMap with the patches that Velero applies to what it restores",
				Hint:  "a ConfigMap beside Velero",
				codec: referenceCodec(
					&core,
					func(d *Draft) **corev1.TypedLocalObjectReference { return &d.Restore.Spec.ResourceModifier },
				),
			},
			{
				Flag:  "item-operation-timeout",
				Title: "Timeout",
				Help:  "How long Velero waits for operations of plugins",
				Hint:  "a duration such as 4h",
				codec: durationCodec(),
			},
			{
				Flag:  "parallel-files-download",
				Title: "Parallel files",
				Help:  "Files of a volume to restore at once (0: as many as the node has CPUs)",
				Hint:  "a number",
				codec: parallelCodec(),
			},
			{
				Flag:      "write-sparse-files",
				Title:     "Sparse files",
				Help:      "Write sparse files when restoring volumes",
				Hint:      "true or false; empty: false",
				Completes: YesNo,
				codec: boolCodec(
					uploaderMember(func(c *velerov1.UploaderConfigForRestore) **bool { return &c.WriteSparseFiles }),
				),
			},
		}),
		grouped("The Restore itself", []Field{
			{
				Flag:  "labels",
				Title: "Labels",
				Help:  "Labels of the Restore itself",
				Hint:  "key=value, with commas between",
				Many:  true,
				codec: mapCodec(
					"=",
					"key=value",
					checkLabel,
					func(d *Draft) *map[string]string { return &d.Restore.Labels },
				),
			},
			{
				Flag:  "annotations",
				Title: "Annotations",
				Help:  "Annotations of the Restore itself",
				Hint:  "key=value, with commas between",
				Many:  true,
				codec: mapCodec(
					"=",
					"key=value",
					checkAnnotation,
					func(d *Draft) *map[string]string { return &d.Restore.Annotations },
				),
			},
		}),
	)
}

func grouped(name string, fields []Field) []Field {
	for i := range fields {
		fields[i].Group = name
	}
	return fields
}

// Find is the field with a flag's name.
func Find(flag string) (Field, bool) {
	all := Fields()
	i := slices.IndexFunc(all, func(f Field) bool { return f.Flag == flag })
	if i < 0 {
		return Field{}, false
	}
	return all[i], true
}

func errExpected(text, what string) error { return fmt.Errorf("%q: expected %s", text, what) }

// since is from which version on Velero has a flag (pkg/cmd/cli/restore/create.go), and
// its server the field of the Restore (pkg/apis/velero/v1/restore_types.go). What is
// not here is older than the versions that veltui knows, 1.10 and later.
var since = map[string]struct{ flag, field velero.Version }{
	"item-operation-timeout":      {velero.Version{1, 11, 0}, velero.Version{1, 11, 0}},
	"or-selector":                 {flag: velero.Version{1, 12, 1}},
	"resource-modifier-configmap": {velero.Version{1, 12, 0}, velero.Version{1, 12, 0}},
	"write-sparse-files":          {velero.Version{1, 13, 0}, velero.Version{1, 13, 0}},
	"parallel-files-download":     {velero.Version{1, 14, 0}, velero.Version{1, 14, 0}},
	"annotations":                 {flag: velero.Version{1, 16, 0}}, // all that Kubernetes stores has them
	"resource-policies-configmap": {velero.Version{1, 18, 3}, velero.Version{1, 18, 3}},
}

// HasFlag says whether the command of a version of Velero has the field's flag.
func (f Field) HasFlag(v velero.Version) bool { return !v.Before(since[f.Flag].flag) }

// IsRead says whether the server of a version reads the field; else it ignores it.
func (f Field) IsRead(v velero.Version) bool { return !v.Before(since[f.Flag].field) }

// Given are the fields that a draft sets.
func (d *Draft) Given() (given []Field) {
	for _, f := range Fields() {
		if _, is := f.Text(d); is {
			given = append(given, f)
		}
	}
	return given
}

// Since is the first version whose server reads the field, zero if all known ones do.
func (f Field) Since() velero.Version { return since[f.Flag].field }
