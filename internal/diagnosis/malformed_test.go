package diagnosis

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

var days = decode.MalformedField{Field: "spec.ttl", Value: `"30d"`, Error: "expected a duration"}

// A job that Velero cannot read is stuck for that, whatever else is known, but
// for what it shows itself.
func TestMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		job    spec
		env    func(*World)
		state  State
		reason Reason
	}{
		"new":                        {spec{name: "x", phase: ""}, nil, Stuck, MalformedSpec},
		"new a moment ago":           {spec{name: "x", phase: "New", changed: 0.1}, nil, Stuck, MalformedSpec},
		"in progress and moving":     {spec{name: "x", phase: "InProgress", started: 9, changed: 0.1, done: 1, total: 2}, nil, Progressing, ItemsMoving},
		"in progress and silent":     {spec{name: "x", phase: "InProgress", started: 9, changed: 8, done: 1, total: 2}, nil, Stuck, MalformedSpec},
		"the server is down":         {spec{name: "x", phase: "New"}, func(e *World) { e.Server.Running = false }, Stuck, MalformedSpec},
		"the pods are hidden":        {spec{name: "x", phase: "New"}, func(e *World) { e.Server.Visible = false }, Stuck, MalformedSpec},
		"a newer Velero":             {spec{name: "x", phase: "New"}, func(e *World) { e.Server.Version = "v1.19.0" }, Unknown, MalformedSpec},
		"nothing is heard":           {spec{name: "x", phase: "New"}, func(e *World) { e.StaleSince = minutesAgo(3) }, Unknown, StaleData},
		"completed":                  {spec{name: "x", phase: "Completed", started: 9, ended: 8}, nil, "", Completed},
		"a phase that is unheard of": {spec{name: "x", phase: "Dreaming", started: 9, changed: 8}, nil, Stuck, MalformedSpec},
	} {
		t.Run(name, func(t *testing.T) {
			in := c.job.input()
			in.MalformedFields = []decode.MalformedField{days}
			env := healthy()
			if c.env != nil {
				c.env(&env)
			}
			v := Judge(job.Fold(nil, in), env)
			if v.State() != c.state || v.Reason != c.reason {
				t.Errorf("%s for %s: %s", v.State(), v.Reason, v.Summary())
			}
			if v.Reason != StaleData && !strings.Contains(v.Summary(), days.String()) {
				t.Errorf("the summary does not name it: %s", v.Summary())
			}
			if !strings.Contains(v.Facts[0].Text, days.String()) ||
				!strings.Contains(v.Facts[0].Text, decode.ServerWarning) {
				t.Errorf("the facts do not name it: %+v", v.Facts)
			}
		})
	}
}

// What is malformed beside a job is among its facts and does not judge it.
func TestMalformedBeside(t *testing.T) {
	s := spec{name: "x", phase: "InProgress", started: 9, changed: 0.1, done: 1, total: 2}
	s.volumes = []job.Volume{volume(velero.DataUpload, "v", "Accepted", 0, 0, 5, 5)}
	s.volumes[0].MalformedField = decode.MalformedField{
		Field: "spec.operationTimeout",
		Value: `"4"`,
		Error: "expected a duration",
	}
	env := healthy()
	for _, name := range []string{"dataupload/v", "schedule/a", "schedule/b", "schedule/c"} {
		env.MalformedResources = append(env.MalformedResources, MalformedResource{Ref: name, Field: days})
	}
	v := Judge(s.job(t), env)
	if v.State() != Progressing {
		t.Errorf("%s: %s", v.State(), v.Summary())
	}
	var named []string
	for _, f := range v.Facts {
		if strings.Contains(f.Text, decode.ServerWarning) {
			named = append(named, strings.SplitN(f.Text, ":", 2)[0])
		}
	}
	if strings.Join(named, " ") != "dataupload/v schedule/a schedule/b" {
		t.Errorf("named %v", named)
	}
	s = spec{name: "x", phase: "Completed", started: 9, ended: 8}
	for _, f := range Judge(s.job(t), env).Facts {
		if strings.Contains(f.Text, "schedule/") {
			t.Errorf("of no concern to a job that has ended: %s", f.Text)
		}
	}
}
