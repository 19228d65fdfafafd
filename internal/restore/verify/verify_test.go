package verify

import (
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/results"
)

var (
	began = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	ended = began.Add(5 * time.Minute)
)

// differs is how Velero warns of an object that exists and is another one.
const differs = "already exists. Warning: the in-cluster version is different than the backed-up version"

// one judges one item of a restore that ended.
func one(t *testing.T, change func(*Input), resource string, i results.Item, o *live.Object) (State, string) {
	t.Helper()
	in := Input{
		RestoreName: "r1",
		Started:     began,
		Ended:       ended,
		Items:       results.Items{Kinds: []results.Kind{{Name: resource, Items: []results.Item{i}}}},
	}
	if change != nil {
		change(&in)
	}
	in.Target = live.NewState(BuildQuery(in.Items), func(r, namespace, name string) *live.Object {
		if r == resource && namespace == i.Namespace && name == i.Name {
			return o
		}
		if r == "services" && name == "kept" {
			return &live.Object{Created: began, RestoreName: "r1"}
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
	ours := func(created time.Time) *live.Object { return &live.Object{Created: created, RestoreName: "r1"} }
	bare := func(created time.Time) *live.Object { return &live.Object{Created: created} }
	unlisted := func(in *Input) { in.Unlisted = true }
	for name, c := range map[string]struct {
		change   func(*Input)
		resource string
		did      results.ItemStatus
		item     string
		why      string
		cleaned  bool
		object   *live.Object
		want     State
		says     string
	}{
		"of an earlier restore of that name":         {did: results.Missing, object: ours(before), want: Differs, says: "older than the restore"},
		"created and there":                          {did: results.Created, object: ours(during), want: Restored},
		"created, the label was taken away":          {did: results.Created, object: bare(during), want: Restored},
		"created and deleted since":                  {did: results.Created, want: Gone, says: "not there now"},
		"created and being deleted":                  {did: results.Created, object: &live.Object{Created: during, RestoreName: "r1", DeletingSince: after}, want: Deleting},
		"created, and somebody made it anew":         {did: results.Created, object: bare(after), want: CreatedByOthers},
		"created, and another restore made it":       {did: results.Created, object: &live.Object{Created: after, RestoreName: "r2"}, want: CreatedByOthers, says: "restore r2"},
		"a namespace has no label":                   {resource: "namespaces", did: results.Created, object: bare(during), want: Restored},
		"failed and not there":                       {did: results.Failed, why: "exceeded quota", want: Failed, says: "exceeded quota"},
		"failed, and older and different":            {resource: "configmaps", did: results.Failed, why: "already exists", object: bare(before), want: Differs, says: "already exists"},
		"failed, and made by hand since":             {did: results.Failed, why: "exceeded quota", object: bare(after), want: CreatedByOthers, says: "exceeded quota"},
		"made, and something about it failed":        {did: results.Failed, why: "its status", object: ours(during), want: Restored, says: "its status"},
		"a service that existed":                     {did: results.Failed, why: "already exists", object: bare(before), want: Existed, says: "cluster IP"},
		"a claim that existed":                       {resource: "persistentvolumeclaims", did: results.Failed, object: bare(before), want: Existed, says: "always finds it different"},
		"a volume that existed":                      {resource: "persistentvolumes", did: results.Failed, why: "already exists", object: bare(before), want: Existed, says: "what binds it to its claim"},
		"a CRD that existed":                         {resource: "customresourcedefinitions.apiextensions.k8s.io", did: results.Failed, why: differs, object: bare(before), want: Existed, says: "always finds it different"},
		"a role binding that existed":                {resource: "rolebindings.rbac.authorization.k8s.io", did: results.Failed, why: differs, object: bare(before), want: Differs},
		"a role binding that existed, mapped":        {resource: "rolebindings.rbac.authorization.k8s.io", change: func(in *Input) { in.MapsNamespaces = true }, did: results.Failed, why: differs, object: bare(before), want: Existed, says: "subjects"},
		"a token that existed":                       {resource: "secrets", did: results.Failed, why: differs, object: &live.Object{Created: before, HasTokenAnnotation: true}, want: Existed, says: "the token in it"},
		"patched by an earlier restore of it":        {resource: "configmaps", change: func(in *Input) { in.BackupName = "b1" }, did: results.Failed, why: differs, object: &live.Object{Created: before, BackupName: "b1", LastWrittenByVelero: true}, want: Existed, says: "--compare tells"},
		"patched by one, and by somebody since":      {resource: "configmaps", change: func(in *Input) { in.BackupName = "b1" }, did: results.Failed, why: differs, object: &live.Object{Created: before, BackupName: "b1"}, want: Differs},
		"patched by a restore of another backup":     {resource: "configmaps", change: func(in *Input) { in.BackupName = "b1" }, did: results.Failed, why: differs, object: &live.Object{Created: before, BackupName: "b0", LastWrittenByVelero: true}, want: Differs},
		"patched, and the results unreadable":        {resource: "configmaps", change: func(in *Input) { in.BackupName = "b1" }, did: results.Failed, object: &live.Object{Created: before, BackupName: "b1", RestoreName: "r0", LastWrittenByVelero: true}, want: Existed, says: "--compare tells"},
		"this one's patch was refused":               {resource: "configmaps", change: func(in *Input) { in.BackupName = "b1" }, did: results.Failed, object: &live.Object{Created: before, BackupName: "b1", RestoreName: "r1", LastWrittenByVelero: true}, want: Differs, says: "patch of it was refused"},
		"a claim whose patch was refused":            {resource: "persistentvolumeclaims", did: results.Failed, why: "is invalid: spec: Forbidden", object: ours(before), want: Existed, says: "always finds it different"},
		"a pod that could not be patched":            {resource: "pods", did: results.Failed, why: "pod updates may not change fields", object: bare(before), want: Differs},
		"a lease that existed":                       {resource: "leases.coordination.k8s.io", did: results.Failed, why: "already exists", object: bare(before), want: Existed},
		"endpoints that the cluster made meanwhile":  {resource: "endpoints", did: results.Failed, why: "already exists", object: bare(during), want: Existed},
		"endpoints that could not be restored":       {resource: "endpoints", did: results.Failed, why: "quota", want: Failed},
		"the cluster writes it itself":               {resource: "configmaps", item: "kube-root-ca.crt", did: results.Failed, why: "already exists", object: bare(before), want: Existed},
		"OpenShift writes it itself":                 {resource: "serviceaccounts", item: "deployer", did: results.Failed, why: "already exists", object: bare(before), want: Existed},
		"Istio writes it itself":                     {resource: "configmaps", item: "istio-ca-root-cert", did: results.Failed, why: "already exists", object: bare(before), want: Existed},
		"a role binding that OpenShift makes":        {resource: "rolebindings.rbac.authorization.k8s.io", item: "system:deployers", did: results.Failed, why: "already exists", object: bare(before), want: Existed, says: "--compare tells"},
		"skipped and there":                          {did: results.Skipped, object: bare(before), want: Existed},
		"skipped, and different":                     {resource: "secrets", did: results.Skipped, why: differs, object: bare(before), want: Differs, says: "different than the backed-up version"},
		"skipped, and different, and an account":     {resource: "secrets", change: func(in *Input) { in.Server = "v1.19.0" }, did: results.Skipped, why: differs, object: bare(before), want: Differs},
		"skipped, and different, as claims are":      {resource: "persistentvolumeclaims", did: results.Skipped, why: differs, object: bare(before), want: Existed, says: "always finds it different"},
		"skipped, different, and not there":          {resource: "secrets", did: results.Skipped, why: differs, want: Gone},
		"skipped and not there":                      {did: results.Skipped, want: Gone},
		"a skipped volume":                           {resource: "persistentvolumes", did: results.Skipped, want: Transient},
		"updated and there":                          {did: results.Updated, object: ours(before), want: Restored},
		"updated and not there":                      {did: results.Updated, want: Gone},
		"not listed and not there":                   {did: results.Missing, why: "not in Velero's list", want: Missing, says: "not in Velero's list"},
		"not listed and older":                       {did: results.Missing, object: bare(before), want: Differs},
		"not listed but labelled":                    {did: results.Missing, object: ours(during), want: Restored},
		"left out":                                   {did: results.LeftOut, why: "excluded", want: LeftOut, says: "excluded"},
		"no list, not there":                         {change: unlisted, did: results.Missing, want: Missing, says: "not known"},
		"it goes on":                                 {change: func(in *Input) { in.InProgress, in.Unlisted = true, true }, did: results.Missing, want: Missing, says: "yet"},
		"no list, older":                             {change: unlisted, did: results.Missing, object: bare(before), want: Existed},
		"no list, there":                             {change: unlisted, did: results.Missing, object: ours(during), want: Restored},
		"a snapshot under Velero's own name":         {resource: "volumesnapshots.snapshot.storage.k8s.io", did: results.Missing, want: Transient, says: "another name"},
		"a snapshot, and no list":                    {change: unlisted, resource: "volumesnapshotcontents.snapshot.storage.k8s.io", did: results.Missing, want: Transient, says: "another name"},
		"a snapshot that could not be restored":      {resource: "volumesnapshots.snapshot.storage.k8s.io", did: results.Failed, why: "no driver", want: Failed},
		"a snapshot, listed by its old name":         {change: func(in *Input) { in.Server = "v1.16.2" }, resource: "volumesnapshots.snapshot.storage.k8s.io", did: results.Created, want: Transient, says: "another name"},
		"a snapshot, listed by its new name":         {change: func(in *Input) { in.Server = "v1.17.0" }, resource: "volumesnapshots.snapshot.storage.k8s.io", did: results.Created, want: Gone},
		"a snapshot that Velero made, and is gone":   {resource: "volumesnapshots.snapshot.storage.k8s.io", did: results.Created, want: Gone},
		"a cloned volume under another name":         {resource: "persistentvolumes", did: results.Missing, object: bare(before), want: Existed, says: "another name"},
		"a StatefulSet's pod beside a DaemonSet":     {resource: "pods", item: "fluentd-aggregator-0", change: with("daemonsets.apps", "fluentd"), did: results.Created, want: Gone},
		"a StatefulSet's pod beside a Job":           {resource: "pods", item: "db-main-0", change: with("jobs.batch", "db"), did: results.Missing, want: Missing},
		"a pod of an indexed Job":                    {resource: "pods", item: "import-3-x7k2p", change: with("jobs.batch", "import"), did: results.Created, want: Transient},
		"a pod of a DaemonSet":                       {resource: "pods", item: "fluentd-x7k2p", change: with("daemonsets.apps", "fluentd"), did: results.Created, want: Transient, says: "daemonsets/fluentd"},
		"a generated name that lost its base's end":  {resource: "pods", item: strings.Repeat("a", 58) + "x7k2p", did: results.Created, want: Transient},
		"a name as long that was not generated":      {resource: "pods", item: strings.Repeat("a", 63), did: results.Created, want: Gone},
		"endpoints":                                  {resource: "endpoints", did: results.Created, want: Gone},
		"endpoints of a service that is there":       {resource: "endpoints", item: "kept", did: results.Created, change: with("services", "kept"), want: Gone},
		"endpoints whose service is gone too":        {resource: "endpoints", did: results.Created, change: with("services", "web"), want: Transient, says: "with their service"},
		"an endpoint slice with a generated name":    {resource: "endpointslices.discovery.k8s.io", item: "web-x7k2p", did: results.Missing, want: Transient},
		"an endpoint slice that somebody wrote":      {resource: "endpointslices.discovery.k8s.io", item: "external-db-1", did: results.Missing, want: Missing},
		"a job that Velero never listed":             {resource: "jobs.batch", item: "schema-migration", did: results.Missing, why: "not in Velero's list", want: Missing},
		"a job, and no list":                         {change: unlisted, resource: "jobs.batch", cleaned: true, did: results.Missing, want: Transient},
		"another's ReplicaSet beside a Deployment":   {resource: "replicasets.apps", item: "web-legacy-5d4f", change: deployment, did: results.Created, want: Gone},
		"a revision of a StatefulSet":                {resource: "controllerrevisions.apps", item: "db-6f7d8b9c5", change: with("statefulsets.apps", "db"), did: results.Created, want: Transient, says: "statefulsets/db"},
		"a job that is done":                         {resource: "jobs.batch", cleaned: true, did: results.Created, want: Transient, says: "TTL"},
		"a job that nothing deletes":                 {resource: "jobs.batch", did: results.Created, want: Gone},
		"a job, and no backup":                       {change: func(in *Input) { in.Items.CompareUnavailable = "gone" }, resource: "jobs.batch", did: results.Created, want: Transient},
		"remade as the restore ended":                {did: results.Created, object: &live.Object{Created: ended.Add(5 * time.Second), FirstWritten: ended.Add(5 * time.Second)}, want: CreatedByOthers, says: "not by Velero"},
		"remade while the restore ran":               {did: results.Created, object: &live.Object{Created: during, FirstWritten: during.Add(time.Hour)}, want: CreatedByOthers},
		"without labels, by Velero":                  {did: results.Created, object: &live.Object{Created: during, FirstWritten: during, WrittenByVelero: true}, want: Restored},
		"without labels, of the backup's managers":   {did: results.Created, object: &live.Object{Created: during, FirstWritten: before}, want: Restored},
		"without labels, managed fields stripped":    {did: results.Created, object: bare(during), want: Restored},
		"a namespace of the restore":                 {resource: "namespaces", did: results.Created, object: &live.Object{Created: during, FirstWritten: during}, want: Restored},
		"a patch refused for its roleRef":            {resource: "clusterrolebindings.rbac.authorization.k8s.io", change: func(in *Input) { in.MapsNamespaces = true }, did: results.Failed, why: "is invalid: roleRef: Invalid value: cannot change roleRef", object: ours(before), want: Differs, says: "cannot change roleRef"},
		"a binding with mapped subjects":             {resource: "clusterrolebindings.rbac.authorization.k8s.io", change: func(in *Input) { in.MapsNamespaces = true }, did: results.Failed, why: differs, object: ours(before), want: Existed, says: "subjects"},
		"a pod with a generated name":                {resource: "pods", item: "web-x7k2p", did: results.Created, want: Transient},
		"a pod of a StatefulSet":                     {resource: "pods", item: "db-0", did: results.Created, want: Gone},
		"a pod with a name of its own":               {resource: "pods", item: "web-shell", did: results.Created, want: Gone},
		"a pod that failed":                          {resource: "pods", item: "web-x7k2p", did: results.Failed, why: "quota", want: Failed},
		"a pod that its StatefulSet made again":      {resource: "pods", item: "db-0", did: results.Created, object: &live.Object{Created: after, OwnerKind: "StatefulSet"}, want: CreatedByOthers, says: "StatefulSet"},
		"a ReplicaSet of a Deployment that is there": {resource: "replicasets.apps", item: "web-5d4f", change: deployment, did: results.Created, want: Transient, says: "deployments/web"},
		"a ReplicaSet of nobody":                     {resource: "replicasets.apps", item: "web-5d4f", did: results.Created, want: Gone},
	} {
		t.Run(name, func(t *testing.T) {
			if c.resource == "" {
				c.resource = "services"
			}
			if c.item == "" {
				c.item = "web"
			}
			state, why := one(
				t,
				c.change,
				c.resource,
				results.Item{Namespace: "shop", Name: c.item, Status: c.did, Why: c.why, IsCleanedUp: c.cleaned},
				c.object,
			)
			if state != c.want || !strings.Contains(why, c.says) {
				t.Errorf("%s (%s), expected %s (%s)", state, why, c.want, c.says)
			}
		})
	}
}

// TestWhatVeleroCannotCompare: it finds each Service different, so that only a comparison tells whether one that existed
// is as the restore was to make it. What a controller owns, and what the cluster writes, is not compared at all.
func TestWhatVeleroCannotCompare(t *testing.T) {
	for name, c := range map[string]struct {
		resource string
		object   live.Object
		did      results.ItemStatus
		want     ContentState
		says     string
	}{
		"a Service":              {resource: "services", did: results.Failed, want: NotCompared, says: "nothing of 1 item is missing; 1 is not compared"},
		"a claim of Velero 1.19": {resource: "persistentvolumeclaims", did: results.Skipped, want: NotCompared, says: "nothing of 1 item is missing; 1 is not compared"},
		"a pod of a ReplicaSet":  {resource: "pods", did: results.Failed, object: live.Object{OwnerKind: "ReplicaSet"}, says: "all of 1 item came back"},
		"a volume":               {resource: "persistentvolumes", did: results.Failed, says: "all of 1 item came back"},
		"endpoints":              {resource: "endpoints", did: results.Failed, says: "all of 1 item came back"},
		"a Service as it was":    {resource: "services", did: results.Skipped, says: "all of 1 item came back"},
	} {
		items := results.Items{
			Kinds: []results.Kind{
				{Name: c.resource, Items: []results.Item{{Namespace: "shop", Name: "web", Status: c.did}}},
			},
		}
		if c.want != "" {
			items.Kinds[0].Items[0].Why = differs
		}
		c.object.Created = began.Add(-time.Hour)
		r := Judge(
			Input{
				RestoreName: "r1",
				Started:     began,
				Ended:       ended,
				Items:       items,
				Target:      live.NewState(BuildQuery(items), func(string, string, string) *live.Object { return &c.object }),
			},
		)
		i := r.Kinds[0].Items[0]
		if i.State != Existed || i.Content != c.want || r.IsSettled() != (c.want == "") || r.Summary() != c.says ||
			strings.Contains(i.Why, "--compare") != (c.want != "") {
			t.Errorf("%s: %+v, settled %t, %s", name, i, r.IsSettled(), r.Summary())
		}
	}
}

func deployment(in *Input) { with("deployments.apps", "web")(in) }

func TestWhatIsNotThereAndNoLossDidNotComeBack(t *testing.T) {
	items := results.Items{
		Kinds: []results.Kind{
			{Name: "events", Items: []results.Item{{Namespace: "shop", Name: "e", Status: results.Created}}},
		},
	}
	r := Judge(Input{Items: items, Target: live.NewState(BuildQuery(items), nil)})
	if s := r.Summary(); s != "nothing of 1 item is missing; 1 comes and goes" || !r.IsComplete() {
		t.Error(s)
	}
}

// TestWhatIsKnownNotToBeLookedAt: veltui does not say that all came back if it knows
// that it could not look at something.
func TestWhatIsKnownNotToBeLookedAt(t *testing.T) {
	judge := func(items results.Items) Result {
		return Judge(
			Input{
				RestoreName: "r1",
				Started:     began,
				Ended:       ended,
				Items:       items,
				Target: live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
					return &live.Object{Created: began, RestoreName: "r1"}
				}),
			},
		)
	}
	pods := results.Kind{
		Name: "pods",
		Items: []results.Item{
			{Namespace: "shop", Name: "a", Status: results.Created},
			{Namespace: "shop", Name: "b", Status: results.LeftOut},
		},
	}
	many := pods
	many.CountByStatus = map[results.ItemStatus]int{results.Created: 3, results.LeftOut: 4}
	leftOut := pods
	leftOut.CountByStatus = map[results.ItemStatus]int{results.Created: 1, results.LeftOut: 4}
	none := results.Kind{Name: "pods", Items: pods.Items[1:]}
	for name, c := range map[string]struct {
		items   results.Items
		unseen  string // a kind of Velero that may not be listed
		says    string
		looked  bool
		notSeen int
	}{
		"all":                            {items: results.Items{Kinds: []results.Kind{pods}}, looked: true, says: "all of 1 item came back"},
		"more than veltui names":         {items: results.Items{Kinds: []results.Kind{many}, UnnamedCount: 5}, says: "nothing is missing of the 1 item that veltui could look for; 2 could not be looked for"},
		"more, but the filters leave it": {items: results.Items{Kinds: []results.Kind{leftOut}, UnnamedCount: 3}, looked: true, says: "all of 1 item came back"},
		"no backup":                      {items: results.Items{Kinds: []results.Kind{pods}, CompareUnavailable: "it is gone"}, says: "nothing is missing of the 1 item that veltui could look for"},
		"no PodVolumeRestores":           {items: results.Items{Kinds: []results.Kind{pods}}, unseen: "podvolumerestores.velero.io", notSeen: 1, says: "nothing is missing of the 1 item that veltui could look for"},
		"no DataDownloads, no claims":    {items: results.Items{Kinds: []results.Kind{pods}}, unseen: "datadownloads.velero.io", looked: true, says: "all of 1 item came back"},
		"no PodVolumeRestores, no pods":  {items: results.Items{Kinds: []results.Kind{none}}, unseen: "podvolumerestores.velero.io", looked: true, says: "no item is known"},
		"no right that does not matter":  {items: results.Items{Kinds: []results.Kind{pods}}, unseen: "backups.velero.io", looked: true, says: "all of 1 item came back"},
	} {
		r := judge(c.items)
		r.AddUncheckedTransfers(c.unseen, "you may not list it")
		if !strings.HasPrefix(r.Summary(), c.says) || r.IsComplete() != c.looked || len(r.Unchecked) != c.notSeen {
			t.Errorf("%s: %q, looked at all: %t, %+v", name, r.Summary(), r.IsComplete(), r.Unchecked)
		}
	}
}

// From 1.19 on only a warning tells that what was skipped differs. Without the warnings
// nobody says that it came back, unless the server is known to be an older one.
func TestWithoutWarningsWhatWasSkippedMayDiffer(t *testing.T) {
	for server, known := range map[string]bool{"v1.16.2": true, "v1.18.3": true, "v1.19.0": false, "v1.20.1": false, "": false, "main": false} {
		for why, told := range map[string]bool{"": true, "the results are not there": false} {
			items := results.Items{
				ReasonsUnavailable: why,
				Kinds: []results.Kind{
					{Name: "secrets", Items: []results.Item{{Namespace: "shop", Name: "a", Status: results.Skipped}}},
				},
			}
			r := Judge(
				Input{
					RestoreName: "r1",
					Server:      server,
					Started:     began,
					Ended:       ended,
					Items:       items,
					Target: live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
						return &live.Object{Created: began.Add(-time.Hour)}
					}),
				},
			)
			if r.IsComplete() != (known || told) || r.CountLost() > 0 {
				t.Errorf("%q, %q: %q, looked at all: %t", server, why, r.Summary(), r.IsComplete())
			}
		}
	}
}

