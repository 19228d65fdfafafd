// Package fetch is how screens ask for what takes a while, and keep the answer: each
// question is asked once, stands for a while, can be withdrawn, and says how far it is.
//
// An [Answer] is part of the screen that asks. Ask makes a command that reads in a goroutine of its own and
// brings a [Message]; the root model calls its Deliver, which puts the answer in place unless it was withdrawn
// meanwhile. Nothing here is used by two goroutines but [Progress], whose Report is for the one that reads.
package fetch
