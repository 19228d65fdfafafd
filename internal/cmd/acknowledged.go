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

// acknowledgementStore is the file that remembers, on this machine, which findings a person has acknowledged.
type acknowledgementStore struct {
	dir    statedir.Dir
	dirErr error // why there is no such folder
}

const (
	acknowledgedFile    = "findings.json"
	maxAcknowledgedSize = 4 << 20 // the largest file to read
	maxAcknowledgedKeys = 5000    // the number of keys to keep, the newest
	acknowledgedFormat  = 2       // the version of the file's format; 1 had no version, and named clusters by contexts
)

func (c *localFiles) openAcknowledgements() *acknowledgementStore {
	dir, err := c.stateDir()
	dir = filepath.Join(dir, "acknowledged")
	return &acknowledgementStore{statedir.Dir{Path: dir, Suffix: ".json", MaxFiles: 1, Clock: c.process.clock}, err}
}

// acknowledgements is the content of the file. Fields unknown to this version are kept unchanged.
type acknowledgements struct {
	rawFields map[string]json.RawMessage
	clusters  []acknowledgedCluster
}

// acknowledgedCluster holds findings by [assess.Finding.Key].
type acknowledgedCluster struct {
	clusterIdentity
	rawFields map[string]json.RawMessage
	findings  map[string]acknowledgement
}

// clusterIdentity tells clusters apart: by the uid of kube-system, else by address and certificate authority. A
// context's name alone may lead to another cluster tomorrow. Clusters of the same uid, as one restored from another's
// etcd, have contexts of different names. All but the context is empty in what was migrated from format 1.
type clusterIdentity struct {
	Context              string `json:"context"`
	UID                  string `json:"uid,omitempty"`
	Server               string `json:"server,omitempty"`
	CertificateAuthority string `json:"certificateAuthority,omitempty"`
}

// acknowledgement holds the fields of one acknowledged finding: time, the namespace of its Velero, and until, when
// the acknowledgement ends.
type acknowledgement map[string]json.RawMessage

func (a acknowledgement) fieldText(field string) (text string) {
	_ = json.Unmarshal(a[field], &text) // an invalid value counts as empty
	return text
}

// hasEnded reports whether an acknowledgement has ended. One with an unreadable end has ended.
func (a acknowledgement) hasEnded(now time.Time) bool {
	if _, limited := a["until"]; !limited {
		return false
	}
	until, err := time.Parse(time.RFC3339, a.fieldText("until"))
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
	quoted, _ := json.Marshal(text) // encoding a string cannot fail
	return quoted
}

// LoadAll returns the acknowledgements. For a file that others could have written, or that is damaged, the error says
// what to do.
func (s *acknowledgementStore) LoadAll() (*acknowledgements, error) {
	if s.dirErr != nil {
		return nil, s.dirErr
	}
	text, err := s.dir.Read(acknowledgedFile, maxAcknowledgedSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &acknowledgements{}, nil
	case errors.Is(err, statedir.ErrTooLarge):
		return nil, s.damagedError("is too large")
	case err != nil:
		return nil, err
	}
	all, err := parseAcknowledgements(text)
	if err != nil {
		return nil, s.damagedError("cannot be read: " + err.Error())
	}
	return all, nil
}

func (s *acknowledgementStore) damagedError(problem string) error {
	path := filepath.Join(s.dir.Path, acknowledgedFile)
	return &safefile.Error{Path: path, Problem: problem, FixCommand: safefile.MoveAwayCommand(path)}
}

