package executor

import "testing"

func tryTools(t *testing.T)                      {}
func readyTools(t *testing.T, dir, cache string) {}
