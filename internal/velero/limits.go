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

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Endless is the length of a limit that Velero does not have, or that cannot be told: a century.
const Endless = 100 * 365 * 24 * time.Hour

// longestNote bounds what is believed of a note on a job where the server's own flag says less: anyone
// who may create a job writes annotations.
const longestNote = 24 * time.Hour

// timeout is the length that a flag gives, which may be zero or less: the default if it is not given,
// Endless if its value cannot be read.
func (f *ServerFlags) timeout(value, byDefault time.Duration, names ...string) time.Duration {
	among := func(list []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, name) })
	}
	switch {
	case among(f.Unreadable):
		return Endless
	case among(f.Given):
		return value
	}
	return cmp.Or(value, byDefault)
}

func (f *ServerFlags) resourceTimeout() time.Duration {
	return f.timeout(f.ResourceTimeout, DefaultServerFlags().ResourceTimeout, "resource-timeout")
}

// ResourceTimeout is how long Velero waits for what no other limit bounds: the server's flag, and at once
// where that is zero or less (wait.PollUntilContextTimeout). The server notes its flag on a backup
// (pkg/controller/backup_controller.go, prepareBackupRequest) and never reads the note, which can only
// lengthen the limit here: it stands for a flag that was not seen, or of the server before.
func ResourceTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	noted, _ := notedResourceTimeout(o)
	d := max(0, flags.resourceTimeout())
	if d >= Endless && noted > 0 {
		return noted
	}
	return max(d, noted)
}

// notedResourceTimeout is the flag that the server noted on a backup, at most [longestNote].
func notedResourceTimeout(o metav1.Object) (d time.Duration, noted bool) {
	d, err := time.ParseDuration(o.GetAnnotations()[velerov1.ResourceTimeoutAnnotation])
	return min(d, longestNote), err == nil
}

// PodVolumeTimeout is the limit of all pod volumes of a job: its annotation, without an upper bound,
// else the server's flag; zero and less end at once (pkg/backup/backup.go BackupWithResolvers,
// pkg/restore/restore.go RestoreWithResolvers).
func PodVolumeTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	d, err := time.ParseDuration(o.GetAnnotations()[velerov1.PodVolumeOperationTimeoutAnnotation])
	if err != nil {
		d = flags.timeout(
			flags.PodVolumeTimeout,
			DefaultServerFlags().PodVolumeTimeout,
			"fs-backup-timeout",
			"restic-timeout",
		)
	}
	return min(max(0, d), Endless)
}

// ItemOperationTimeout is from an operation's start: the job's, else the server's, which is written into
// the job when it begins (prepareBackupRequest, validateAndComplete). Zero and less end at the first look.
func ItemOperationTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	d := askedItemOperationTimeout(o)
	if d == 0 {
		d = flags.timeout(
			flags.ItemOperationTimeout,
			DefaultServerFlags().ItemOperationTimeout,
			"default-item-operation-timeout",
		)
	}
	return min(max(0, d), Endless)
}

func askedItemOperationTimeout(o metav1.Object) time.Duration {
	switch o := o.(type) {
	case *velerov1.Backup:
		return o.Spec.ItemOperationTimeout.Duration
	case *velerov1.Restore:
		return o.Spec.ItemOperationTimeout.Duration
	}
	return 0
}

// OperationLooks is how long it takes until the server next looks at operations: only a look ends an
// operation, and zero or less is the default (pkg/controller/backup_operations_controller.go
// NewBackupOperationsReconciler, restore_operations_controller.go).
func OperationLooks(flags ServerFlags) time.Duration {
	byDefault := DefaultServerFlags().ItemOperationSync
	d := flags.timeout(flags.ItemOperationSync, byDefault, "item-operation-sync-frequency")
	if d <= 0 {
		d = byDefault
	}
	return min(d, Endless)
}

// terminatingTimeout is how long a restore waits for each object that is being deleted, not at all for zero and less.
func terminatingTimeout(_ metav1.Object, flags ServerFlags) time.Duration {
	d := flags.timeout(
		flags.TerminatingTimeout,
		DefaultServerFlags().TerminatingTimeout,
		"terminating-resource-timeout",
	)
	return min(max(0, d), Endless)
}

// restoreHookTimeout is how long a restore waits for its hooks since 1.18.3; zero and less are the
// default (pkg/controller/restore_finalizer_controller.go WaitRestoreExecHook).
func restoreHookTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	if d := ResourceTimeout(o, flags); d > 0 {
		return d
	}
	return DefaultServerFlags().ResourceTimeout
}

