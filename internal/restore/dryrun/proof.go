package dryrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/retry"
)

// proof is what an answer shows about a request: that it was a dry run, that it was carried out, or neither.
type proof uint8

const (
	unproven   proof = iota // nothing shows that the object was not stored
	notStored               // the request stored nothing
	carriedOut              // the request stored the object
)

// evidence is a proof and its reason.
type evidence struct {
	proof
	reason string
	// object is the answered object, where the answer is the object that was sent.
	object reply
	live   *unstructured.Unstructured // the object as it was read back, nil if it was not
}

// reply is the part of an answered object that proves something.
type reply struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name            string `json:"name"`
		Namespace       string `json:"namespace"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`

		CreationTimestamp metav1.Time `json:"creationTimestamp"`
	} `json:"metadata"`
}

// readReply decodes an answer that must be the object that was sent.
func readReply(data []byte, sent *unstructured.Unstructured) (reply, error) {
	var got reply
	if err := json.Unmarshal(data, &got); err != nil {
		return got, errors.New("the answer is no Kubernetes object")
	}
	m := &got.Metadata
	switch {
	case got.Kind != sent.GetKind() || got.APIVersion != sent.GetAPIVersion():
		return got, fmt.Errorf("the answer is of kind %q (%s), not the object", got.Kind, got.APIVersion)
	case m.Name != sent.GetName() || m.Namespace != sent.GetNamespace():
		return got, errors.New("the answer is another object")
	case m.UID == "":
		return got, errors.New("the answer has no uid")
	}
	return got, nil
}

// proveCreate judges the answer to a dry run that creates an object. An API server sets a resourceVersion only on
// what it stores, and a uid also on what it does not store (k8s.io/apiserver/pkg/registry/rest/create.go,
// BeforeCreate; pkg/registry/generic/registry/dryrun.go, Create).
func proveCreate(sent *unstructured.Unstructured, data []byte, err error) evidence {
	if err != nil {
		return proveError(err, data)
	}
	got, err := readReply(data, sent)
	switch {
	case err != nil:
		return evidence{reason: err.Error()}
	case got.Metadata.ResourceVersion == "":
		return evidence{proof: notStored, object: got}
	case sent.GetResourceVersion() != "":
		return evidence{reason: "the object was sent with a resourceVersion, which the answer may repeat"}
	}
	return evidence{
		proof:  carriedOut,
		reason: "the answer to the dry run has resourceVersion " + got.Metadata.ResourceVersion,
		object: got,
	}
}

// provePatch judges the answer to a dry run that patches a live object: its resourceVersion stays the same
// (dryrun.go, GuaranteedUpdate). If it changed, somebody else may have changed the object in between.
func provePatch(live *unstructured.Unstructured, data []byte, err error) evidence {
	if err != nil {
		return proveError(err, data)
	}
	got, err := readReply(data, live)
	switch {
	case err != nil:
		return evidence{reason: err.Error()}
	case got.Metadata.ResourceVersion == "":
		return evidence{reason: "the answer to the patch has no resourceVersion"}
	case got.Metadata.ResourceVersion == live.GetResourceVersion() && got.Metadata.UID == string(live.GetUID()):
		return evidence{proof: notStored, object: got}
	}
	return evidence{
		proof:  carriedOut,
		object: got,
		reason: fmt.Sprintf("the dry run moved its resourceVersion from %s to %s",
			live.GetResourceVersion(), got.Metadata.ResourceVersion),
	}
}

// proveError judges an error. These also exclude that a request was carried out: no connection was made, the API
// server does not serve the path, or a webhook did not answer, which comes before storage.
func proveError(err error, body []byte) evidence {
	webhook := "Internal error occurred: failed calling webhook"
	switch {
	case retry.ProvesRejected(err), retry.IsUnsent(err),
		strings.HasPrefix(err.Error(), webhook) && isStatus(err),
		apierrors.IsNotFound(err) && strings.TrimSpace(string(body)) == "404 page not found":
		return evidence{proof: notStored}
	}
	return evidence{reason: err.Error()}
}

// isStatus reports whether an error comes from the API server itself.
func isStatus(err error) bool {
	_, status := err.(apierrors.APIStatus)
	return status && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
