package velero

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServerFlags are the flags of `velero server` that bound waits and what runs at once
// (pkg/cmd/server/config/config.go, BindFlags; docs/dev/velero.md#flags).
type ServerFlags struct {
	// ConcurrentBackups is --concurrent-backups (since 1.18).
	ConcurrentBackups int
	// ResourceTimeout is --resource-timeout: of waits without a flag of their own, and of attempts to write a status.
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
	// DefaultModifier is --default-resource-modifier-configmap, for restores that name none (from 1.19 on,
	// Velero PR 10098).
	DefaultModifier string
	// DefaultToFS is --default-volumes-to-fs-backup, MoveData --default-snapshot-move-data: of backups that say neither.
	DefaultToFS, MoveData bool
	// VolumePolicies is --global-backup-volume-policies-configmap (since 1.18.3), empty for none.
	VolumePolicies string
	// NoInformerCache is --disable-informer-cache: a restore asks for each item instead of listing its kinds first.
	NoInformerCache bool
	// Features are those that --features turns on, such as EnableCSI.
	Features []string
	// Disabled are the controllers that do not run (--disable-controllers, --restore-only).
	Disabled []string
	// Given are the names of the limits that the arguments set to a value that Velero can read, zero and less too.
	Given []string
	// Unreadable are those whose value cannot be read here, such as $(TIMEOUT), which the kubelet fills in.
	Unreadable []string
}

// DefaultServerFlags are the defaults (pkg/cmd/server/config/config.go, GetDefaultConfig;
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

// ParseServerFlags reads the words that start a server; a word may be a shell's
// whole command line. What is not given, or not valid, has its default.
func ParseServerFlags(args []string) ServerFlags {
	f := DefaultServerFlags()
	note := func(name string, valid bool) {
		list := &f.Given
		if !valid {
			list = &f.Unreadable
		}
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	qps := func(value string) (float64, error) { return strconv.ParseFloat(value, 32) }
	eachFlag(args, func(name, value string) {
		switch name {
		case "concurrent-backups":
			note(name, set(&f.ConcurrentBackups, strconv.Atoi, value))
		case "resource-timeout":
			note(name, setTimeout(&f.ResourceTimeout, value))
		case "fs-backup-timeout", "restic-timeout": // the second until 1.9
			note(name, setTimeout(&f.PodVolumeTimeout, value))
		case "default-item-operation-timeout":
			note(name, setTimeout(&f.ItemOperationTimeout, value))
		case "terminating-resource-timeout":
			note(name, setTimeout(&f.TerminatingTimeout, value))
		case "item-operation-sync-frequency":
			note(name, setTimeout(&f.ItemOperationSync, value))
		case "client-qps":
			note(name, set(&f.ClientQPS, qps, value))
		case "client-burst":
			note(name, set(&f.ClientBurst, strconv.Atoi, value))
		case "restore-resource-priorities":
			f.RestorePriorities = value
		case "default-resource-modifier-configmap":
			f.DefaultModifier = value
		case "default-volumes-to-fs-backup", "default-volumes-to-restic": // the second until 1.9
			f.DefaultToFS, _ = strconv.ParseBool(value)
		case "default-snapshot-move-data":
			f.MoveData, _ = strconv.ParseBool(value)
		case "global-backup-volume-policies-configmap":
			f.VolumePolicies = value
		case "disable-informer-cache":
			on, err := strconv.ParseBool(value)
			f.NoInformerCache = on || err != nil // a word behind it is no value of a switch
		case "features":
			f.Features = append(f.Features, splitList(value)...)
		case "disable-controllers":
			f.Disabled = append(f.Disabled, splitList(value)...)
		case "restore-only":
			if on, err := strconv.ParseBool(value); on || err != nil { // a word behind it is no value of a switch
				f.Disabled = append(f.Disabled, restoreOnly...)
			}
		}
	})
	if slices.Contains(f.Unreadable, "concurrent-backups") {
		f.ConcurrentBackups = 0 // how many run at once is not known
	}
	return f
}

func splitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// defaultsOf puts in the defaults of a server with an image's version where they differ: before
// 1.14.0 it sends 20 requests a second, 30 at once (pkg/cmd/server/server.go, defaultClientQPS).
func (f ServerFlags) defaultsOf(version string) ServerFlags {
	if v, known := ParseVersion(version); !known || !v.Before(Version{1, 14, 0}) {
		return f
	}
	if !slices.Contains(f.Given, "client-qps") {
		f.ClientQPS = 20
	}
	if !slices.Contains(f.Given, "client-burst") {
		f.ClientBurst = 30
	}
	return f
}

// AgentFlags are the flags of `velero node-agent server` that bound a wait (pkg/cmd/cli/nodeagent/server.go).
type AgentFlags struct {
	// PrepareTimeout is --data-mover-prepare-timeout, of volumes that are Accepted. New and Prepared have no limit.
	PrepareTimeout time.Duration
	// ConfigMap is --node-agent-configmap, which holds the slots of each node (since 1.15), empty for none.
	ConfigMap string
}

// DefaultAgentConfig is the ConfigMap that node-agents read before 1.15.
const DefaultAgentConfig = "node-agent-config"

const defaultPrepareTimeout = 30 * time.Minute

// parseAgentFlags reads the words that start a node-agent.
func parseAgentFlags(args []string) AgentFlags {
	f := AgentFlags{PrepareTimeout: defaultPrepareTimeout}
	eachFlag(args, func(name, value string) {
		switch name {
		case "data-mover-prepare-timeout":
			if !set(&f.PrepareTimeout, time.ParseDuration, value) {
				f.PrepareTimeout = max(f.PrepareTimeout, preparesUnread(value))
			}
		case "node-agent-configmap", "node-agent-config":
			f.ConfigMap = value
		}
	})
	return f
}

// preparesUnread is the limit of a value that is not positive: without one if it cannot be read.
func preparesUnread(value string) time.Duration {
	if _, err := time.ParseDuration(value); err != nil {
		return Endless
	}
	return 0
}

// eachFlag calls set for each --name=value and --name value; of several of one name the last counts.
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

// set takes a value that is valid: one above zero.
func set[T int | float64 | time.Duration](into *T, parse func(string) (T, error), value string) (valid bool) {
	parsed, err := parse(value)
	if valid = err == nil && parsed > 0; valid {
		*into = parsed
	}
	return valid
}

// setTimeout takes a duration as the server's flags do, zero and less too (pflag's DurationVar).
func setTimeout(into *time.Duration, value string) (readable bool) {
	parsed, err := time.ParseDuration(value)
	if err == nil {
		*into = min(parsed, Endless)
	}
	return err == nil
}
