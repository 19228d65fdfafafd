// Package score measures how right the numbers are that were shown while a restore ran: its total and its ETA, against
// what came of it. The end-to-end tests and those that replay recordings use it. The package is pure.
package score
