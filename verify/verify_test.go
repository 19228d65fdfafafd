package verify

import (
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/outcome"
	"github.com/veltui/veltui/target"
)

var (
	began = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	ended = began.Add(5 * time.Minute)
)

// one judges one item of a restore that ended.
func one(t *testing.T, change func(*Input), resource string, i outcome.Item, o *target.Object) (State, string) {
	t.Helper()
	in := Input{Restore: "r1", Started: began, Ended: ended, Items: outcome.Items{Compared: true, Kinds: []outcome.Kind{{Name: resource, Items: []outcome.Item{i}}}}}
	if change != nil {
		change(&in)
	}
	in.Target = target.NewState(Question(in.Items), func(r, namespace, name string) *target.Object {
		if r == resource && namespace == i.Namespace && name == i.Name {
			return o
		}
		return nil
	})
	r := Judge(in)
	for _, k := range r.Kinds {
		if k.Name == resource {
			return k.Items[0].State, k.Items[0].Why
		}
	}
	t.Fatal("nothing was judged")
	return "", ""
}

func TestJudge(t *testing.T) {
	during, before, after := began.Add(time.Minute), began.Add(-time.Hour), ended.Add(time.Hour)
	ours := func(created time.Time) *target.Object { return &target.Object{Created: created, Restore: "r1"} }
	bare := func(created time.Time) *target.Object { return &target.Object{Created: created} }
	unlisted := func(in *Input) { in.Unlisted = true }
	for name, c := range map[string]struct {
		change   func(*Input)
		resource string
		did      outcome.Did
		item     string
		why      string
		object   *target.Object
		want     State
		says     string
	}{
		"created and there":                          {did: outcome.Created, object: ours(during), want: Restored},
		"created, the label was taken away":          {did: outcome.Created, object: bare(during), want: Restored},
		"created and deleted since":                  {did: outcome.Created, want: Gone, says: "not there now"},
		"created and being deleted":                  {did: outcome.Created, object: &target.Object{Created: during, Restore: "r1", Deleting: after}, want: Deleting},
		"created, and somebody made it anew":         {did: outcome.Created, object: bare(after), want: MadeAnew},
		"created, and another restore made it":       {did: outcome.Created, object: &target.Object{Created: after, Restore: "r2"}, want: MadeAnew, says: "restore r2"},
		"a namespace has no label":                   {resource: "namespaces", did: outcome.Created, object: bare(during), want: Restored},
		"failed and not there":                       {did: outcome.Failed, why: "exceeded quota", want: Failed, says: "exceeded quota"},
		"failed, and older and different":            {did: outcome.Failed, why: "already exists", object: bare(before), want: Differs, says: "already exists"},
		"failed, and made by hand since":             {did: outcome.Failed, why: "exceeded quota", object: bare(after), want: MadeAnew, says: "exceeded quota"},
		"made, and something about it failed":        {did: outcome.Failed, why: "its status", object: ours(during), want: Restored, says: "its status"},
		"the cluster writes it itself":               {resource: "configmaps", item: "kube-root-ca.crt", did: outcome.Failed, why: "already exists", object: bare(before), want: Existed},
		"skipped and there":                          {did: outcome.Skipped, object: bare(before), want: Existed},
		"skipped and not there":                      {did: outcome.Skipped, want: Gone},
		"a skipped volume":                           {resource: "persistentvolumes", did: outcome.Skipped, want: Passing},
		"updated and there":                          {did: outcome.Updated, object: ours(before), want: Restored},
		"updated and not there":                      {did: outcome.Updated, want: Gone},
		"not listed and not there":                   {did: outcome.Missing, why: "not in Velero's list", want: Missing, says: "not in Velero's list"},
		"not listed and older":                       {did: outcome.Missing, object: bare(before), want: Differs},
		"not listed but labelled":                    {did: outcome.Missing, object: ours(during), want: Restored},
		"left out":                                   {did: outcome.LeftOut, why: "excluded", want: LeftOut, says: "excluded"},
		"no list, not there":                         {change: unlisted, did: outcome.Missing, want: Missing, says: "not known"},
		"it goes on":                                 {change: func(in *Input) { in.SoFar, in.Unlisted = true, true }, did: outcome.Missing, want: Missing, says: "yet"},
		"no list, older":                             {change: unlisted, did: outcome.Missing, object: bare(before), want: Existed},
		"no list, there":                             {change: unlisted, did: outcome.Missing, object: ours(during), want: Restored},
		"a job that is done":                         {resource: "jobs.batch", did: outcome.Created, want: Passing, says: "TTL"},
		"a pod with a generated name":                {resource: "pods", item: "web-x7k2p", did: outcome.Created, want: Passing},
		"a pod of a StatefulSet":                     {resource: "pods", item: "db-0", did: outcome.Created, want: Gone},
		"a pod with a name of its own":               {resource: "pods", item: "web-shell", did: outcome.Created, want: Gone},
		"a pod that failed":                          {resource: "pods", item: "web-x7k2p", did: outcome.Failed, why: "quota", want: Failed},
		"a pod that its StatefulSet made anew":       {resource: "pods", item: "db-0", did: outcome.Created, object: &target.Object{Created: after, Owner: "StatefulSet"}, want: MadeAnew, says: "StatefulSet"},
		"a ReplicaSet of a Deployment that is there": {resource: "replicasets.apps", item: "web-5d4f", change: deployment, did: outcome.Created, want: Passing, says: "deployments/web"},
		"a ReplicaSet of nobody":                     {resource: "replicasets.apps", item: "web-5d4f", did: outcome.Created, want: Gone},
	} {
		t.Run(name, func(t *testing.T) {
			if c.resource == "" {
				c.resource = "services"
			}
			if c.item == "" {
				c.item = "web"
			}
			state, why := one(t, c.change, c.resource, outcome.Item{Namespace: "shop", Name: c.item, Did: c.did, Why: c.why}, c.object)
			if state != c.want || !strings.Contains(why, c.says) {
				t.Errorf("%s (%s), expected %s (%s)", state, why, c.want, c.says)
			}
		})
	}
}

