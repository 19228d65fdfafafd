package replay

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// timeline maps the times of a recording to those of its replay.
type timeline struct {
	from, to time.Time // of the recording
	began    time.Time // of the replay
	speed    float64
}

// at is when a recorded moment comes in the replay. Within the recording time
// runs speed times as fast; before and after it as ever, so that an expiration
// in 30 days stays one.
func (l timeline) at(t time.Time) time.Time {
	switch {
	case t.Before(l.from):
		return l.began.Add(t.Sub(l.from))
	case t.After(l.to):
		return l.at(l.to).Add(t.Sub(l.to))
	}
	return l.began.Add(time.Duration(float64(t.Sub(l.from)) / l.speed))
}

// shift moves every time stamp in an object's status. They are whole seconds,
// as the API's are: one that a recording holds lies up to a second before the
// event that brought it, and so it does in the replay.
func (l timeline) shift(u *unstructured.Unstructured) {
	if status, ok := u.Object["status"]; ok {
		u.Object["status"] = l.shifted(status)
	}
}

func (l timeline) shifted(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			value[key] = l.shifted(v)
		}
	case []any:
		for n, v := range value {
			value[n] = l.shifted(v)
		}
	case string:
		if t, err := time.Parse(time.RFC3339, value); err == nil {
			return l.at(t).UTC().Format(time.RFC3339)
		}
	}
	return value
}
