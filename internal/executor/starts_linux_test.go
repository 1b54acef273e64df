package executor

import (
	"testing"
)

func tryStarts(t *testing.T)                     {}
func tryTools(t *testing.T)                      {}
func readyTools(t *testing.T, dir, cache string) {}