// TestWithoutVelerosListWhatExistedMayDiffer: only Velero's list tells.
func TestWithoutVelerosListWhatExistedMayDiffer(t *testing.T) {
	items := results.Items{
		Kinds: []results.Kind{
			{Name: "secrets", Items: []results.Item{{Namespace: "shop", Name: "a", Status: results.Missing}}},
		},
	}
	for created, known := range map[time.Time]bool{began.Add(-time.Hour): false, began: true} {
		for _, goesOn := range []bool{true, false} {
			r := Judge(
				Input{
					RestoreName: "r1",
					Started:     began,
					InProgress:  goesOn,
					Unlisted:    true,
					Items:       items,
					Target: live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
						return &live.Object{Created: created}
					}),
				},
			)
			if r.IsComplete() != known || !known && len(r.Notes) != 1 || r.CountLost() > 0 {
				t.Errorf(
					"created %s, goes on: %t: %q, looked at all: %t, notes %q",
					created,
					goesOn,
					r.Summary(),
					r.IsComplete(),
					r.Notes,
				)
			}
		}
	}
}

// with adds an item that the restore created.
func with(resource, name string) func(*Input) {
	return func(in *Input) {
		in.Items.Kinds = append(
			in.Items.Kinds,
			results.Kind{Name: resource, Items: []results.Item{{Namespace: "shop", Name: name, Status: results.Created}}},
		)
	}
}

