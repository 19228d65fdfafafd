package velero

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// longestTimeout bounds what is believed of an annotation: anyone who may create a job writes them.
const longestTimeout = 24 * time.Hour

// ResourceTimeout is how long Velero waits for what no other limit bounds, and tries to write a
// status: the server's flag, which it notes on a backup (pkg/controller/backup_controller.go,
// prepareBackupRequest). It is a day at most.
func ResourceTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	return annotated(o, velerov1.ResourceTimeoutAnnotation, flags.ResourceTimeout, DefaultServerFlags().ResourceTimeout)
}

// PodVolumeTimeout is the limit of all pod volumes of a job, from the job's start: its
// annotation, else the server's flag (pkg/backup/backup.go, pkg/restore/restore.go).
func PodVolumeTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	return annotated(o, velerov1.PodVolumeOperationTimeoutAnnotation, flags.PodVolumeTimeout, DefaultServerFlags().PodVolumeTimeout)
}

// ItemOperationTimeout is from an operation's start: the job's, else the server's (prepareBackupRequest, validateAndComplete).
func ItemOperationTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	return firstPositive(askedItemOperationTimeout(o), flags.ItemOperationTimeout, DefaultServerFlags().ItemOperationTimeout)
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

// terminatingTimeout is how long a restore waits for each object that is being deleted.
func terminatingTimeout(_ metav1.Object, flags ServerFlags) time.Duration {
	return firstPositive(flags.TerminatingTimeout, DefaultServerFlags().TerminatingTimeout)
}

// SnapshotTimeout is how long a backup waits for one CSI snapshot: its spec.csiSnapshotTimeout, 10 minutes by default.
func SnapshotTimeout(o metav1.Object, _ ServerFlags) time.Duration {
	if b, ok := o.(*velerov1.Backup); ok {
		return b.Spec.CSISnapshotTimeout.Duration
	}
	return 0
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
// Defaults are the same from 1.14 to 1.18.
func Limits(o metav1.Object, server Server, agents []Agent) []Limit {
	flags := server.Flags
	source := func(names ...string) string {
		switch {
		case slices.ContainsFunc(names, func(name string) bool { return slices.Contains(flags.Given, name) }):
			return "server flag"
		case !server.Visible || server.Container == "":
			return "not known, the server's arguments were not seen; Velero's default is assumed"
		}
		if v, known := ParseVersion(server.Version); known {
			return "default of Velero " + v.String()
		}
		return "default of Velero " + Current.String() + ", as the server's version is not known"
	}
	annotated := func(key string, names ...string) string {
		if d, err := time.ParseDuration(o.GetAnnotations()[key]); err == nil && d > 0 {
			return "annotation " + key
		}
		return source(names...)
	}
	var limits []Limit
	add := func(name, source string, value time.Duration) {
		limits = append(limits, Limit{name, value.String(), source})
	}
	if backup, ok := o.(*velerov1.Backup); ok {
		if v, known := ParseVersion(server.Version); !known || v.QueuesBackups() {
			limits = append(limits, Limit{"concurrent-backups", strconv.Itoa(max(flags.ConcurrentBackups, 1)), source("concurrent-backups")})
		}
		if backup.Spec.CSISnapshotTimeout.Duration > 0 {
			add("spec.csiSnapshotTimeout", "job spec", SnapshotTimeout(o, flags))
		}
	} else {
		add("terminating-resource-timeout", source("terminating-resource-timeout"), terminatingTimeout(o, flags))
	}
	add("resource-timeout", annotated(velerov1.ResourceTimeoutAnnotation, "resource-timeout"), ResourceTimeout(o, flags))
	add("fs-backup-timeout", annotated(velerov1.PodVolumeOperationTimeoutAnnotation, "fs-backup-timeout", "restic-timeout"), PodVolumeTimeout(o, flags))
	operations := source("default-item-operation-timeout")
	if askedItemOperationTimeout(o) > 0 {
		operations = "job spec"
	}
	add("spec.itemOperationTimeout", operations, ItemOperationTimeout(o, flags))
	add("item-operation-sync-frequency", source("item-operation-sync-frequency"), firstPositive(flags.ItemOperationSync, DefaultServerFlags().ItemOperationSync))
	return append(limits, Limit{"client-qps", strconv.FormatFloat(flags.ClientQPS, 'g', -1, 32), source("client-qps")},
		Limit{"client-burst", strconv.Itoa(flags.ClientBurst), source("client-burst")}, prepareLimit(agents))
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
	}
	return Limit{"data-mover-prepare-timeout", prepare.String(), source}
}

// SlotLimits are how many volumes may be moved and prepared at once; none if nobody looked.
func SlotLimits(s Slots) []Limit {
	var limits []Limit
	for _, node := range slices.Sorted(maps.Keys(s.ByNode)) {
		limits = append(limits, Limit{"loadConcurrency on " + node, strconv.Itoa(s.ByNode[node]), s.Source})
	}
	if s.PrepareQueue > 0 {
		limits = append(limits, Limit{"prepareQueueLength", strconv.Itoa(s.PrepareQueue), s.Source})
	}
	if s.Why != "" {
		limits = append(limits, Limit{"loadConcurrency", strconv.Itoa(defaultSlots), "not known, " + s.Why + "; Velero's default is assumed"})
	}
	return limits
}

func annotated(o metav1.Object, key string, otherwise ...time.Duration) time.Duration {
	if d, err := time.ParseDuration(o.GetAnnotations()[key]); err == nil && d > 0 {
		return min(d, longestTimeout)
	}
	return firstPositive(otherwise...)
}

func firstPositive(durations ...time.Duration) time.Duration {
	for _, d := range durations {
		if d > 0 {
			return d
		}
	}
	return 0
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

// defaultSlots is how many volumes a node moves by default (pkg/cmd/cli/nodeagent/server.go, defaultDataPathConcurrentNum).
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
