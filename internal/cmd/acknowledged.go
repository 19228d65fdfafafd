package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/statedir"
)

// acknowledgedStore is the file that remembers on this machine which findings a person has seen.
type acknowledgedStore struct {
	dir statedir.Dir
	err error // there is no such folder
}

const (
	acknowledgedFile  = "findings.json"
	acknowledgedBytes = 4 << 20 // that are read
	acknowledgedKeys  = 5000    // that are kept, the newest
	acknowledgedForm  = 2       // the version of the file's format; 1 had none, and named clusters by contexts
)

func (c *files) acknowledgedStore() *acknowledgedStore {
	dir, err := c.stateDir()
	dir = filepath.Join(dir, "acknowledged")
	return &acknowledgedStore{statedir.Dir{Path: dir, Suffix: ".json", Files: 1, Clock: c.clock}, err}
}

// acknowledgements is the content of the file. Fields that this version does not know stay as they are.
type acknowledgements struct {
	fields   map[string]json.RawMessage
	clusters []acknowledgedCluster
}

// acknowledgedCluster holds findings by [assess.Finding.Key].
type acknowledgedCluster struct {
	clusterName
	fields   map[string]json.RawMessage
	findings map[string]acknowledgement
}

// clusterName tells clusters apart: by the uid of kube-system, else by address and certificate authority. A context's
// name alone may lead to another cluster tomorrow. Clusters of the same uid, as one restored from another's etcd, have
// contexts of different names. All but the context is empty in what was migrated from format 1.
type clusterName struct {
	Context              string `json:"context"`
	UID                  string `json:"uid,omitempty"`
	Server               string `json:"server,omitempty"`
	CertificateAuthority string `json:"certificateAuthority,omitempty"`
}

// acknowledgement is one finding's. It has a time; namespace is that of the Velero that it is about, and until, when it
// ends.
type acknowledgement map[string]json.RawMessage

func (a acknowledgement) text(field string) (text string) {
	_ = json.Unmarshal(a[field], &text) // an odd value says nothing
	return text
}

// isOver reports whether an acknowledgement has ended. An end that cannot be read has passed.
func (a acknowledgement) isOver(now time.Time) bool {
	if _, limited := a["until"]; !limited {
		return false
	}
	until, err := time.Parse(time.RFC3339, a.text("until"))
	return err != nil || !now.Before(until)
}

func newAcknowledgement(now time.Time, namespace string) acknowledgement {
	a := acknowledgement{"time": quoteJSON(now.UTC().Format(time.RFC3339))}
	if namespace != "" {
		a["namespace"] = quoteJSON(namespace)
	}
	return a
}

func quoteJSON(text string) json.RawMessage {
	quoted, _ := json.Marshal(text) // a string has no error
	return quoted
}

// Read returns what was acknowledged. A file that others could have written, or that is damaged, is an error that says
// what to do.
func (s *acknowledgedStore) Read() (*acknowledgements, error) {
	if s.err != nil {
		return nil, s.err
	}
	text, err := s.dir.Read(acknowledgedFile, acknowledgedBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &acknowledgements{}, nil
	case errors.Is(err, statedir.ErrTooLarge):
		return nil, s.damaged("is too large")
	case err != nil:
		return nil, err
	}
	all, err := parseAcknowledgements(text)
	if err != nil {
		return nil, s.damaged("cannot be read: " + err.Error())
	}
	return all, nil
}

func (s *acknowledgedStore) damaged(problem string) error {
	path := filepath.Join(s.dir.Path, acknowledgedFile)
	return &safefile.Error{Path: path, Problem: problem, Mend: safefile.MoveAway(path)}
}

