package artifact

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func contents() Target {
	return Target{Kind: veleroapi.DownloadTargetKindBackupContents, Name: backupName}
}

var backupKinds = []veleroapi.DownloadTargetKind{
	veleroapi.DownloadTargetKindBackupLog, veleroapi.DownloadTargetKindBackupContents,
	veleroapi.DownloadTargetKindBackupVolumeSnapshots, veleroapi.DownloadTargetKindBackupItemOperations,
	veleroapi.DownloadTargetKindBackupResourceList, veleroapi.DownloadTargetKindBackupResults,
	veleroapi.DownloadTargetKindCSIBackupVolumeSnapshots, veleroapi.DownloadTargetKindCSIBackupVolumeSnapshotContents,
	veleroapi.DownloadTargetKindBackupVolumeInfos,
}

var restoreKinds = []veleroapi.DownloadTargetKind{
	veleroapi.DownloadTargetKindRestoreLog, veleroapi.DownloadTargetKindRestoreResults,
	veleroapi.DownloadTargetKindRestoreResourceList, veleroapi.DownloadTargetKindRestoreItemOperations,
	veleroapi.DownloadTargetKindRestoreVolumeInfo,
}

func TestOpenStreamsEveryKindAsStored(t *testing.T) {
	body := zip(strings.Repeat("what is stored\n", 1000))
	var headers atomic.Pointer[http.Header]
	b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
		headers.Store(&r.Header)
		if r.URL.Query().Get("X-Amz-Signature") != secret {
			t.Errorf("the URL was changed: %s", r.URL)
		}
		w.Header().Set("Set-Cookie", "a=b")
		serve(body)(w, r)
	})
	b.options.Config.BearerToken = "of-the-cluster"
	f := b.fetcher()
	targets := map[veleroapi.DownloadTargetKind]string{}
	for _, kind := range backupKinds {
		targets[kind] = backupName
	}
	for _, kind := range restoreKinds {
		targets[kind] = restoreName
	}
	for kind, name := range targets {
		s, err := f.Open(t.Context(), Target{Kind: kind, Name: name})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		got, err := io.ReadAll(s)
		if err != nil || string(got) != string(body) {
			t.Errorf("%s: %d bytes, %v; want %d as stored", kind, len(got), err, len(body))
		}
		if s.Size() != int64(len(body)) || s.BytesRead() != s.Size() || !s.modified.Equal(modified) {
			t.Errorf("%s: size %d, done %d, modified %s", kind, s.Size(), s.BytesRead(), s.modified)
		}
		if r := s.route; r.PlainHTTP || r.Via != "" || "http://"+r.Host != b.store.URL {
			t.Errorf("%s: route %+v", kind, r)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, h := range []string{"Authorization", "Cookie", "Referer"} {
			if got := headers.Load().Get(h); got != "" {
				t.Errorf("%s: the store was sent %s: %s", kind, h, got)
			}
		}
	}
	b.noneLeft()
	if got := int(b.asked.Load()); got != len(targets) {
		t.Errorf("Velero was asked %d times for %d artifacts", got, len(targets))
	}
}

func TestReaders(t *testing.T) {
	b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
		for kind, text := range samples {
			if strings.Contains(r.URL.Path, "/"+kind+"/") {
				serve(zip(text))(w, r)
				return
			}
		}
		refuseWith(w, 404, "NoSuchKey", "")
	})
	f := b.fetcher()
	for kind, name := range map[job.Kind]string{job.Backup: backupName, job.Restore: restoreName} {
		results, err := f.FetchResults(t.Context(), kind, name)
		if err != nil || len(results.Warnings.AllMessages()) == 0 {
			t.Errorf("%s results: %+v, %v", kind, results, err)
		}
		list, err := f.FetchResourceList(t.Context(), kind, name)
		if err != nil || len(list) == 0 {
			t.Errorf("%s resources: %+v, %v", kind, list, err)
		}
		operations, err := f.FetchItemOperations(t.Context(), kind, name)
		if err != nil || len(operations) == 0 {
			t.Errorf("%s operations: %+v, %v", kind, operations, err)
		}
		volumes, err := f.FetchVolumes(t.Context(), kind, name)
		if err != nil || len(volumes) == 0 {
			t.Errorf("%s volumes: %+v, %v", kind, volumes, err)
		}
	}
	text, err := f.OpenText(t.Context(), Target{Kind: veleroapi.DownloadTargetKindBackupLog, Name: backupName})
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var log strings.Builder
	if _, err := io.Copy(&log, text); err != nil || log.String() != samples["BackupLog"] {
		t.Errorf("log %q, %v", log.String(), err)
	}
	b.noneLeft()
}