func parseAcknowledgements(text []byte) (*acknowledgements, error) {
	all := &acknowledgements{}
	if err := json.Unmarshal(text, &all.rawFields); err != nil {
		return nil, err
	}
	version := 0
	if json.Unmarshal(all.rawFields["version"], &version) != nil { // absent, or a context with this name
		return migrateAcknowledgements(text)
	}
	if version != acknowledgedFormat {
		return nil, fmt.Errorf("its format is %d, and this veltui knows %d", version, acknowledgedFormat)
	}
	var clusters []map[string]json.RawMessage
	if err := json.Unmarshal(all.rawFields["clusters"], &clusters); err != nil {
		return nil, err
	}
	for _, fields := range clusters {
		entry := acknowledgedCluster{rawFields: fields}
		whole, err := json.Marshal(fields)
		if err = errors.Join(err, json.Unmarshal(whole, &entry.clusterIdentity)); err == nil {
			err = json.Unmarshal(fields["findings"], &entry.findings)
		}
		if err != nil {
			return nil, err
		}
		all.clusters = append(all.clusters, entry)
	}
	return all, nil
}

// migrateAcknowledgements reads format 1, a time by context and key. It drops keys without an object's UID, because
// nothing tells which cluster they belong to.
func migrateAcknowledgements(text []byte) (*acknowledgements, error) {
	var old map[string]map[string]time.Time
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, err
	}
	all := &acknowledgements{}
	for _, context := range slices.Sorted(maps.Keys(old)) {
		entry := acknowledgedCluster{
			clusterIdentity: clusterIdentity{Context: context},
			findings:        map[string]acknowledgement{},
		}
		for key, acknowledged := range old[context] {
			if hasObjectUID(key) {
				entry.findings[key] = newAcknowledgement(acknowledged, "")
			}
		}
		all.clusters = append(all.clusters, entry)
	}
	return all, nil
}

// hasObjectUID reports whether the key of a finding begins with a UID instead of NAMESPACE/KIND/NAME.
func hasObjectUID(key string) bool {
	object, _, _ := strings.Cut(key, " ")
	return object != "" && !strings.Contains(object, "/")
}

// encodeFile encodes the file, without the oldest findings beyond maxAcknowledgedKeys.
func (all *acknowledgements) encodeFile() ([]byte, error) {
	all.dropOldest(maxAcknowledgedKeys)
	clusters := []map[string]json.RawMessage{}
	for _, entry := range all.clusters {
		if len(entry.findings) == 0 && entry.Server == "" {
			continue // all migrated keys are gone
		}
		fields := maps.Clone(entry.rawFields)
		name, err := json.Marshal(entry.clusterIdentity)
		if err = errors.Join(err, json.Unmarshal(name, &fields)); err == nil {
			fields["findings"], err = json.Marshal(entry.findings)
		}
		if err != nil {
			return nil, err
		}
		clusters = append(clusters, fields)
	}
	fields, err := maps.Clone(all.rawFields), error(nil)
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	fields["version"] = json.RawMessage(fmt.Sprint(acknowledgedFormat))
	if fields["clusters"], err = json.Marshal(clusters); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(fields, "", "  ")
	if err == nil && len(text) > maxAcknowledgedSize {
		err = errors.New("the file would be too large")
	}
	return text, err
}

