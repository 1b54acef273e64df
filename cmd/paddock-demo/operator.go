package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// operator proposes a policy and adds what the story needs.
func (s *stage) operator(ctx context.Context) error {
	title(1, "You propose a policy:  paddock policy init --yes")
	file, err := s.run(ctx, "policy", "init", "--yes")
	if err != nil {
		return err
	}
	proposal, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	shown := 0
	for line := range strings.Lines(string(proposal)) {
		word := strings.TrimLeft(line, " -")
		if shown < 12 && (strings.HasPrefix(word, "name: go\n") || strings.HasPrefix(word, "path: ") || strings.HasPrefix(word, "allow: [") || strings.HasPrefix(word, "deny: [")) {
			fmt.Print("   | ", strings.ReplaceAll(line, s.dir, "…"))
			shown++
		}
	}
	text, err := s.amend(string(proposal))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	tell("You add two things of your own: a program that won't end, and this machine's build cache,\nso that the story is short. What runs may write it, and so reach your later builds: in\nearnest leave it out, and each project keeps a cache of its own.")
	verdict, err := s.run(ctx, "policy", "check")
	if err != nil {
		return err
	}
	if _, rest, ok := strings.Cut(verdict, "; "); ok {
		tell("paddock policy check: valid; " + rest + ".")
	}
	return nil
}

// amend adds to the proposal what an operator of this machine would.
func (s *stage) amend(text string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cache := strings.ReplaceAll(text, "GOTOOLCHAIN]", "GOTOOLCHAIN, GOCACHE]")
	at := strings.Index(cache, "\nexecutables:")
	if cache == text || at < 0 {
		return "", errors.New("the proposed policy isn't as this story knows it")
	}
	if before, after, contained := strings.Cut(cache, "\n  network: none"); contained {
		cache = before + fmt.Sprintf("\n  write: [%q]\n  network: none", s.cache) + after
	}
	end := at + 1 + strings.Index(cache[at+1:], "\n") + 1
	return cache[:end] + fmt.Sprintf("  - {name: %s, path: %q, args: [{allow: [%s]}]}\n", stubborn, self, stubborn) + cache[end:], nil
}

// lookBack shows that another process, and another principal, sees the same.
func (s *stage) lookBack(ctx context.Context) error {
	title(6, "The agent has gone. You look back:  paddock ps --all")
	table, err := s.run(ctx, "ps", "--all")
	if err != nil {
		return err
	}
	for line := range strings.Lines(table) {
		fmt.Print("   | ", line)
	}
	fmt.Println()
	return nil
}

func title(n int, text string) { fmt.Printf("\n%d. %s\n", n, text) }

// tell says one thing that happened, every line indented alike.
func tell(text string) {
	for line := range strings.Lines(text) {
		fmt.Println("   " + strings.TrimRight(line, "\n"))
	}
}
