package rules

import (
	"crypto/sha256"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
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
			digest := paddock.DigestOf(sha256.Sum256(found.Data()))
			if d.JSON {
				return d.Object(struct {
					lookup.Found
					Digest paddock.Digest `json:"digest"`
				}{found, digest})
			}
			return d.Fields([][2]string{{"policy", desk.Plain(found.Path)}, {"because", desk.Plain(found.Why)}, {"digest", string(digest)}})
		},
	}
}