func TestWhatWasNotLookedAtIsNoLoss(t *testing.T) {
	items := results.Items{Kinds: []results.Kind{
		{Name: "secrets", Items: []results.Item{{Namespace: "shop", Name: "a", Status: results.Created}}},
		{Name: "example.com/v1/Widget", Items: []results.Item{{Namespace: "shop", Name: "w", Status: results.Created}}},
	}}
	state := live.NewState(
		BuildQuery(items),
		nil,
		live.Unchecked{Resource: "secrets", Namespace: "shop", Why: "you may not list it"},
	)
	r := Judge(Input{RestoreName: "r1", Started: began, Ended: ended, Items: items, Target: state})
	if r.CountByState[Unchecked] != 2 || r.CountLost() != 0 || r.Kinds[1].Items[0].Why != "you may not list it" {
		t.Errorf("%+v", r)
	}
}

func TestNothingOfAKindThatIsNotServedIsThere(t *testing.T) {
	items := results.Items{
		Kinds: []results.Kind{
			{Name: "widgets.example.com", Items: []results.Item{{Namespace: "shop", Name: "w", Status: results.Failed}}},
		},
	}
	r := Judge(
		Input{
			RestoreName: "r1",
			Started:     began,
			Ended:       ended,
			Items:       items,
			Target:      live.NewState(BuildQuery(items), nil, live.Unchecked{Resource: "widgets.example.com"}),
		},
	)
	if r.CountByState[Failed] != 1 || !strings.Contains(r.Kinds[0].Items[0].Why, "does not serve") {
		t.Errorf("%+v", r.Kinds)
	}
}

