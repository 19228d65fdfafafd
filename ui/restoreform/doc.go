// Package restoreform is the screen on which a restore is put together: a form with every flag of `velero
// restore create`, and beside it, live, what that restore would do. It ends in a command and a file; veltui
// itself creates nothing. It knows no cluster: a [Backend] brings what is known.
package restoreform
