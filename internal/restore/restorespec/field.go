package restorespec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// CompletionSource says what can complete a field's value.
type CompletionSource uint8

// The sources of completion. Mappings take a namespace before the colon.
const (
	NoCompletion CompletionSource = iota
	Backups
	Schedules
	Namespaces
	Mappings
	Resources
	Labels
	Booleans
	Policies
)

// Draft is a restore that does not exist yet.
type Draft struct {
	Restore veleroapi.Restore // Restore holds the name, labels, annotations and the spec
	// AllowPartiallyFailed is --allow-partially-failed, which no Restore has: the command uses it to choose the
	// schedule's newest backup.
	AllowPartiallyFailed *bool
	// Selected are the items that [Draft.SelectItems] selected; a ConfigMap holds them beside the Restore.
	Selected []Item
}

// FlagSpec is one flag of `velero restore create`.
type FlagSpec struct {
	// Flag is its name, without dashes. Title is its name in a form, and Group the heading above the fields that belong
	// together.
	Flag, Title, Group string
	// Help describes the flag in one line, Hint says what may be typed.
	Help, Hint   string
	CompleteFrom CompletionSource
	IsList       bool // true where several words, separated by commas, may be given
	IsFilter     bool // true where the field decides what is restored
	codec
}

// Set replaces the field of a draft by text, read as Velero reads it. Its error says what was expected.
func (f FlagSpec) Set(d *Draft, text string) error {
	f.clear(d)
	return f.read(d, text)
}

// Check returns why the draft's value of the field cannot work, although Velero's own flag accepts it.
func (f FlagSpec) Check(d *Draft) error {
	if f.check == nil {
		return nil
	}
	return f.check(d)
}

// Clear removes the field from a draft.
func (f FlagSpec) Clear(d *Draft) { f.clear(d) }

// ValueText returns the field's value as text that Set reads, and whether the draft has a value.
func (f FlagSpec) ValueText(d *Draft) (text string, given bool) { return f.write(d) }

