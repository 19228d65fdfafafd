// Package modifier reads and applies resource modifiers as Velero does (internal/resourcemodifiers). Pure.
package modifier