// SnapshotTimeout is how long a backup waits for one CSI snapshot: its spec.csiSnapshotTimeout, 10 minutes by default.
func SnapshotTimeout(o metav1.Object, _ ServerFlags) time.Duration {
	if b, ok := o.(*velerov1.Backup); ok {
		return b.Spec.CSISnapshotTimeout.Duration
	}
	return 0
}

// snapshotLimit is SnapshotTimeout, without a limit where the job does not tell it.
func snapshotLimit(o metav1.Object, flags ServerFlags) time.Duration {
	if d := SnapshotTimeout(o, flags); d > 0 {
		return min(d, Endless)
	}
	return Endless
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

// Limits are the bounds on a job and where each comes from, in the order in which it meets them.
func Limits(o metav1.Object, server Server, agents []Agent) []Limit {
	flags := server.Flags
	limits := limitsOf{server: server}
	if backup, ok := o.(*velerov1.Backup); ok {
		if v, known := ParseVersion(server.Version); !known || v.QueuesBackups() {
			limits.add("concurrent-backups", concurrency(flags.ConcurrentBackups), limits.source("concurrent-backups"))
		}
		if backup.Spec.CSISnapshotTimeout.Duration > 0 {
			limits.addTime("spec.csiSnapshotTimeout", SnapshotTimeout(o, flags), "job spec")
		}
	} else {
		limits.addTime(
			"terminating-resource-timeout",
			terminatingTimeout(o, flags),
			limits.source("terminating-resource-timeout"),
		)
	}
	limits.addTime("resource-timeout", ResourceTimeout(o, flags), limits.resourceSource(o))
	volumes := limits.source("fs-backup-timeout", "restic-timeout")
	if _, err := time.ParseDuration(o.GetAnnotations()[velerov1.PodVolumeOperationTimeoutAnnotation]); err == nil {
		volumes = "annotation " + velerov1.PodVolumeOperationTimeoutAnnotation
	}
	limits.addTime("fs-backup-timeout", PodVolumeTimeout(o, flags), volumes)
	operations := limits.source("default-item-operation-timeout")
	if askedItemOperationTimeout(o) != 0 {
		operations = "job spec"
	}
	limits.addTime("spec.itemOperationTimeout", ItemOperationTimeout(o, flags), operations)
	limits.addTime(
		"item-operation-sync-frequency",
		OperationLooks(flags),
		limits.source("item-operation-sync-frequency"),
	)
	limits.add("client-qps", strconv.FormatFloat(flags.ClientQPS, 'g', -1, 32), limits.source("client-qps"))
	limits.add("client-burst", strconv.Itoa(flags.ClientBurst), limits.source("client-burst"))
	return append(limits.list, prepareLimit(agents))
}

// NamedLimits are those limits that rows of [Waits] name as what bounds the wait, or as how many there are for a place
// in the queue, with all of [SlotLimits]: those are listed for volumes that wait.
func NamedLimits(limits []Limit, waits []WaitName) []Limit {
	settings := []string{slotSetting, prepareQueueSetting}
	for _, w := range Waits() {
		if !slices.Contains(waits, w.Name) {
			continue
		}
		settings = append(settings, w.Limit.Setting)
		if w.Name == WaitQueue {
			settings = append(settings, w.Workers)
		}
	}
	return slices.DeleteFunc(slices.Clone(limits), func(l Limit) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(l.Name, "spec."), " on ")
		return !slices.ContainsFunc(settings, func(setting string) bool { return strings.Contains(setting, name) })
	})
}

// limitsOf collects the limits of a job on one server.
type limitsOf struct {
	server Server
	list   []Limit
}

func (l *limitsOf) add(name, value, source string) {
	l.list = append(l.list, Limit{name, value, source})
}

func (l *limitsOf) addTime(name string, value time.Duration, source string) {
	text := value.String()
	if value >= Endless {
		text = "unknown"
	}
	l.add(name, text, source)
}

// source says where the value of a flag comes from.
func (l *limitsOf) source(names ...string) string {
	among := func(list []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, name) })
	}
	flags := l.server.Flags
	switch {
	case among(flags.Unreadable):
		return "server flag, whose value cannot be read in the server's arguments"
	case among(flags.Given):
		return "server flag"
	case !l.server.Visible || l.server.Container == "":
		return "not known, the server's arguments were not seen; Velero's default is assumed"
	}
	return "default of Velero " + DefaultsOf(l.server.Version)
}

