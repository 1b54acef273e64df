package rules

import (
	"crypto/sha256"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/layered"
)

func (d commands) pathCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Say which policy applies here and why",
		Args:  desk.Wants(0, 0, "no words"),
		RunE: func(*cobra.Command, []string) error {
			found, err := d.PolicyPlaces(d.Policy).Find()
			if err != nil {
				return err
			}
			more := d.Lineage.More(found.Path, found.Data())
			digest := paddock.DigestOf(sha256.Sum256(layered.Bundle(found.Path, found.Data(), more...)))
			if d.JSON {
				return d.Object(struct {
					lookup.Found
					Digest paddock.Digest `json:"digest"`
					Files  []string       `json:"files,omitempty"`
				}{found, digest, names(more)})
			}
			fields := [][2]string{{"policy", desk.Plain(found.Path)}, {"because", desk.Plain(found.Why)}, {"digest", string(digest)}}
			for _, name := range names(more) {
				fields = append(fields, [2]string{"held to", desk.Plain(name)})
			}
			return d.Fields(fields)
		},
	}
}

// names are those of files that belong to a policy beside its own.
func names(more []policy.Source) []string {
	var out []string
	for _, s := range more {
		out = append(out, s.Name)
	}
	return out
}
