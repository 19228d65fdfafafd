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

// Options set what the demo shows: a scene, recordings, or, with neither, its own story, which runs forever.
type Options struct {
	// Scene is read once.
	Scene io.Reader
	// Recordings is a tree of folders with recordings. All start at once.
	Recordings fs.FS
	// Speed is the speed of recordings relative to real time; 1 if zero.
	Speed float64
	// Clock is the cluster's clock; nil means time.Now.
	Clock func() time.Time
	// UID is the uid of namespace kube-system, which identifies a cluster; a new one for each demo if empty.
	UID types.UID
}

// Demo is a running demo cluster.
type Demo struct {
	// Dir is a private folder that Close removes.
	Dir string
	// Kubeconfig is a file in it.
	Kubeconfig string

	options   Options
	cluster   *cluster.Cluster
	store     *store.Store
	responder *responder.Responder
	// apiListener and storeListener serve the API and the object store.
	apiListener, storeListener net.Listener
	servers                    []*http.Server
	stop                       context.CancelFunc
	group                      sync.WaitGroup

	mu         sync.Mutex
	firstError error
}

// stepPause is how long the responder takes per step.
const stepPause = 2 * time.Second

// Start serves a cluster until Close. Bad input costs nothing: it is read
// before anything is served.
func Start(o Options) (*Demo, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	d := &Demo{options: o, cluster: cluster.New(o.Clock), store: store.New(o.Scene == nil)}
	if err := d.startServing(); err != nil {
		d.releaseResources()
		return nil, err
	}
	return d, nil
}

func (d *Demo) startServing() error {
	if err := d.openListeners(); err != nil {
		return err
	}
	play, err := d.loadContent()
	if err != nil {
		return err
	}
	if err := d.createKubeSystem(); err != nil {
		return err
	}
	token := rand.Text()
	if err := d.enableTLS(token); err != nil {
		return err
	}
	d.responder = responder.Start(responder.Options{
		Cluster: d.cluster, Store: d.store, StoreURL: d.storeURL(), StepDuration: stepPause, Clock: d.options.Clock,
	})
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.serveListener(ctx, d.apiListener, d.cluster.APIHandler(token))
	d.serveListener(ctx, d.storeListener, d.store)
	d.group.Go(func() { d.recordError(play(ctx)) })
	return nil
}

// createKubeSystem creates namespace kube-system, whose uid distinguishes this cluster from all others.
func (d *Demo) createKubeSystem() error {
	o := itemRef{"v1/Namespace", "", metav1.NamespaceSystem}.newObject()
	o.SetUID(cmp.Or(d.options.UID, uuid.NewUUID()))
	o.SetLabels(map[string]string{corev1.LabelMetadataName: metav1.NamespaceSystem})
	o.SetCreationTimestamp(metav1.NewTime(d.options.Clock().Add(-90 * 24 * time.Hour)))
	o.Object["status"] = map[string]any{"phase": "Active"}
	// A scene may have created the namespace, with a new uid.
	if err := d.cluster.PutObject(o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return nil
}

// releaseResources releases the resources of a demo that failed to start.
func (d *Demo) releaseResources() {
	for _, l := range []net.Listener{d.apiListener, d.storeListener} {
		if l != nil {
			_ = l.Close()
		}
	}
	if d.Dir != "" {
		_ = os.RemoveAll(d.Dir)
	}
}

// storeURL returns the URL of the object store.
func (d *Demo) storeURL() string { return "http://" + d.storeListener.Addr().String() }

// recordError records the first error.
func (d *Demo) recordError(err error) {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, context.Canceled) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.firstError == nil {
		d.firstError = err
	}
}

// Close stops the demo, removes its files and returns the first error that occurred.
func (d *Demo) Close() error {
	d.stop()
	for _, server := range d.servers {
		_ = server.Close() // the connections are no longer needed
	}
	d.responder.Stop()
	d.group.Wait()
	d.recordError(os.RemoveAll(d.Dir))
	return d.firstError
}

// loadContent fills the cluster and returns the function that plays the changes in it.
func (d *Demo) loadContent() (play func(context.Context) error, err error) {
	o := d.options
	switch {
	case o.Scene != nil:
		s, err := scene.Load(o.Scene, o.Clock())
		if err != nil {
			return nil, err
		}
		return func(context.Context) error { return nil }, d.putScene(s)
	case o.Recordings != nil:
		recordings, err := replay.Load(o.Recordings)
		if err != nil {
			return nil, err
		}
		return d.newReplay(recordings), d.putBuiltinScenes(installationScene)
	}
	recordings, err := replay.Load(recordedFiles)
	if err != nil {
		return nil, err
	}
	if err := d.putBuiltinScenes(
		installationScene,
		"scenes/restore-patch-lost.yaml",
		"scenes/history.yaml",
		"scenes/openshift-etcd.yaml",
		"scenes/location-away.yaml",
	); err != nil {
		return nil, err
	}
	d.addStoryArtifacts()
	return d.newStory(replay.MergeRecordings(recordings)), nil
}
