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

// podSecurity holds what is known about Pod Security while pods are counted.
type podSecurity struct {
	evaluator policy.Evaluator
	enforced  map[string]api.LevelVersion // by namespace
	reasons   map[securityQuery][]string  // why a pod is refused; empty if it is not
	refused   groups                      // by namespace
	unknown   group                       // pods that cannot be judged
}

// securityQuery is a question to Pod Security. Pods of one controller share it.
type securityQuery struct {
	level api.LevelVersion
	pod   string
}

// enforcedLevel returns a namespace's Pod Security level, privileged where namespaces are unknown.
func (c *checker) enforcedLevel(namespace string) api.LevelVersion {
	s := &c.security
	if level, known := s.enforced[namespace]; known {
		return level
	}
	level := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	if c.Environment != nil && c.Environment.WasChecked(live.Namespaces, "") {
		labels, _ := c.namespaceLabels(namespace)
		// An invalid label stands for the strictest level, as in Kubernetes.
		enforced, _ := api.PolicyToEvaluate(labels, api.Policy{Enforce: level})
		level = enforced.Enforce
	}
	s.enforced[namespace] = level
	return level
}

func (c *checker) judgePodSecurity(i collector.Item, pod string) {
	level := c.enforcedLevel(i.TargetNamespace)
	if level.Level == api.LevelPrivileged {
		return
	}
	s := &c.security
	reasons, known := s.evaluatePod(securityQuery{level, pod}, c.Served)
	switch {
	case !known:
		s.unknown.addItem(i.TargetNamespace, i.Name)
	case len(reasons) > 0:
		s.refused.addItem(i.TargetNamespace, i.TargetNamespace, i.Name).addReasons(reasons...)
	}
}

// evaluatePod returns why Pod Security refuses a pod, and whether that is known.
func (s *podSecurity) evaluatePod(q securityQuery, served *live.ServedKinds) (reasons []string, known bool) {
	if reasons, known = s.reasons[q]; known {
		return reasons, true
	}
	if s.evaluator == nil {
		var latest *api.Version
		if major, minor, known := served.KubernetesVersion(); known {
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

func (c *checker) checkPodSecurity() {
	s := &c.security
	for namespace, g := range s.refused.sortedByKey() {
		level, enforces := s.enforced[namespace], "enforces"
		if _, there := c.Environment.Namespaces[namespace]; !there {
			enforces = "will enforce, as in the backup,"
		}
		c.addFinding(g.fillFinding(Finding{
			Severity: Obstacle,
			Reason:   PodSecurityViolated,
			Resource: pods,
			Sentence: fmt.Sprintf(
				"Namespace %s %s the Pod Security level %s, and is expected to refuse %s (%s).",
				namespace,
				enforces,
				level.Level,
				human.Count(g.count, "pod"),
				human.Shorten(g.joinReasons("; "), 300),
			),
			Remedy: "Lower the namespace's label " + api.EnforceLevelLabel + " for the restore, or restore into a " +
				"namespace that enforces less.",
		}))
	}
	if s.unknown.count > 0 {
		c.addUnchecked(
			fmt.Sprintf(
				"whether Pod Security lets %s in, such as %s",
				human.Count(s.unknown.count, "pod"),
				s.unknown.names[0],
			),
			"what it looks at is too long, or cannot be read",
		)
	}
}
