package velero

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Unlimited is the length of a limit that Velero does not have, or that is unknown: a century.
const Unlimited = 100 * 365 * 24 * time.Hour

// maxAnnotatedTimeout bounds how much of a timeout noted on a job is believed where the server's own flag says less:
// anyone who may create a job can write annotations.
const maxAnnotatedTimeout = 24 * time.Hour

// effectiveTimeout returns the length that a flag gives, which may be zero or less: the default if the flag is not
// given, Endless if its value cannot be read.
func (f *ServerFlags) effectiveTimeout(value, byDefault time.Duration, names ...string) time.Duration {
	among := func(list []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, name) })
	}
	switch {
	case among(f.UnreadableLimits):
		return Unlimited
	case among(f.GivenLimits):
		return value
	}
	return cmp.Or(value, byDefault)
}

func (f *ServerFlags) resourceTimeout() time.Duration {
	return f.effectiveTimeout(f.ResourceTimeout, DefaultServerFlags().ResourceTimeout, "resource-timeout")
}

// ResourceTimeout returns how long Velero waits for what no other limit bounds: the server's flag, or not at all
// where that is zero or less (wait.PollUntilContextTimeout). The server notes its flag on a backup
// (pkg/controller/backup_controller.go, prepareBackupRequest) and never reads the note, which can only lengthen the
// limit here: it may stand for a flag that was not seen, or for the flag of a previous server.
func ResourceTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	noted, _ := annotatedResourceTimeout(o)
	d := max(0, flags.resourceTimeout())
	if d >= Unlimited && noted > 0 {
		return noted
	}
	return max(d, noted)
}

// annotatedResourceTimeout returns the flag that the server noted on a backup, at most [maxAnnotatedTimeout].
func annotatedResourceTimeout(o metav1.Object) (d time.Duration, noted bool) {
	d, err := time.ParseDuration(o.GetAnnotations()[veleroapi.ResourceTimeoutAnnotation])
	return min(d, maxAnnotatedTimeout), err == nil
}

// PodVolumeTimeout returns the limit of all pod volumes of a job: its annotation, without an upper bound, else the
// server's flag; zero and less end the wait at once (pkg/backup/backup.go BackupWithResolvers, pkg/restore/restore.go
// RestoreWithResolvers).
func PodVolumeTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	d, err := time.ParseDuration(o.GetAnnotations()[veleroapi.PodVolumeOperationTimeoutAnnotation])
	if err != nil {
		d = flags.effectiveTimeout(
			flags.PodVolumeTimeout,
			DefaultServerFlags().PodVolumeTimeout,
			"fs-backup-timeout",
			"restic-timeout",
		)
	}
	return min(max(0, d), Unlimited)
}

// ItemOperationTimeout returns the limit of an operation, counted from its start: the job's, else the server's, which
// is written into the job when it begins (prepareBackupRequest, validateAndComplete). Zero and less end the operation
// at the first check.
func ItemOperationTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	d := specItemOperationTimeout(o)
	if d == 0 {
		d = flags.effectiveTimeout(
			flags.ItemOperationTimeout,
			DefaultServerFlags().ItemOperationTimeout,
			"default-item-operation-timeout",
		)
	}
	return min(max(0, d), Unlimited)
}

func specItemOperationTimeout(o metav1.Object) time.Duration {
	switch o := o.(type) {
	case *veleroapi.Backup:
		return o.Spec.ItemOperationTimeout.Duration
	case *veleroapi.Restore:
		return o.Spec.ItemOperationTimeout.Duration
	}
	return 0
}

// OperationCheckDelay returns how long it takes until the server next checks operations: only a check ends an
// operation, and zero or less means the default (pkg/controller/backup_operations_controller.go
// NewBackupOperationsReconciler, restore_operations_controller.go).
func OperationCheckDelay(flags ServerFlags) time.Duration {
	byDefault := DefaultServerFlags().ItemOperationSync
	d := flags.effectiveTimeout(flags.ItemOperationSync, byDefault, "item-operation-sync-frequency")
	if d <= 0 {
		d = byDefault
	}
	return min(d, Unlimited)
}

