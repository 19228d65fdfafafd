package assets

import "embed"

// Themes has a file for each theme; docs/config.md describes the fields.
//
//go:embed themes/*.yaml
var Themes embed.FS

// RBAC holds the rights of veltui's roles, and the ValidatingAdmissionPolicy for operators; see docs/rbac.md.
//
//go:embed rbac/*.yaml
var RBAC embed.FS
