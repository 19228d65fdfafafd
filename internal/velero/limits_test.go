package velero

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestEveryLimitIsListed changes each flag that bounds something: a bound that
// rules read must not be missing among the limits that explain prints.
func TestEveryLimitIsListed(t *testing.T) {
	server := Server{
		Visible:   true,
		ServerPod: ServerPod{Container: "velero", Version: "v1.18.3", Flags: DefaultServerFlags()},
	}
	list := func(s Server) []Limit {
		return append(ListLimits(&veleroapi.Backup{}, s, nil), ListLimits(&veleroapi.Restore{}, s, nil)...)
	}
	before := list(server)
	for i := range reflect.TypeFor[ServerFlags]().NumField() {
		changed := server
		switch field := reflect.ValueOf(&changed.Flags).Elem().Field(i); field.Interface().(type) {
		case time.Duration, int:
			field.SetInt(77)
		case float64:
			field.SetFloat(77)
		default: // decides what runs, and bounds nothing
			continue
		}
		if slices.Equal(before, list(changed)) {
			t.Errorf("%s is not among the limits", reflect.TypeFor[ServerFlags]().Field(i).Name)
		}
	}
}

func TestSourcesOfLimits(t *testing.T) {
	seen := Server{Visible: true, ServerPod: ServerPod{Container: "velero", Version: "v1.16.2",
		Flags: ParseServerFlags([]string{"server", "--fs-backup-timeout=4h", "--resource-timeout=soon"})}}
	digest, unread, zero := seen, seen, seen
	digest.Version, unread.Version = "", "v1.19.0-rc.2"
	zero.Flags = ParseServerFlags([]string{"server", "--resource-timeout=0s"})
	asks := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{veleroapi.ResourceTimeoutAnnotation: "20m"}},
	}
	asks.Spec.ItemOperationTimeout.Duration = time.Hour
	for _, c := range []struct {
		name, value, source string
		o                   metav1.Object
		server              Server
		agents              []NodeAgent
	}{
		{"fs-backup-timeout", "4h0m0s", "server flag", asks, seen, nil},
		{"resource-timeout", "unknown", "cannot be read", &veleroapi.Restore{}, seen, nil},
		{"terminating-resource-timeout", "10m0s", "default of Velero v1.16.2", &veleroapi.Restore{}, seen, nil},
		{"terminating-resource-timeout", "10m0s", "default of Velero v1.18.3; v1.19.0 was not read", &veleroapi.Restore{}, unread, nil},
		{"resource-timeout", "0s", "server flag", &veleroapi.Restore{}, zero, nil},
		{"resource-timeout", "20m0s", "annotation velero.io/resource-timeout", asks, seen, nil},
		{"terminating-resource-timeout", "10m0s", "version is not known", &veleroapi.Restore{}, digest, nil},
		{"resource-timeout", "10m0s", "were not seen", &veleroapi.Restore{}, Server{ServerPod: ServerPod{Flags: DefaultServerFlags()}}, nil},
		{"spec.itemOperationTimeout", "1h0m0s", "job spec", asks, seen, nil},
		{"spec.itemOperationTimeout", "4h0m0s", "default of Velero", &veleroapi.Restore{}, seen, nil},
		{"data-mover-prepare-timeout", "30m0s", "no node-agent was seen", asks, seen, nil},
		{"data-mover-prepare-timeout", "1h0m0s", "node-agent flag", asks, seen, []NodeAgent{{Flags: NodeAgentFlags{PrepareTimeout: time.Hour}}}},
	} {
		limits := ListLimits(c.o, c.server, c.agents)
		i := slices.IndexFunc(limits, func(l Limit) bool { return l.Name == c.name })
		if i < 0 || limits[i].Value != c.value || !strings.Contains(limits[i].Source, c.source) {
			t.Errorf("%s: want %s from %q among %+v", c.name, c.value, c.source, limits)
		}
	}
}

// The limits that are shown are those that something it may wait for names.
func TestNamedLimits(t *testing.T) {
	limits := []Limit{
		{Name: "concurrent-backups"}, {Name: "spec.csiSnapshotTimeout"}, {Name: "resource-timeout"},
		{Name: "fs-backup-timeout"}, {Name: "spec.itemOperationTimeout"}, {Name: "client-qps"},
		{Name: slotSetting + " on node-1"}, {Name: prepareQueueSetting},
	}
	slots := []string{slotSetting + " on node-1", prepareQueueSetting}
	for _, c := range []struct {
		waits []WaitName
		want  []string
	}{
		{nil, nil},
		{[]WaitName{WaitQueue}, []string{"concurrent-backups"}},
		{[]WaitName{WaitHook}, nil},
		{[]WaitName{WaitSnapshot}, []string{"spec.csiSnapshotTimeout"}},
		{[]WaitName{WaitOperations}, []string{"spec.itemOperationTimeout"}},
		{[]WaitName{WaitPodVolumes, WaitLastPatch}, []string{"resource-timeout", "fs-backup-timeout"}},
	} {
		var got []string
		for _, l := range FilterLimits(limits, c.waits) {
			got = append(got, l.Name)
		}
		if want := slices.Concat(c.want, slots); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", c.waits, got, want)
		}
	}
}