func parseAcknowledgements(text []byte) (*acknowledgements, error) {
	all := &acknowledgements{}
	if err := json.Unmarshal(text, &all.fields); err != nil {
		return nil, err
	}
	version := 0
	if json.Unmarshal(all.fields["version"], &version) != nil { // absent, or a context of this name
		return migrateAcknowledgements(text)
	}
	if version != acknowledgedForm {
		return nil, fmt.Errorf("its format is %d, and this veltui knows %d", version, acknowledgedForm)
	}
	var clusters []map[string]json.RawMessage
	if err := json.Unmarshal(all.fields["clusters"], &clusters); err != nil {
		return nil, err
	}
	for _, fields := range clusters {
		one := acknowledgedCluster{fields: fields}
		whole, err := json.Marshal(fields)
		if err = errors.Join(err, json.Unmarshal(whole, &one.clusterName)); err == nil {
			err = json.Unmarshal(fields["findings"], &one.findings)
		}
		if err != nil {
			return nil, err
		}
		all.clusters = append(all.clusters, one)
	}
	return all, nil
}

// migrateAcknowledgements reads format 1, a time by context and key. A key without an object's uid is left out: which
// cluster it is of, nothing says.
func migrateAcknowledgements(text []byte) (*acknowledgements, error) {
	var old map[string]map[string]time.Time
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, err
	}
	all := &acknowledgements{}
	for _, context := range slices.Sorted(maps.Keys(old)) {
		one := acknowledgedCluster{clusterName: clusterName{Context: context}, findings: map[string]acknowledgement{}}
		for key, acknowledged := range old[context] {
			if hasObjectUID(key) {
				one.findings[key] = newAcknowledgement(acknowledged, "")
			}
		}
		all.clusters = append(all.clusters, one)
	}
	return all, nil
}

// hasObjectUID reports whether the key of a finding begins with a uid, else with NAMESPACE/KIND/NAME.
func hasObjectUID(key string) bool {
	object, _, _ := strings.Cut(key, " ")
	return object != "" && !strings.Contains(object, "/")
}

// encode drops the oldest beyond the bound.
func (all *acknowledgements) encode() ([]byte, error) {
	all.bound(acknowledgedKeys)
	clusters := []map[string]json.RawMessage{}
	for _, one := range all.clusters {
		if len(one.findings) == 0 && one.Server == "" {
			continue // what was migrated is used up
		}
		fields := maps.Clone(one.fields)
		name, err := json.Marshal(one.clusterName)
		if err = errors.Join(err, json.Unmarshal(name, &fields)); err == nil {
			fields["findings"], err = json.Marshal(one.findings)
		}
		if err != nil {
			return nil, err
		}
		clusters = append(clusters, fields)
	}
	fields, err := maps.Clone(all.fields), error(nil)
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	fields["version"] = json.RawMessage(fmt.Sprint(acknowledgedForm))
	if fields["clusters"], err = json.Marshal(clusters); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(fields, "", "  ")
	if err == nil && len(text) > acknowledgedBytes {
		err = errors.New("the file would be too large")
	}
	return text, err
}

func (all *acknowledgements) bound(most int) {
	type place struct {
		time, key string
		cluster   int
	}
	var places []place
	for i, one := range all.clusters {
		for key, a := range one.findings {
			places = append(places, place{a.text("time"), key, i})
		}
	}
	slices.SortFunc(
		places,
		func(a, b place) int { return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.key, b.key)) },
	)
	for _, p := range places[min(most, len(places)):] {
		delete(all.clusters[p.cluster].findings, p.key)
	}
}

// has reports whether anything is acknowledged under a context's name.
func (all *acknowledgements) has(context string) bool {
	return slices.ContainsFunc(all.clusters, func(c acknowledgedCluster) bool {
		return c.Context == context && len(c.findings) > 0
	})
}

// of returns what was acknowledged of a cluster: under its own name, and what was migrated of its context.
func (all *acknowledgements) of(name clusterName) (found []acknowledgedCluster) {
	for _, one := range all.clusters {
		migrated := one.Context == name.Context && one.UID == "" && one.Server == ""
		if migrated || one.is(name) {
			found = append(found, one)
		}
	}
	return found
}