func (all *acknowledgements) dropOldest(most int) {
	type place struct {
		time, key string
		cluster   int
	}
	var places []place
	for i, entry := range all.clusters {
		for key, a := range entry.findings {
			places = append(places, place{a.fieldText("time"), key, i})
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

// hasContext reports whether anything is acknowledged under a context's name.
func (all *acknowledgements) hasContext(context string) bool {
	return slices.ContainsFunc(all.clusters, func(c acknowledgedCluster) bool {
		return c.Context == context && len(c.findings) > 0
	})
}

// findClusters returns the entries of a cluster: its own, and the one migrated from its context.
func (all *acknowledgements) findClusters(name clusterIdentity) (found []acknowledgedCluster) {
	for _, entry := range all.clusters {
		migrated := entry.Context == name.Context && entry.UID == "" && entry.Server == ""
		if migrated || entry.isSameCluster(name) {
			found = append(found, entry)
		}
	}
	return found
}

func (n clusterIdentity) isSameCluster(other clusterIdentity) bool {
	if n.Context != other.Context || n.UID != other.UID {
		return false
	}
	return n.UID != "" || n.Server == other.Server && n.CertificateAuthority == other.CertificateAuthority
}

// activeKeys returns the keys of the findings that are acknowledged now.
func (all *acknowledgements) activeKeys(name clusterIdentity, now time.Time) map[string]bool {
	keys := map[string]bool{}
	for _, entry := range all.findClusters(name) {
		for key, a := range entry.findings {
			if !a.hasEnded(now) && (entry.Server != "" || hasObjectUID(key)) {
				keys[key] = true
			}
		}
	}
	return keys
}

func (all *acknowledgements) setKeys(name clusterIdentity, namespace string, keys map[string]bool, now time.Time) {
	i := slices.IndexFunc(
		all.clusters,
		func(c acknowledgedCluster) bool { return c.Server != "" && c.isSameCluster(name) },
	)
	if i < 0 {
		i = len(all.clusters)
		all.clusters = append(
			all.clusters,
			acknowledgedCluster{rawFields: map[string]json.RawMessage{}, clusterIdentity: name},
		)
	}
	own := &all.clusters[i]
	own.clusterIdentity = name
	if own.findings == nil {
		own.findings = map[string]acknowledgement{}
	}
	for key, on := range keys {
		if on {
			own.findings[key] = newAcknowledgement(now, namespace)
			continue
		}
		for _, entry := range all.findClusters(name) {
			if of := entry.findings[key].fieldText("namespace"); of == "" || of == namespace {
				delete(entry.findings, key)
			}
		}
	}
}

// clusterAcknowledgements is the part of the file about the cluster of a session.
type clusterAcknowledgements struct {
	*acknowledgementStore
	session *session.Session
	context string
}

func (s *acknowledgementStore) forCluster(conn cluster.Connection) *clusterAcknowledgements {
	return &clusterAcknowledgements{s, conn.Session, sanitize.FullLine(conn.Context)}
}

func (a *clusterAcknowledgements) identifyCluster(ctx context.Context) (clusterIdentity, error) {
	id, err := a.session.Identify(ctx)
	return clusterIdentity{a.context, string(id.UID), id.Server, id.CAFingerprint}, err
}

// LoadKeys returns the keys of the cluster's acknowledged findings.
func (a *clusterAcknowledgements) LoadKeys(ctx context.Context) (map[string]bool, error) {
	all, err := a.LoadAll()
	if err != nil {
		return nil, acknowledgementsUnusedError(err)
	}
	return a.selectKeys(ctx, all)
}

// selectKeys returns the keys of the cluster. It identifies the cluster only if something is acknowledged under its
// context's name.
func (a *clusterAcknowledgements) selectKeys(ctx context.Context, all *acknowledgements) (map[string]bool, error) {
	if !all.hasContext(a.context) {
		return nil, nil
	}
	name, err := a.identifyCluster(ctx)
	if err != nil {
		return nil, acknowledgementsUnusedError(err)
	}
	return all.activeKeys(name, a.dir.Clock()), nil
}

func acknowledgementsUnusedError(err error) error {
	return fmt.Errorf("acknowledgements are not used, so all findings are shown: %w", err)
}

// Set adds and removes keys of the cluster. It removes only keys about the Velero in the namespace.
func (a *clusterAcknowledgements) Set(ctx context.Context, namespace string, keys map[string]bool) error {
	if a.dirErr != nil {
		return a.dirErr
	}
	name, err := a.identifyCluster(ctx)
	if err != nil {
		return err
	}
	return a.updateKeys(name, namespace, keys)
}

// updateKeys reads the file again first, to keep what other programs have written.
func (s *acknowledgementStore) updateKeys(name clusterIdentity, namespace string, keys map[string]bool) error {
	unlock, err := s.dir.Lock(acknowledgedFile, statedir.LockTimeout)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := s.LoadAll()
	if err != nil {
		return err
	}
	all.setKeys(name, namespace, keys, s.dir.Clock())
	text, err := all.encodeFile()
	if err != nil {
		return err
	}
	return s.dir.Write(acknowledgedFile, text)
}
