// Package keys defines key bindings as data. Help and the footer are drawn from the active bindings, so that they are
// always true.
//
// No bare capital letter, digit or part of an escape sequence may do anything that cannot be undone: over slow
// connections escape sequences arrive in pieces and are read as keys.
package keys