func TestProbe(t *testing.T) {
	stored := zip("{}")
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    job.Presence
	}{
		{"present", serve(stored), job.Presence{State: job.Present, LastModified: modified}},
		{
			"no ranges",
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(stored) },
			job.Presence{State: job.Present},
		},
		{"absent", refuse(404, "NoSuchKey", "The specified key does not exist."), job.Presence{State: job.Absent}},
		{"absent, without words", http.NotFound, job.Presence{State: job.Absent}},
		{"forbidden", refuse(403, "AccessDenied", "Access Denied"), job.Presence{}},
		{"bucket gone", refuse(404, "NoSuchBucket", "no bucket"), job.Presence{}},
		{"empty", serve(nil), job.Presence{}},
		{"a web page", serve([]byte("<html>log in first")), job.Presence{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.Header.Get("Range") != "bytes=0-0" {
					t.Errorf("the store is asked %s, range %q", r.Method, r.Header.Get("Range"))
				}
				test.handler(w, r)
			})
			got, err := b.fetcher().Probe(t.Context(), contents())
			if err != nil {
				t.Fatal(err)
			}
			if (got.Unchecked == "") != (got.State == job.Present) {
				t.Errorf("state %d with reason %q", got.State, got.Unchecked)
			}
			hides(t, errors.New(got.Unchecked))
			got.Unchecked = ""
			if !got.LastModified.Equal(test.want.LastModified) || got.State != test.want.State {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			b.noneLeft()
		})
	}
}

func TestStoreAnswers(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    error
		says    string
		asked   int32
	}{
		{"404", refuse(404, "NoSuchKey", "gone"), ErrAbsent, "NoSuchKey", 1},
		{"403", refuse(403, "AccessDenied", "Access Denied"), ErrUnknowable, "403", 1},
		{"401", refuse(401, "", ""), ErrUnknowable, "401", 1},
		{"expired twice", refuse(403, "AccessDenied", "Request has expired"), ErrUnknowable, "expired", 2},
		{"500", refuse(500, "InternalError", "sorry"), nil, "500 Internal Server Error (InternalError: sorry)", 1},
		{"204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, nil, "204", 1},
		{
			"it tells the secret",
			refuse(403, "SignatureDoesNotMatch", "you sent "+secret+"\u009b2J"),
			ErrUnknowable,
			redacted,
			1,
		},
		{
			"it tells a URL",
			refuse(400, "Odd", "see http://other/x?token="+secret),
			nil,
			"http://other/x?" + redacted,
			1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t, false, test.handler)
			_, err := b.fetcher().Open(t.Context(), contents())
			fails(t, err, test.want, test.says)
			if strings.ContainsRune(err.Error(), 0x9b) {
				t.Error("the error holds an escape")
			}
			if b.asked.Load() != test.asked {
				t.Errorf("Velero was asked %d times, want %d", b.asked.Load(), test.asked)
			}
			b.noneLeft()
		})
	}
}

