package house

import (
	"slices"

	"paddock/internal/house/papers"
	"paddock/internal/house/source"
)

// Inspect runs every check that needs nothing but the tree, and returns what no
// exception excuses.
func Inspect(t *source.Tree) []Finding {
	found := slices.Concat(
		Floors(t), Reserved(t), Purity(t), Spawning(t), Members(t), Comments(t), Sizes(t),
		papers.Paths(t, "AGENTS.md", Planned),
		papers.Manners(t, "LICENSE", "README.md", "NEWS.md", "AGENTS.md", "CLAUDE.md", "Makefile",
			"docs/vocabulary.md", "docs/threat-model.md", "docs/runs.md", papers.GuestBook),
	)
	return excuse(found, exceptions)
}

// Planned reports whether dir is a room of the plan, built or not.
func Planned(dir string) bool {
	_, ok := floors[dir]
	return ok
}
