package velero

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Slots is how many volumes the node-agents may move and prepare at once. Its
// zero value means that nobody looked. A node-agent reads it only when it starts,
// so it may not be in force yet.
type Slots struct {
	// Source is where it comes from, empty if it is not known; Why then says why.
	Source, Why string
	// ByNode is how many volumes a node may move at once, for the nodes that were
	// looked at.
	ByNode map[string]int
	// PrepareQueue is how many volumes of all nodes may be prepared at once
	// (since 1.17), zero for any number.
	PrepareQueue int
}

// defaultSlots is how many volumes a node moves at once where nothing says
// otherwise (pkg/cmd/cli/nodeagent/server.go, defaultDataPathConcurrentNum).
const defaultSlots = 1

// LoadConcurrency is what the node-agents' ConfigMap says of their slots
// (pkg/types/node_agent.go). Its zero value is that of one that says nothing.
type LoadConcurrency struct {
	GlobalConfig       int `json:"globalConfig"`
	PrepareQueueLength int `json:"prepareQueueLength"`
	PerNodeConfig      []struct {
		NodeSelector metav1.LabelSelector `json:"nodeSelector"`
		Number       int                  `json:"number"`
	} `json:"perNodeConfig"`
}

// ParseLoadConcurrency reads the node-agents' ConfigMap as they do: it has one
// key, whose name does not matter (pkg/nodeagent/node_agent.go GetConfigs).
func ParseLoadConcurrency(data map[string]string) (LoadConcurrency, error) {
	var config struct {
		LoadConcurrency LoadConcurrency `json:"loadConcurrency"`
	}
	if len(data) != 1 {
		return LoadConcurrency{}, fmt.Errorf("it has %d keys where Velero wants one", len(data))
	}
	for _, text := range data {
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			return LoadConcurrency{}, errors.New("its JSON is not what Velero expects")
		}
	}
	return config.LoadConcurrency, nil
}

// Slots is how many volumes a node with these labels may move at once: the
// smallest number among the rules for it, else the global one
// (pkg/cmd/cli/nodeagent/server.go getDataPathConcurrentNum).
func (l LoadConcurrency) Slots(node map[string]string) int {
	least := math.MaxInt
	for i := range l.PerNodeConfig {
		rule := &l.PerNodeConfig[i]
		selector, err := metav1.LabelSelectorAsSelector(&rule.NodeSelector)
		if err == nil && rule.Number > 0 && selector.Matches(labels.Set(node)) {
			least = min(least, rule.Number)
		}
	}
	switch {
	case least < math.MaxInt:
		return least
	case l.GlobalConfig > 0:
		return l.GlobalConfig
	}
	return defaultSlots
}