// terminatingTimeout returns how long a restore waits for each object that is being deleted; zero and less mean not
// at all.
func terminatingTimeout(_ metav1.Object, flags ServerFlags) time.Duration {
	d := flags.effectiveTimeout(
		flags.TerminatingTimeout,
		DefaultServerFlags().TerminatingTimeout,
		"terminating-resource-timeout",
	)
	return min(max(0, d), Unlimited)
}

// restoreHookTimeout returns how long a restore waits for its hooks since 1.18.3; zero and less mean the default
// (pkg/controller/restore_finalizer_controller.go WaitRestoreExecHook).
func restoreHookTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	if d := ResourceTimeout(o, flags); d > 0 {
		return d
	}
	return DefaultServerFlags().ResourceTimeout
}

// SnapshotTimeout returns how long a backup waits for one CSI snapshot: its spec.csiSnapshotTimeout, 10 minutes by
// default.
func SnapshotTimeout(o metav1.Object, _ ServerFlags) time.Duration {
	if b, ok := o.(*veleroapi.Backup); ok {
		return b.Spec.CSISnapshotTimeout.Duration
	}
	return 0
}

// snapshotLimit returns SnapshotTimeout, or no limit where the job does not give it.
func snapshotLimit(o metav1.Object, flags ServerFlags) time.Duration {
	if d := SnapshotTimeout(o, flags); d > 0 {
		return min(d, Unlimited)
	}
	return Unlimited
}

// Limit is a bound on what a job may do or wait for.
type Limit struct {
	// Name is the server's or the node-agent's flag, or the field of the spec.
	Name string `json:"name"`
	// Value is a duration or a count, as a flag takes it.
	Value string `json:"value"`
	// Source is where it comes from. It says so where that is not known, and the default then stands in.
	Source string `json:"source"`
}

// ListLimits returns the limits of a job and the source of each, in the order in which the job meets them.
func ListLimits(o metav1.Object, server Server, agents []NodeAgent) []Limit {
	flags := server.Flags
	limits := limitCollector{server: server}
	if backup, ok := o.(*veleroapi.Backup); ok {
		if v, known := ParseVersion(server.Version); !known || v.QueuesBackups() {
			limits.addLimit(
				"concurrent-backups",
				concurrencyText(flags.ConcurrentBackups),
				limits.flagSource("concurrent-backups"),
			)
		}
		if backup.Spec.CSISnapshotTimeout.Duration > 0 {
			limits.addDuration("spec.csiSnapshotTimeout", SnapshotTimeout(o, flags), "job spec")
		}
	} else {
		limits.addDuration(
			"terminating-resource-timeout",
			terminatingTimeout(o, flags),
			limits.flagSource("terminating-resource-timeout"),
		)
	}
	limits.addDuration("resource-timeout", ResourceTimeout(o, flags), limits.resourceSource(o))
	volumes := limits.flagSource("fs-backup-timeout", "restic-timeout")
	if _, err := time.ParseDuration(o.GetAnnotations()[veleroapi.PodVolumeOperationTimeoutAnnotation]); err == nil {
		volumes = "annotation " + veleroapi.PodVolumeOperationTimeoutAnnotation
	}
	limits.addDuration("fs-backup-timeout", PodVolumeTimeout(o, flags), volumes)
	operations := limits.flagSource("default-item-operation-timeout")
	if specItemOperationTimeout(o) != 0 {
		operations = "job spec"
	}
	limits.addDuration("spec.itemOperationTimeout", ItemOperationTimeout(o, flags), operations)
	limits.addDuration(
		"item-operation-sync-frequency",
		OperationCheckDelay(flags),
		limits.flagSource("item-operation-sync-frequency"),
	)
	limits.addLimit("client-qps", strconv.FormatFloat(flags.ClientQPS, 'g', -1, 32), limits.flagSource("client-qps"))
	limits.addLimit("client-burst", strconv.Itoa(flags.ClientBurst), limits.flagSource("client-burst"))
	return append(limits.list, prepareLimit(agents))
}

