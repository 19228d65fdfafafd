package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/demo/replay"
	"github.com/veltui/veltui/internal/demo/responder"
	"github.com/veltui/veltui/internal/demo/scene"
	"github.com/veltui/veltui/internal/demo/store"
)

// Options say what the demo shows: a scene, recordings, or, with neither, a
// story of its own that goes on for ever.
type Options struct {
	// Scene is read once.
	Scene io.Reader
	// Recordings is a tree of folders with recordings. All begin at once.
	Recordings fs.FS
	// Speed is how many times as fast as they were recorded recordings are
	// played; 1 if zero.
	Speed float64
	// Clock is the cluster's; nil means time.Now.
	Clock func() time.Time
	// UID is that of namespace kube-system, which tells one cluster from another; a new one for each demo if it is empty.
	UID types.UID
}

// Demo is a cluster that is served.
type Demo struct {
	// Dir is a private folder that is removed in the end.
	Dir string
	// Kubeconfig is a file in it.
	Kubeconfig string

	options   Options
	cluster   *cluster.Cluster
	store     *store.Store
	responder *responder.Responder
	// api and files are where the API and the object store are served.
	api, files net.Listener
	servers    []*http.Server
	stop       context.CancelFunc
	group      sync.WaitGroup

	mu     sync.Mutex
	failed error
}

// pace is how long the responder takes for a step.
const pace = 2 * time.Second

// Start serves a cluster until Close. Bad input costs nothing: it is read
// before anything is served.
func Start(o Options) (*Demo, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	d := &Demo{options: o, cluster: cluster.New(o.Clock), store: store.New(o.Scene == nil)}
	if err := d.start(); err != nil {
		d.discard()
		return nil, err
	}
	return d, nil
}

func (d *Demo) start() error {
	if err := d.listen(); err != nil {
		return err
	}
	play, err := d.load()
	if err != nil {
		return err
	}
	if err := d.identify(); err != nil {
		return err
	}
	token := rand.Text()
	if err := d.secure(token); err != nil {
		return err
	}
	d.responder = responder.Start(responder.Options{
		Cluster: d.cluster, Store: d.store, StoreURL: d.storeURL(), Pace: pace, Clock: d.options.Clock,
	})
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.serve(ctx, d.api, d.cluster.API(token))
	d.serve(ctx, d.files, d.store)
	d.group.Go(func() { d.note(play(ctx)) })
	return nil
}

// identify makes namespace kube-system, whose uid tells this cluster from all others.
func (d *Demo) identify() error {
	o := item{"v1/Namespace", "", metav1.NamespaceSystem}.object()
	o.SetUID(cmp.Or(d.options.UID, uuid.NewUUID()))
	o.SetLabels(map[string]string{corev1.LabelMetadataName: metav1.NamespaceSystem})
	o.SetCreationTimestamp(metav1.NewTime(d.options.Clock().Add(-90 * 24 * time.Hour)))
	o.Object["status"] = map[string]any{"phase": "Active"}
	// A scene may have made one, with a new uid.
	if err := d.cluster.Put(o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return nil
}

// discard gives back what a demo took that did not start.
func (d *Demo) discard() {
	for _, l := range []net.Listener{d.api, d.files} {
		if l != nil {
			_ = l.Close()
		}
	}
	if d.Dir != "" {
		_ = os.RemoveAll(d.Dir)
	}
}

// storeURL is where the object store answers.
func (d *Demo) storeURL() string { return "http://" + d.files.Addr().String() }

// note keeps the first thing that went wrong.
func (d *Demo) note(err error) {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, context.Canceled) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = err
	}
}

// Close ends it, removes its files and says what went wrong meanwhile.
func (d *Demo) Close() error {
	d.stop()
	for _, server := range d.servers {
		_ = server.Close() // nobody needs the connections any more
	}
	d.responder.Stop()
	d.group.Wait()
	d.note(os.RemoveAll(d.Dir))
	return d.failed
}

// load fills the cluster and returns what is to happen in it.
func (d *Demo) load() (play func(context.Context) error, err error) {
	o := d.options
	switch {
	case o.Scene != nil:
		s, err := scene.Load(o.Scene, o.Clock())
		if err != nil {
			return nil, err
		}
		return func(context.Context) error { return nil }, d.put(s)
	case o.Recordings != nil:
		recordings, err := replay.Load(o.Recordings)
		if err != nil {
			return nil, err
		}
		return d.replay(recordings), d.putOwn(installation)
	}
	recordings, err := replay.Load(recorded)
	if err != nil {
		return nil, err
	}
	if err := d.putOwn(
		installation,
		"scenes/restore-patch-lost.yaml",
		"scenes/history.yaml",
		"scenes/openshift-etcd.yaml",
		"scenes/location-away.yaml",
	); err != nil {
		return nil, err
	}
	d.surround()
	return d.story(replay.Merge(recordings)), nil
}
