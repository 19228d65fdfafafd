package preflight

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/sanitize"
)

// secured is what is known of Pod Security while pods are counted.
type secured struct {
	evaluator policy.Evaluator
	labels    map[string]map[string]string // what the backup says of namespaces, by their new name
	enforced  map[string]api.LevelVersion  // by namespace
	reasons   map[judged][]string          // why a pod is refused; none if it is not
	refused   groups                       // by namespace
	unknown   group                        // pods that cannot be judged
}

// judged is a question to Pod Security. Pods of one controller ask the same.
type judged struct {
	level api.LevelVersion
	pod   string
}

// enforcedBy notes what a namespace that the restore makes will enforce: Velero gives it
// its labels of the backup (pkg/restore/restore.go, getNamespace).
func (c *check) enforcedBy(i collector.Item, needs []collector.Need) {
	if c.security.labels[i.Target] != nil {
		return
	}
	labels := map[string]string{}
	for _, n := range needs {
		switch n.Kind {
		case collector.NeedEnforcedLevel:
			labels[api.EnforceLevelLabel] = n.Name
		case collector.NeedEnforcedVersion:
			labels[api.EnforceVersionLabel] = n.Name
		}
	}
	c.security.labels[i.Target] = labels
}

// enforces returns a namespace's Pod Security level, privileged where namespaces are not known.
func (c *check) enforces(namespace string) api.LevelVersion {
	s := &c.security
	if level, known := s.enforced[namespace]; known {
		return level
	}
	level := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	if c.Around != nil && c.Around.Saw(live.Namespaces, "") {
		labels := s.labels[namespace]
		if there, ok := c.Around.Namespaces[namespace]; ok {
			labels = there.Labels
		}
		// A label that says nothing stands for the strictest, as in Kubernetes.
		enforced, _ := api.PolicyToEvaluate(labels, api.Policy{Enforce: level})
		level = enforced.Enforce
	}
	s.enforced[namespace] = level
	return level
}

func (c *check) secure(i collector.Item, pod string) {
	level := c.enforces(i.Target)
	if level.Level == api.LevelPrivileged {
		return
	}
	s := &c.security
	reasons, known := s.judge(judged{level, pod}, c.Served)
	switch {
	case !known:
		s.unknown.add(i.Target, i.Name)
	case len(reasons) > 0:
		s.refused.add(i.Target, i.Target, i.Name).because(reasons...)
	}
}

// judge says why Pod Security refuses a pod, and whether it can be said.
func (s *secured) judge(q judged, served *live.Served) (reasons []string, known bool) {
	if reasons, known = s.reasons[q]; known {
		return reasons, true
	}
	if s.evaluator == nil {
		var latest *api.Version
		if major, minor, known := served.Kubernetes(); known {
			version := api.MajorMinorVersion(major, minor)
			latest = &version
		}
		evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), latest)
		if err != nil {
			return nil, false
		}
		s.evaluator = evaluator
	}
	var pod corev1.Pod
	if json.Unmarshal([]byte(q.pod), &pod) != nil {
		return nil, false
	}
	reasons = policy.AggregateCheckResults(
		s.evaluator.EvaluatePod(q.level, &pod.ObjectMeta, &pod.Spec),
	).ForbiddenReasons
	for i := range reasons {
		reasons[i] = sanitize.String(reasons[i])
	}
	s.reasons[q] = reasons
	return reasons, true
}

func (c *check) findInsecure() {
	s := &c.security
	for namespace, g := range s.refused.sorted() {
		level, enforces := s.enforced[namespace], "enforces"
		if _, there := c.Around.Namespaces[namespace]; !there {
			enforces = "will enforce, as in the backup,"
		}
		c.find(g.fill(Finding{
			Severity: Obstacle,
			Reason:   PodSecurityViolated,
			Resource: pods,
			Sentence: fmt.Sprintf(
				"Namespace %s %s the Pod Security level %s, and Kubernetes refuses %s there (%s).",
				namespace,
				enforces,
				level.Level,
				human.Count(g.count, "pod"),
				human.Shorten(g.why("; "), 300),
			),
			Remedy: "Lower the namespace's label " + api.EnforceLevelLabel + " for the restore, or restore into a " +
				"namespace that enforces less.",
		}))
	}
	if s.unknown.count > 0 {
		c.notLooked(
			fmt.Sprintf(
				"whether Pod Security lets %s in, such as %s",
				human.Count(s.unknown.count, "pod"),
				s.unknown.names[0],
			),
			"what it looks at is too long, or cannot be read",
		)
	}
}