// FilterLimits returns the limits that rows of [WaitTable] name as the bound of the wait, or as the number of workers
// for a place in the queue, with all of [SlotLimits]: those are listed for volumes that wait.
func FilterLimits(limits []Limit, waits []WaitName) []Limit {
	settings := []string{slotSetting, prepareQueueSetting}
	for _, w := range WaitTable() {
		if !slices.Contains(waits, w.Name) {
			continue
		}
		settings = append(settings, w.Limit.Setting)
		if w.Name == WaitQueue {
			settings = append(settings, w.WorkerCount)
		}
	}
	return slices.DeleteFunc(slices.Clone(limits), func(l Limit) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(l.Name, "spec."), " on ")
		return !slices.ContainsFunc(settings, func(setting string) bool { return strings.Contains(setting, name) })
	})
}

// limitCollector collects the limits of a job on one server.
type limitCollector struct {
	server Server
	list   []Limit
}

func (l *limitCollector) addLimit(name, value, source string) {
	l.list = append(l.list, Limit{name, value, source})
}

func (l *limitCollector) addDuration(name string, value time.Duration, source string) {
	text := value.String()
	if value >= Unlimited {
		text = "unknown"
	}
	l.addLimit(name, text, source)
}

// flagSource returns where the value of a flag comes from.
func (l *limitCollector) flagSource(names ...string) string {
	among := func(list []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, name) })
	}
	flags := l.server.Flags
	switch {
	case among(flags.UnreadableLimits):
		return "server flag, whose value cannot be read in the server's arguments"
	case among(flags.GivenLimits):
		return "server flag"
	case !l.server.Visible || l.server.Container == "":
		return "not known, the server's arguments were not seen; Velero's default is assumed"
	}
	return "default of Velero " + DefaultsSource(l.server.Version)
}

// resourceSource returns the source of the resource timeout, which the server also notes on a backup.
func (l *limitCollector) resourceSource(o metav1.Object) string {
	if noted, ok := annotatedResourceTimeout(o); ok && noted > 0 && noted == ResourceTimeout(o, l.server.Flags) {
		return "annotation " + veleroapi.ResourceTimeoutAnnotation
	}
	return l.flagSource("resource-timeout")
}

// DefaultsSource returns the version whose defaults stand in for a server's: the server's own version, if its source
// was read (the defaults are the same from 1.14 to [LatestReviewedVersion]), else the newest version that was read.
func DefaultsSource(server string) string {
	v, known := ParseVersion(server)
	switch {
	case !known:
		return LatestReviewedVersion.String() + ", as the server's version is not known"
	case IsUnreviewedVersion(server):
		return LatestReviewedVersion.String() + "; " + v.String() + " was not read"
	}
	return v.String()
}

func concurrencyText(n int) string {
	if n <= 0 {
		return "unknown"
	}
	return strconv.Itoa(n)
}

// prepareLimit returns the longest time for which a node-agent lets a volume be prepared.
func prepareLimit(agents []NodeAgent) Limit {
	prepare, source := time.Duration(0), "node-agent flag"
	for _, a := range agents {
		prepare = max(prepare, a.Flags.PrepareTimeout)
	}
	switch prepare {
	case 0:
		prepare, source = defaultPrepareTimeout, "not known, no node-agent was seen; Velero's default is assumed"
	case defaultPrepareTimeout:
		source = "default of the node-agent"
	case Unlimited:
		return Limit{
			"data-mover-prepare-timeout",
			"unknown",
			"node-agent flag, whose value cannot be read in its arguments",
		}
	}
	return Limit{"data-mover-prepare-timeout", prepare.String(), source}
}

const slotSetting, prepareQueueSetting = "loadConcurrency", "prepareQueueLength"

// SlotLimits returns how many volumes may be moved and prepared at once; none if the slots were not read.
func SlotLimits(s Slots) []Limit {
	var limits []Limit
	for _, node := range slices.Sorted(maps.Keys(s.ByNode)) {
		limits = append(limits, Limit{slotSetting + " on " + node, strconv.Itoa(s.ByNode[node]), s.Source})
	}
	if s.PrepareQueue > 0 {
		limits = append(limits, Limit{prepareQueueSetting, strconv.Itoa(s.PrepareQueue), s.Source})
	}
	if s.Unchecked != "" {
		limits = append(
			limits,
			Limit{
				slotSetting,
				strconv.Itoa(defaultSlotsPerNode),
				"not known, " + s.Unchecked + "; Velero's default is assumed",
			},
		)
	}
	return limits
}

