// Package terminal connects a Bubble Tea program to the terminal: only text and colours go to the screen, a lost
// terminal ends the program, and after a stop (SIGTSTP, SIGSTOP) the program takes the terminal again.
package terminal
