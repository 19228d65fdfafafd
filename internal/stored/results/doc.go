// Package results tells the results of a job: its messages, and what became of each item. It is pure.
//
// [GroupMessages] groups a job's errors and warnings where they differ only in the resource that they name.
// [CompareItems] joins a restore's list and messages with the contents of its backup, so that what did not come back
// has a reason; [ListItems] uses a job's list alone.
package results