// Slots is how many volumes the node-agents may move and prepare at once. Its zero value means that the slots were
// not read. A node-agent reads them only when it starts, so they may not be in force yet.
type Slots struct {
	// Source is where the slots come from, empty if that is unknown; Unchecked then says why.
	Source, Unchecked string
	// ByNode is how many volumes a node may move at once, for the nodes that were checked.
	ByNode map[string]int
	// PrepareQueue is how many volumes of all nodes may be prepared at once (since 1.17), zero for the default.
	PrepareQueue int
}

// defaultPrepareQueues are what an absent or invalid prepareQueueLength means, by version. The number for 1.19 was
// not read in a release but ahead of it, in pkg/cmd/cli/nodeagent/server.go initVgdpCounter at commit 2a31c14d,
// changelog 10578.
var defaultPrepareQueues = []struct {
	since  Version
	length int // zero for any number
}{
	{Version{1, 19, 0}, 5},
	{Version{1, 17, 0}, 0}, // pkg/cmd/cli/nodeagent/server.go run
}

// PrepareQueueLength returns how many volumes a version of Velero prepares at once; zero for any number.
func (s Slots) PrepareQueueLength(version string) int {
	v, known := ParseVersion(version)
	if s.PrepareQueue > 0 || !known {
		return s.PrepareQueue
	}
	for _, d := range defaultPrepareQueues {
		if !v.Before(Version{d.since[0], d.since[1], 0}) {
			return d.length
		}
	}
	return 0
}

// MayQueue reports whether a volume may wait until others are prepared: if that is configured or the default, or if
// the slots could not be read.
func (s Slots) MayQueue(version string) bool {
	v, known := ParseVersion(version)
	return !known || !v.Before(Version{1, 17, 0}) && (s.Source == "" || s.PrepareQueueLength(version) > 0)
}

// defaultSlotsPerNode is how many volumes a node moves by default (pkg/cmd/cli/nodeagent/server.go,
// defaultDataPathConcurrentNum).
const defaultSlotsPerNode = 1

// LoadConcurrency is what the node-agents' ConfigMap says of their slots (pkg/types/node_agent.go), zero for nothing.
type LoadConcurrency struct {
	GlobalConfig       int `json:"globalConfig"`
	PrepareQueueLength int `json:"prepareQueueLength"`
	PerNodeConfig      []struct {
		NodeSelector metav1.LabelSelector `json:"nodeSelector"`
		Number       int                  `json:"number"`
	} `json:"perNodeConfig"`
}

// ParseLoadConcurrency reads the node-agents' ConfigMap: one key, of any name (pkg/nodeagent/node_agent.go GetConfigs).
func ParseLoadConcurrency(data map[string]string) (LoadConcurrency, error) {
	var config struct {
		LoadConcurrency LoadConcurrency `json:"loadConcurrency"`
	}
	if len(data) != 1 {
		return LoadConcurrency{}, fmt.Errorf("it has %d keys where Velero wants one", len(data))
	}
	for _, text := range data {
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			return LoadConcurrency{}, errors.New("its JSON is not what Velero expects")
		}
	}
	return config.LoadConcurrency, nil
}

// SlotsOnNode returns how many volumes a node with these labels may move at once: the smallest number among the rules
// for the node, else the global one (pkg/cmd/cli/nodeagent/server.go getDataPathConcurrentNum).
func (l LoadConcurrency) SlotsOnNode(node map[string]string) int {
	least := math.MaxInt
	for i := range l.PerNodeConfig {
		rule := &l.PerNodeConfig[i]
		selector, err := metav1.LabelSelectorAsSelector(&rule.NodeSelector)
		if err == nil && rule.Number > 0 && selector.Matches(labels.Set(node)) {
			least = min(least, rule.Number)
		}
	}
	switch {
	case least < math.MaxInt:
		return least
	case l.GlobalConfig > 0:
		return l.GlobalConfig
	}
	return defaultSlotsPerNode
}
