// Package config reads veltui's configuration with the line and the origin of each setting.
package config
