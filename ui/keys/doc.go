// Package keys holds key bindings as data. Help and the footer are drawn from the bindings that act,
// so that they are always true.
//
// No bare capital letter, digit or part of an escape sequence may do anything that cannot be undone:
// on slow lines escape sequences arrive in pieces and are read as keys.
package keys
