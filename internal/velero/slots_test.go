package velero

import "testing"

// The smallest number among the rules for a node counts, as in the node-agent;
// what is not valid falls back as it does there.
func TestSlotsOfANode(t *testing.T) {
	for _, c := range []struct {
		data string
		want int
	}{
		{`{"loadConcurrency":{"globalConfig":5,"perNodeConfig":[{"nodeSelector":{"matchLabels":{"pool":"db"}},"number":3},{"nodeSelector":{},"number":2}]}}`, 2},
		{`{"loadConcurrency":{"globalConfig":5,"perNodeConfig":[{"nodeSelector":{"matchLabels":{"pool":"web"}},"number":3}]}}`, 5},
		{`{"loadConcurrency":{"globalConfig":5,"perNodeConfig":[{"nodeSelector":{"matchLabels":{"pool":"db"}},"number":0}]}}`, 5},
		{`{"loadConcurrency":{"globalConfig":-1}}`, 1},
		{`{"loadAffinity":[]}`, 1},
		{`{"loadConcurrency":null}`, 1},
	} {
		l, err := ParseLoadConcurrency(map[string]string{"any": c.data})
		if err != nil {
			t.Errorf("%s: %v", c.data, err)
		} else if got := l.SlotsOnNode(map[string]string{"pool": "db"}); got != c.want {
			t.Errorf("%s: %d, want %d", c.data, got, c.want)
		}
	}
	for _, data := range []map[string]string{nil, {"a": "{}", "b": "{}"}, {"a": "globalConfig: 5"}, {"a": `{"loadConcurrency":{"globalConfig":"5"}}`}} {
		if l, err := ParseLoadConcurrency(data); err == nil {
			t.Errorf("%v is %+v", data, l)
		}
	}
}