// TidyText removes spaces around commas and colons, and a comma at the end.
func (f FlagSpec) TidyText(text string) string {
	text = strings.TrimSpace(text)
	if !f.IsList || strings.Contains(text, `"`) || f.CompleteFrom == Labels && f.typeName == typeSelector {
		return text
	}
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); f.CompleteFrom == Mappings {
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

// FlagSpecs returns all flags that describe a restore, in the order of a form: what is restored and where to comes
// first. --wait is not one of them.
func FlagSpecs() []FlagSpec {
	core := corev1.SchemeGroupVersion.Group
	list := func(
		flag, title, help, hint string,
		completes CompletionSource,
		of func(*veleroapi.RestoreSpec) *[]string,
	) FlagSpec {
		return FlagSpec{
			Flag:         flag,
			Title:        title,
			Help:         help,
			Hint:         hint,
			CompleteFrom: completes,
			IsList:       true,
			IsFilter:     true,
			codec:        listCodec(newAccessor(func(d *Draft) *[]string { return of(&d.Restore.Spec) })),
		}
	}
	return slices.Concat(
		withGroup("From", []FlagSpec{
			{
				Flag:         "from-backup",
				Title:        "Backup",
				Help:         "Backup to restore from",
				Hint:         "a backup's name",
				CompleteFrom: Backups,
				codec:        textCodec(func(d *Draft) *string { return &d.Restore.Spec.BackupName }),
			},
			{
				Flag:         "from-schedule",
				Title:        "Schedule",
				Help:         "Schedule to restore from: its newest completed backup",
				Hint:         "a schedule's name, instead of a backup",
				CompleteFrom: Schedules,
				codec:        textCodec(func(d *Draft) *string { return &d.Restore.Spec.ScheduleName }),
			},
			{
				Flag:         "allow-partially-failed",
				Title:        "Partially failed",
				Help:         "With --from-schedule, take a PartiallyFailed backup too",
				Hint:         "true or false; with a schedule only",
				CompleteFrom: Booleans,
				codec:        boolCodec(newAccessor(func(d *Draft) **bool { return &d.AllowPartiallyFailed })),
			},
		}),
		withGroup("What", []FlagSpec{
			list(
				"include-namespaces",
				"Namespaces",
				"Namespaces to restore, as named in the backup ('*' for all)",
				"as named in the backup, or *; empty: all",
				Namespaces,
				func(s *veleroapi.RestoreSpec) *[]string { return &s.IncludedNamespaces },
			),
			list("exclude-namespaces", "  exclude", "Namespaces not to restore", "as named in the backup", Namespaces,
				func(s *veleroapi.RestoreSpec) *[]string { return &s.ExcludedNamespaces }),
			{
				Flag:         "namespace-mappings",
				Title:        "Namespace map",
				Help:         "New names for namespaces in the target: src1:dst1,src2:dst2,...",
				Hint:         "src:dst, with commas between",
				CompleteFrom: Mappings,
				IsList:       true,
				IsFilter:     true,
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
				func(s *veleroapi.RestoreSpec) *[]string { return &s.IncludedResources },
			),
			list("exclude-resources", "  exclude", "Resources not to restore", "kinds such as events", Resources,
				func(s *veleroapi.RestoreSpec) *[]string { return &s.ExcludedResources }),
			{
				Flag:         "selector",
				Title:        "Selector",
				Help:         "Restore only items that match this label selector",
				Hint:         "app=web,tier notin (db)",
				CompleteFrom: Labels,
				IsList:       true,
				IsFilter:     true,
				codec:        selectorCodec(),
			},
			{
				Flag:         "or-selector",
				Title:        "  or selector",
				Help:         "Restore items that match any of these label selectors, separated by ' or '",
				Hint:         "app=web or app=db; instead of a selector",
				CompleteFrom: Labels,
				IsList:       true,
				IsFilter:     true,
				codec:        orSelectorCodec(),
			},
			{
				Flag:         "include-cluster-resources",
				Title:        "Cluster",
				Help:         "Restore cluster-scoped resources",
				Hint:         "true, false; empty: what the rest needs",
				CompleteFrom: Booleans,
				IsFilter:     true,
				codec: boolCodec(
					newAccessor(func(d *Draft) **bool { return &d.Restore.Spec.IncludeClusterResources }),
				),
			},
			{
				Flag:         "restore-volumes",
				Title:        "Volumes",
				Help:         "Restore volumes from snapshots",
				Hint:         "true or false; empty: true",
				CompleteFrom: Booleans,
				IsFilter:     true,
				codec:        boolCodec(newAccessor(func(d *Draft) **bool { return &d.Restore.Spec.RestorePVs })),
			},
			{
				Flag:     "resource-policies-configmap",
				Title:    "Policies",
				Help:     "ConfigMap with the restore's resource policies",
				Hint:     "a ConfigMap beside Velero",
				IsFilter: true,
				codec: referenceCodec(
					nil,
					func(d *Draft) **corev1.TypedLocalObjectReference { return &d.Restore.Spec.ResourcePolicy },
				),
			},
		}),
		withGroup("How", []FlagSpec{
			{
				Flag:         "existing-resource-policy",
				Title:        "Existing",
				Help:         "What to do with objects that exist: none (skip them) or update",
				Hint:         "none: skip them; update: patch them",
				CompleteFrom: Policies,
				codec:        policyCodec(),
			},
			{
				Flag:         "preserve-nodeports",
				Title:        "Node ports",
				Help:         "Keep the node ports of services",
				Hint:         "true or false; empty: false",
				CompleteFrom: Booleans,
				codec:        boolCodec(newAccessor(func(d *Draft) **bool { return &d.Restore.Spec.PreserveNodePorts })),
			},
			{
				Flag:         "status-include-resources",
				Title:        "Restore status",
				Help:         "Resources whose status is restored too",
				Hint:         "kinds, or *",
				CompleteFrom: Resources,
				IsList:       true,
				codec: listCodec(
					statusAccessor(func(s *veleroapi.RestoreStatusSpec) *[]string { return &s.IncludedResources }),
				),
			},
			{
				Flag:         "status-exclude-resources",
				Title:        "  exclude",
				Help:         "Resources whose status is not restored",
				Hint:         "kinds; only with the field above",
				CompleteFrom: Resources,
				IsList:       true,
				codec: listCodec(
					statusAccessor(func(s *veleroapi.RestoreStatusSpec) *[]string { return &s.ExcludedResources }),
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
				Flag:         "write-sparse-files",
				Title:        "Sparse files",
				Help:         "Write sparse files when restoring volumes",
				Hint:         "true or false; empty: false",
				CompleteFrom: Booleans,
				codec: boolCodec(
					uploaderAccessor(func(c *veleroapi.UploaderConfigForRestore) **bool { return &c.WriteSparseFiles }),
				),
			},
		}),
		withGroup("The Restore itself", []FlagSpec{
			{
				Flag:   "labels",
				Title:  "Labels",
				Help:   "Labels of the Restore itself",
				Hint:   "key=value, with commas between",
				IsList: true,
				codec: mapCodec(
					"=",
					"key=value",
					checkLabel,
					func(d *Draft) *map[string]string { return &d.Restore.Labels },
				),
			},
			{
				Flag:   "annotations",
				Title:  "Annotations",
				Help:   "Annotations of the Restore itself",
				Hint:   "key=value, with commas between",
				IsList: true,
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

func withGroup(name string, fields []FlagSpec) []FlagSpec {
	for i := range fields {
		fields[i].Group = name
	}
	return fields
}

// FindFlag returns the field of a flag.
func FindFlag(flag string) (FlagSpec, bool) {
	all := FlagSpecs()
	i := slices.IndexFunc(all, func(f FlagSpec) bool { return f.Flag == flag })
	if i < 0 {
		return FlagSpec{}, false
	}
	return all[i], true
}

func errExpected(text, what string) error { return fmt.Errorf("%q: expected %s", text, what) }

// flagVersions maps each flag to the first version of Velero that has the flag (pkg/cmd/cli/restore/create.go), and
// the first whose server has the field of the Restore (pkg/apis/velero/v1/restore_types.go). Flags that are not
// listed are older than the versions that veltui knows, 1.10 and later.
var flagVersions = map[string]struct{ flag, field velero.Version }{
	"item-operation-timeout":      {velero.Version{1, 11, 0}, velero.Version{1, 11, 0}},
	"or-selector":                 {flag: velero.Version{1, 12, 1}},
	"resource-modifier-configmap": {velero.Version{1, 12, 0}, velero.Version{1, 12, 0}},
	"write-sparse-files":          {velero.Version{1, 13, 0}, velero.Version{1, 13, 0}},
	"parallel-files-download":     {velero.Version{1, 14, 0}, velero.Version{1, 14, 0}},
	"annotations":                 {flag: velero.Version{1, 16, 0}}, // everything that Kubernetes stores has annotations
	"resource-policies-configmap": {velero.Version{1, 18, 3}, velero.Version{1, 18, 3}},
}

// HasFlag reports whether the command of a version of Velero has the field's flag.
func (f FlagSpec) HasFlag(v velero.Version) bool { return !v.Before(flagVersions[f.Flag].flag) }

// IsReadBy reports whether the server of a version reads the field; older servers ignore it.
func (f FlagSpec) IsReadBy(v velero.Version) bool { return !v.Before(flagVersions[f.Flag].field) }

// GivenFlags returns the fields that a draft sets.
func (d *Draft) GivenFlags() (given []FlagSpec) {
	for _, f := range FlagSpecs() {
		if _, is := f.ValueText(d); is {
			given = append(given, f)
		}
	}
	return given
}

// ReadSince returns the first version whose server reads the field, zero if all known versions do.
func (f FlagSpec) ReadSince() velero.Version { return flagVersions[f.Flag].field }
