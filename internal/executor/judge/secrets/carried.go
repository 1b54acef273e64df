package secrets

import (
	"maps"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/redact"
)

// Files has the file of each secret that has one, by its name.
func Files(given []paddock.Given, injected []paddock.Injection) map[string]string {
	files := map[string]string{}
	for _, g := range given {
		if g.Provider == nil {
			files[g.Secret] = g.File
		}
	}
	for _, i := range injected {
		if i.Provider == nil {
			files[i.Secret] = i.File
		}
	}
	return files
}

// Carried refuses variables, each NAME=value, that carry one of the named values
// within their own, or in another form.
func Carried(values map[string]string, variables []string) (refusals []paddock.Refusal) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		patterns := redact.Compile(values[name])
		if patterns == nil {
			continue
		}
		for _, v := range variables {
			variable, value, _ := strings.Cut(v, "=")
			if len(patterns.Find([]byte(value))) == 0 {
				continue
			}
			r := paddock.Refused(paddock.SecretInEnvironment, "The program's environment would contain %s, which carries the value of the secret %s.", variable, name)
			r.Gate = paddock.GateEnvironment
			refusals = append(refusals, *r)
		}
	}
	return refusals
}
