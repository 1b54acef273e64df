package propose

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Unserved says of each kind of project that is there, and for which nothing is
// proposed since no program for it is installed, which programs those would be.
func Unserved(p Project) (missing []string) {
	w := writer{project: p}
	for _, marker := range p.Markers {
		var wanted []string
		for _, t := range tools {
			if !slices.Contains(t.markers, marker) || t.name == "git" {
				continue
			}
			if w.has(t) {
				wanted = nil
				break
			}
			wanted = append(wanted, t.name)
		}
		if len(wanted) > 0 {
			missing = append(missing, fmt.Sprintf("%s is there, but no %s was found in PATH outside of the project", marker, strings.Join(wanted, " or ")))
		}
	}
	return missing
}

// Where is the directory in which there is what the program is for: the root, or one
// below it.
func Where(p Project, word string) string {
	for _, t := range tools {
		if t.name != word {
			continue
		}
		for _, marker := range t.markers {
			if slices.Contains(p.Markers, marker) {
				return path.Join(p.Root, p.Places[marker])
			}
		}
	}
	return p.Root
}