func deployment(in *Input) {
	in.Items.Kinds = append(in.Items.Kinds, outcome.Kind{Name: "deployments.apps", Items: []outcome.Item{{Namespace: "shop", Name: "web", Did: outcome.Created}}})
}

func TestWhatWasNotLookedAtIsNoLoss(t *testing.T) {
	items := outcome.Items{Kinds: []outcome.Kind{
		{Name: "secrets", Items: []outcome.Item{{Namespace: "shop", Name: "a", Did: outcome.Created}}},
		{Name: "example.com/v1/Widget", Items: []outcome.Item{{Namespace: "shop", Name: "w", Did: outcome.Created}}},
	}}
	state := target.NewState(Question(items), nil, target.NotSeen{Resource: "secrets", Namespace: "shop", Why: "you may not list it"})
	r := Judge(Input{Restore: "r1", Started: began, Ended: ended, Items: items, Target: state})
	if r.Count[NotLookedAt] != 2 || r.Lost() != 0 || r.Kinds[1].Items[0].Why != "you may not list it" {
		t.Errorf("%+v", r)
	}
}

func TestNothingOfAKindThatIsNotServedIsThere(t *testing.T) {
	items := outcome.Items{Kinds: []outcome.Kind{{Name: "widgets.example.com", Items: []outcome.Item{{Namespace: "shop", Name: "w", Did: outcome.Failed}}}}}
	r := Judge(Input{Restore: "r1", Started: began, Ended: ended, Items: items, Target: target.NewState(Question(items), nil, target.NotSeen{Resource: "widgets.example.com"})})
	if r.Count[Failed] != 1 || !strings.Contains(r.Kinds[0].Items[0].Why, "does not serve") {
		t.Errorf("%+v", r.Kinds)
	}
}

func TestKindsThatLostMostComeFirst(t *testing.T) {
	kind := func(name string, dids ...outcome.Did) outcome.Kind {
		k := outcome.Kind{Name: name}
		for n, did := range dids {
			k.Items = append(k.Items, outcome.Item{Namespace: "shop", Name: string(rune('a' + n)), Did: did})
		}
		return k
	}
	items := outcome.Items{Kinds: []outcome.Kind{kind("a", outcome.LeftOut), kind("b", outcome.Skipped), kind("c", outcome.LeftOut, outcome.Failed)}}
	found := &target.Object{Created: began.Add(-time.Hour)}
	r := Judge(Input{Restore: "r1", Started: began, SoFar: true, Items: items, Target: target.NewState(Question(items), func(resource, _, _ string) *target.Object {
		if resource == "b" {
			return found
		}
		return nil
	})})
	if r.Kinds[0].Name != "c" || r.Kinds[0].Items[0].State != Failed || r.Kinds[1].Name != "b" || r.Kinds[2].Name != "a" {
		t.Errorf("%+v", r.Kinds)
	}
	if !r.SoFar || r.Lost() != 1 || r.Wanted() != 2 {
		t.Errorf("%+v", r)
	}
}

func TestVolumes(t *testing.T) {
	items := outcome.Items{Kinds: []outcome.Kind{{Name: "persistentvolumeclaims", Items: []outcome.Item{
		{Namespace: "shop", Name: "a", Did: outcome.Created}, {Namespace: "shop", Name: "b", Did: outcome.Created}, {Namespace: "shop", Name: "c", Did: outcome.Created}}}}}
	r := Judge(Input{Restore: "r1", Started: began, Ended: ended, Items: items, Target: target.NewState(Question(items), func(string, string, string) *target.Object {
		return &target.Object{Created: began, Restore: "r1"}
	})})
	claim := func(name, phase, class string) Claim {
		return Claim{Namespace: "shop", Name: name, Phase: phase, Class: class}
	}
	r.AddClaims([]Claim{claim("a", "Bound", "fast"), claim("b", "Pending", "fast"), claim("c", "Pending", "slow"), claim("other", "Pending", "slow")}, Classes{"fast": "WaitForFirstConsumer"})
	if r.Bound != 1 || len(r.Claims) != 2 || r.Claims[0].Lost || !r.Claims[1].Lost || !strings.Contains(r.Claims[1].Why, "no storage class slow") {
		t.Errorf("%+v", r)
	}
	r.AddData([]job.Volume{{Phase: "Completed", Done: 10, Total: 10}, {Name: "x", Phase: "Failed", Message: "broken"}})
	if r.Moved != 1 || r.Bytes != 10 || len(r.Data) != 1 || !r.Data[0].Lost || r.Lost() != 2 {
		t.Errorf("%+v", r)
	}
}
