package repository

import (
	"os"
	"path"

	"paddock"
	"paddock/internal/git/repository/held"
	"paddock/internal/git/repository/index"
	"paddock/internal/git/repository/settings"
)

// mostSettings bounds how much of a file of settings is looked at for others that it brings along.
const mostSettings = 8 << 20

// Alone refuses a repository of which git would read, or write, what containment keeps it from where there is
// any: settings of files that may lie anywhere, which git tells of in what it shows and complains about; objects
// that links lead to; and, where the index is read, one in which directories stand for the files in
// them: to read it git writes what it needs to know of them into the repository.
func (l Look) Alone(indexed bool) error {
	dir, err := os.OpenRoot(l.Top)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, name := range l.settings() {
		text, err := most(dir, name, mostSettings)
		if err := theirs(absent(err)); err != nil {
			return err
		}
		if settings.Includes(text) {
			r := paddock.Refused(paddock.RepositoryRefused, "The repository's settings (%s) include other files, which may lie anywhere: nothing keeps git from reading them at `require: off`.", name)
			r.Hint = "The operator takes the include out of them, or requires containment in the policy."
			return r
		}
	}
	if err := theirs(held.Loose(dir, l.common)); err != nil {
		return err
	}
	if !indexed || !index.Sparse(dir, path.Join(l.own, "index")) {
		return nil
	}
	r := paddock.Refused(paddock.RepositoryRefused, "The repository's index is sparse: to read it git writes into the repository, from which nothing keeps it at `require: off`.")
	r.Hint = "`git sparse-checkout reapply --no-sparse-index` makes it whole; or the policy requires containment."
	return r
}
