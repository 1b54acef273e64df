package house

import (
	"slices"

	"paddock/internal/house/globals"
	"paddock/internal/house/papers"
	"paddock/internal/house/source"
	"paddock/internal/house/statements"
)

// Inspect runs every check that needs nothing but the tree, and returns what no
// exception excuses.
func Inspect(t *source.Tree) []Finding {
	found := slices.Concat(
		Floors(t), Reserved(t), Purity(t), Spawning(t), Members(t), globals.Find(t), statements.Find(t), Comments(t), Sizes(t),
		papers.Paths(t, "AGENTS.md", Planned),
		papers.Links(t),
		papers.Manners(t, "LICENSE", "README.md", "NEWS.md", "AGENTS.md", "CLAUDE.md", "Makefile",
			"docs/vocabulary.md", "docs/threat-model.md", "docs/runs.md", "docs/state.md", "docs/operations.md", papers.GuestBook),
	)
	return excuse(found, exceptions)
}

// Planned reports whether path is a room of the plan or the file that starts
// programs, built or not.
func Planned(path string) bool {
	_, ok := floors[path]
	return ok || path == TheFile
}