// resourceSource is that of the resource timeout, which the server also notes on a backup.
func (l *limitsOf) resourceSource(o metav1.Object) string {
	if noted, ok := notedResourceTimeout(o); ok && noted > 0 && noted == ResourceTimeout(o, l.server.Flags) {
		return "annotation " + velerov1.ResourceTimeoutAnnotation
	}
	return l.source("resource-timeout")
}

// DefaultsOf says of which version the defaults are that stand in for a server's: its own, if that was
// read (the defaults are the same from 1.14 to [Current]), else the newest that was.
func DefaultsOf(server string) string {
	v, known := ParseVersion(server)
	switch {
	case !known:
		return Current.String() + ", as the server's version is not known"
	case IsUnread(server):
		return Current.String() + "; " + v.String() + " was not read"
	}
	return v.String()
}

func concurrency(n int) string {
	if n <= 0 {
		return "unknown"
	}
	return strconv.Itoa(n)
}

// prepareLimit is the longest that a node-agent lets preparing a volume take.
func prepareLimit(agents []Agent) Limit {
	prepare, source := time.Duration(0), "node-agent flag"
	for _, a := range agents {
		prepare = max(prepare, a.Flags.PrepareTimeout)
	}
	switch prepare {
	case 0:
		prepare, source = defaultPrepareTimeout, "not known, no node-agent was seen; Velero's default is assumed"
	case defaultPrepareTimeout:
		source = "default of the node-agent"
	case Endless:
		return Limit{
			"data-mover-prepare-timeout",
			"unknown",
			"node-agent flag, whose value cannot be read in its arguments",
		}
	}
	return Limit{"data-mover-prepare-timeout", prepare.String(), source}
}

const slotSetting, prepareQueueSetting = "loadConcurrency", "prepareQueueLength"

// SlotLimits are how many volumes may be moved and prepared at once; none if nobody looked.
func SlotLimits(s Slots) []Limit {
	var limits []Limit
	for _, node := range slices.Sorted(maps.Keys(s.ByNode)) {
		limits = append(limits, Limit{slotSetting + " on " + node, strconv.Itoa(s.ByNode[node]), s.Source})
	}
	if s.PrepareQueue > 0 {
		limits = append(limits, Limit{prepareQueueSetting, strconv.Itoa(s.PrepareQueue), s.Source})
	}
	if s.Why != "" {
		limits = append(
			limits,
			Limit{
				slotSetting,
				strconv.Itoa(defaultSlots),
				"not known, " + s.Why + "; Velero's default is assumed",
			},
		)
	}
	return limits
}

// Slots is how many volumes the node-agents may move and prepare at once. Its zero value means that
// nobody looked. A node-agent reads it only when it starts, so it may not be in force yet.
type Slots struct {
	// Source is where it comes from, empty if it is not known; Why then says why.
	Source, Why string
	// ByNode is how many volumes a node may move at once, for the nodes that were looked at.
	ByNode map[string]int
	// PrepareQueue is how many volumes of all nodes may be prepared at once (since 1.17), zero for the default.
	PrepareQueue int
}

// defaultPrepareQueues are what an absent or invalid prepareQueueLength means, by version. No number of 1.19 was read
// in a release: it is ahead of it, in pkg/cmd/cli/nodeagent/server.go initVgdpCounter at commit 2a31c14d, changelog
// 10578.
var defaultPrepareQueues = []struct {
	since  Version
	length int // zero for any number
}{
	{Version{1, 19, 0}, 5},
	{Version{1, 17, 0}, 0}, // pkg/cmd/cli/nodeagent/server.go run
}

// PrepareQueueOf is how many volumes a version of Velero prepares at once; zero for any number.
func (s Slots) PrepareQueueOf(version string) int {
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

// Queues reports whether a volume may wait until others are prepared: if so configured or by default, or if nobody
// could look.
func (s Slots) Queues(version string) bool {
	v, known := ParseVersion(version)
	return !known || !v.Before(Version{1, 17, 0}) && (s.Source == "" || s.PrepareQueueOf(version) > 0)
}

// defaultSlots is how many volumes a node moves by default (pkg/cmd/cli/nodeagent/server.go,
// defaultDataPathConcurrentNum).
const defaultSlots = 1

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

// Slots is how many volumes a node with these labels may move at once: the smallest number among
// the rules for it, else the global one (pkg/cmd/cli/nodeagent/server.go getDataPathConcurrentNum).
func (l LoadConcurrency) Slots(node map[string]string) int {
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
	return defaultSlots
}
