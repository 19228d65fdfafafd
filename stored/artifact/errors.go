package artifact

import "errors"

// Errors that callers tell apart with errors.Is. What is wrapped around them
// says what happened and what to look at.
var (
	// ErrAbsent: the object store says that there is no such object (404).
	ErrAbsent = errors.New("not in the object store")
	// ErrUnknowable: nobody can say whether the object is there. A 403 is such
	// an answer, as S3 gives it for a missing object too if the signer may not
	// list the bucket; so is a backup that is gone, as Velero signs only by way
	// of it.
	ErrUnknowable = errors.New("cannot tell whether it is in the object store")
	// ErrNoAnswer: Velero did not sign a URL in time.
	ErrNoAnswer = errors.New("no download URL from Velero")
	// ErrRefused: Velero says that it will not sign a URL.
	ErrRefused = errors.New("refused by Velero")
	// ErrTampered: the DownloadRequest is not what was created.
	ErrTampered = errors.New("someone else changed the download request")
	// ErrUnsafe: the URL leads where veltui does not follow.
	ErrUnsafe = errors.New("veltui does not follow the download URL")
	// ErrClear: the bytes, which may hold Secrets, would travel unencrypted, and
	// nobody agreed to that (Options.AllowPlainHTTP).
	ErrClear = errors.New("the object store is not encrypted")
	// ErrTooLarge: more came than the limits allow.
	ErrTooLarge = errors.New("larger than the limit")
	// ErrStalled: nothing came for too long, or all of it took too long.
	ErrStalled = errors.New("the download takes too long")
	// ErrForbidden: the user may not do what a download takes.
	ErrForbidden = errors.New("not permitted")
)
