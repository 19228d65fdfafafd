// Package seed makes the objects that the lab's backups hold: four namespaces
// of made-up applications, about 2,000 objects of some thirty kinds, the same
// ones for the same seed. It only makes them; package lab creates them.
package seed