func TestExpiredURLIsAskedForAgain(t *testing.T) {
	body := zip("fresh")
	t.Run("the store says so", func(t *testing.T) {
		var hits atomic.Int32
		b := newBed(t, false, func(w http.ResponseWriter, r *http.Request) {
			if hits.Add(1) == 1 {
				refuseWith(w, 403, "AccessDenied", "Request has expired")
				return
			}
			serve(body)(w, r)
		})
		s, err := b.fetcher().Open(t.Context(), contents())
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if b.asked.Load() != 2 {
			t.Errorf("asked %d times", b.asked.Load())
		}
		b.noneLeft()
	})
	t.Run("the request says so", func(t *testing.T) {
		b := newBed(t, false, serve(body))
		b.sign = func(ctx context.Context, b *bed, r *veleroapi.DownloadRequest) {
			until := r.CreationTimestamp.Add(10 * time.Minute)
			if b.asked.Load() == 1 {
				until = r.CreationTimestamp.Add(-time.Minute)
			}
			b.answer(ctx, r, b.urlFor(r), until)
		}
		// A clock that is a day off must change nothing.
		b.options.Clock = func() time.Time { return time.Now().Add(24 * time.Hour) }
		s, err := b.fetcher().Open(t.Context(), contents())
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if b.asked.Load() != 2 {
			t.Errorf("asked %d times", b.asked.Load())
		}
	})
}