func TestKindsThatLostMostComeFirst(t *testing.T) {
	kind := func(name string, dids ...results.ItemStatus) results.Kind {
		k := results.Kind{Name: name}
		for n, did := range dids {
			k.Items = append(k.Items, results.Item{Namespace: "shop", Name: string(rune('a' + n)), Status: did})
		}
		return k
	}
	items := results.Items{
		Kinds: []results.Kind{
			kind("a", results.LeftOut),
			kind("b", results.Skipped),
			kind("c", results.LeftOut, results.Failed),
		},
	}
	found := &live.Object{Created: began.Add(-time.Hour)}
	r := Judge(
		Input{
			RestoreName: "r1",
			Started:     began,
			InProgress:  true,
			Items:       items,
			Target: live.NewState(BuildQuery(items), func(resource, _, _ string) *live.Object {
				if resource == "b" {
					return found
				}
				return nil
			}),
		},
	)
	if r.Kinds[0].Name != "c" || r.Kinds[0].Items[0].State != Failed || r.Kinds[1].Name != "b" ||
		r.Kinds[2].Name != "a" {
		t.Errorf("%+v", r.Kinds)
	}
	if !r.InProgress || r.CountLost() != 1 || r.CountWanted() != 2 {
		t.Errorf("%+v", r)
	}
}

