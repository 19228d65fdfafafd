package sim

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// backupKey and restoreKey are the folders of a job in the store.
func backupKey(name string) string  { return "backups/" + name + "/" }
func restoreKey(name string) string { return "restores/" + name + "/" }

// storeBackup uploads all artifacts of a backup (PutBackup in
// pkg/persistence/object_store.go). The CSI snapshot lists are not among them
// since 1.17.
func (s *Sim) storeBackup(record *BackupRecord, at time.Time) {
	r := record.frozen()
	folder := backupKey(r.Name)
	put := func(suffix string, make func() ([]byte, error)) {
		s.storage.put(folder+r.Name+suffix, at, make)
	}
	put("-logs.gz", zipped(r.log))
	put(".tar.gz", r.tarball)
	put("-volumesnapshots.json.gz", zippedJSON(func() any { return nil }))
	put("-itemoperations.json.gz", zippedJSON(func() any { return r.operationList() }))
	put("-resource-list.json.gz", zippedJSON(func() any { return r.resourceList() }))
	put("-results.gz", zippedJSON(func() any { return resultsFile(r.Warnings, r.Errors) }))
	put("-volumeinfo.json.gz", zippedJSON(func() any { return r.volumeInfos() }))
	put("-podvolumebackups.json.gz", zippedJSON(func() any { return []any{} }))
	s.storage.put(folder+"velero-backup.json", at, func() ([]byte, error) { return r.meta, nil })
	s.backupRecords[r.Name] = r
}

// storeRestore uploads all artifacts of a restore.
func (s *Sim) storeRestore(record *RestoreRecord, at time.Time) {
	r := record.frozen()
	folder := restoreKey(r.Name)
	put := func(name string, make func() ([]byte, error)) { s.storage.put(folder+name, at, make) }
	put("restore-"+r.Name+"-logs.gz", zipped(r.log))
	put("restore-"+r.Name+"-results.gz", zippedJSON(func() any { return resultsFile(r.Warnings, r.Errors) }))
	put("restore-"+r.Name+"-resource-list.json.gz", zippedJSON(func() any { return r.resourceList() }))
	put("restore-"+r.Name+"-itemoperations.json.gz", zippedJSON(func() any { return r.operationList() }))
	put(r.Name+"-volumeinfo.json.gz", zippedJSON(func() any { return r.volumeInfos() }))
}

func zipped(make func() []byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		if _, err := z.Write(make()); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
	}
}

func zippedJSON(make func() any) func() ([]byte, error) {
	return func() ([]byte, error) {
		text, err := json.Marshal(make())
		if err != nil {
			return nil, err
		}
		return zipped(func() []byte { return append(text, '\n') })()
	}
}

func resultsFile(warnings, errors Results) any {
	return map[string]Results{"warnings": warnings, "errors": errors}
}

// tarball is the backup's contents in format 1.1.0: every item twice, the
// second time under its API version (pkg/backup/item_backupper.go).
func (r *BackupRecord) tarball() ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	write := func(name string, body []byte) error {
		err := t.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: name, Size: int64(len(body)), Mode: 0o755, ModTime: r.Started,
		})
		if err == nil {
			_, err = t.Write(body)
		}
		if err != nil {
			return fmt.Errorf("writing %s into the tarball of %s: %w", name, r.Name, err)
		}
		return nil
	}
	if err := write("metadata/version", []byte("1.1.0\n")); err != nil {
		return nil, err
	}
	for _, item := range r.Items {
		place := "cluster/" + item.Name + ".json"
		if item.Namespace != "" {
			place = "namespaces/" + item.Namespace + "/" + item.Name + ".json"
		}
		folder := "resources/" + item.GroupResource() + "/"
		if err := write(folder+place, item.Object); err != nil {
			return nil, err
		}
		if err := write(folder+item.Version+"-preferredversion/"+place, item.Object); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (r *BackupRecord) resourceList() map[string][]string {
	list := map[string][]string{}
	for _, item := range r.Items {
		list[item.groupVersionKind()] = append(list[item.groupVersionKind()], item.path())
	}
	for _, entries := range list {
		slices.Sort(entries)
	}
	return list
}

func (r *RestoreRecord) resourceList() map[string][]string {
	list := map[string][]string{}
	for _, o := range r.Outcomes {
		path := o.Item.Name
		if o.Namespace != "" {
			path = o.Namespace + "/" + path
		}
		list[o.groupVersionKind()] = append(list[o.groupVersionKind()], path+"("+o.Action+")")
	}
	for _, entries := range list {
		slices.Sort(entries)
	}
	return list
}

// logLines writes a log in the form of Velero's: one line a message, spread
// over the time that the job took.
type logLines struct {
	out        bytes.Buffer
	job        string
	from, to   time.Time
	line, last int
}

func (l *logLines) add(level, message, source, fields string) {
	at := l.from
	if l.last > 0 {
		at = at.Add(l.to.Sub(l.from) * time.Duration(l.line) / time.Duration(l.last))
	}
	if l.line < l.last {
		l.line++
	}
	fmt.Fprintf(&l.out, "time=%q level=%s msg=%q %s logSource=%q\n", at.UTC().Format(time.RFC3339), level, message,
		strings.TrimSpace(l.job+" "+fields), "github.com/vmware-tanzu/velero@v1.18.3/pkg/"+source)
}

func (l *logLines) results(level string, r Results) {
	for _, message := range slices.Concat(r.Velero, r.Cluster) {
		l.add(level, message, "backup/backup.go:740", "")
	}
	for _, namespace := range sortedKeys(r.Namespaces) {
		for _, message := range r.Namespaces[namespace] {
			l.add(level, message, "backup/backup.go:740", "namespace="+namespace)
		}
	}
}

func (r *BackupRecord) log() []byte {
	l := &logLines{job: "backup=" + r.Namespace + "/" + r.Name, from: r.Started, to: r.Completed, last: len(r.Items) + 4}
	l.add("info", "Setting up backup temp file", "controller/backup_controller.go:745", "")
	l.add("info", "Writing backup version file", "backup/backup.go:276", "")
	for n, item := range r.Items {
		l.add("info", fmt.Sprintf("Backed up %d items out of an estimated total of %d (estimate will change throughout the backup)", n+1, len(r.Items)),
			"backup/backup.go:595", "name="+item.Name+" namespace="+item.Namespace+" progress= resource="+item.GroupResource())
	}
	l.results("warning", r.Warnings)
	l.results("error", r.Errors)
	l.add("info", "Backup completed", "controller/backup_controller.go:950", "")
	return l.out.Bytes()
}

func (r *RestoreRecord) log() []byte {
	l := &logLines{job: "restore=" + r.Namespace + "/" + r.Name, from: r.Started, to: r.Completed, last: len(r.Outcomes) + 4}
	l.add("info", "starting restore", "controller/restore_controller.go:578", "")
	l.add("info", "Starting restore of backup "+r.Namespace+"/"+r.Backup, "restore/restore.go:719", "")
	for n, o := range r.Outcomes {
		l.add("info", fmt.Sprintf("Restored %d items out of an estimated total of %d (estimate will change throughout the restore)", n+1, len(r.Outcomes)),
			"restore/restore.go:1084", "name="+o.Name+" namespace="+o.Namespace+" progress= resource="+o.GroupResource())
	}
	l.results("warning", r.Warnings)
	l.results("error", r.Errors)
	l.add("info", "restore completed", "controller/restore_controller.go:640", "")
	return l.out.Bytes()
}
