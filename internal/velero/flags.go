package velero

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServerFlags are the flags of `velero server` that limit waits and how much runs at once
// (pkg/cmd/server/config/config.go, BindFlags; docs/dev/velero.md#flags).
type ServerFlags struct {
	// ConcurrentBackups is --concurrent-backups (since 1.18).
	ConcurrentBackups int
	// ResourceTimeout is --resource-timeout: the limit of waits without a flag of their own, and of attempts to write a
	// status.
	ResourceTimeout time.Duration
	// PodVolumeTimeout is --fs-backup-timeout: the limit of all pod volumes of a job together.
	PodVolumeTimeout time.Duration
	// ItemOperationTimeout is --default-item-operation-timeout, for jobs that set none of their own.
	ItemOperationTimeout time.Duration
	// TerminatingTimeout is --terminating-resource-timeout: the limit for each object that is being deleted.
	TerminatingTimeout time.Duration
	// ItemOperationSync is --item-operation-sync-frequency: how often the server checks operations.
	ItemOperationSync time.Duration
	// ClientQPS is --client-qps, in requests a second.
	ClientQPS float64
	// ClientBurst is --client-burst: how many requests may come at once.
	ClientBurst int
	// RestorePriorities is --restore-resource-priorities as given, empty for the default.
	RestorePriorities string
	// DefaultResourceModifier is --default-resource-modifier-configmap, for restores that name none (from 1.19 on,
	// Velero PR 10098).
	DefaultResourceModifier string
	// DefaultVolumesToFSBackup is --default-volumes-to-fs-backup, DefaultSnapshotMoveData --default-snapshot-move-data:
	// for backups that do not say.
	DefaultVolumesToFSBackup, DefaultSnapshotMoveData bool
	// GlobalVolumePolicies is --global-backup-volume-policies-configmap (since 1.18.3), empty for none.
	GlobalVolumePolicies string
	// DisableInformerCache is --disable-informer-cache: a restore requests each item instead of listing its kinds first.
	DisableInformerCache bool
	// Features are the features that --features enables, such as EnableCSI.
	Features []string
	// DisabledControllers are the controllers that do not run (--disable-controllers, --restore-only).
	DisabledControllers []string
	// GivenLimits are the names of the limits that the arguments set to a value that Velero can read, including zero and
	// less.
	GivenLimits []string
	// UnreadableLimits are the names of the limits whose value cannot be read here, such as $(TIMEOUT), which the kubelet
	// fills in.
	UnreadableLimits []string
}

// DefaultServerFlags returns the defaults (pkg/cmd/server/config/config.go, GetDefaultConfig;
// pkg/controller/backup_operations_controller.go, defaultBackupOperationsFrequency).
func DefaultServerFlags() ServerFlags {
	return ServerFlags{
		ConcurrentBackups:    1,
		ResourceTimeout:      10 * time.Minute,
		PodVolumeTimeout:     4 * time.Hour,
		ItemOperationTimeout: 4 * time.Hour,
		TerminatingTimeout:   10 * time.Minute,
		ItemOperationSync:    10 * time.Second,
		ClientQPS:            100,
		ClientBurst:          100,
	}
}