func TestVolumes(t *testing.T) {
	items := results.Items{Kinds: []results.Kind{{Name: "persistentvolumeclaims", Items: []results.Item{
		{
			Namespace: "shop",
			Name:      "a",
			Status:    results.Created,
		},
		{Namespace: "shop", Name: "b", Status: results.Created},
		{Namespace: "shop", Name: "c", Status: results.Created},
	}}}}
	r := Judge(
		Input{
			RestoreName: "r1",
			Started:     began,
			Ended:       ended,
			Items:       items,
			Target: live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
				return &live.Object{Created: began, RestoreName: "r1"}
			}),
		},
	)
	claim := func(name, phase, class string) Claim {
		return Claim{Namespace: "shop", Name: name, Phase: phase, Class: class}
	}
	r.AddClaims(
		[]Claim{
			claim("a", "Bound", "fast"),
			claim("b", "Pending", "fast"),
			claim("c", "Pending", "slow"),
			claim("other", "Pending", "slow"),
		},
		BindingModes{"fast": "WaitForFirstConsumer"},
	)
	if r.BoundCount != 1 || len(r.Claims) != 2 || r.Claims[0].Lost || !r.Claims[1].Lost ||
		!strings.Contains(r.Claims[1].Why, "no storage class slow") {
		t.Errorf("%+v", r)
	}
	r.AddTransfers([]job.Volume{{Phase: "Completed", Done: 10, Total: 10}, {Name: "x", Phase: "Failed", Message: "broken"}})
	if r.MovedCount != 1 || r.MovedBytes != 10 || len(r.IncompleteTransfers) != 1 || !r.IncompleteTransfers[0].Lost || r.CountLost() != 2 {
		t.Errorf("%+v", r)
	}
}
