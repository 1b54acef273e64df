//go:build !linux

package process

import "paddock/internal/httpapi/meter"

// system adds nothing: no server runs here.
func system(*meter.Registry) {}