func TestTLS(t *testing.T) {
	body := zip("over TLS")
	certificate := func(b *bed) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.store.Certificate().Raw})
	}
	setCA := func(b *bed, change func(*veleroapi.ObjectStorageLocation)) {
		change(b.location.Spec.ObjectStorage)
		b.location.Spec.Config["insecureSkipTLSVerify"] = "true" // Velero's affair, not ours.
		if err := b.api.Update(b.t.Context(), b.location); err != nil {
			b.t.Fatal(err)
		}
	}
	fetch := func(t *testing.T, b *bed) error {
		b.options.Config.TLSClientConfig.Insecure = true // It is for the cluster alone.
		b.options.Config.TLSClientConfig.CAData = nil
		s, err := b.fetcher().Open(t.Context(), contents())
		if err != nil {
			return err
		}
		defer s.Close()
		got, err := io.ReadAll(s)
		if err == nil && string(got) != string(body) {
			err = errors.New("other bytes")
		}
		if s.route.PlainHTTP {
			t.Error("TLS is called clear")
		}
		return err
	}
	secretFor := func(b *bed, key string) *corev1.SecretKeySelector {
		b.create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "store-ca"},
			Data:       map[string][]byte{"ca.crt": certificate(b)},
		})
		return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "store-ca"}, Key: key}
	}

	t.Run("unknown authority", func(t *testing.T) {
		b := newBed(t, true, serve(body))
		setCA(b, func(*veleroapi.ObjectStorageLocation) {})
		fails(t, fetch(t, b), nil, "signed by an unknown authority", "--cacert", "objectStorage.caCert")
		b.noneLeft()
	})
	t.Run("caCert", func(t *testing.T) {
		b := newBed(t, true, serve(body))
		setCA(b, func(o *veleroapi.ObjectStorageLocation) { o.CACert = certificate(b) })
		if err := fetch(t, b); err != nil {
			t.Error(err)
		}
	})
	t.Run("caCert that is none", func(t *testing.T) {
		b := newBed(t, true, serve(body))
		setCA(b, func(o *veleroapi.ObjectStorageLocation) { o.CACert = []byte("not PEM") })
		fails(t, fetch(t, b), nil, "caCert of location main holds no PEM certificate")
	})
	t.Run("caCertRef", func(t *testing.T) {
		b := newBed(t, true, serve(body))
		setCA(b, func(o *veleroapi.ObjectStorageLocation) { o.CACertRef = secretFor(b, "ca.crt") })
		if err := fetch(t, b); err != nil {
			t.Error(err)
		}
	})
	t.Run("caCertRef with another key", func(t *testing.T) {
		b := newBed(t, true, serve(body))
		setCA(b, func(o *veleroapi.ObjectStorageLocation) { o.CACertRef = secretFor(b, "other") })
		fails(t, fetch(t, b), nil, "holds no PEM certificate under other")
	})
	t.Run("caCertRef that is not there", func(t *testing.T) {
		b := newBed(t, true, serve(body))
		setCA(b, func(o *veleroapi.ObjectStorageLocation) {
			o.CACertRef = &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "gone"},
				Key:                  "x",
			}
		})
		fails(t, fetch(t, b), nil, "secret gone, which is not there or you may not read")
	})
	t.Run("CA file", func(t *testing.T) {
		b := newBed(t, true, serve(body))
		b.options.CAFile = filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(b.options.CAFile, certificate(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := fetch(t, b); err != nil {
			t.Error(err)
		}
	})
	t.Run("another host's certificate", func(t *testing.T) {
		b := newBed(t, true, serve(body))
		other := strings.Replace(b.store.URL, "127.0.0.1", "localhost", 1)
		b.location.Spec.Config["s3Url"] = other
		setCA(b, func(o *veleroapi.ObjectStorageLocation) { o.CACert = certificate(b) })
		b.sign = signURL(other + "/x?sig=" + secret)
		fails(t, fetch(t, b), nil, "is not valid")
	})
}

func TestNewRefusesABadCAFile(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(bad, []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBed(t, false, serve(nil))
	for _, file := range []string{bad, bad + "-missing"} {
		b.options.CAFile = file
		if _, err := New(b.options); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestWhatVeleroCannotSign(t *testing.T) {
	b := newBed(t, false, serve(nil))
	f := b.fetcher()
	_, err := f.Open(t.Context(), Target{Kind: veleroapi.DownloadTargetKindBackupLog, Name: "nobody"})
	fails(t, err, ErrUnknowable, "no backup nobody")
	p, err := f.Probe(t.Context(), Target{Kind: veleroapi.DownloadTargetKindRestoreLog, Name: "nobody"})
	if err != nil || p.State != job.PresenceUnknown || !strings.Contains(p.Unchecked, "no restore nobody") {
		t.Errorf("probe of a restore that is gone: %+v, %v", p, err)
	}
	if err := b.api.Delete(
		t.Context(),
		&veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: backupName}},
	); err != nil {
		t.Fatal(err)
	}
	_, err = f.Open(t.Context(), Target{Kind: veleroapi.DownloadTargetKindRestoreLog, Name: restoreName})
	fails(t, err, ErrUnknowable, "no backup "+backupName)
	if b.asked.Load() != 0 {
		t.Error("Velero was asked what it could never answer")
	}
}

func TestRights(t *testing.T) {
	body := zip("{}")
	b := newBed(t, false, serve(body))
	user := fmt.Sprintf("reader-%s", b.namespace)
	config, err := shared.ControlPlane(t).AddUser(user)
	if err != nil {
		t.Fatal(err)
	}
	b.options.Config = config
	f := b.fetcher()
	_, err = f.Open(t.Context(), contents())
	fails(t, err, ErrForbidden, "creating a download request", "forbidden")

	// These four are all it takes if the store needs nothing special; it is on
	// loopback here, so its location must be readable too.
	b.grant(user, []string{"create", "get", "watch", "delete"}, "downloadrequests")
	eventually(t, "the right to create download requests", func() bool {
		_, err = f.Open(t.Context(), contents())
		return !errors.Is(err, ErrForbidden)
	})
	fails(t, err, ErrUnsafeURL, "this machine")
	b.grant(user, []string{"get"}, "backups", "backupstoragelocations")
	eventually(t, "the rights", func() bool {
		s, err := f.Open(t.Context(), contents())
		if err == nil {
			s.Close()
		}
		return err == nil
	})
	b.noneLeft()
}

func TestKindThatTheCRDDoesNotKnow(t *testing.T) {
	b := newBed(t, false, serve(nil))
	_, err := b.fetcher().Open(t.Context(), Target{Kind: "BackupFromTheFuture", Name: backupName})
	fails(t, err, nil, "BackupFromTheFuture", "Unsupported value")
	got := b.fetcher().
		explainCreate(t.Context(), Target{Kind: veleroapi.DownloadTargetKindRestoreVolumeInfo}, errors.Unwrap(errors.Unwrap(err)))
	fails(t, got, nil, "came with Velero 1.14")
}