// ParseServerFlags reads the words of a server's command line; a word may be a whole command line for a shell. Flags
// that are not given or not valid have their defaults.
func ParseServerFlags(args []string) ServerFlags {
	f := DefaultServerFlags()
	note := func(name string, valid bool) {
		list := &f.GivenLimits
		if !valid {
			list = &f.UnreadableLimits
		}
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	qps := func(value string) (float64, error) { return strconv.ParseFloat(value, 32) }
	eachFlag(args, func(name, value string) {
		switch name {
		case "concurrent-backups":
			note(name, setPositive(&f.ConcurrentBackups, strconv.Atoi, value))
		case "resource-timeout":
			note(name, setTimeout(&f.ResourceTimeout, value))
		case "fs-backup-timeout", "restic-timeout": // restic-timeout until 1.9
			note(name, setTimeout(&f.PodVolumeTimeout, value))
		case "default-item-operation-timeout":
			note(name, setTimeout(&f.ItemOperationTimeout, value))
		case "terminating-resource-timeout":
			note(name, setTimeout(&f.TerminatingTimeout, value))
		case "item-operation-sync-frequency":
			note(name, setTimeout(&f.ItemOperationSync, value))
		case "client-qps":
			note(name, setPositive(&f.ClientQPS, qps, value))
		case "client-burst":
			note(name, setPositive(&f.ClientBurst, strconv.Atoi, value))
		case "restore-resource-priorities":
			f.RestorePriorities = value
		case "default-resource-modifier-configmap":
			f.DefaultResourceModifier = value
		case "default-volumes-to-fs-backup", "default-volumes-to-restic": // default-volumes-to-restic until 1.9
			f.DefaultVolumesToFSBackup, _ = strconv.ParseBool(value)
		case "default-snapshot-move-data":
			f.DefaultSnapshotMoveData, _ = strconv.ParseBool(value)
		case "global-backup-volume-policies-configmap":
			f.GlobalVolumePolicies = value
		case "disable-informer-cache":
			on, err := strconv.ParseBool(value)
			f.DisableInformerCache = on || err != nil // the word after a switch is not its value
		case "features":
			f.Features = append(f.Features, splitList(value)...)
		case "disable-controllers":
			f.DisabledControllers = append(f.DisabledControllers, splitList(value)...)
		case "restore-only":
			if on, err := strconv.ParseBool(value); on || err != nil { // the word after a switch is not its value
				f.DisabledControllers = append(f.DisabledControllers, restoreOnlyDisabled...)
			}
		}
	})
	if slices.Contains(f.UnreadableLimits, "concurrent-backups") {
		f.ConcurrentBackups = 0 // how many run at once is unknown
	}
	return f
}

func splitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// withVersionDefaults sets the defaults of an image's version where they differ: before 1.14.0 the server sends 20
// requests a second, 30 at once (pkg/cmd/server/server.go, defaultClientQPS).
func (f ServerFlags) withVersionDefaults(version string) ServerFlags {
	if v, known := ParseVersion(version); !known || !v.Before(Version{1, 14, 0}) {
		return f
	}
	if !slices.Contains(f.GivenLimits, "client-qps") {
		f.ClientQPS = 20
	}
	if !slices.Contains(f.GivenLimits, "client-burst") {
		f.ClientBurst = 30
	}
	return f
}

// NodeAgentFlags are the flags of `velero node-agent server` that limit a wait (pkg/cmd/cli/nodeagent/server.go).
type NodeAgentFlags struct {
	// PrepareTimeout is --data-mover-prepare-timeout, for volumes that are Accepted. New and Prepared have no limit.
	PrepareTimeout time.Duration
	// ConfigMap is --node-agent-configmap, which holds the slots of each node (since 1.15), empty for none.
	ConfigMap string
}

// DefaultAgentConfig is the ConfigMap that node-agents read before 1.15.
const DefaultAgentConfig = "node-agent-config"

const defaultPrepareTimeout = 30 * time.Minute

// parseAgentFlags reads the words of a node-agent's command line.
func parseAgentFlags(args []string) NodeAgentFlags {
	f := NodeAgentFlags{PrepareTimeout: defaultPrepareTimeout}
	eachFlag(args, func(name, value string) {
		switch name {
		case "data-mover-prepare-timeout":
			if !setPositive(&f.PrepareTimeout, time.ParseDuration, value) {
				f.PrepareTimeout = max(f.PrepareTimeout, invalidPrepareTimeout(value))
			}
		case "node-agent-configmap", "node-agent-config":
			f.ConfigMap = value
		}
	})
	return f
}

// invalidPrepareTimeout returns the limit for a value that is not positive: Endless if the value cannot be read.
func invalidPrepareTimeout(value string) time.Duration {
	if _, err := time.ParseDuration(value); err != nil {
		return Unlimited
	}
	return 0
}

// eachFlag calls set for each --name=value and --name value; of several flags with the same name the last counts.
func eachFlag(args []string, set func(name, value string)) {
	words := strings.Fields(strings.Join(args, " "))
	for i, w := range words {
		if !strings.HasPrefix(w, "--") {
			continue
		}
		name, value, given := strings.Cut(w[2:], "=")
		if !given && i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			value = words[i+1]
		}
		if !given && value == "" {
			value = "true" // a switch
		}
		if value = strings.Trim(value, `"'`); value != "" {
			set(name, value)
		}
	}
}

// setPositive sets into if the value is valid, which means above zero.
func setPositive[T int | float64 | time.Duration](into *T, parse func(string) (T, error), value string) (valid bool) {
	parsed, err := parse(value)
	if valid = err == nil && parsed > 0; valid {
		*into = parsed
	}
	return valid
}

// setTimeout sets a duration as the server's flags do, including zero and less (pflag's DurationVar).
func setTimeout(into *time.Duration, value string) (readable bool) {
	parsed, err := time.ParseDuration(value)
	if err == nil {
		*into = min(parsed, Unlimited)
	}
	return err == nil
}
