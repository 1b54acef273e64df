package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// held says in a line what the record of a run says was enforced.
func (s *stage) held(ctx context.Context, run string) (string, error) {
	text, err := s.run(ctx, "show", "--json", run)
	if err != nil {
		return "", err
	}
	var record struct {
		Run struct {
			Enforced struct {
				Level      string   `json:"level"`
				Namespaces []string `json:"namespaces"`
				Landlock   int      `json:"landlock_abi"`
				Filter     string   `json:"filter"`
				Network    string   `json:"network"`
			} `json:"enforced"`
		} `json:"run"`
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return "", err
	}
	e := record.Run.Enforced
	switch e.Level {
	case "":
		return "", fmt.Errorf("the record of %s doesn't say what was enforced", run)
	case "off":
		return "nothing, since this machine can't contain programs (paddock policy init says why)", nil
	}
	held := []string{"level " + e.Level}
	if len(e.Namespaces) > 0 {
		held = append(held, fmt.Sprintf("%d namespaces", len(e.Namespaces)))
	}
	if e.Landlock > 0 {
		held = append(held, fmt.Sprintf("Landlock ABI %d", e.Landlock))
	}
	if e.Filter != "" {
		held = append(held, "a system call filter")
	}
	return strings.Join(append(held, "network "+e.Network), ", "), nil
}
