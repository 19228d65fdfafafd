// Package assets holds the files that are embedded into the binary.
package assets

import "embed"

// Themes holds themes/NAME.yaml, one file a theme; the fields are described in
// docs/config.md and read by package ui.
//
//go:embed themes/*.yaml
var Themes embed.FS

// RBAC holds rbac/rights.yaml, the rights of veltui's roles, and
// rbac/policy.yaml, the ValidatingAdmissionPolicy for operators. `veltui rbac`
// prints them; docs/rbac.md says what they are for.
//
//go:embed rbac/*.yaml
var RBAC embed.FS
