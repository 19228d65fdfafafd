// Package outcome says what came of a job: what it complained about, and what
// became of each item. It is pure.
//
// [Group] puts a job's errors and warnings together where they differ only in
// the resource that they name.
package outcome