func (n clusterName) is(other clusterName) bool {
	if n.Context != other.Context || n.UID != other.UID {
		return false
	}
	return n.UID != "" || n.Server == other.Server && n.CertificateAuthority == other.CertificateAuthority
}

// keys are those of the findings that are acknowledged now.
func (all *acknowledgements) keys(name clusterName, now time.Time) map[string]bool {
	keys := map[string]bool{}
	for _, one := range all.of(name) {
		for key, a := range one.findings {
			if !a.isOver(now) && (one.Server != "" || hasObjectUID(key)) {
				keys[key] = true
			}
		}
	}
	return keys
}

func (all *acknowledgements) set(name clusterName, namespace string, keys map[string]bool, now time.Time) {
	i := slices.IndexFunc(all.clusters, func(c acknowledgedCluster) bool { return c.Server != "" && c.is(name) })
	if i < 0 {
		i = len(all.clusters)
		all.clusters = append(
			all.clusters,
			acknowledgedCluster{fields: map[string]json.RawMessage{}, clusterName: name},
		)
	}
	own := &all.clusters[i]
	own.clusterName = name
	if own.findings == nil {
		own.findings = map[string]acknowledgement{}
	}
	for key, on := range keys {
		if on {
			own.findings[key] = newAcknowledgement(now, namespace)
			continue
		}
		for _, one := range all.of(name) {
			if of := one.findings[key].text("namespace"); of == "" || of == namespace {
				delete(one.findings, key)
			}
		}
	}
}

// clusterAcknowledged is the part of the file about the cluster of a session.
type clusterAcknowledged struct {
	*acknowledgedStore
	session *session.Session
	context string
}

func (s *acknowledgedStore) forCluster(conn cluster.Connection) *clusterAcknowledged {
	return &clusterAcknowledged{s, conn.Session, sanitize.Whole(conn.Context)}
}

func (a *clusterAcknowledged) name(ctx context.Context) (clusterName, error) {
	id, err := a.session.Identify(ctx)
	return clusterName{a.context, string(id.UID), id.Server, id.CA}, err
}

// Keys returns the keys of the cluster's findings that were acknowledged.
func (a *clusterAcknowledged) Keys(ctx context.Context) (map[string]bool, error) {
	all, err := a.Read()
	if err != nil {
		return nil, unusedAcknowledgements(err)
	}
	return a.keysIn(ctx, all)
}

// keysIn asks the cluster only where something is acknowledged under its context's name.
func (a *clusterAcknowledged) keysIn(ctx context.Context, all *acknowledgements) (map[string]bool, error) {
	if !all.has(a.context) {
		return nil, nil
	}
	name, err := a.name(ctx)
	if err != nil {
		return nil, unusedAcknowledgements(err)
	}
	return all.keys(name, a.dir.Clock()), nil
}

func unusedAcknowledgements(err error) error {
	return fmt.Errorf("acknowledgements are not used, so all findings are shown: %w", err)
}

// Set adds and removes keys of the cluster. Those that it removes are about the Velero in the namespace.
func (a *clusterAcknowledged) Set(ctx context.Context, namespace string, keys map[string]bool) error {
	if a.err != nil {
		return a.err
	}
	name, err := a.name(ctx)
	if err != nil {
		return err
	}
	return a.update(name, namespace, keys)
}

// update reads the file anew, so that what other programs have written stays.
func (s *acknowledgedStore) update(name clusterName, namespace string, keys map[string]bool) error {
	unlock, err := s.dir.Lock(acknowledgedFile, statedir.Patience)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := s.Read()
	if err != nil {
		return err
	}
	all.set(name, namespace, keys, s.dir.Clock())
	text, err := all.encode()
	if err != nil {
		return err
	}
	return s.dir.Write(acknowledgedFile, text)
}
