package oldscene

// app is a made-up application: one namespace and what is in it.
type app struct {
	namespace                        string
	team                             string
	configMaps, secrets, deployments int
	serviceAccounts, services        int
	volumes                          []disk
	campaigns                        int // custom resources
}

// disk is a volume of an app's first pods.
type disk struct {
	claim     string
	gigabytes float64
	megabytes int64 // a second, as the data mover gets through it
}

// apps are sized so that a restore of one takes between ten seconds and a
// minute at the simulation's pace, and volumes from a minute to half an hour.
var apps = []app{
	{"shop", "red", 300, 140, 24, 30, 24, []disk{{"catalog-db", 6.5, 95}, {"orders-db", 9.2, 110}, {"uploads", 4.1, 60}}, 0},
	{"billing", "blue", 140, 120, 14, 16, 14, []disk{{"ledger-db", 12.4, 120}, {"invoices", 5.3, 70}}, 0},
	{"crm", "green", 92, 30, 6, 8, 6, []disk{{"crm-db", 3.7, 80}}, 20},
	{"media", "red", 210, 60, 12, 12, 10, []disk{{"originals", 38.6, 26}, {"thumbnails", 11.8, 40}}, 0},
	{"ops", "platform", 60, 45, 5, 10, 5, []disk{{"metrics", 7.9, 90}}, 0},
	{"erp", "blue", 180, 90, 10, 14, 9, []disk{{"erp-db", 21.5, 100}}, 0},
	{"web", "green", 75, 24, 8, 6, 8, nil, 12},
}

// smallNamespaces take only so many ConfigMaps and Secrets each; a restore
// into one of them fails for the rest.
var smallNamespaces = map[string]int{"ops-trial": 40, "crm-rollback": 89}

var nodes = []string{"worker-1", "worker-2", "worker-3"}
