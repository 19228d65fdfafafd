// Package fetch lets screens request slow data and keep the answer: each request is made once, its answer is kept for
// a while, and the request can be cancelled and reports its progress.
//
// An [Answer] is part of the screen that requests it. FetchIfDue returns a command that reads in a goroutine of its own
// and sends a [Message]; the root model calls its Deliver, which stores the answer unless the request was cancelled
// meanwhile. Refetch asks another question, and keeps the old value until the new one comes. Only [Progress] is shared
// by two goroutines: the reading goroutine calls its ReportProgress.
package fetch
