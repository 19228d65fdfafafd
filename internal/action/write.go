package action

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/client"
)

// write is one request to change the cluster. However often it is sent, the API server carries it out once or not at
// all.
type write interface {
	// targetObject returns the object to write to, as it was seen, or the object to create.
	targetObject() *unstructured.Unstructured
	// sendRequest sends the write once; dryRun is nil for a real request.
	sendRequest(ctx context.Context, c *client.Client, dryRun []string) (*unstructured.Unstructured, error)
	// verifyAnswer compares an answer with the request. It returns what is wrong, to follow "the API server would accept
	// it but"; empty if nothing is wrong.
	verifyAnswer(answer *unstructured.Unstructured, dryRun bool) string
	// isStored reports whether an answer to a dry run shows that something was stored.
	isStored(answer *unstructured.Unstructured) bool
	// isOwnAnswer reports whether an answer is about the object of the request, and has the mark of this attempt if it
	// has a mark.
	isOwnAnswer(answer *unstructured.Unstructured) bool
	// answerTime returns a time that the API server recorded for this request in its answer; zero for none.
	answerTime(answer *unstructured.Unstructured) time.Time
	// judgeFate tells from the present object, nil if it does not exist, what became of requests without an answer.
	judgeFate(now *unstructured.Unstructured) writeFate
	// excludesOwnWrite reports whether an object proves that the only request, which was sent at that time by the API
	// server's clock and answered with a Status of 409, was not carried out.
	excludesOwnWrite(now *unstructured.Unstructured, sent time.Time, margin time.Duration) bool
	// doneText says what a request that was carried out has done, and undoArgs returns the arguments of the kubectl
	// command that undoes it, nil for none.
	doneText() string
	undoArgs(after *unstructured.Unstructured) []string
	// recordRequest records the request in an entry of the audit log.
	recordRequest(*AuditEntry)
}
