package results

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/stored/artifact"
)

// groupLines groups messages of the run itself and returns the groups as lines.
func groupLines(messages []string, names ...string) string {
	var lines []string
	for _, s := range GroupMessages(artifact.Results{Errors: artifact.Messages{Velero: messages}}, names...) {
		for _, m := range s.Messages {
			lines = append(lines, fmt.Sprintf("%dx %s", m.Count, m.Text))
		}
	}
	return strings.Join(lines, "\n")
}

// each formats a message for each of the values.
func each(format string, values ...string) (all []string) {
	for _, v := range values {
		all = append(all, strings.ReplaceAll(format, "§", v))
	}
	return all
}

// TestTemplates holds that messages of one cause are one group, and of two causes two, whatever varies in them.
func TestTemplates(t *testing.T) {
	words := []string{"data", "logs", "cache"}
	for name, c := range map[string]struct {
		messages []string
		want     string
	}{
		"claims and volumes of the restore's finalizer": {
			[]string{
				"fail to patch dynamic PV, err: context deadline exceeded, PVC: data, PV: pvc-0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77",
				"fail to patch dynamic PV, err: context deadline exceeded, PVC: es-master-0, PV: pvc-1d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77",
				"fail to patch dynamic PV, err: context deadline exceeded, PVC: logs, PV: nfs",
				"fail to patch dynamic PV, err: connection refused, PVC: logs, PV: nfs",
			},
			"3x fail to patch dynamic PV, err: context deadline exceeded, PVC: *, PV: *\n" +
				"1x fail to patch dynamic PV, err: connection refused, PVC: logs, PV: nfs",
		},
		"addresses": {
			each("dial tcp §: connect: connection refused", "10.0.0.1:443", "10.0.0.22:6443", "[fd00::1:2]:443", "[::1]:443"),
			"2x dial tcp 10.0.0.*: connect: connection refused\n2x dial tcp [*]:443: connect: connection refused",
		},
		"times": {
			each("timed out at §, gave up", "2026-11-28T10:00:00Z", "2026-11-28T10:00:00.123456Z", "2026-11-28T10:00:01+01:00"),
			"3x timed out at 2026-11-28T10:00:*, gave up",
		},
		"request ids": {
			each("AccessDenied: Access Denied, status code: 403, request id: §",
				"4442587FB7D0A2F9", "QwErTyUiOp1234567890/abc+def=", "tx0000000000000000000a2-006741-default"),
			"3x AccessDenied: Access Denied, status code: 403, request id: *",
		},
		"codes of a store are causes": {
			each("the store answered with status code: §", "403", "404", "503", "500", "403"),
			"2x the store answered with status code: 403\n1x the store answered with status code: 404\n" +
				"1x the store answered with status code: 503\n1x the store answered with status code: 500",
		},
		"urls": {
			each("Get \"https://s3.example.com/§\": EOF", "velero/backups/a/a.tar.gz", "velero/x?sig=1", "y"),
			`3x Get "https://s3.example.com/*": EOF`,
		},
		"names without digits in quotes": {
			each(`hook of container "§" failed`, words...), `3x hook of container "*" failed`,
		},
		"two plain words in a sentence are causes": {
			each("read: connection § by the server", "reset", "refused"),
			"1x read: connection reset by the server\n1x read: connection refused by the server",
		},
		"many plain words in a sentence are names": {
			each("cannot reach § now", "alpha", "beta", "gamma", "delta", "zeta", "eta"), "6x cannot reach * now",
		},
		"two webhooks are causes": {
			each(`admission webhook "§" denied the request: no`, "vpol.kyverno.svc", "gate.opa.svc", "gate.opa.svc"),
			`2x admission webhook "gate.opa.svc" denied the request: no` + "\n" +
				`1x admission webhook "vpol.kyverno.svc" denied the request: no`,
		},
		"lists": {
			each("snapshots § are not ready", "a-1", "a-1, b-2", "c-3, d-4, e-5"), "3x snapshots * are not ready",
		},
		"paths": {
			each("open /host_pods/§/mount: permission denied", "0d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77/volumes/a-1", "1d4b7c3f-6a11-4a6e-8a0e-5d2f1e9b8c77/volumes/b-2"),
			"2x open /host_pods/*/mount: permission denied",
		},
	} {
		if got := groupLines(c.messages); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestGroupsAcrossNamespaces holds that 170 errors of two causes are two entries, with where they are from.
func TestGroupsAcrossNamespaces(t *testing.T) {
	var r artifact.Results
	r.Errors.Namespaces = map[string][]string{}
	for i := range 140 {
		name := fmt.Sprintf("probe-node%03d-%05x", i, i*i*7919)
		r.Errors.Namespaces[name] = []string{fmt.Sprintf(
			"resource: /pods name: /probe message: /Error backing up item error: /namespaces %q not found", name)}
		if i < 30 {
			r.Errors.Velero = append(r.Errors.Velero, fmt.Sprintf(
				"resource: /namespaces name: /%[1]s message: /Error getting namespace error: /namespaces %[1]q not found", name))
		}
	}
	sections := GroupMessages(r)
	if len(sections) != 1 || len(sections[0].Messages) != 2 || sections[0].Count != 170 || sections[0].Place != "" {
		t.Fatalf("%+v", sections)
	}
	m := sections[0].Messages[0]
	names, left := m.ListInstances(3)
	if m.Count != 140 || m.Text != `Error backing up item: namespaces "probe-node*" not found` || m.Place() != "140 namespaces" ||
		len(m.Namespaces) != 140 || len(m.Examples) != 3 || left != 137 ||
		names != "pods/probe-node000-00000/probe, probe-node001-01eef/probe, probe-node002-07bbc/probe" {
		t.Errorf("%+v %q %d", m, names, left)
	}
	if m := sections[0].Messages[1]; m.Count != 30 || m.Text != `Error getting namespace: namespaces "probe-node*" not found` {
		t.Errorf("%+v", m)
	}
	if all := ListMessages(r); len(all) != 1 || len(all[0].Messages) != 170 || all[0].Messages[0].Count != 1 {
		t.Errorf("not each message on its own: %d", len(all))
	}
}

// TestVariants holds that messages which name no resource keep what varies, with the namespace.
func TestVariants(t *testing.T) {
	var r artifact.Results
	r.Errors.Namespaces = map[string][]string{}
	for i, namespace := range []string{"shop", "crm", "crm"} {
		r.Errors.Namespaces[namespace] = append(r.Errors.Namespaces[namespace],
			fmt.Sprintf("fail to patch dynamic PV, err: timeout, PVC: data-%d, PV: pvc-%d", i, i))
	}
	r.Errors.Velero = []string{"volume gone"}
	m := GroupMessages(r)[0].Messages[0]
	names, left := m.ListInstances(2)
	if m.Text != "fail to patch dynamic PV, err: timeout, PVC: data-*, PV: pvc-*" || left != 1 ||
		names != "crm: data-1, pvc-1; crm: data-2, pvc-2" {
		t.Errorf("%+v %q %d", m, names, left)
	}
}

// hostileMessages are messages without a common form: random words of random bytes.
func hostileMessages(n int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	const bytes = "abz09-./:=\"' ,%\x00\xffé{[("
	all := make([]string, n)
	for i := range all {
		b := make([]byte, 20+random.IntN(180))
		for k := range b {
			b[k] = bytes[random.IntN(len(bytes))]
		}
		all[i] = string(b)
	}
	return all
}

// BenchmarkGroupHostile100000 groups messages of which each is its own.
func BenchmarkGroupHostile100000(b *testing.B) {
	results := artifact.Results{Errors: artifact.Messages{Velero: hostileMessages(100_000)}}
	b.ReportAllocs()
	for b.Loop() {
		GroupMessages(results)
	}
}

// FuzzGroups holds that grouping loses and invents no message, whatever they say.
func FuzzGroups(f *testing.F) {
	f.Add("a\nb 1\nb 2", "x")
	f.Add("PVC: a, PV: b\nPVC: c, PV: d\n\x00\n*\n", "a")
	f.Add(strings.Join(hostileMessages(50), "\n"), "z0")
	f.Add(strings.Repeat("a-1 ", 3000)+"\n"+strings.Repeat("a-1:", 3000), "a-1")
	f.Fuzz(func(t *testing.T, text, name string) {
		messages := strings.Split(text, "\n")
		r := artifact.Results{Errors: artifact.Messages{
			Velero: messages, Namespaces: map[string][]string{name: messages, "other": messages},
		}}
		count := 0
		for _, s := range GroupMessages(r, name) {
			for _, m := range s.Messages {
				count += m.Count
				if m.Count == 0 || len(m.Examples) == 0 || len(m.Examples) > maxExamples || m.Examples[0] != m.Example {
					t.Errorf("%+v", m)
				}
				m.ListInstances(-1)
			}
		}
		if count != 3*len(messages) {
			t.Errorf("%d of %d messages are left", count, 3*len(messages))
		}
	})
}
