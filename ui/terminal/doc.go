// Package terminal stands between a Bubble Tea program and the terminal: nothing but text and colours goes to the
// screen, a terminal that is gone ends the program, and one that was stopped (SIGTSTP, SIGSTOP) is taken anew.
package terminal
