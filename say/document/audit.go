package document

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/action"
)

// Audit is what `audit` prints.
type Audit struct {
	Header
	Items []Audited `json:"items"`

	attempts map[string]int
}

// Audited is one attempt to change something.
type Audited struct {
	Time      metav1.Time `json:"time"`
	Attempt   string      `json:"attempt"`
	Context   string      `json:"context,omitempty"`
	Cluster   string      `json:"cluster,omitempty"`
	By        string      `json:"by"`
	Action    string      `json:"action"`
	Kind      string      `json:"kind"`
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	From      string      `json:"from,omitempty"`
	To        string      `json:"to,omitempty"`
	Reason    string      `json:"reason"`
	// Requests are the patches and objects as they were sent.
	Requests []json.RawMessage `json:"requests,omitempty"`
	// Sent and State are empty for an attempt that was not completed.
	Sent    action.Sent  `json:"sent,omitempty"`
	State   action.State `json:"state,omitempty"`
	Message string       `json:"message,omitempty"`
	Copy    string       `json:"copy,omitempty"`
}

func NewAudit() *Audit {
	return &Audit{Header: NewHeader("Audit"), Items: []Audited{}, attempts: map[string]int{}}
}

// Add adds an entry of the audit log; they come oldest first.
func (a *Audit) Add(e action.Entry) {
	i, known := a.attempts[e.Attempt]
	if !known {
		i = len(a.Items)
		a.attempts[e.Attempt] = i
		a.Items = append(a.Items, Audited{Time: metav1.NewTime(e.Time), Attempt: e.Attempt, Context: e.Context, Cluster: e.Cluster, By: e.By,
			Action: e.Action, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name, From: e.From, To: e.To, Reason: e.Reason, Copy: e.Copy})
	}
	one := &a.Items[i]
	switch e.Event {
	case "send":
		if request := append(e.Patch, e.Object...); len(request) > 0 {
			one.Requests = append(one.Requests, request)
		}
	case "end":
		one.Sent, one.State, one.Message = e.Sent, e.State, e.Message
	}
}
